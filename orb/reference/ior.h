// Object references on the wire and as "IOR:..." text (CORBA 3.3 part 2, 7.6). Profiles and
// components that nobody here understands are kept byte for byte.
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_REFERENCE_IOR_H_
#define WEIR_ORB_REFERENCE_IOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orb/cdr/byte_order.h"
#include "orb/cdr/decoder.h"
#include "orb/cdr/encoder.h"

namespace weir::orb {

// Each stops a peer, or whoever hands us a reference, from making us hold or try much for little.
struct IorLimits {
  // Profiles of an IOR: each may name addresses that a client then connects to.
  uint32_t max_profiles = 32;
  // Components of one profile: likewise.
  uint32_t max_components = 128;
  // Octets of type id and profile data together; an honest reference has a few hundred.
  size_t max_bytes = 64 * 1024;
  // Addresses taken from one reference: the connection attempts that one call can cause.
  size_t max_endpoints = 32;
};

// CORBA 3.3 part 2, 7.6.2: `data` is the octets as sent, usually an encapsulation.
struct TaggedProfile {
  uint32_t tag = 0;
  std::string data;

  bool operator==(const TaggedProfile&) const = default;
};

struct TaggedComponent {
  uint32_t tag = 0;
  std::string data;

  bool operator==(const TaggedComponent&) const = default;
};

struct Ior {
  // Repository id of the most derived interface known; may be empty.
  std::string type_id;
  std::vector<TaggedProfile> profiles;

  // The nil reference refers to no object.
  bool IsNil() const { return profiles.empty(); }
  bool operator==(const Ior&) const = default;
};

// Reads an IOR out of a message. Bytes behind it are left to the caller. Errors: MARSHAL statuses,
// the decoder's or for an exceeded limit; nothing is allocated for what is not there.
absl::StatusOr<Ior> DecodeIor(cdr::Decoder* in, const IorLimits& limits = {});
void EncodeIor(const Ior& ior, cdr::Encoder* out);

// "IOR:" in any case and hex digits in any case; white space around it is ignored, as are octets
// behind the reference. Errors: BAD_PARAM for what is not hex, MARSHAL for what is not an IOR.
absl::StatusOr<Ior> ParseIor(std::string_view text, const IorLimits& limits = {});
std::string ToString(const Ior& ior, cdr::ByteOrder order = cdr::kNativeOrder);

// sequence<TaggedComponent>, as in IIOP profiles and TAG_MULTIPLE_COMPONENTS. On an error `in` has
// failed, and the result is empty.
std::vector<TaggedComponent> DecodeComponents(cdr::Decoder* in, const IorLimits& limits);
void EncodeComponents(const std::vector<TaggedComponent>& components, cdr::Encoder* out);

}  // namespace weir::orb

#endif  // WEIR_ORB_REFERENCE_IOR_H_
