#include "control/observe.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "control/convert.h"

namespace weir::control {
namespace {

using control::ToProto;
using filters::StepOutcome;
using filters::Tracer;

constexpr uint32_t kDefaultCalls = 256;
constexpr uint32_t kMostCalls = 1000;

double Micros(double nanos) { return nanos / kMicrosecond; }

v1::StepCounts ToProto(const filters::StepFigures& step) {
  v1::StepCounts out;
  out.set_operation(step.operation);
  out.set_phase(ToProto(step.phase));
  out.set_called(step.counts.called());
  out.set_passed(step.counts[StepOutcome::kPassed]);
  out.set_bounced(step.counts[StepOutcome::kBounced]);
  out.set_redirected(step.counts[StepOutcome::kRedirected]);
  out.set_raised(step.counts[StepOutcome::kRaised]);
  out.set_failed(step.counts[StepOutcome::kFailed]);
  out.set_timed_out(step.counts[StepOutcome::kTimedOut]);
  out.set_refused(step.counts[StepOutcome::kRefused]);
  out.set_policy_taken(step.counts[StepOutcome::kPolicyTaken]);
  return out;
}

v1::Latency ToProto(filters::Phase phase, const filters::HistogramCounts& took) {
  v1::Latency out;
  out.set_phase(ToProto(phase));
  out.set_count(took.count());
  out.set_mean_us(Micros(took.Mean()));
  out.set_p50_us(Micros(took.Percentile(0.5)));
  out.set_p90_us(Micros(took.Percentile(0.9)));
  out.set_p99_us(Micros(took.Percentile(0.99)));
  out.set_max_us(Micros(static_cast<double>(took.max)));
  out.set_sum_ns(took.sum);
  out.set_max_ns(took.max);
  size_t used = took.buckets.size();
  while (used > 0 && took.buckets[used - 1] == 0) --used;
  out.mutable_buckets()->Add(took.buckets.begin(), took.buckets.begin() + used);
  return out;
}

v1::RecordedCall ToProto(const filters::CallRecord& record) {
  v1::RecordedCall out;
  out.set_sequence(record.sequence);
  out.set_call(record.call);
  out.set_time_unix_ns(record.time);
  out.set_took_ns(std::max<Nanos>(record.took, 0));
  out.set_peer(record.peer);
  out.set_object_key(record.object_key);
  out.set_operation(record.operation);
  out.set_revision(record.revision);
  for (const filters::CallRecord::Step& step : record.steps) {
    v1::RecordedStep* s = out.add_steps();
    s->set_plug(step.plug);
    s->set_phase(ToProto(step.phase));
    s->set_method(step.method);
    s->set_verdict(std::string(filters::StepOutcomeName(step.outcome)));
    s->set_took_ns(std::max<Nanos>(step.took, 0));
  }
  out.set_steps_left_out(record.steps_left_out);
  out.set_status(record.status);
  return out;
}

absl::Status Extend(Tracer* tracer, Tracer::Mode mode, uint32_t lease_ms) {
  if (lease_ms == 0) return absl::OkStatus();
  const Nanos lease = lease_ms * kMillisecond;
  if (lease > Tracer::kMostLease) {
    return absl::InvalidArgumentError(absl::StrCat("a lease of ", lease / kSecond,
                                                   " s is too long: at most ",
                                                   Tracer::kMostLease / kSecond, " s; renew it"));
  }
  tracer->Extend(mode, lease);
  return absl::OkStatus();
}

// Rounded up: what is still on must not look as if it were off.
uint64_t LeftMs(const Tracer& tracer, Tracer::Mode mode) {
  return (tracer.Left(mode) + kMillisecond - 1) / kMillisecond;
}

}  // namespace

template <typename Message>
void AddFigures(const filters::PlugFigures& figures, Message* out) {
  for (const filters::StepFigures& step : figures.steps) *out->add_steps() = ToProto(step);
  for (const auto& [phase, took] : {std::pair(filters::Phase::kUp, &figures.up_took),
                                    std::pair(filters::Phase::kDown, &figures.down_took)}) {
    if (took->count() != 0) *out->add_latencies() = ToProto(phase, *took);
  }
}
template void AddFigures(const filters::PlugFigures& figures, v1::PlugState* out);
template void AddFigures(const filters::PlugFigures& figures, v1::PlugFigures* out);

filters::HistogramCounts FromProto(const v1::Latency& latency) {
  filters::HistogramCounts counts;
  const size_t known = std::min<size_t>(latency.buckets_size(), counts.buckets.size());
  std::copy_n(latency.buckets().begin(), known, counts.buckets.begin());
  counts.sum = latency.sum_ns();
  counts.max = latency.max_ns();
  return counts;
}

absl::StatusOr<v1::MeasureResponse> Measure(const filters::Registry& registry, const Clock& clock,
                                            const v1::MeasureRequest& request) {
  absl::Status extended = Extend(registry.tracer(), Tracer::kTiming, request.lease_ms());
  if (!extended.ok()) return extended;
  v1::MeasureResponse response;
  const filters::State state = registry.state();
  response.set_revision(state.revision);
  response.set_time_ns(clock.Now());
  response.set_timing_left_ms(LeftMs(*registry.tracer(), Tracer::kTiming));
  for (const filters::Plug& plug : state.plugs) {
    if (!request.plug().empty() && plug.name != request.plug()) continue;
    v1::PlugFigures* out = response.add_plugs();
    out->set_plug(plug.name);
    out->set_sequence(plug.sequence);
    AddFigures(registry.Figures(plug.name), out);
  }
  if (!request.plug().empty() && response.plugs().empty()) {
    return absl::NotFoundError(absl::StrCat("there is no plug '", request.plug(),
                                            "'; 'weir list' shows those that there are"));
  }
  return response;
}

absl::StatusOr<v1::ListCallsResponse> ListCalls(const filters::Registry& registry,
                                                const v1::ListCallsRequest& request) {
  Tracer* const tracer = registry.tracer();
  if (request.stop()) tracer->Stop(Tracer::kRecording);
  absl::Status extended = Extend(tracer, Tracer::kRecording, request.record_ms());
  if (!extended.ok()) return extended;
  const size_t limit = std::min(request.limit() == 0 ? kDefaultCalls : request.limit(), kMostCalls);
  const filters::CallRing::Page page = request.has_after()
                                           ? tracer->ring().After(request.after(), limit)
                                           : tracer->ring().Latest(limit);
  v1::ListCallsResponse response;
  response.set_recording_left_ms(LeftMs(*tracer, Tracer::kRecording));
  for (const auto& record : page.calls) *response.add_calls() = ToProto(*record);
  response.set_next(page.next);
  response.set_missed(page.missed);
  return response;
}

absl::StatusOr<v1::ExplainCallResponse> ExplainCall(const filters::Registry& registry,
                                                    const v1::ExplainCallRequest& request) {
  const Tracer& tracer = *registry.tracer();
  if (const auto record = tracer.ring().Find(request.call())) {
    v1::ExplainCallResponse response;
    *response.mutable_call() = ToProto(*record);
    return response;
  }
  if (tracer.Left(Tracer::kRecording) == 0) {
    return absl::NotFoundError(
        absl::StrCat("call ", request.call(),
                     " is not recorded, and recording is off; switch it on with 'weir calls "
                     "--record 10m' before the call comes"));
  }
  return absl::NotFoundError(absl::StrCat(
      "call ", request.call(),
      " is not recorded: it met no filter, has not ended yet, began before ",
      "recording was switched on, or is too old (the last ", tracer.ring().limits().entries,
      " calls are kept); 'weir calls' lists those that are"));
}

}  // namespace weir::control
