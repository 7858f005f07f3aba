// How this folder reports errors: statuses that carry the CORBA exception a client is to see.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_REFERENCE_ERRORS_H_
#define WEIR_ORB_REFERENCE_ERRORS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "orb/cdr/decoder.h"
#include "orb/core/system_exception.h"

namespace weir::orb {

// BAD_PARAM minor codes of string_to_object (CORBA 3.3 part 1, annex A.5).
inline constexpr uint32_t kBadScheme = 7;
inline constexpr uint32_t kBadAddress = 8;
inline constexpr uint32_t kBadSchemePart = 9;  // the part specific to an address's scheme
inline constexpr uint32_t kBadOther = 10;

// `minor` is OMG's.
inline absl::Status BadParam(uint32_t minor, std::string_view message) {
  return ToStatus({ExceptionId::kBadParam, OmgMinor(minor), Completion::kNo}, message);
}

inline absl::Status Malformed(std::string_view message) {
  return ToStatus({ExceptionId::kMarshal, WeirMinor::kMalformed, Completion::kNo}, message);
}

// A well-formed reference that cannot be called.
inline absl::Status Unusable(std::string_view message) {
  return ToStatus({ExceptionId::kInvObjref, 0u, Completion::kNo}, message);
}

}  // namespace weir::orb

#endif  // WEIR_ORB_REFERENCE_ERRORS_H_
