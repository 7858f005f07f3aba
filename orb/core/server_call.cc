#include "orb/core/server_call.h"

#include <exception>
#include <utility>

#include "base/strings.h"
#include "orb/core/target.h"

namespace weir::orb {

// What one thread keeps.
struct ServerCallList {
  static constexpr int kMost = 32;
  // A call keeps buffers up to this size; one large reply must not pin memory for ever.
  static constexpr size_t kMostBytes = 64 * 1024;

  ~ServerCallList() {
    closed = true;
    while (count > 0) delete calls[--count];
  }
  ServerCall* Take() { return count > 0 ? calls[--count] : new ServerCall; }
  void Put(ServerCall* call) {
    if (closed || count == kMost) {
      delete call;
    } else {
      calls[count++] = call;
    }
  }
  ServerCall* calls[kMost];
  int count = 0;
  bool closed = false;
};

namespace {
thread_local ServerCallList call_list;
}  // namespace

ServerCallLease::ServerCallLease() : call_(call_list.Take()) {}

ServerCallLease::~ServerCallLease() {
  if (call_ == nullptr) return;
  call_->incoming_.request.body.block.reset();
  call_list.Put(call_);
}

void ServerCall::Begin(ServerConnection* connection, bool alone) {
  connection_ = Ref<ServerConnection>::Share(connection);
  peer_ = &connection->peer_;
  if (!request_->contexts.empty()) [[unlikely]] {
    ReadCodeSets(request_->contexts, &connection->code_sets_);
  }
  code_sets_ = connection->code_sets_;
  id_ = NextCallId();
  alone_ = alone;
  locate_ = incoming_.kind == Incoming::Kind::kLocateRequest;
  minor_ = request_->minor;
  progress_.store(Progress::kRunning, std::memory_order_relaxed);
  runner_ = &call_list;
}

uint32_t ServerCall::BeginUpcall() { return connection_->BeginUpcall(); }

ObjectIdentity ServerCall::Identity() {
  if (elsewhere_ != nullptr) {
    return elsewhere_->Identify(request_->object_key, connection_->context_->clock->Now());
  }
  if (redirected_) servant_ = connection_->context_->adapter->Find(request_->object_key);
  return servant_ != nullptr ? servant_->Identify(request_->object_key) : ObjectIdentity();
}

void ServerCall::AskIsA(std::string_view id, Nanos deadline, IsAListener* listener) {
  if (elsewhere_ != nullptr) {
    return connection_->context_->dispatcher->AskElsewhere(*this, id, deadline, listener);
  }
  // Another thread may go on with the call as soon as `listener` is told.
  const std::shared_ptr<Servant> servant = servant_;
  std::string why = "IsA threw what is not a std::exception";
  try {
    return servant->AskIsA(request_->object_key, id, deadline, listener);
  } catch (const std::exception& e) {
    why = StrCat("IsA threw ", e.what());
  } catch (...) {
  }
  listener->IsAKnown({IsAAnswer::kUnknown,
                      {ExceptionId::kTransient, WeirMinor::kInterfaceUnknown, Completion::kNo},
                      std::move(why)});
}

absl::Status ServerCall::RedirectTo(std::string_view reference) {
  auto target = connection_->context_->dispatcher->FindElsewhere(reference);
  if (!target.ok()) return target.status();
  const std::string_view key = (*target)->reference().object_key;
  SendElsewhere(*std::move(target), key);
  return absl::OkStatus();
}

uint32_t ServerCall::Run() {
  // Our reference to the connection lasts until the call is put away, which nobody else does before
  // `progress_` has left kRunning.
  ServerConnection* const connection = connection_.get();
  const uint32_t upcall = connection->context_->dispatcher->Dispatch(CallRef(this), &servant_);
  if (progress_.load(std::memory_order_acquire) != Progress::kAnswered) {
    {
      // Unanswered so far. From here on it can be found, for CancelRequest, until it is answered.
      MutexLock lock(&connection->mu_);
      Progress expected = Progress::kRunning;
      if (progress_.compare_exchange_strong(expected, Progress::kLate)) {
        connection->AddLate(this);
        return upcall;
      }
    }
    if (progress_.exchange(Progress::kLeft) != Progress::kAnswered) return upcall;
  }
  PutAway();
  return upcall;
}

void ServerCall::Cancel() {
  if (!abandoned_.exchange(true) && watcher_ != nullptr) watcher_->CallAbandoned();
}

void ServerCall::ResumeUp(bool answered) {
  CallRef call(this);
  alone_ = false;  // the thread that brings a verdict has others to bring
  resumed_ = true;
  if (answered) return call.Send();
  connection_->context_->dispatcher->Resume(std::move(call), &servant_);
}

void ServerCall::ResumeDown() { Finish(); }

void ServerCall::SetWatcherLate(Watcher* watcher) {
  MutexLock lock(&connection_->mu_);
  watcher_ = watcher;
  if (abandoned()) watcher->CallAbandoned();
}

void ServerCall::Complete() {
  if (!locate_ && request_->response_expected && gate_state_.chain != nullptr) [[unlikely]] {
    if (watcher_ != nullptr) {
      // It lives until Send returns, which a suspended call does not wait for.
      MutexLock lock(&connection_->mu_);
      watcher_ = nullptr;
    }
    if (!connection_->context_->dispatcher->FinishPhase(*this)) return;
  }
  Finish();
}

void ServerCall::Finish() {
  Progress progress = Progress::kRunning;
  const bool by_runner = runner_ == &call_list;
  if (by_runner) {
    // Run is on this thread's stack, or over: nobody else is at it.
    progress = progress_.load(std::memory_order_relaxed);
  } else {
    progress_.compare_exchange_strong(progress, Progress::kAnswering);
  }
  if (progress == Progress::kLate) connection_->RemoveLate(this);
  if (locate_) {
    if (!abandoned()) connection_->SendLocateReply(incoming_.id, minor_, locate_status, reply_);
  } else if (request_->response_expected) {
    if (!abandoned()) connection_->SendReply(incoming_.id, minor_, reply_);
  }
  if (progress == Progress::kLate) return PutAway();
  if (by_runner) return progress_.store(Progress::kAnswered, std::memory_order_relaxed);
  if (progress_.exchange(Progress::kAnswered) == Progress::kLeft) PutAway();
}

void ServerCall::Abandon() {
  // Dropped by an exception on its way out of the servant, or by mistake.
  if (std::uncaught_exceptions() > 0) {
    SetSystemException({ExceptionId::kUnknown, WeirMinor::kServantThrew, Completion::kMaybe});
  } else {
    SetSystemException({ExceptionId::kInternal, WeirMinor::kNoReply, Completion::kMaybe});
  }
  Complete();
}

void ServerCall::PutAway() {
  Ref<ServerConnection> connection = std::move(connection_);
  connection->context_->dispatcher->Release(*this);
  servant_.reset();
  request_->body.block.reset();  // the rest is set anew by the next request
  reply_.Clear();
  locate_status = LocateStatus::kUnknownObject;
  body_.ShrinkTo(ServerCallList::kMostBytes);
  gate_state_ = GateState();
  kept_.clear();
  if (redirected_) [[unlikely]] {
    redirected_ = false;
    elsewhere_.reset();
  }
  peer_ = nullptr;
  watcher_ = nullptr;
  resumed_ = false;
  abandoned_.store(false, std::memory_order_relaxed);
  call_list.Put(this);
  connection->EndCall();
}

}  // namespace weir::orb
