// TargetAddress, the way a GIOP 1.2 request names its object (CORBA 3.3 part 2, 9.4.2.2): by key,
// by profile, or by a whole reference. All are accepted; only keys are sent, as omniORB servers
// abort on the others.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_TARGET_ADDRESS_H_
#define WEIR_ORB_GIOP_TARGET_ADDRESS_H_

#include <cstdint>
#include <string_view>

#include "orb/cdr/decoder.h"

namespace weir::giop {

enum class AddressingDisposition : uint16_t { kKey = 0, kProfile = 1, kReference = 2 };

// Reads any of the three forms and returns the object key. An unknown form, a profile other than
// IIOP's, or an index that selects no profile fails the decoder.
std::string_view DecodeTargetAddress(cdr::Decoder* in);

// sequence<octet> object_key of GIOP 1.0 and 1.1, or a TargetAddress in 1.2.
inline std::string_view DecodeTarget(bool is_1_2, cdr::Decoder* in) {
  return is_1_2 ? DecodeTargetAddress(in) : in->ReadOctetSequence();
}

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_TARGET_ADDRESS_H_
