// From a decoded request to its servant and back: finds the servant, consults the gate, runs the
// servant. Protocol and connection stay outside: a call that is complete tells its connection
// itself.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_DISPATCHER_H_
#define WEIR_ORB_CORE_DISPATCHER_H_

#include <memory>
#include <string_view>
#include <utility>

#include "base/logger.h"
#include "orb/core/adapter.h"
#include "orb/core/gate.h"
#include "orb/core/invoker.h"
#include "orb/core/reactor.h"
#include "orb/core/servant.h"

namespace weir::orb {

class Dispatcher {
 public:
  // All must outlive the dispatcher; `gate` may be null.
  Dispatcher(const ObjectAdapter* adapter, Gate* gate, Reactor* reactor, Logger* logger)
      : adapter_(adapter), gate_(gate), reactor_(reactor), logger_(logger) {}

  // Before the first call: `invoker` finds objects of other servers, and `servant` has the calls
  // that filters send there; it goes by Call::elsewhere.
  void set_elsewhere(Invoker* invoker, std::shared_ptr<Servant> servant) {
    invoker_ = invoker;
    elsewhere_ = std::move(servant);
  }
  // For Call::RedirectTo.
  absl::StatusOr<std::shared_ptr<Target>> FindElsewhere(std::string_view reference) {
    return invoker_->targets().Find(reference);
  }

  // As Call::AskIsA, of a call that a filter has sent to another server.
  void AskElsewhere(const Call& call, std::string_view id, Nanos deadline, IsAListener* listener);

  // Serves `call`, at once or later. `*servant` receives the servant, which must live as long as
  // the call. Returns what Call::BeginUpcall gave if a servant that may block has run, or a filter
  // has blocked, else 0.
  uint32_t Dispatch(CallRef call, std::shared_ptr<Servant>* servant);

  // Goes on with a call whose up phase was suspended, and has passed it.
  // `*servant` is as Dispatch has set it.
  void Resume(CallRef call, std::shared_ptr<Servant>* servant);

  // The servant has answered `call`: runs the down phase. False: it is suspended.
  bool FinishPhase(Call& call) {
    if (call.gate_state().chain == nullptr) [[likely]]
      return true;
    return gate_->Down(call) != Gate::Outcome::kSuspended;
  }
  // The reply has left, or will never.
  void Release(Call& call) {
    if (call.gate_state().hold != nullptr) [[unlikely]]
      gate_->Release(call);
  }

 private:
  // The gate is active.
  uint32_t DispatchFiltered(CallRef call, std::shared_ptr<Servant>* servant);
  // Where a filter has sent the call. False: there is no such object, and the call was answered.
  bool FindRedirected(CallRef* call, std::shared_ptr<Servant>* servant);
  // `lent` says whether the call's connection has lent this thread, and so is to be told.
  uint32_t RunServant(Servant& servant, CallRef call, bool lent);
  void ServantThrew(uint64_t call_id, std::string_view what);

  const ObjectAdapter* const adapter_;
  Gate* const gate_;
  Reactor* const reactor_;
  Logger* const logger_;
  Invoker* invoker_ = nullptr;
  std::shared_ptr<Servant> elsewhere_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_DISPATCHER_H_
