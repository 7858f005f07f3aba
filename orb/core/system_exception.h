// CORBA system exceptions (CORBA 3.3 part 1, 7.11.3; minor codes in annex A.5): the one place that
// maps them to and from the wire and absl::Status.
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_CORE_SYSTEM_EXCEPTION_H_
#define WEIR_ORB_CORE_SYSTEM_EXCEPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orb/cdr/decoder.h"
#include "orb/cdr/encoder.h"

namespace weir::orb {

// In the order of kExceptionNames in the .cc file.
enum class ExceptionId : uint8_t {
  kUnknown,
  kBadParam,
  kNoMemory,
  kImpLimit,
  kCommFailure,
  kInvObjref,
  kNoPermission,
  kInternal,
  kMarshal,
  kInitialize,
  kNoImplement,
  kBadTypecode,
  kBadOperation,
  kNoResources,
  kNoResponse,
  kPersistStore,
  kBadInvOrder,
  kTransient,
  kFreeMem,
  kInvIdent,
  kInvFlag,
  kIntfRepos,
  kBadContext,
  kObjAdapter,
  kDataConversion,
  kObjectNotExist,
  kTransactionRequired,
  kTransactionRolledback,
  kInvalidTransaction,
  kInvPolicy,
  kCodesetIncompatible,
  kRebind,
  kTimeout,
  kTransactionUnavailable,
  kTransactionMode,
  kBadQos,
  kInvalidActivity,
  kActivityCompleted,
  kActivityRequired,
};
inline constexpr int kExceptionCount = 39;

// completion_status, with its values on the wire.
enum class Completion : uint8_t { kYes = 0, kNo = 1, kMaybe = 2 };

// Minor codes: a vendor's 20 bits, then 12 of its own.
inline constexpr uint32_t kOmgVmcid = 0x4f4d0000;
inline constexpr uint32_t kWeirVmcid = 0x57454000;
constexpr uint32_t OmgMinor(uint32_t n) { return kOmgVmcid | n; }

// What Weir itself reports, apart from OMG's codes. MINOR_CODES.md tells users what to do about
// each. A number, once given, keeps its meaning; 10 was never used.
enum class WeirMinor : uint32_t {
  kNone = 0,
  kConnectFailed = kWeirVmcid | 1,     // TRANSIENT: nobody accepted a connection
  kNameLookupFailed = kWeirVmcid | 2,  // TRANSIENT: the host name has no address
  kConnectTimeout = kWeirVmcid | 3,    // TRANSIENT: no connection before the deadline
  kCallTimeout = kWeirVmcid | 4,       // TIMEOUT: no reply before the deadline
  kConnectionLost = kWeirVmcid | 5,    // COMM_FAILURE: closed while a reply was awaited
  kCancelled = kWeirVmcid | 6,         // TRANSIENT: the caller gave up
  kTooManyPending = kWeirVmcid | 7,    // NO_RESOURCES: the limit of calls in flight is reached
  kMessageTooBig = kWeirVmcid | 8,     // MARSHAL, IMP_LIMIT: over the size limit
  kMalformed = kWeirVmcid | 9,         // MARSHAL: cannot be decoded
  kForwardLoop = kWeirVmcid | 11,      // TRANSIENT: too many LOCATION_FORWARDs in a row
  kShuttingDown = kWeirVmcid | 12,     // TRANSIENT: this ORB no longer accepts calls
  kServantThrew = kWeirVmcid | 13,     // UNKNOWN: a servant threw a C++ exception
  kNoReply = kWeirVmcid | 14,          // INTERNAL: a servant dropped the call unanswered
  kNoUsableAddress =
      kWeirVmcid | 15,        // TRANSIENT: no address of the reference is of a known transport
  kDenied = kWeirVmcid | 16,  // any, from a shipped filter that refuses, fails or replaces
  kFilterFailed = kWeirVmcid | 17,      // NO_PERMISSION or TRANSIENT: a filter could not decide
  kAlignment = kWeirVmcid | 18,         // MARSHAL: a body cannot be moved between GIOP versions
  kForwardRefused = kWeirVmcid | 19,    // TRANSIENT: policy forbids following a LOCATION_FORWARD
  kRedirectLoop = kWeirVmcid | 20,      // TRANSIENT: filters send the call on too many times
  kInterfaceUnknown = kWeirVmcid | 22,  // TRANSIENT: the object did not say of what interface it is
  kFilterLoop = kWeirVmcid | 24,        // TRANSIENT: filters call through filters too many times
  kFilterBlocks = kWeirVmcid | 25,      // BAD_INV_ORDER: a filter must not wait on this thread
};

struct SystemException {
  ExceptionId id = ExceptionId::kUnknown;
  uint32_t minor = 0;
  Completion completed = Completion::kMaybe;

  SystemException() = default;
  SystemException(ExceptionId i, uint32_t m, Completion c) : id(i), minor(m), completed(c) {}
  SystemException(ExceptionId i, WeirMinor m, Completion c)
      : SystemException(i, static_cast<uint32_t>(m), c) {}
};

// "NO_PERMISSION"
std::string_view ExceptionName(ExceptionId id);
std::optional<ExceptionId> ExceptionIdFromName(std::string_view name);
// "IDL:omg.org/CORBA/NO_PERMISSION:1.0"
std::string_view ExceptionRepositoryId(ExceptionId id);
// "TRANSIENT (minor 0x4f4d0002, completed NO)"
std::string ToString(const SystemException& e);

// Body of a SYSTEM_EXCEPTION reply: repository id, minor, completion status.
void Encode(const SystemException& e, cdr::Encoder* out);
// An unknown repository id becomes UNKNOWN (CORBA 3.3 part 2, 9.4.3.2); anything malformed MARSHAL.
SystemException DecodeSystemException(cdr::Decoder* in);

// A status that carries `e` (id, minor and completion) and says `message`; its code is the nearest
// one.
absl::Status ToStatus(const SystemException& e, std::string_view message);
// The exception that a status carries; one that carries none is mapped by its code.
SystemException FromStatus(const absl::Status& status);

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_SYSTEM_EXCEPTION_H_
