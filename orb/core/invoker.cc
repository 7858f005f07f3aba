#include "orb/core/invoker.h"

#include <utility>

#include "base/futex.h"
#include "base/strings.h"
#include "orb/core/client_call.h"
#include "orb/core/filter_upcall.h"
#include "orb/core/nesting.h"

namespace weir::orb {
namespace {

constexpr int kMostAttempts = 4;

// For people; a peer may send names of any length.
std::string Readable(std::string_view name) {
  constexpr size_t kMost = 80;
  return name.size() <= kMost ? Escape(name) : StrCat(Escape(name.substr(0, kMost)), "...");
}

// "calling list on NameService"
std::string WhatIsCalled(const Invocation& call) {
  const std::string key = Readable(call.request->object_key);
  return call.locate ? StrCat("locating ", key)
                     : StrCat("calling ", Readable(call.request->operation), " on ", key);
}

}  // namespace

Invocation::~Invocation() = default;

void Invocation::AttemptOver() {
  if (!blocking_) return invoker_->Continue(this);
  // After the exchange the invocation may be gone; waking needs only its address.
  if (state_.exchange(kOver, std::memory_order_acq_rel) == kSleeping) FutexWake(&state_);
}

Invoker::Invoker(const ClientContext* context, Messaging* messaging, TransportFinder find_transport,
                 ReferenceContext reference_context)
    : context_(context),
      messaging_(messaging),
      find_transport_(std::move(find_transport)),
      reference_context_(std::move(reference_context)),
      targets_(this, reference_context_, context->limits.max_kept_targets) {}

Invoker::~Invoker() {
  for (const auto& pool : Pools()) pool->End();
}

absl::StatusOr<std::shared_ptr<Target>> Invoker::NewTarget(Reference reference) {
  std::vector<std::shared_ptr<EndpointPool>> pools;
  for (const Endpoint& endpoint : reference.endpoints) {
    if (auto pool = Pool(endpoint)) pools.push_back(std::move(pool));
  }
  if (pools.empty()) {
    return ToStatus({ExceptionId::kTransient, WeirMinor::kNoUsableAddress, Completion::kNo},
                    "the reference has no address that this ORB can connect to; "
                    "`weir ior` shows what it has");
  }
  return std::make_shared<Target>(std::move(reference), std::move(pools));
}

void Invoker::Begin(Invocation* call, bool blocking) {
  call->invoker_ = this;
  call->blocking_ = blocking;
  call->status = absl::OkStatus();
  call->reply.Clear();
  call->attempts_ = call->forwards_ = 0;
  call->tried_ = 0;
  call->key_ = call->request->object_key;
  call->origin_.reset();
}

void Invoker::Nest(Invocation* call) {
  call->request->contexts.push_back(NestingContext(FilterScope::nesting()));
  call->nested_ = true;
}

void Invoker::Unnest(Invocation* call) {
  if (!std::exchange(call->nested_, false)) [[likely]]
    return;
  std::vector<ServiceContext>& contexts = call->request->contexts;
  if (!contexts.empty() && contexts.back().id == kNestingContext) contexts.pop_back();
}

void Invoker::End(Invocation* call) {
  if (call->filtered_ == nullptr) Unnest(call);
  if (!call->cancellable) return;
  Ref<ClientConnection> last;
  MutexLock lock(&call->mu_);
  last = std::move(call->connection_);
}

void Invoker::SetKey(Invocation* call) const {
  Request& request = *call->request;
  request.object_key = call->origin_ != nullptr || !call->keep_key
                           ? call->target_->reference().object_key
                           : call->key_;
}

bool Invoker::Start(const std::shared_ptr<Target>& target, Invocation* call, bool patience) {
  Begin(call, /*blocking=*/false);
  if (FilterScope::nesting() != 0) [[unlikely]] {
    Nest(call);
    // What else this thread may do meanwhile is not the filter's.
    const FilterScope nobodys(0);
    return StartBegun(target, call, patience);
  }
  return StartBegun(target, call, patience);
}

inline bool Invoker::StartBegun(const std::shared_ptr<Target>& target, Invocation* call,
                                bool patience) {
  call->target_ = target;
  if (IsFiltered(call)) [[unlikely]] {
    SetKey(call);
    ClientCall::Attach(this, gate_, call);
    switch (call->filtered_->Up()) {
      case Gate::Outcome::kPass:
        break;
      case Gate::Outcome::kAnswer:
        Complete(call);
        return true;
      case Gate::Outcome::kSuspended:
        return false;
    }
  }
  return Run(call, patience);
}

absl::Status Invoker::Invoke(const std::shared_ptr<Target>& target, Invocation* call) {
  Begin(call, /*blocking=*/true);
  if (FilterScope::nesting() != 0) [[unlikely]] {
    Nest(call);
    const FilterUpcall::Blocking blocking(FilterScope::holds_call());
    const FilterScope nobodys(0);
    // Nobody but this thread might read the reply.
    if (ReadingReplies::OnThisThread()) return RefuseToBlock(target, call);
    return InvokeBegun(target, call);
  }
  return InvokeBegun(target, call);
}

absl::Status Invoker::RefuseToBlock(const std::shared_ptr<Target>& target, Invocation* call) {
  call->target_ = std::shared_ptr<Target>(std::shared_ptr<void>(), target.get());
  SetKey(call);
  Fail(call, {ExceptionId::kBadInvOrder, WeirMinor::kFilterBlocks, Completion::kNo},
       "a filter that runs on a thread which reads replies must not wait", "",
       "let it suspend its call and make an asynchronous one");
  End(call);
  return call->status;
}

inline absl::Status Invoker::InvokeBegun(const std::shared_ptr<Target>& target, Invocation* call) {
  // The caller keeps it alive meanwhile, so it need not be counted.
  call->target_ = std::shared_ptr<Target>(std::shared_ptr<void>(), target.get());
  if (IsFiltered(call)) [[unlikely]] {
    SetKey(call);
    ClientCall::Attach(this, gate_, call);
    if (call->filtered_->Up() == Gate::Outcome::kPass) Exchange(call);
    call->filtered_->Down();
  } else {
    Exchange(call);
  }
  return call->status;
}

void Invoker::Exchange(Invocation* call) {
  Step step;
  do {
    call->state_.store(Invocation::kPending, std::memory_order_relaxed);
    Ref<ClientConnection> connection;
    uint32_t id = 0;
    step = Attempt(call, &connection, &id);
    if (step == Step::kWait) {
      if (call->cancelled_.load()) connection->Cancel(id, Invocation::Outcome::kCancelled);
      connection->Wait(call);
      step = Judge(call);
    }
  } while (step == Step::kAgain);
  End(call);
}

void Invoker::UpDone(Invocation* call, bool answered) {
  if (answered) return Complete(call);
  call->hurried = true;  // whose thread this is we do not know
  Run(call, /*patience=*/false);
}

void Invoker::Complete(Invocation* call) {
  if (call->filtered_ != nullptr && !call->filtered_->Down()) [[unlikely]]
    return;
  call->Done();
}

bool Invoker::Run(Invocation* call, bool patience) {
  Ref<ClientConnection> connection;
  uint32_t id = 0;
  if (Attempt(call, &connection, &id) == Step::kOver) {
    End(call);
    Complete(call);
    return true;
  }
  if (!connection) return false;  // parked
  if (patience) return connection->ReadAlone(id);
  connection->EnsureReader();
  return false;
}

void Invoker::Continue(Invocation* call) {
  if (Judge(call) == Step::kOver) {
    End(call);
    return Complete(call);
  }
  // Nobody may be there to run what is posted, and there will be no further attempt.
  if (closed_.load()) {
    Run(call, false);
    return;
  }
  // This thread reads for others: connecting is not for it.
  context_->reactor->Post([this, call] { Run(call, false); });
}

void Invoker::ParkedAgain(Invocation* call, const absl::Status& outcome) {
  if (!outcome.ok()) {
    ++call->tried_;
    call->connect_failure_ = outcome;
  }
  context_->reactor->Post([this, call] { Run(call, false); });
}

Invoker::Step Invoker::Attempt(Invocation* call, Ref<ClientConnection>* connection, uint32_t* id) {
  Request& request = *call->request;
  if (call->target_->has_forward()) [[unlikely]] {
    if (std::shared_ptr<Target> forward = call->target_->forward()) {
      call->origin_ = std::exchange(call->target_, std::move(forward));
    }
  }
  SetKey(call);
  Target& target = *call->target_;
  request.minor = std::min(request.minor, static_cast<GiopMinor>(target.reference().giop_minor));

  // The usual case, in few instructions.
  const Nanos now = context_->clock->Now();
  if (call->affinity == 0 && call->tried_ == 0 && !call->cancellable && now < request.deadline &&
      !closed_.load(std::memory_order_relaxed)) {
    const size_t preferred = target.preferred.load(std::memory_order_relaxed);
    *connection = target.pools()[preferred]->GetIdle(now);
    if (*connection) [[likely]] {
      if ((*connection)->Submit(call, id)) [[likely]]
        return Step::kWait;
      *connection = Ref<ClientConnection>();
    }
  }
  return AttemptAnywhere(call, connection, id);
}

Invoker::Step Invoker::AttemptAnywhere(Invocation* call, Ref<ClientConnection>* connection,
                                       uint32_t* id) {
  Request& request = *call->request;
  const bool moved = call->origin_ != nullptr;
  Target& target = *call->target_;
  EndpointPool::Park park;
  if (!call->blocking_) {
    park = [this, call](const absl::Status& outcome) { ParkedAgain(call, outcome); };
  }
  const size_t count = target.pools().size();
  const size_t preferred = target.preferred.load(std::memory_order_relaxed);
  for (; call->tried_ < count; ++call->tried_) {
    const size_t index = (preferred + call->tried_) % count;
    EndpointPool& pool = *target.pools()[index];
    // A connection may turn out to be closed when it is used: then the next one is fresh.
    for (int again = 0; again < kMostAttempts; ++again) {
      if (closed_.load(std::memory_order_relaxed)) {
        return Fail(call, {ExceptionId::kTransient, WeirMinor::kShuttingDown, Completion::kNo},
                    "this ORB shuts down");
      }
      if (call->cancelled_.load(std::memory_order_relaxed)) {
        return Fail(call, {ExceptionId::kTransient, WeirMinor::kCancelled, Completion::kNo},
                    "cancelled by the caller");
      }
      const Nanos now = context_->clock->Now();
      if (now >= request.deadline) {
        return Fail(call, {ExceptionId::kTimeout, WeirMinor::kCallTimeout, Completion::kNo},
                    "the deadline passed", "nothing was sent");
      }
      absl::StatusOr<Ref<ClientConnection>> got =
          pool.Get(call->affinity, now, request.deadline, park, call->hurried);
      if (!got.ok()) {
        call->connect_failure_ = got.status();
        break;
      }
      if (!*got) return Step::kWait;  // parked
      *connection = *std::move(got);
      // Before the invocation can be gone.
      const size_t tried = std::exchange(call->tried_, 0);
      if (tried != 0) target.preferred.store(index, std::memory_order_relaxed);
      if ((*connection)->Submit(call, id)) return Step::kWait;
      call->tried_ = tried;
      *connection = Ref<ClientConnection>();
      call->connect_failure_ =
          absl::UnavailableError("the peer closes connections as soon as they are used");
    }
  }
  call->tried_ = 0;
  if (moved && call->forwards_++ < context_->limits.max_forwards) {
    // Where it moved to is gone: ask where it was first again.
    call->target_ = std::exchange(call->origin_, nullptr);
    call->target_->set_forward(nullptr);
    return Attempt(call, connection, id);
  }
  return FailToConnect(call);
}

Invoker::Step Invoker::FailToConnect(Invocation* call) {
  const absl::Status failure = std::exchange(call->connect_failure_, absl::OkStatus());
  // The status says the address first, as the name of the peer does.
  std::string_view why = ToStd(failure.message());
  for (const auto& pool : call->target_->pools()) {
    const std::string_view address =
        std::string_view(pool->name()).substr(pool->name().find(':') + 1);
    if (why.starts_with(address) && why.substr(address.size()).starts_with(": ")) {
      why.remove_prefix(address.size() + 2);
      break;
    }
  }
  if (absl::IsCancelled(failure)) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kShuttingDown, Completion::kNo},
                "this ORB shuts down");
  }
  constexpr std::string_view kWhat = "cannot connect";
  if (absl::IsNotFound(failure)) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kNameLookupFailed, Completion::kNo},
                kWhat, why, "check the name, or this host's resolver");
  }
  if (absl::IsDeadlineExceeded(failure)) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kConnectTimeout, Completion::kNo}, kWhat,
                why, "is the host up, and does a firewall drop what is sent there?");
  }
  return Fail(call, {ExceptionId::kTransient, WeirMinor::kConnectFailed, Completion::kNo}, kWhat,
              why, absl::IsUnavailable(failure) ? "is the server running there?" : "");
}

Invoker::Step Invoker::Judge(Invocation* call) {
  using Outcome = Invocation::Outcome;
  switch (call->outcome_) {
    case Outcome::kReply: {
      const Body& body = call->reply.body;
      const bool forward = call->locate
                               ? call->locate_status == LocateStatus::kObjectForward ||
                                     call->locate_status == LocateStatus::kObjectForwardPerm
                               : call->reply.status == ReplyStatus::kLocationForward ||
                                     call->reply.status == ReplyStatus::kLocationForwardPerm;
      if (forward) [[unlikely]] {
        return Follow(call, body.decoder());
      }
      if (!call->locate && call->reply.status == ReplyStatus::kNeedsAddressingMode) [[unlikely]] {
        return Fail(call, {ExceptionId::kNoImplement, WeirMinor::kNone, Completion::kNo},
                    "the server wants another addressing mode", "Weir sends object keys only");
      }
      return Step::kOver;
    }
    case Outcome::kNotExecuted:
      if (++call->attempts_ < kMostAttempts) return Step::kAgain;
      return Fail(call, {ExceptionId::kTransient, WeirMinor::kConnectionLost, Completion::kNo},
                  "the server keeps closing its connections", "", "is it shutting down?");
    case Outcome::kLost:
      return Fail(call, {ExceptionId::kCommFailure, WeirMinor::kConnectionLost, Completion::kMaybe},
                  "connection lost", ToStd(call->attempt_status_.message()),
                  "whether the call was executed is not known");
    case Outcome::kTimeout:
      return Fail(call, {ExceptionId::kTimeout, WeirMinor::kCallTimeout, Completion::kMaybe},
                  "no reply before the deadline", "", "the server may still be executing the call");
    case Outcome::kCancelled:
      return Fail(call, {ExceptionId::kTransient, WeirMinor::kCancelled, Completion::kMaybe},
                  "cancelled by the caller");
    case Outcome::kMalformed:
      return Fail(call, {ExceptionId::kMarshal, WeirMinor::kMalformed, Completion::kYes},
                  "malformed reply", ToStd(call->attempt_status_.message()));
    case Outcome::kRefused:
      return Fail(call, FromStatus(call->attempt_status_), ToStd(call->attempt_status_.message()));
  }
  return Step::kOver;
}

Invoker::Step Invoker::Fail(Invocation* call, const SystemException& e, std::string_view what,
                            std::string_view why, std::string_view hint) {
  const Target& target = *call->target_;
  const size_t preferred = target.preferred.load(std::memory_order_relaxed);
  call->status = ToStatus(
      e, StrCat(target.pools()[preferred]->name(), ": ", what, " while ", WhatIsCalled(*call),
                why.empty() ? "" : ": ", why, hint.empty() ? "" : "; ", hint));
  return Step::kOver;
}

Ref<ClientConnection> Invoker::MarkCancelled(Invocation* call, uint32_t* id) {
  call->cancelled_.store(true);
  // Together: an id means something only on its connection.
  MutexLock lock(&call->mu_);
  *id = call->wire_id_.load();
  return call->connection_;
}

void Invoker::Cancel(Invocation* call) {
  uint32_t id;
  const Ref<ClientConnection> connection = MarkCancelled(call, &id);
  if (connection) connection->Cancel(id, Invocation::Outcome::kCancelled);
}

void Invoker::CancelSoon(Invocation* call) {
  uint32_t id;
  const Ref<ClientConnection> connection = MarkCancelled(call, &id);
  if (!connection) return;
  // By then the call may be gone; its id is not given to another one soon.
  context_->reactor->Post(
      [connection, id] { connection->Cancel(id, Invocation::Outcome::kCancelled); });
}

}  // namespace weir::orb
