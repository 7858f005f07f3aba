#include "filters/filter_gate.h"

#include <bit>
#include <exception>
#include <utility>

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
  for (const Step& step : chain->up) {
    Verdict verdict = Verdict::kBounce;
    try {
      verdict = step.filter->Up(step.method, call);
    } catch (const std::exception& e) {
      Fail(step, orb::Completion::kNo, e.what(), call);
      state.passed = step.position;
      return Outcome::kAnswer;
    } catch (...) {
      Fail(step, orb::Completion::kNo, "not a std::exception", call);
      state.passed = step.position;
      return Outcome::kAnswer;
    }
    if (verdict != Verdict::kPass) {
      step.plugged->bounced.fetch_add(1, std::memory_order_relaxed);
      state.passed = step.position;
      return Outcome::kAnswer;
    }
  }
  state.passed = chain->size;
  return Outcome::kPass;
}

orb::Gate::Outcome FilterGate::Down(orb::Call& call) {
  const orb::GateState& state = call.gate_state();
  const Chain& chain = *static_cast<const Chain*>(state.chain);
  for (const Step& step : chain.down) {
    if (step.position >= state.passed) continue;
    try {
      if (step.filter->Down(step.method, call) != Verdict::kPass) {
        step.plugged->raised.fetch_add(1, std::memory_order_relaxed);
      }
    } catch (const std::exception& e) {
      Fail(step, CompletionOf(call, state.passed < chain.size), e.what(), call);
    } catch (...) {
      Fail(step, CompletionOf(call, state.passed < chain.size), "not a std::exception", call);
    }
  }
  return Outcome::kPass;
}

void FilterGate::Release(orb::Call& call) {
  orb::GateState& state = call.gate_state();
  SnapshotHolder::Release(std::exchange(state.hold, nullptr));
  state.chain = nullptr;
}

void FilterGate::Publish(std::shared_ptr<const Snapshot> snapshot) {
  const bool active = snapshot->active();
  holder_.Publish(std::move(snapshot));
  active_.store(active, std::memory_order_release);
}

void FilterGate::Fail(const Step& step, orb::Completion completed, std::string_view what,
                      orb::Call& call) {
  // The peer learns that a filter failed, never which or why.
  call.SetSystemException(
      {orb::ExceptionId::kNoPermission, orb::WeirMinor::kFilterFailed, completed});
  const uint64_t failures = step.plugged->failed.fetch_add(1, std::memory_order_relaxed) + 1;
  // Lines for the 1st, 2nd, 4th, 8th... failure: a filter that fails at every call must not fill
  // the disk.
  if (!std::has_single_bit(failures)) return;
  const MethodInfo& method = step.plugged->kind->methods()[step.method];
  LogLine line("filter_failed");
  line.Add("plug", step.plugged->plug.name);
  line.Add(PhaseName(method.phase), method.name);
  line.Add("call", call.id());
  line.Add("key", call.request().object_key);
  line.Add("operation", call.request().operation);
  line.Add("failures", failures);
  line.Add("error", what);
  logger_->Log(LogLevel::kError, line.view());
}

}  // namespace weir::filters
