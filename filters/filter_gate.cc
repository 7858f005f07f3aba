#include "filters/filter_gate.h"

#include <bit>
#include <exception>
#include <utility>
#include <vector>

#include "filters/log_line.h"

namespace weir::filters {
namespace {

constexpr std::string_view kUnknownThrown = "not a std::exception";

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

constexpr size_t kMostRedirects = 4;
// Of an object without filters.
const Chain kNoFilters;

struct RedirectedFrom {
  const Chain* chain;
  uint32_t passed;
};
// GateState::redirects.
using Redirects = std::vector<RedirectedFrom>;

// The step that has suspended the call's phase.
const Step& SuspendedAt(orb::Call& call) {
  const orb::GateState& state = call.gate_state();
  const Chain& chain = *static_cast<const Chain*>(state.chain);
  return (state.down ? chain.down : chain.up)[state.next - 1];
}

}  // namespace

orb::Gate::Outcome FilterGate::Up(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  const Chain* chain;
  {
    SnapshotHolder::Reader snapshot(&holder_);
    chain = snapshot->Find(call.request().object_key, call.request().operation);
    if (chain == nullptr) return Outcome::kPass;
    state.hold = snapshot.Hold();
  }
  state.chain = chain;
  if (chain->timed) state.began = clock_->Now();
  if (tracer_->on()) [[unlikely]]
    tracer_->Begin(*chain, call);
  return GoUp(call, *chain, 0);
}

inline orb::Gate::Outcome FilterGate::UpEnded(orb::Call& call, const Step& step, Verdict verdict) {
  if (verdict == Verdict::kPass) {
    Stepped(step, Phase::kUp, StepOutcome::kPassed, call);
    return Outcome::kPass;
  }
  Stepped(step, Phase::kUp, StepOutcome::kBounced, call);
  call.gate_state().passed = step.position;
  return Outcome::kAnswer;
}

orb::Gate::Outcome FilterGate::GoUp(orb::Call& call, const Chain& chain, size_t from) {
  for (size_t i = from; i < chain.up.size(); ++i) {
    const Step& step = chain.up[i];
    if (step.asynchronous) [[unlikely]] {
      return Suspend(call, step, Phase::kUp, i + 1);
    }
    Verdict verdict = Verdict::kBounce;
    try {
      verdict = step.filter->Up(step.method, call);
    } catch (const std::exception& e) {
      return FailUp(call, step, e.what());
    } catch (...) {
      return FailUp(call, step, kUnknownThrown);
    }
    if (verdict == Verdict::kRedirect) [[unlikely]]
      return Redirected(call, chain, i);
    if (UpEnded(call, step, verdict) != Outcome::kPass) return Outcome::kAnswer;
  }
  call.gate_state().passed = chain.size;
  return Outcome::kPass;
}

orb::Gate::Outcome FilterGate::Redirected(orb::Call& call, const Chain& chain, size_t at) {
  const Step& step = chain.up[at];
  Stepped(step, Phase::kUp, StepOutcome::kRedirected, call);
  orb::GateState& state = call.gate_state();
  const Chain* next =
      SnapshotHolder::Held(state.hold).Find(call.request().object_key, call.request().operation);
  // The same key of another server: it is just what these filters are for.
  if (next == &chain && call.kept_key()) return GoUp(call, chain, at + 1);
  state.passed = step.position;
  if (state.redirects == nullptr) state.redirects = new Redirects;
  auto* const redirects = static_cast<Redirects*>(state.redirects);
  if (redirects->size() == kMostRedirects) {
    LogLine line("redirect_loop");
    line.Add("plug", step.plugged->plug.name);
    line.Add("call", call.id());
    line.Add("key", call.request().object_key);
    line.Add("operation", call.request().operation);
    logger_->Log(LogLevel::kWarning, line.view());
    call.SetSystemException(
        {orb::ExceptionId::kTransient, orb::WeirMinor::kRedirectLoop, orb::Completion::kNo});
    return Outcome::kAnswer;
  }
  // Whoever has sent it on sees the reply, too.
  redirects->push_back({&chain, step.position + 1});
  if (next == nullptr) next = &kNoFilters;
  state.chain = next;
  if (next->timed && state.began == 0) state.began = clock_->Now();
  return GoUp(call, *next, 0);
}

bool FilterGate::PopRedirect(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  auto* const redirects = static_cast<Redirects*>(state.redirects);
  if (redirects->empty()) return false;
  state.chain = redirects->back().chain;
  state.passed = redirects->back().passed;
  redirects->pop_back();
  return true;
}

orb::Gate::Outcome FilterGate::FailUp(orb::Call& call, const Step& step, std::string_view what) {
  Fail(step, Phase::kUp, orb::Completion::kNo, what, call);
  call.gate_state().passed = step.position;
  return Outcome::kAnswer;
}

orb::Gate::Outcome FilterGate::Down(orb::Call& call) {
  if (call.gate_state().trace != nullptr) [[unlikely]]
    tracer_->BeginDown(call);
  return GoDown(call, *static_cast<const Chain*>(call.gate_state().chain), 0);
}

orb::Gate::Outcome FilterGate::GoDown(orb::Call& call, const Chain& chain, size_t from) {
  for (size_t i = from; i < chain.down.size(); ++i) {
    const Step& step = chain.down[i];
    if (step.position >= call.gate_state().passed) continue;
    if (step.asynchronous) [[unlikely]] {
      return Suspend(call, step, Phase::kDown, i + 1);
    }
    try {
      DownEnded(call, step, step.filter->Down(step.method, call));
    } catch (const std::exception& e) {
      FailDown(call, chain, step, e.what());
    } catch (...) {
      FailDown(call, chain, step, kUnknownThrown);
    }
  }
  if (call.gate_state().redirects != nullptr && PopRedirect(call)) [[unlikely]] {
    return GoDown(call, *static_cast<const Chain*>(call.gate_state().chain), 0);
  }
  if (call.gate_state().trace != nullptr) [[unlikely]]
    tracer_->NoteReply(call);
  return Outcome::kPass;
}

void FilterGate::FailDown(orb::Call& call, const Chain& chain, const Step& step,
                          std::string_view what) {
  // A chain that has sent the call on does not know whether another one bounced it.
  const orb::GateState& state = call.gate_state();
  const bool bounced = state.redirects == nullptr && state.passed < chain.size;
  Fail(step, Phase::kDown, CompletionOf(call, bounced), what, call);
}

orb::Gate::Outcome FilterGate::Suspend(orb::Call& call, const Step& step, Phase phase,
                                       size_t next) {
  call.gate_state().next = static_cast<uint32_t>(next);
  call.gate_state().down = phase == Phase::kDown;
  suspended_.fetch_add(1, std::memory_order_relaxed);
  try {
    if (phase == Phase::kUp) {
      step.filter->StartUp(step.method, Suspension(this, &call));
    } else {
      step.filter->StartDown(step.method, Suspension(this, &call));
    }
  } catch (...) {
    // The suspension went with the exception, and has failed the call.
  }
  return Outcome::kSuspended;
}

void FilterGate::Resume(orb::Call& call, Verdict verdict) {
  const Step& step = SuspendedAt(call);
  if (call.gate_state().down) {
    DownEnded(call, step, verdict);
  } else if (verdict == Verdict::kRedirect) {
    const orb::GateState& state = call.gate_state();
    const Outcome outcome =
        Redirected(call, *static_cast<const Chain*>(state.chain), state.next - 1);
    if (outcome != Outcome::kSuspended) call.ResumeUp(outcome == Outcome::kAnswer);
    suspended_.fetch_sub(1, std::memory_order_release);
    return;
  } else {
    UpEnded(call, step, verdict);
  }
  GoOn(call, verdict);
}

void FilterGate::ResumeFailed(orb::Call& call, std::string_view what) {
  const Step& step = SuspendedAt(call);
  if (call.gate_state().down) {
    FailDown(call, *static_cast<const Chain*>(call.gate_state().chain), step, what);
  } else {
    FailUp(call, step, what);
  }
  GoOn(call, Verdict::kBounce);
}

void FilterGate::ResumeByPolicy(orb::Call& call, Verdict verdict, StepOutcome why) {
  orb::GateState& state = call.gate_state();
  const Step& step = SuspendedAt(call);
  const Phase phase = state.down ? Phase::kDown : Phase::kUp;
  Stepped(step, phase, why, call);
  step.counters->Add(StepCounter(phase, StepOutcome::kPolicyTaken));
  if (phase == Phase::kUp && verdict != Verdict::kPass) state.passed = step.position;
  GoOn(call, verdict);
}

void FilterGate::GoOn(orb::Call& call, Verdict verdict) {
  const orb::GateState& state = call.gate_state();
  const Chain& chain = *static_cast<const Chain*>(state.chain);
  if (state.down) {
    if (GoDown(call, chain, state.next) != Outcome::kSuspended) call.ResumeDown();
  } else if (verdict != Verdict::kPass) {
    call.ResumeUp(true);
  } else {
    const Outcome outcome = GoUp(call, chain, state.next);
    if (outcome != Outcome::kSuspended) call.ResumeUp(outcome == Outcome::kAnswer);
  }
  // The last touch: when a call is not counted any more, the ORB it came from may be gone.
  suspended_.fetch_sub(1, std::memory_order_release);
}

size_t FilterGate::LetGo() {
  if (suspended_.load(std::memory_order_acquire) == 0) return 0;
  for (const auto& snapshot : holder_.All()) {
    for (const auto& [name, plugged] : snapshot->filters()) plugged->filter->LetGo();
  }
  return suspended_.load(std::memory_order_acquire);
}

void FilterGate::Release(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  if (state.trace != nullptr) [[unlikely]]
    tracer_->End(call);
  if (state.redirects != nullptr) [[unlikely]]
    delete static_cast<Redirects*>(std::exchange(state.redirects, nullptr));
  SnapshotHolder::Release(std::exchange(state.hold, nullptr));
  state.chain = nullptr;
}

void FilterGate::Publish(std::shared_ptr<const Snapshot> snapshot) {
  const bool active = snapshot->active();
  holder_.Publish(std::move(snapshot));
  active_.store(active, std::memory_order_release);
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

}  // namespace weir::filters
