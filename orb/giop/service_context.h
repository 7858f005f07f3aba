// The service context list of requests and replies (CORBA 3.3 part 2, 9.7): passed through, never
// looked into.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_SERVICE_CONTEXT_H_
#define WEIR_ORB_GIOP_SERVICE_CONTEXT_H_

#include <cstdint>
#include <vector>

#include "orb/cdr/decoder.h"
#include "orb/cdr/encoder.h"
#include "orb/core/message.h"

namespace weir::giop {

// A context of ours without meaning, which only moves what follows it. Receivers ignore contexts
// that they do not know.
inline constexpr uint32_t kPaddingContextId = 0x57454900;

// Appends the list to `*out`, which is empty. More than `limit` contexts fail the decoder.
inline void DecodeServiceContexts(cdr::Decoder* in, uint32_t limit,
                                  std::vector<orb::ServiceContext>* out) {
  // A context takes at least an id and a length.
  const uint32_t n = in->ReadSequenceLength(8, limit);
  for (uint32_t i = 0; i < n && in->ok(); ++i) {
    const uint32_t id = in->ReadULong();
    out->push_back({id, in->ReadOctetSequence()});
  }
}

inline void EncodeServiceContexts(const std::vector<orb::ServiceContext>& contexts,
                                  cdr::Encoder* out) {
  out->WriteULong(static_cast<uint32_t>(contexts.size()));
  for (const orb::ServiceContext& context : contexts) {
    out->WriteULong(context.id);
    out->WriteOctetSequence(context.data);
  }
}

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_SERVICE_CONTEXT_H_
