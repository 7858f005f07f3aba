#include "control/status.h"

#include <string>

#include "control/utf8.h"

namespace weir::control {

static_assert(static_cast<int>(absl::StatusCode::kOk) == grpc::OK);
static_assert(static_cast<int>(absl::StatusCode::kCancelled) == grpc::CANCELLED);
static_assert(static_cast<int>(absl::StatusCode::kUnknown) == grpc::UNKNOWN);
static_assert(static_cast<int>(absl::StatusCode::kInvalidArgument) == grpc::INVALID_ARGUMENT);
static_assert(static_cast<int>(absl::StatusCode::kDeadlineExceeded) == grpc::DEADLINE_EXCEEDED);
static_assert(static_cast<int>(absl::StatusCode::kNotFound) == grpc::NOT_FOUND);
static_assert(static_cast<int>(absl::StatusCode::kAlreadyExists) == grpc::ALREADY_EXISTS);
static_assert(static_cast<int>(absl::StatusCode::kPermissionDenied) == grpc::PERMISSION_DENIED);
static_assert(static_cast<int>(absl::StatusCode::kResourceExhausted) == grpc::RESOURCE_EXHAUSTED);
static_assert(static_cast<int>(absl::StatusCode::kFailedPrecondition) == grpc::FAILED_PRECONDITION);
static_assert(static_cast<int>(absl::StatusCode::kAborted) == grpc::ABORTED);
static_assert(static_cast<int>(absl::StatusCode::kOutOfRange) == grpc::OUT_OF_RANGE);
static_assert(static_cast<int>(absl::StatusCode::kUnimplemented) == grpc::UNIMPLEMENTED);
static_assert(static_cast<int>(absl::StatusCode::kInternal) == grpc::INTERNAL);
static_assert(static_cast<int>(absl::StatusCode::kUnavailable) == grpc::UNAVAILABLE);
static_assert(static_cast<int>(absl::StatusCode::kDataLoss) == grpc::DATA_LOSS);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) == grpc::UNAUTHENTICATED);

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string text(status.message());
  if (!IsUtf8(text)) {
    for (char& c : text) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), text);
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int code = status.error_code();
  const bool known = code > grpc::OK && code <= grpc::UNAUTHENTICATED;
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      status.error_message());
}

}  // namespace weir::control
