#include "orb/core/dispatcher.h"

#include <exception>
#include <utility>

#include "base/strings.h"
#include "orb/core/builtin_operations.h"
#include "orb/core/filter_upcall.h"
#include "orb/core/is_a_call.h"
#include "orb/core/target.h"

namespace weir::orb {

uint32_t Dispatcher::Dispatch(CallRef call, std::shared_ptr<Servant>* servant) {
  *servant = adapter_->Find(call->request().object_key);
  if (*servant == nullptr) [[unlikely]] {
    // OMG minor 2: "could not be found by the adapter".
    call.SendSystemException({ExceptionId::kObjectNotExist, OmgMinor(2), Completion::kNo});
    return 0;
  }
  if (gate_ != nullptr && gate_->active() && !call->locate()) [[unlikely]] {
    return DispatchFiltered(std::move(call), servant);
  }
  return RunServant(**servant, std::move(call), /*lent=*/true);
}

inline uint32_t Dispatcher::DispatchFiltered(CallRef call, std::shared_ptr<Servant>* servant) {
  Gate::Outcome outcome;
  uint32_t upcall;
  {
    const FilterUpcall filters(&*call, reactor_);
    outcome = gate_->Up(*call);
    // Down filters may block, too. The object lives until our caller returns.
    if (outcome == Gate::Outcome::kAnswer) {
      call.Send();
      return filters.upcall();
    }
    if (outcome == Gate::Outcome::kPass && call->redirected() && !FindRedirected(&call, servant))
        [[unlikely]]
      return filters.upcall();
    // If a filter has blocked, that is one upcall with the servant's.
    upcall = filters.upcall();
  }
  if (outcome == Gate::Outcome::kSuspended) {
    call.Release();
    return upcall;
  }
  if (upcall == 0) [[likely]]
    return RunServant(**servant, std::move(call), /*lent=*/true);
  RunServant(**servant, std::move(call), /*lent=*/false);
  return upcall;
}

bool Dispatcher::FindRedirected(CallRef* call, std::shared_ptr<Servant>* servant) {
  *servant =
      (*call)->elsewhere() != nullptr ? elsewhere_ : adapter_->Find((*call)->request().object_key);
  if (*servant != nullptr) return true;
  call->SendSystemException({ExceptionId::kObjectNotExist, OmgMinor(2), Completion::kNo});
  return false;
}

void Dispatcher::Resume(CallRef call, std::shared_ptr<Servant>* servant) {
  if (call->redirected() && !FindRedirected(&call, servant)) return;
  // The call, and what it keeps, may be gone before the servant returns.
  const std::shared_ptr<Servant> kept = *servant;
  if (kept->NeverBlocks()) {
    RunServant(*kept, std::move(call), /*lent=*/false);
    return;
  }
  // The thread that brings a verdict has others to bring.
  reactor_->Post(
      [this, kept, call = call.Release()] { RunServant(*kept, CallRef(call), /*lent=*/false); });
}

void Dispatcher::AskElsewhere(const Call& call, std::string_view id, Nanos deadline,
                              IsAListener* listener) {
  IsACall::Start(invoker_, call.elsewhere(), call.request().object_key, id, deadline, listener);
}

uint32_t Dispatcher::RunServant(Servant& servant, CallRef call, bool lent) {
  if (call->request().operation.starts_with('_') && !servant.HandlesBuiltins() &&
      ServeBuiltin(servant, &*call)) {
    call.Send();
    return 0;
  }
  const uint64_t id = call->id();
  uint32_t upcall = 0;
  try {
    if (servant.NeverBlocks()) {
      servant.Dispatch(std::move(call));
    } else {
      Reactor::Blocking blocking(reactor_);
      if (lent) upcall = call->BeginUpcall();
      servant.Dispatch(std::move(call));
    }
  } catch (const std::exception& e) {
    // The caller has its answer already: a CallRef dropped by an exception gives UNKNOWN.
    ServantThrew(id, e.what());
  } catch (...) {
    ServantThrew(id, "not a std::exception");
  }
  return upcall;
}

void Dispatcher::ServantThrew(uint64_t call_id, std::string_view what) {
  logger_->Log(LogLevel::kError,
               StrCat("event=servant_threw call=", call_id, " what=\"", Escape(what), "\""));
}

}  // namespace weir::orb
