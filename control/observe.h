// What the registry sees of calls, as messages of weir.control.v1: figures of plugs, recorded
// calls, and the leases that switch timing and recording on.
//
// Thread safety: functions that may be called at any time.

#ifndef WEIR_CONTROL_OBSERVE_H_
#define WEIR_CONTROL_OBSERVE_H_

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "filters/histogram.h"
#include "filters/registry.h"
#include "weir/control/v1/control.pb.h"

namespace weir::control {

// Fills `steps` and `latencies` of a v1::PlugState or v1::PlugFigures.
template <typename Message>
void AddFigures(const filters::PlugFigures& figures, Message* out);

// What a client computes with. Buckets that this program does not know are left out.
filters::HistogramCounts FromProto(const v1::Latency& latency);

// The calls of the service of the same names. `clock` is the registry's. Errors: INVALID_ARGUMENT
// (too long a lease), NOT_FOUND (no such plug; the call is not recorded).
absl::StatusOr<v1::MeasureResponse> Measure(const filters::Registry& registry, const Clock& clock,
                                            const v1::MeasureRequest& request);
absl::StatusOr<v1::ListCallsResponse> ListCalls(const filters::Registry& registry,
                                                const v1::ListCallsRequest& request);
absl::StatusOr<v1::ExplainCallResponse> ExplainCall(const filters::Registry& registry,
                                                    const v1::ExplainCallRequest& request);

extern template void AddFigures(const filters::PlugFigures& figures, v1::PlugState* out);
extern template void AddFigures(const filters::PlugFigures& figures, v1::PlugFigures* out);

}  // namespace weir::control

#endif  // WEIR_CONTROL_OBSERVE_H_
