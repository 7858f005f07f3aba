#include "filters/filter_gate.h"

#include <bit>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "filters/log_line.h"
#include "orb/core/nesting.h"

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
// Calls that filters make while they look at a call that a filter has made, and so on. Enough for
// filters on filters; and few, as each may keep a thread.
constexpr int kMostNesting = 4;
// Of an object without filters.
const Chain kNoFilters;

struct RedirectedFrom {
  const Chain* chain;
  uint32_t passed;
  uint64_t unmet;
  std::vector<uint64_t> more_unmet;
};
// GateState::redirects.
using Redirects = std::vector<RedirectedFrom>;
// GateState::own.
struct Own {
  std::vector<std::unique_ptr<const Chain>> chains;
  std::vector<uint64_t> unmet;  // beyond the 64 of GateState::unmet
};

Own& OwnOf(orb::GateState* state) {
  if (state->own == nullptr) state->own = new Own;
  return *static_cast<Own*>(state->own);
}

[[gnu::noinline]] void FreeExtras(orb::GateState* state) {
  delete static_cast<Redirects*>(std::exchange(state->redirects, nullptr));
  delete static_cast<Own*>(std::exchange(state->own, nullptr));
}

constexpr uint32_t kBits = 64;

// Whether the step's plug is not concerned with the call. Not inlined: the loops of calls without
// conditions must not pay for it.
[[gnu::noinline]] bool IsSkipped(const orb::GateState& state, const Step& step) {
  if (step.condition == Step::kEveryCall) return false;
  const uint64_t word = step.condition < kBits
                            ? state.unmet
                            : static_cast<const Own*>(state.own)->unmet[step.condition / kBits - 1];
  return (word >> step.condition % kBits & 1) != 0;
}

// Asks conditions of one call.
class Asked {
 public:
  explicit Asked(const orb::Call& call) : call_(call) {}

  bool Hold(const CallConditions& conditions) {
    if (conditions.need_peer() && !peer_known_) {
      peer_ = PeerOf(call_);
      peer_known_ = true;
    }
    return conditions.Hold(peer_, call_.request());
  }

 private:
  const orb::Call& call_;
  PeerAddress peer_;
  bool peer_known_ = false;
};

// Of the interfaces that matter for the operation, those with plugs that the call concerns.
uint64_t InterfacesFor(const orb::Call& call, const InterfacePlans::Operation& concerned) {
  uint64_t interfaces = 0;
  Asked asked(call);
  for (const auto& plug : concerned.plugs) {
    const uint64_t bit = uint64_t{1} << plug.number;
    if ((interfaces & bit) != 0) continue;
    if (plug.conditions == nullptr || asked.Hold(*plug.conditions)) interfaces |= bit;
  }
  return interfaces;
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

orb::Gate::Outcome FilterGate::EnterByInterfaces(orb::Call& call) {
  const Snapshot& snapshot = SnapshotHolder::Held(call.gate_state().hold);
  const InterfacePlans::Operation& concerned = *snapshot.Concerned(call.request().operation);
  uint64_t interfaces = concerned.interfaces;
  if (concerned.conditional) [[unlikely]] {
    interfaces = InterfacesFor(call, concerned);
    if (interfaces == 0) return EnterAs(call, 0);
  }
  const orb::ObjectIdentity object = call.Identity();
  if (object.domain == 0) return EnterAs(call, 0);
  InterfaceMemory& memory = *snapshot.interface_memory();
  const KnownInterfaces known = memory.Find(object, now_.load(std::memory_order_relaxed));
  if ((interfaces & ~known.asked) == 0) [[likely]]
    return EnterAs(call, known.is & interfaces);
  suspended_.fetch_add(1, std::memory_order_relaxed);
  learning_.fetch_add(1, std::memory_order_relaxed);
  // The question is Weir's, also where a filter has sent the call here.
  const orb::FilterScope nobodys(0);
  const auto learned = memory.Learn(call, object, interfaces, this);
  if (!learned.has_value()) return Outcome::kSuspended;
  learning_.fetch_sub(1, std::memory_order_relaxed);
  const Outcome outcome = learned->known ? EnterAs(call, learned->is) : Undecided(call, *learned);
  suspended_.fetch_sub(1, std::memory_order_release);
  return outcome;
}

void FilterGate::InterfacesLearned(orb::Call& call, const InterfaceMemory::Learned& learned) {
  learning_.fetch_sub(1, std::memory_order_relaxed);
  const Outcome outcome = learned.known ? EnterAs(call, learned.is) : Undecided(call, learned);
  if (outcome != Outcome::kSuspended) call.ResumeUp(outcome == Outcome::kAnswer);
  // As in GoOn.
  suspended_.fetch_sub(1, std::memory_order_release);
}

orb::Gate::Outcome FilterGate::EnterAs(orb::Call& call, uint64_t interfaces) {
  orb::GateState& state = call.gate_state();
  const orb::Request& request = call.request();
  std::unique_ptr<const Chain> own;
  const Chain* const chain = SnapshotHolder::Held(state.hold)
                                 .FindOf(interfaces, request.object_key, request.operation, &own);
  if (own != nullptr) [[unlikely]]
    OwnOf(&state).chains.push_back(std::move(own));
  return Enter(call, chain);
}

orb::Gate::Outcome FilterGate::Undecided(orb::Call& call, const InterfaceMemory::Learned& learned) {
  orb::GateState& state = call.gate_state();
  const Snapshot& snapshot = SnapshotHolder::Held(state.hold);
  call.SetSystemException(learned.why.exception);
  if (state.redirects != nullptr) {
    // On the way down it meets those that had sent it here.
    state.chain = &kNoFilters;
    state.passed = 0;
  }
  bool log = false;
  for (const auto& plug : snapshot.Concerned(call.request().operation)->plugs) {
    if (plug.number != learned.unknown) continue;
    const uint64_t n = plug.plugged->undecided.fetch_add(1, std::memory_order_relaxed) + 1;
    log = log || std::has_single_bit(n);
  }
  if (!log) return Outcome::kAnswer;
  LogLine line("interface_unknown");
  line.Add("interface", snapshot.interface_memory()->IdOf(learned.unknown));
  line.Add("call", call.id());
  line.Add("key", call.request().object_key);
  line.Add("operation", call.request().operation);
  line.Add("error", learned.why.why);
  logger_->Log(LogLevel::kWarning, line.view());
  return Outcome::kAnswer;
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

orb::Gate::Outcome FilterGate::Redirected(orb::Call& call, const Chain& chain, size_t at) {
  // What is asked about the other object is not the filter's question.
  const orb::FilterScope nobodys(0);
  const Step& step = chain.up[at];
  Stepped(step, Phase::kUp, StepOutcome::kRedirected, call);
  orb::GateState& state = call.gate_state();
  // The same key of another server: it is just what these filters are for.
  if (call.kept_key()) return GoUp(call, chain, at + 1);
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
  RedirectedFrom from{&chain, step.position + 1, std::exchange(state.unmet, 0), {}};
  if (state.own != nullptr) from.more_unmet.swap(OwnOf(&state).unmet);
  redirects->push_back(std::move(from));
  const Snapshot& snapshot = SnapshotHolder::Held(state.hold);
  const orb::Request& request = call.request();
  if (snapshot.Concerned(request.operation) != nullptr) return EnterByInterfaces(call);
  return Enter(call, snapshot.Find(request.object_key, request.operation));
}

bool FilterGate::PopRedirect(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  auto* const redirects = static_cast<Redirects*>(state.redirects);
  if (redirects->empty()) return false;
  state.chain = redirects->back().chain;
  state.passed = redirects->back().passed;
  state.unmet = redirects->back().unmet;
  if (state.own != nullptr) OwnOf(&state).unmet.swap(redirects->back().more_unmet);
  redirects->pop_back();
  return true;
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

void FilterGate::FailDown(orb::Call& call, const Chain& chain, const Step& step,
                          std::string_view what) {
  // A chain that has sent the call on does not know whether another one bounced it.
  const orb::GateState& state = call.gate_state();
  const bool bounced = state.redirects == nullptr && state.passed < chain.size;
  Fail(step, Phase::kDown, CompletionOf(call, bounced), what, call);
}

void FilterGate::AskAhead(const orb::Call& call, const Chain& chain, size_t next) {
  for (size_t i = next; i < chain.up.size(); ++i) {
    const Step& before = chain.up[i - 1];
    const Step& step = chain.up[i];
    if (!step.asynchronous || !before.filter->OnlyLooks(before.method)) return;
    step.filter->AskAhead(step.method, call);
  }
}

void FilterGate::ForgetAhead(const orb::Call& call) {
  const orb::GateState& state = call.gate_state();
  const Chain& chain = *static_cast<const Chain*>(state.chain);
  for (size_t i = state.next; i < chain.up.size() && chain.up[i].asynchronous; ++i) {
    chain.up[i].filter->Forget(chain.up[i].method, call);
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
  if (!call.gate_state().down && verdict != Verdict::kPass) ForgetAhead(call);
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
  for (const auto& snapshot : holder_.All()) {
    if (InterfaceMemory* const memory = snapshot->interface_memory()) memory->CheckDeadlines(now);
  }
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
