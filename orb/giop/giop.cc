#include "orb/giop/giop.h"

#include <algorithm>
#include <cstdint>

#include "orb/giop/codec.h"
#include "orb/giop/header.h"

namespace weir::giop {
namespace {

// No message has more bytes than its size field can say.
Limits Possible(Limits limits) {
  limits.max_message_size = std::clamp(limits.max_message_size, kHeaderSize, size_t{UINT32_MAX});
  return limits;
}

}  // namespace

Giop::Giop(const Limits& limits) : shared_(std::make_shared<Shared>(Possible(limits))) {}

std::unique_ptr<orb::Codec> Giop::NewCodec(orb::Role role) {
  return std::make_unique<GiopCodec>(role, shared_);
}

}  // namespace weir::giop
