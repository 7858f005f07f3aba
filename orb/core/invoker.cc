#include "orb/core/invoker.h"

#include <utility>

#include "base/futex.h"
#include "base/host_port.h"
#include "base/strings.h"

namespace weir::orb {
namespace {

constexpr int kMostAttempts = 4;

// "list on NameService"
std::string WhatIsCalled(const Invocation& call) {
  return StrCat(call.locate ? "locating " : "calling ",
                call.locate ? "" : Escape(call.request->operation), call.locate ? "" : " on ",
                Escape(call.request->object_key));
}

SystemException ConnectException(const absl::Status& status) {
  WeirMinor minor = WeirMinor::kConnectFailed;
  if (absl::IsNotFound(status)) minor = WeirMinor::kNameLookupFailed;
  if (absl::IsDeadlineExceeded(status)) minor = WeirMinor::kConnectTimeout;
  return {ExceptionId::kTransient, minor, Completion::kNo};
}

std::string HostOf(const Endpoint& endpoint) {
  absl::StatusOr<HostPort> where = ParseHostPort(endpoint.address);
  return where.ok() ? where->host : endpoint.address;
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
      reference_context_(std::move(reference_context)) {}

Invoker::~Invoker() = default;

EndpointPool* Invoker::Pool(const Endpoint& endpoint) {
  Transport* const transport = find_transport_(endpoint.transport);
  if (transport == nullptr) return nullptr;
  MutexLock lock(&mu_);
  std::unique_ptr<EndpointPool>& pool = pools_[StrCat(endpoint.transport, ":", endpoint.address)];
  if (pool == nullptr) {
    pool = std::make_unique<EndpointPool>(context_, transport, messaging_, endpoint.address);
  }
  return pool.get();
}

absl::StatusOr<std::shared_ptr<Target>> Invoker::NewTarget(Reference reference) {
  std::vector<EndpointPool*> pools;
  for (const Endpoint& endpoint : reference.endpoints) {
    if (EndpointPool* const pool = Pool(endpoint)) pools.push_back(pool);
  }
  if (pools.empty()) {
    return ToStatus({ExceptionId::kTransient, WeirMinor::kNoUsableAddress, Completion::kNo},
                    "the reference has no address that this ORB can connect to; "
                    "`weir ior` shows what it has");
  }
  return std::make_shared<Target>(std::move(reference), std::move(pools));
}

bool Invoker::Start(std::shared_ptr<Target> target, Invocation* call, bool patience) {
  call->invoker_ = this;
  call->blocking_ = false;
  call->status = absl::OkStatus();
  call->attempts_ = call->forwards_ = 0;
  call->origin_.reset();
  call->target_ = std::move(target);
  return Run(call, patience);
}

absl::Status Invoker::Invoke(std::shared_ptr<Target> target, Invocation* call) {
  call->invoker_ = this;
  call->blocking_ = true;
  call->status = absl::OkStatus();
  call->attempts_ = call->forwards_ = 0;
  call->origin_.reset();
  call->target_ = std::move(target);
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
  return call->status;
}

bool Invoker::Run(Invocation* call, bool patience) {
  Ref<ClientConnection> connection;
  uint32_t id = 0;
  if (Attempt(call, &connection, &id) == Step::kOver) {
    call->Done();
    return true;
  }
  if (!connection) return false;  // parked
  if (patience) return connection->ReadAlone(id);
  connection->EnsureReader();
  return false;
}

void Invoker::Continue(Invocation* call) {
  if (Judge(call) == Step::kOver) return call->Done();
  // This thread reads for others: connecting is not for it.
  context_->reactor->Post([this, call] { Run(call, false); });
}

Invoker::Step Invoker::Attempt(Invocation* call, Ref<ClientConnection>* connection, uint32_t* id) {
  Request& request = *call->request;
  if (std::shared_ptr<Target> forward = call->target_->forward()) {
    call->origin_ = std::exchange(call->target_, std::move(forward));
  }
  const bool moved = call->origin_ != nullptr;
  Target& target = *call->target_;
  if (moved || !call->keep_key) request.object_key = target.reference().object_key;
  request.minor = std::min(request.minor, static_cast<GiopMinor>(target.reference().giop_minor));
  if (call->cancelled_.load(std::memory_order_relaxed)) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kCancelled, Completion::kNo},
                "cancelled by the caller");
  }

  std::function<void()> park;
  if (!call->blocking_) {
    park = [this, call] { context_->reactor->Post([this, call] { Run(call, false); }); };
  }
  absl::Status failure;
  const size_t count = target.pools().size();
  const size_t preferred = target.preferred.load(std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i) {
    const size_t index = (preferred + i) % count;
    EndpointPool& pool = *target.pools()[index];
    // A connection may turn out to be closed when it is used: then the next one is fresh.
    for (int again = 0; again < kMostAttempts; ++again) {
      absl::StatusOr<Ref<ClientConnection>> got =
          pool.Get(call->affinity, context_->clock->Now(), request.deadline, park);
      if (!got.ok()) {
        failure = got.status();
        break;
      }
      if (!*got) return Step::kWait;  // parked
      if (call->cancellable) {
        MutexLock lock(&call->mu_);
        call->connection_ = *got;
      }
      if (index != preferred) target.preferred.store(index, std::memory_order_relaxed);
      *connection = *std::move(got);
      if ((*connection)->Submit(call, id)) return Step::kWait;
      *connection = Ref<ClientConnection>();
      failure = absl::UnavailableError("the peer closes connections as soon as they are used");
    }
  }
  if (moved && call->forwards_++ < context_->limits.max_forwards) {
    // Where it moved to is gone: ask where it was first again.
    call->target_ = std::exchange(call->origin_, nullptr);
    call->target_->set_forward(nullptr);
    return Attempt(call, connection, id);
  }
  return Fail(call, ConnectException(failure),
              StrCat("cannot connect: ", failure.message(),
                     absl::IsUnavailable(failure) ? "; is the server running there?" : ""));
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
                    "the server wants another addressing mode than an object key");
      }
      return Step::kOver;
    }
    case Outcome::kNotExecuted:
      if (++call->attempts_ < kMostAttempts) return Step::kAgain;
      return Fail(call, {ExceptionId::kTransient, WeirMinor::kConnectionLost, Completion::kNo},
                  "the server keeps closing its connections");
    case Outcome::kLost:
      return Fail(
          call, {ExceptionId::kCommFailure, WeirMinor::kConnectionLost, Completion::kMaybe},
          StrCat("connection lost while the reply was awaited: ", call->attempt_status_.message(),
                 "; whether the call was executed is not known"));
    case Outcome::kTimeout:
      return Fail(call, {ExceptionId::kTimeout, WeirMinor::kCallTimeout, Completion::kMaybe},
                  "no reply before the deadline");
    case Outcome::kCancelled:
      return Fail(call, {ExceptionId::kTransient, WeirMinor::kCancelled, Completion::kMaybe},
                  "cancelled by the caller");
    case Outcome::kMalformed:
      return Fail(call, {ExceptionId::kMarshal, WeirMinor::kMalformed, Completion::kYes},
                  StrCat("malformed reply: ", call->attempt_status_.message()));
    case Outcome::kRefused:
      return Fail(call, FromStatus(call->attempt_status_), ToStd(call->attempt_status_.message()));
  }
  return Step::kOver;
}

bool Invoker::Allowed(const Target& from, const Reference& to) const {
  switch (context_->limits.forward_policy) {
    case ForwardPolicy::kNever:
      return false;
    case ForwardPolicy::kAny:
      return true;
    case ForwardPolicy::kSameHost:
      break;
  }
  for (const Endpoint& e : to.endpoints) {
    if (e.transport == "unix") continue;
    bool known = false;
    for (const Endpoint& f : from.reference().endpoints) {
      known = known || f.transport == "unix" || HostOf(f) == HostOf(e);
    }
    if (!known) return false;
  }
  return true;
}

Invoker::Step Invoker::Follow(Invocation* call, cdr::Decoder in) {
  if (++call->forwards_ > context_->limits.max_forwards) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kForwardLoop, Completion::kNo},
                StrCat("forwarded more than ", context_->limits.max_forwards, " times in a row"));
  }
  absl::StatusOr<Ior> ior = DecodeIor(&in);
  absl::StatusOr<Reference> reference =
      ior.ok() ? ReferenceFromIor(*std::move(ior), reference_context_) : ior.status();
  if (!reference.ok()) {
    return Fail(call, {ExceptionId::kInvObjref, WeirMinor::kMalformed, Completion::kNo},
                StrCat("forwarded to a bad reference: ", reference.status().message()));
  }
  const std::shared_ptr<Target> origin = call->origin_ ? call->origin_ : call->target_;
  if (!Allowed(*origin, *reference)) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kForwardRefused, Completion::kNo},
                StrCat("forwarded to ",
                       reference->endpoints.empty() ? "nowhere" : reference->endpoints[0].address,
                       ", which the forward policy does not allow"));
  }
  absl::StatusOr<std::shared_ptr<Target>> next = NewTarget(*std::move(reference));
  if (!next.ok()) return Fail(call, FromStatus(next.status()), ToStd(next.status().message()));
  if (origin->remembers_forward) origin->set_forward(*next);
  call->origin_ = origin;
  call->target_ = *std::move(next);
  call->reply.Clear();
  return Step::kAgain;
}

Invoker::Step Invoker::Fail(Invocation* call, const SystemException& e, std::string_view what) {
  const Target& target = *call->target_;
  const size_t preferred = target.preferred.load(std::memory_order_relaxed);
  call->status = ToStatus(
      e, StrCat(target.pools()[preferred]->name(), ": ", what, ", while ", WhatIsCalled(*call)));
  return Step::kOver;
}

void Invoker::Cancel(Invocation* call) {
  call->cancelled_.store(true);
  Ref<ClientConnection> connection;
  {
    MutexLock lock(&call->mu_);
    connection = call->connection_;
  }
  if (connection) connection->Cancel(call->wire_id_.load(), Invocation::Outcome::kCancelled);
}

std::vector<EndpointPool*> Invoker::Pools() const {
  MutexLock lock(&mu_);
  std::vector<EndpointPool*> result;
  for (const auto& [name, pool] : pools_) result.push_back(pool.get());
  return result;
}

void Invoker::CheckDeadlines() {
  const Nanos now = context_->clock->Now();
  for (EndpointPool* pool : Pools()) pool->CheckDeadlines(now);
}

void Invoker::CheckTime() {
  const Nanos now = context_->clock->Now();
  for (EndpointPool* pool : Pools()) pool->CheckTime(now);
}

void Invoker::Close() {
  for (EndpointPool* pool : Pools()) pool->Close();
}

size_t Invoker::connections() const {
  size_t n = 0;
  for (EndpointPool* pool : Pools()) n += pool->size();
  return n;
}

}  // namespace weir::orb
