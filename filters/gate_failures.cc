// The gate's part for what goes wrong, and for the end.

#include <bit>
#include <utility>

#include "filters/filter_gate.h"
#include "filters/log_line.h"

namespace weir::filters {
namespace {

// Whether the servant did its work, for an exception that takes the place of its reply.
orb::Completion CompletionOf(const orb::Call& call, bool bounced) {
  if (bounced) return orb::Completion::kNo;
  switch (call.reply().status) {
    case orb::ReplyStatus::kNoException:
    case orb::ReplyStatus::kUserException:
      return orb::Completion::kYes;
    default:
      return orb::Completion::kMaybe;
  }
}

}  // namespace

orb::Gate::Outcome FilterGate::FailUp(orb::Call& call, const Step& step, std::string_view what) {
  Fail(step, Phase::kUp, orb::Completion::kNo, what, call);
  call.gate_state().passed = step.position;
  return Outcome::kAnswer;
}

void FilterGate::FailDown(orb::Call& call, const Chain& chain, const Step& step,
                          std::string_view what) {
  // A chain that has sent the call on does not know whether another one bounced it.
  const orb::GateState& state = call.gate_state();
  const bool bounced = state.redirects == nullptr && state.passed < chain.size;
  Fail(step, Phase::kDown, CompletionOf(call, bounced), what, call);
}

void FilterGate::Fail(const Step& step, Phase phase, orb::Completion completed,
                      std::string_view what, orb::Call& call) {
  Stepped(step, phase, StepOutcome::kFailed, call);
  // The peer learns that a filter failed, never which or why.
  call.SetSystemException(
      {orb::ExceptionId::kNoPermission, orb::WeirMinor::kFilterFailed, completed});
  const uint64_t failures = step.plugged->failures.fetch_add(1, std::memory_order_relaxed) + 1;
  // Lines for the 1st, 2nd, 4th, 8th... failure: a filter that fails at every call must not fill
  // the disk.
  if (!std::has_single_bit(failures)) return;
  LogLine line("filter_failed");
  line.Add("plug", step.plugged->plug.name);
  line.Add(PhaseName(phase), step.plugged->MethodName(step.method));
  line.Add("call", call.id());
  line.Add("key", call.request().object_key);
  line.Add("operation", call.request().operation);
  line.Add("failures", failures);
  line.Add("error", what);
  logger_->Log(LogLevel::kError, line.view());
}

orb::Gate::Outcome FilterGate::FailLoop(orb::Call& call) {
  call.SetSystemException(
      {orb::ExceptionId::kTransient, orb::WeirMinor::kFilterLoop, orb::Completion::kNo});
  const uint64_t loops = loops_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!std::has_single_bit(loops)) return Outcome::kAnswer;
  LogLine line("filter_loop");
  line.Add("call", call.id());
  line.Add("peer", call.peer().address);
  line.Add("key", call.request().object_key);
  line.Add("operation", call.request().operation);
  line.Add("loops", loops);
  logger_->Log(LogLevel::kWarning, line.view());
  return Outcome::kAnswer;
}

size_t FilterGate::LetGo() {
  if (suspended_.load(std::memory_order_acquire) == 0) return 0;
  for (const auto& snapshot : holder_.All()) {
    for (const auto& [name, plugged] : snapshot->filters()) plugged->filter->LetGo();
    if (InterfaceMemory* const memory = snapshot->interface_memory()) memory->LetGo();
  }
  return suspended_.load(std::memory_order_acquire);
}

void FilterGate::Tick(Nanos now) {
  now_.store(now, std::memory_order_relaxed);
  if (learning_.load(std::memory_order_relaxed) == 0) return;
  // The snapshots themselves must not end here: their filters may wait for this very thread.
  for (const auto& memory : holder_.InterfaceMemories()) memory->CheckDeadlines(now);
}

size_t FilterGate::Abandon() {
  auto* desk = new ResumeDesk(this);
  {
    MutexLock lock(&desk_mu_);
    std::swap(desk, desk_);
  }
  const size_t calls = desk->Close();
  desk->Unref();
  if (calls == 0) return 0;
  holder_.Abandon();
  suspended_.fetch_sub(calls, std::memory_order_relaxed);
  for (const auto& snapshot : holder_.All()) {
    for (const auto& [name, plugged] : snapshot->filters()) {
      const uint64_t holds = plugged->holds.exchange(0, std::memory_order_relaxed);
      if (holds == 0) continue;
      LogLine line("calls_abandoned");
      line.Add("plug", name);
      line.Add("calls", holds);
      logger_->Log(LogLevel::kError, line.view());
    }
  }
  return calls;
}

FilterGate::~FilterGate() {
  MutexLock lock(&desk_mu_);
  desk_->Close();
  desk_->Unref();
}

}  // namespace weir::filters
