// Questions and answers as messages of weir.filter.v1.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_REMOTE_GRPC_CONVERT_H_
#define WEIR_FILTERS_REMOTE_GRPC_CONVERT_H_

#include <vector>

#include "filters/remote/channel.h"
#include "filters/remote/wire.h"
#include "weir/filter/v1/filter.pb.h"

namespace weir::filters {

namespace v1 = ::weir::filter::v1;

// What the question's method reads, and no more.
void ToProto(const Question& question, v1::Question* out);
// An answer without a verdict is a failure.
Answer FromProto(v1::Answer answer);
// Methods without a phase are left out.
std::vector<MethodInfo> FromProto(const v1::DescribeResponse& description);

// For the other side.
ReceivedQuestion FromProto(v1::Question question);
// All but the ticket.
void ToProto(const Answer& answer, v1::Answer* out);
void ToProto(const std::vector<MethodInfo>& methods, v1::DescribeResponse* out);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_GRPC_CONVERT_H_
