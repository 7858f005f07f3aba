#include "filters/filter_gate.h"

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "filters/gate_extras.h"
#include "orb/core/nesting.h"

namespace weir::filters {
namespace {

constexpr std::string_view kUnknownThrown = "not a std::exception";

// Calls that filters make while they look at a call that a filter has made, and so on. Enough for
// filters on filters; and few, as each may keep a thread.
constexpr int kMostNesting = 4;

// Whether the step's plug is not concerned with the call. Not inlined: the loops of calls without
// conditions must not pay for it.
[[gnu::noinline]] bool IsSkipped(const orb::GateState& state, const Step& step) {
  if (step.condition == Step::kEveryCall) return false;
  const uint64_t word = step.condition < kBits
                            ? state.unmet
                            : static_cast<const Own*>(state.own)->unmet[step.condition / kBits - 1];
  return (word >> step.condition % kBits & 1) != 0;
}

// Whether the step's method changes nothing of what it passes.
bool OnlyLooks(const Step& step) {
  try {
    return step.filter->OnlyLooks(step.method);
  } catch (...) {
    return false;
  }
}

// The step that has suspended the call's phase, which comes back now.
const Step& SuspendedAt(orb::Call& call) {
  const orb::GateState& state = call.gate_state();
  const Chain& chain = *static_cast<const Chain*>(state.chain);
  const Step& step = (state.down ? chain.down : chain.up)[state.next - 1];
  step.plugged->holds.fetch_sub(1, std::memory_order_relaxed);
  return step;
}

}  // namespace

orb::Gate::Outcome FilterGate::Up(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  const Chain* chain = nullptr;
  {
    SnapshotHolder::Reader reader(&holder_);
    const Snapshot& snapshot = *reader;
    if (snapshot.Concerned(call.request().operation) == nullptr) [[likely]] {
      chain = snapshot.Find(call.request().object_key, call.request().operation);
      if (chain == nullptr) return Outcome::kPass;
    }
    state.hold = reader.Hold();
  }
  if (chain == nullptr) [[unlikely]]
    return EnterByInterfaces(call);
  return Begin(call, *chain);
}

bool FilterGate::Prepare(orb::Call& call, const Chain& chain) {
  orb::GateState& state = call.gate_state();
  const size_t conditions = chain.conditions.size();
  if (conditions > 0) {
    bool concerned = chain.concerns_every_call;
    uint64_t* more = nullptr;
    if (conditions > kBits) [[unlikely]] {
      std::vector<uint64_t>& unmet = OwnOf(&state).unmet;
      unmet.assign((conditions - 1) / kBits, 0);
      more = unmet.data();
    }
    Asked asked(call);
    for (size_t i = 0; i < conditions; ++i) {
      if (asked.Hold(*chain.conditions[i])) {
        concerned = true;
      } else {
        (i < kBits ? state.unmet : more[i / kBits - 1]) |= uint64_t{1} << i % kBits;
      }
    }
    if (!concerned) return false;
  }
  if (chain.timed && state.began == 0) state.began = clock_->Now();
  return true;
}

inline orb::Gate::Outcome FilterGate::Begin(orb::Call& call, const Chain& chain) {
  orb::GateState& state = call.gate_state();
  if (chain.prepares && !Prepare(call, chain)) [[unlikely]] {
    Release(call);
    return Outcome::kPass;
  }
  if (!call.request().contexts.empty()) {
    const int nesting = orb::NestingIn(call.request().contexts);
    if (nesting >= kMostNesting) [[unlikely]]
      return FailLoop(call);
    state.nesting = static_cast<uint8_t>(nesting);
  }
  state.chain = &chain;
  if (tracer_->on()) [[unlikely]]
    tracer_->Begin(chain, call);
  return GoUp(call, chain, 0);
}

orb::Gate::Outcome FilterGate::Enter(orb::Call& call, const Chain* chain) {
  orb::GateState& state = call.gate_state();
  if (state.redirects == nullptr) {
    if (chain != nullptr) return Begin(call, *chain);
    Release(call);
    return Outcome::kPass;
  }
  if (chain == nullptr || (chain->prepares && !Prepare(call, *chain))) chain = &kNoFilters;
  state.chain = chain;
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
  const orb::FilterScope filters(call.gate_state().nesting + 1);
  for (size_t i = from; i < chain.up.size(); ++i) {
    const Step& step = chain.up[i];
    if (step.special) [[unlikely]] {
      if (IsSkipped(call.gate_state(), step)) continue;
      if (step.asynchronous) return Suspend(call, step, Phase::kUp, i + 1);
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

orb::Gate::Outcome FilterGate::Down(orb::Call& call) {
  if (call.gate_state().trace != nullptr) [[unlikely]]
    tracer_->BeginDown(call);
  return GoDown(call, *static_cast<const Chain*>(call.gate_state().chain), 0);
}

orb::Gate::Outcome FilterGate::GoDown(orb::Call& call, const Chain& chain, size_t from) {
  const orb::FilterScope filters(call.gate_state().nesting + 1);
  for (size_t i = from; i < chain.down.size(); ++i) {
    const Step& step = chain.down[i];
    if (step.position >= call.gate_state().passed) continue;
    if (step.special) [[unlikely]] {
      if (IsSkipped(call.gate_state(), step)) continue;
      if (step.asynchronous) return Suspend(call, step, Phase::kDown, i + 1);
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

void FilterGate::AskAhead(const orb::Call& call, const Chain& chain, size_t next) {
  const Step* before = &chain.up[next - 1];
  for (size_t i = next; i < chain.up.size(); ++i) {
    const Step& step = chain.up[i];
    if (IsSkipped(call.gate_state(), step)) continue;
    if (!step.asynchronous || !OnlyLooks(*before)) return;
    try {
      step.filter->AskAhead(step.method, call);
    } catch (...) {
      // It will be asked when the call comes.
    }
    before = &step;
  }
}

void FilterGate::ForgetAhead(const orb::Call& call) {
  const orb::GateState& state = call.gate_state();
  const Chain& chain = *static_cast<const Chain*>(state.chain);
  for (size_t i = state.next; i < chain.up.size(); ++i) {
    const Step& step = chain.up[i];
    if (IsSkipped(state, step)) continue;
    if (!step.asynchronous) return;
    try {
      step.filter->Forget(step.method, call);
    } catch (...) {
      // It will have judged in vain.
    }
  }
}

orb::Gate::Outcome FilterGate::Suspend(orb::Call& call, const Step& step, Phase phase,
                                       size_t next) {
  call.gate_state().next = static_cast<uint32_t>(next);
  call.gate_state().down = phase == Phase::kDown;
  suspended_.fetch_add(1, std::memory_order_relaxed);
  const orb::FilterScope filter(call.gate_state().nesting + 1, /*holds_call=*/false);
  step.plugged->holds.fetch_add(1, std::memory_order_relaxed);
  if (phase == Phase::kUp)
    AskAhead(call, *static_cast<const Chain*>(call.gate_state().chain), next);
  ResumeDesk* desk;
  {
    MutexLock lock(&desk_mu_);
    desk = desk_;
    desk->Expect();
  }
  try {
    if (phase == Phase::kUp) {
      step.filter->StartUp(step.method, Suspension(desk, &call));
    } else {
      step.filter->StartDown(step.method, Suspension(desk, &call));
    }
  } catch (...) {
    // The suspension went with the exception, and has failed the call.
  }
  return Outcome::kSuspended;
}

void FilterGate::Resume(orb::Call& call, Verdict verdict) {
  const orb::FilterScope nobodys(0);
  const Step& step = SuspendedAt(call);
  // What was asked ahead is about the request as it was.
  if (!call.gate_state().down && (verdict != Verdict::kPass || !OnlyLooks(step))) {
    ForgetAhead(call);
  }
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
  const orb::FilterScope nobodys(0);
  const Step& step = SuspendedAt(call);
  if (call.gate_state().down) {
    FailDown(call, *static_cast<const Chain*>(call.gate_state().chain), step, what);
  } else {
    ForgetAhead(call);
    FailUp(call, step, what);
  }
  GoOn(call, Verdict::kBounce);
}

void FilterGate::ResumeByPolicy(orb::Call& call, Verdict verdict, StepOutcome why) {
  const orb::FilterScope nobodys(0);
  orb::GateState& state = call.gate_state();
  const Step& step = SuspendedAt(call);
  const Phase phase = state.down ? Phase::kDown : Phase::kUp;
  Stepped(step, phase, why, call);
  step.counters->Add(StepCounter(phase, StepOutcome::kPolicyTaken));
  if (phase == Phase::kUp && verdict != Verdict::kPass) {
    ForgetAhead(call);
    state.passed = step.position;
  }
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

void FilterGate::Release(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  if (state.trace != nullptr) [[unlikely]]
    tracer_->End(call);
  if (state.redirects != nullptr || state.own != nullptr) [[unlikely]]
    FreeExtras(&state);
  SnapshotHolder::Release(std::exchange(state.hold, nullptr));
  state.chain = nullptr;
}

void FilterGate::Publish(std::shared_ptr<const Snapshot> snapshot) {
  const bool active = snapshot->active();
  holder_.Publish(std::move(snapshot));
  active_.store(active, std::memory_order_release);
}

}  // namespace weir::filters
