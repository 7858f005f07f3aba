// The gate's part that sends calls on to other objects, and their replies back.

#include <utility>

#include "filters/filter_gate.h"
#include "filters/gate_extras.h"
#include "filters/log_line.h"
#include "orb/core/nesting.h"

namespace weir::filters {
namespace {

constexpr size_t kMostRedirects = 4;

}  // namespace

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

}  // namespace weir::filters
