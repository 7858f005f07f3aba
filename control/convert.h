// Between the registry's plain data and the messages of weir.control.v1.
//
// Thread safety: pure functions.

#ifndef WEIR_CONTROL_CONVERT_H_
#define WEIR_CONTROL_CONVERT_H_

#include "absl/status/statusor.h"
#include "filters/state.h"
#include "weir/control/v1/control.pb.h"

namespace weir::control {

// INVALID_ARGUMENT names the change, counted from 1, that lacks its content or its phase.
absl::StatusOr<filters::ChangeSet> FromProto(const v1::ChangeSet& changes);
v1::ChangeSet ToProto(const filters::ChangeSet& changes);

v1::Phase ToProto(filters::Phase phase);

// Without counters and figures.
v1::SetReplyOrder ToProto(const filters::TargetReplyOrder& target);
v1::PlugState ToProto(const filters::Plug& plug);

}  // namespace weir::control

#endif  // WEIR_CONTROL_CONVERT_H_
