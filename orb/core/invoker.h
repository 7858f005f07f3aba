// Makes calls: finds a connection, sends the request, follows LOCATION_FORWARD, and sends again
// what GIOP allows to be sent again.
//
// A request is sent again only if it is known not to have been executed: no byte of it has left, or
// the server sent CloseConnection instead of a reply (CORBA 3.3 part 2, 9.6.1.1).
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_INVOKER_H_
#define WEIR_ORB_CORE_INVOKER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "orb/core/endpoint_pool.h"
#include "orb/core/gate.h"
#include "orb/core/invocation.h"
#include "orb/core/target.h"
#include "orb/core/target_cache.h"
#include "orb/reference/reference.h"

namespace weir::orb {

class Invoker {
 public:
  using TransportFinder = std::function<Transport*(std::string_view name)>;

  // `context` and `messaging` must outlive the invoker.
  Invoker(const ClientContext* context, Messaging* messaging, TransportFinder find_transport,
          ReferenceContext reference_context);
  ~Invoker();

  // Before the first call: consults `gate`, which must outlive the invoker, around every call.
  void set_gate(Gate* gate) { gate_ = gate; }

  // NOT_FOUND (TRANSIENT) if none of the reference's addresses is of a transport that this ORB has.
  absl::StatusOr<std::shared_ptr<Target>> NewTarget(Reference reference);
  // By the text of their references.
  TargetCache& targets() { return targets_; }

  // Starts a call; call->Done is called when it is over, perhaps before this returns. `patience`:
  // the reply may be read on this thread, if nobody else reads, as long as it comes quickly;
  // returns whether that was worth it.
  bool Start(const std::shared_ptr<Target>& target, Invocation* call, bool patience = false);

  // Calls, and blocks until it is over. Returns call->status. Done is not called.
  absl::Status Invoke(const std::shared_ptr<Target>& target, Invocation* call);

  // Ends a call early, with TRANSIENT (WeirMinor::kCancelled), unless it is over; the server is
  // told. One that is just being sent may escape. The caller must know that the invocation still
  // exists. REQUIRES: call->cancellable was set before the start.
  void Cancel(Invocation* call);
  // The same, from where the call must not be completed at once: another thread does it.
  void CancelSoon(Invocation* call);

  // By the reactor's supervisor only: every few milliseconds, and every second or so.
  void CheckDeadlines();
  void CheckTime();
  // Closes all connections. What is in flight fails, and so do later calls (kShuttingDown).
  void Close();
  size_t connections() const;
  // Addresses that it has, or had of late, something to do with.
  size_t pools() const;

 private:
  friend class ClientCall;
  friend class Invocation;

  // Whether a gate wants to see the call, which has begun.
  bool IsFiltered(Invocation* call) const {
    return gate_ != nullptr && gate_->active() && !call->locate && !call->unfiltered;
  }
  // Sets the key that the call is for. REQUIRES: it has begun.
  void SetKey(Invocation* call) const;
  // Sends it and waits for the reply, as often as needed.
  void Exchange(Invocation* call);
  // The up phase of an asynchronous call, which was suspended, is over.
  void UpDone(Invocation* call, bool answered);
  // An asynchronous call is over, but for its down phase.
  void Complete(Invocation* call);

  // What a thread does next with an invocation.
  enum class Step {
    kWait,   // submitted or parked: an asynchronous one is no longer ours
    kAgain,  // another attempt
    kOver,   // status is set
  };

  // Finds a connection and submits the call. In `*connection`, which one it is on, and in `*id` its
  // request id.
  Step Attempt(Invocation* call, Ref<ClientConnection>* connection, uint32_t* id);
  // Its larger part: any connection to any address, perhaps a new one.
  Step AttemptAnywhere(Invocation* call, Ref<ClientConnection>* connection, uint32_t* id);
  // Where the call is, and in `*id` its request id there; later attempts fail.
  Ref<ClientConnection> MarkCancelled(Invocation* call, uint32_t* id);
  // An attempt is over: what now?
  Step Judge(Invocation* call);
  // The object has moved to the IOR that `in` holds.
  Step Follow(Invocation* call, cdr::Decoder in);
  // Asynchronous calls: makes attempts until one is submitted or all is over; after an attempt.
  bool Run(Invocation* call, bool patience);
  void Continue(Invocation* call);
  // `what` has gone wrong; `why`, if known; `hint`, if there is one, says what to do about it.
  Step Fail(Invocation* call, const SystemException& e, std::string_view what,
            std::string_view why = "", std::string_view hint = "");
  Step FailToConnect(Invocation* call);
  void Begin(Invocation* call, bool blocking);
  // The call is a filter's: says so in the request, until Unnest.
  void Nest(Invocation* call);
  static void Unnest(Invocation* call);
  bool StartBegun(const std::shared_ptr<Target>& target, Invocation* call, bool patience);
  absl::Status RefuseToBlock(const std::shared_ptr<Target>& target, Invocation* call);
  absl::Status InvokeBegun(const std::shared_ptr<Target>& target, Invocation* call);
  // The invocation is over: lets go of what it holds.
  void End(Invocation* call);
  void ParkedAgain(Invocation* call, const absl::Status& outcome);
  bool Allowed(const Target& from, const Reference& to) const;
  std::shared_ptr<EndpointPool> Pool(const Endpoint& endpoint);
  std::vector<std::shared_ptr<EndpointPool>> Pools() const;
  // Lets go of pools that no target refers to and that have no connection left.
  void ForgetUnusedPools();

  const ClientContext* const context_;
  Messaging* const messaging_;
  const TransportFinder find_transport_;
  const ReferenceContext reference_context_;
  Gate* gate_ = nullptr;
  std::atomic<bool> closed_{false};
  TargetCache targets_;

  // The supervisor's copy of pools_, which nobody else takes anything out of.
  std::vector<EndpointPool*> checked_;

  mutable Mutex mu_;
  // One for each address of the targets that there are, and of those gone whose connections are
  // still open.
  std::map<std::string, std::shared_ptr<EndpointPool>> pools_ ABSL_GUARDED_BY(mu_);
  bool pools_changed_ ABSL_GUARDED_BY(mu_) = false;  // since `checked_` was made
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_INVOKER_H_
