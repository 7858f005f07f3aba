#include "orb/giop/fragmenter.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::giop {
namespace {

constexpr size_t kFlagsAt = 6;
constexpr uint8_t kMoreFlag = 2;

// Cuts the buffer's message behind its first `n` bytes, which become a first piece, and returns the
// rest.
std::string CutTail(size_t start, size_t n, cdr::ByteOrder order, cdr::ByteBuffer* out) {
  std::string tail(out->view().substr(start + n));
  out->Truncate(start + n);
  out->data()[start + kFlagsAt] |= kMoreFlag;
  PatchSize(start, order, out);
  return tail;
}

Header FragmentHeader(GiopMinor minor, cdr::ByteOrder order, bool more, size_t size) {
  return {minor, order, more, MessageType::kFragment, static_cast<uint32_t>(size)};
}

}  // namespace

void Fragment12(size_t start, cdr::ByteOrder order, size_t fragment_size, cdr::ByteBuffer* out) {
  const size_t piece = Fragment12Size(fragment_size);
  if (out->size() - start <= piece) return;
  // The request id, right behind the header, opens each fragment as well.
  char id[4];
  std::memcpy(id, out->data() + start + kHeaderSize, sizeof id);
  const std::string tail = CutTail(start, piece, order, out);
  const size_t most = piece - kHeaderSize - sizeof id;
  for (size_t at = 0; at < tail.size();) {
    const size_t n = std::min(most, tail.size() - at);
    const bool more = at + n < tail.size();
    AppendHeader(FragmentHeader(GiopMinor::k2, order, more, sizeof id + n), out);
    out->Append({id, sizeof id});
    out->Append(std::string_view(tail).substr(at, n));
    at += n;
  }
}

void Fragment11(size_t start, cdr::ByteOrder order, size_t body_at, cdr::Restarts restarts,
                cdr::ByteBuffer* out) {
  if (restarts.count == 0) return;
  const size_t first = body_at + restarts.offsets[0];
  const std::string tail = CutTail(start, first, order, out);
  for (uint32_t i = 0; i < restarts.count; ++i) {
    const size_t at = restarts.offsets[i] - restarts.offsets[0];
    const bool more = i + 1 < restarts.count;
    const size_t end = more ? restarts.offsets[i + 1] - restarts.offsets[0] : tail.size();
    AppendHeader(FragmentHeader(GiopMinor::k1, order, more, end - at), out);
    out->Append(std::string_view(tail).substr(at, end - at));
  }
}

}  // namespace weir::giop
