#include "orb/core/system_exception.h"

#include <array>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"

namespace weir::orb {
namespace {

using absl::StatusCode;

struct Entry {
  // The whole repository id; the name is a part of it.
  std::string_view repository_id;
  // What an absl::Status of this exception says.
  StatusCode code;
};

constexpr std::string_view kPrefix = "IDL:omg.org/CORBA/";
constexpr std::string_view kSuffix = ":1.0";

#define WEIR_EXCEPTION(name, code) \
  Entry { "IDL:omg.org/CORBA/" name ":1.0", StatusCode::code }

// In the order of ExceptionId.
constexpr std::array<Entry, kExceptionCount> kExceptionNames = {
    WEIR_EXCEPTION("UNKNOWN", kUnknown),
    WEIR_EXCEPTION("BAD_PARAM", kInvalidArgument),
    WEIR_EXCEPTION("NO_MEMORY", kResourceExhausted),
    WEIR_EXCEPTION("IMP_LIMIT", kResourceExhausted),
    WEIR_EXCEPTION("COMM_FAILURE", kUnavailable),
    WEIR_EXCEPTION("INV_OBJREF", kInvalidArgument),
    WEIR_EXCEPTION("NO_PERMISSION", kPermissionDenied),
    WEIR_EXCEPTION("INTERNAL", kInternal),
    WEIR_EXCEPTION("MARSHAL", kInvalidArgument),
    WEIR_EXCEPTION("INITIALIZE", kFailedPrecondition),
    WEIR_EXCEPTION("NO_IMPLEMENT", kUnimplemented),
    WEIR_EXCEPTION("BAD_TYPECODE", kInvalidArgument),
    WEIR_EXCEPTION("BAD_OPERATION", kUnimplemented),
    WEIR_EXCEPTION("NO_RESOURCES", kResourceExhausted),
    WEIR_EXCEPTION("NO_RESPONSE", kUnavailable),
    WEIR_EXCEPTION("PERSIST_STORE", kInternal),
    WEIR_EXCEPTION("BAD_INV_ORDER", kFailedPrecondition),
    WEIR_EXCEPTION("TRANSIENT", kUnavailable),
    WEIR_EXCEPTION("FREE_MEM", kInternal),
    WEIR_EXCEPTION("INV_IDENT", kInvalidArgument),
    WEIR_EXCEPTION("INV_FLAG", kInvalidArgument),
    WEIR_EXCEPTION("INTF_REPOS", kUnavailable),
    WEIR_EXCEPTION("BAD_CONTEXT", kInvalidArgument),
    WEIR_EXCEPTION("OBJ_ADAPTER", kInternal),
    WEIR_EXCEPTION("DATA_CONVERSION", kInvalidArgument),
    WEIR_EXCEPTION("OBJECT_NOT_EXIST", kNotFound),
    WEIR_EXCEPTION("TRANSACTION_REQUIRED", kFailedPrecondition),
    WEIR_EXCEPTION("TRANSACTION_ROLLEDBACK", kAborted),
    WEIR_EXCEPTION("INVALID_TRANSACTION", kInvalidArgument),
    WEIR_EXCEPTION("INV_POLICY", kFailedPrecondition),
    WEIR_EXCEPTION("CODESET_INCOMPATIBLE", kFailedPrecondition),
    WEIR_EXCEPTION("REBIND", kFailedPrecondition),
    WEIR_EXCEPTION("TIMEOUT", kDeadlineExceeded),
    WEIR_EXCEPTION("TRANSACTION_UNAVAILABLE", kUnavailable),
    WEIR_EXCEPTION("TRANSACTION_MODE", kFailedPrecondition),
    WEIR_EXCEPTION("BAD_QOS", kFailedPrecondition),
    WEIR_EXCEPTION("INVALID_ACTIVITY", kInvalidArgument),
    WEIR_EXCEPTION("ACTIVITY_COMPLETED", kFailedPrecondition),
    WEIR_EXCEPTION("ACTIVITY_REQUIRED", kFailedPrecondition),
};
#undef WEIR_EXCEPTION

constexpr std::string_view kCompletionNames[] = {"YES", "NO", "MAYBE"};

// Where a status keeps the exception: id, completion, minor (most significant octet first).
constexpr absl::string_view kPayloadUrl = "weir/corba-system-exception";
constexpr size_t kPayloadSize = 6;

const Entry& EntryOf(ExceptionId id) {
  const auto i = static_cast<size_t>(id);
  return kExceptionNames[i < kExceptionNames.size() ? i : 0];
}

std::string_view NameOf(std::string_view repository_id) {
  return repository_id.substr(kPrefix.size(),
                              repository_id.size() - kPrefix.size() - kSuffix.size());
}

ExceptionId IdForCode(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
    case StatusCode::kAlreadyExists:
      return ExceptionId::kBadParam;
    case StatusCode::kDeadlineExceeded:
      return ExceptionId::kTimeout;
    case StatusCode::kNotFound:
      return ExceptionId::kObjectNotExist;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return ExceptionId::kNoPermission;
    case StatusCode::kResourceExhausted:
      return ExceptionId::kNoResources;
    case StatusCode::kFailedPrecondition:
      return ExceptionId::kBadInvOrder;
    case StatusCode::kCancelled:
    case StatusCode::kAborted:
    case StatusCode::kUnavailable:
      return ExceptionId::kTransient;
    case StatusCode::kUnimplemented:
      return ExceptionId::kNoImplement;
    case StatusCode::kInternal:
      return ExceptionId::kInternal;
    case StatusCode::kDataLoss:
      return ExceptionId::kMarshal;
    default:
      return ExceptionId::kUnknown;
  }
}

}  // namespace

std::string_view ExceptionName(ExceptionId id) { return NameOf(EntryOf(id).repository_id); }

std::optional<ExceptionId> ExceptionIdFromName(std::string_view name) {
  for (size_t i = 0; i < kExceptionNames.size(); ++i) {
    if (NameOf(kExceptionNames[i].repository_id) == name) return static_cast<ExceptionId>(i);
  }
  return std::nullopt;
}

std::string_view ExceptionRepositoryId(ExceptionId id) { return EntryOf(id).repository_id; }

std::string ToString(const SystemException& e) {
  const auto completed = static_cast<size_t>(e.completed);
  return absl::StrFormat("%s (minor 0x%08x, completed %s)", ExceptionName(e.id), e.minor,
                         completed < 3 ? kCompletionNames[completed] : "?");
}

void Encode(const SystemException& e, cdr::Encoder* out) {
  out->WriteString(ExceptionRepositoryId(e.id));
  out->WriteULong(e.minor);
  out->WriteULong(static_cast<uint32_t>(e.completed));
}

SystemException DecodeSystemException(cdr::Decoder* in) {
  const std::string_view repository_id = in->ReadString();
  const uint32_t minor = in->ReadULong();
  const uint32_t completed = in->ReadULong();
  if (in->ok() && completed > 2) in->Fail(cdr::DecodeError::kBadValue);
  if (!in->ok()) return {ExceptionId::kMarshal, WeirMinor::kMalformed, Completion::kMaybe};
  const auto completion = static_cast<Completion>(completed);
  if (repository_id.starts_with(kPrefix) && repository_id.ends_with(kSuffix) &&
      repository_id.size() > kPrefix.size() + kSuffix.size()) {
    if (const auto id = ExceptionIdFromName(NameOf(repository_id))) return {*id, minor, completion};
  }
  // "Non-standard System Exception not supported".
  return {ExceptionId::kUnknown, OmgMinor(2), completion};
}

absl::Status ToStatus(const SystemException& e, std::string_view message) {
  absl::Status status(EntryOf(e.id).code, absl::string_view(message.data(), message.size()));
  const char payload[kPayloadSize] = {
      static_cast<char>(e.id),          static_cast<char>(e.completed),
      static_cast<char>(e.minor >> 24), static_cast<char>(e.minor >> 16),
      static_cast<char>(e.minor >> 8),  static_cast<char>(e.minor)};
  status.SetPayload(kPayloadUrl, absl::Cord(absl::string_view(payload, sizeof payload)));
  return status;
}

SystemException FromStatus(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kPayloadUrl)) {
    const std::string bytes(*payload);
    if (bytes.size() == kPayloadSize) {
      const auto at = [&bytes](size_t i) { return static_cast<uint32_t>(uint8_t(bytes[i])); };
      return {static_cast<ExceptionId>(at(0)), at(2) << 24 | at(3) << 16 | at(4) << 8 | at(5),
              static_cast<Completion>(at(1))};
    }
  }
  return {IdForCode(status.code()), WeirMinor::kNone, Completion::kMaybe};
}

}  // namespace weir::orb
