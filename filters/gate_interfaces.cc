// The gate's part that is about objects whose interfaces matter.

#include <bit>
#include <memory>
#include <utility>

#include "filters/filter_gate.h"
#include "filters/gate_extras.h"
#include "filters/log_line.h"
#include "orb/core/nesting.h"

namespace weir::filters {
namespace {

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

}  // namespace

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

}  // namespace weir::filters
