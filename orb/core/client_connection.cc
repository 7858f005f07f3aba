#include "orb/core/client_connection.h"

#include <algorithm>
#include <utility>

#include "base/futex.h"
#include "base/strings.h"
#include "orb/core/buffer_lease.h"
#include "orb/core/filter_upcall.h"
#include "orb/transport/socket.h"

namespace weir::orb {

using Outcome = Invocation::Outcome;

ClientConnection::ClientConnection(const ClientContext* context, std::unique_ptr<Stream> stream,
                                   std::unique_ptr<Codec> codec, std::string name,
                                   std::shared_ptr<std::atomic<uint64_t>> ends)
    : context_(context),
      stream_(std::move(stream)),
      codec_(std::move(codec)),
      name_(std::move(name)),
      ends_(std::move(ends)),
      registration_(context->reactor, stream_->fd(), this),
      output_(stream_.get(), context->reactor, context->clock, context->limits.max_queued_output,
              {[this] { AddRef(); }, [this] { Unref(); }, [] {}}),
      pending_(context->limits.max_calls_per_connection),
      last_used_(context->clock->Now()) {}

ClientConnection::~ClientConnection() { registration_.Remove(); }

std::string ClientConnection::CloseReason() const {
  MutexLock lock(&mu_);
  return close_reason_;
}

void ClientConnection::EndAttempt(Invocation* call, Outcome outcome, std::string_view why) {
  call->outcome_ = outcome;
  if (outcome != Outcome::kReply) call->attempt_status_ = absl::UnavailableError(ToAbsl(why));
  call->AttemptOver();
}

void ClientConnection::Refuse(Invocation* call, absl::Status why) {
  call->outcome_ = Outcome::kRefused;
  call->attempt_status_ = std::move(why);
  call->AttemptOver();
}

std::string ClientConnection::TooManyText() const {
  return StrCat("more than ", context_->limits.max_calls_per_connection,
                " calls are in flight on the connection to ", name_);
}

bool ClientConnection::Submit(Invocation* call, uint32_t* id_out) {
  if (closed_.load()) return false;
  const Request& request = *call->request;
  const std::optional<uint32_t> reserved =
      pending_.Reserve(call, call->blocking_ ? kNoDeadline : request.deadline);
  if (!reserved.has_value()) {
    if (pending_.sealed()) return false;
    Refuse(call, ToStatus({ExceptionId::kNoResources, WeirMinor::kTooManyPending, Completion::kNo},
                          TooManyText()));
    return true;
  }
  const uint32_t id = *id_out = *reserved;
  const bool cancellable = call->cancellable;
  bool cancelled = false;
  if (cancellable) {
    MutexLock lock(&call->mu_);
    call->connection_ = Ref<ClientConnection>::Share(this);
    call->wire_id_ = id;
    // By somebody who has not found the connection here.
    cancelled = call->cancelled_.load();
  } else {
    call->wire_id_ = id;
  }
  const bool oneway = !call->locate && !request.response_expected;
  BufferLease out;
  if (call->locate) {
    codec_->EncodeLocateRequest(id, request.minor, request.object_key, out.get());
  } else if (absl::Status s = codec_->EncodeRequest(id, request, out.get()); !s.ok()) {
    pending_.Unreserve(id);
    Refuse(call, std::move(s));
    return true;
  }
  minor_.store(request.minor, std::memory_order_relaxed);
  // From here on the reply, a timeout or the connection's end may complete the call, and it may be
  // gone.
  pending_.Publish(id);
  const Output::Result sent = output_.Write(out->view());
  if (sent == Output::Result::kSent && !closed_.load()) [[likely]] {
    if (oneway && pending_.Take(id) != nullptr) EndAttempt(call, Outcome::kReply, "");
    if (cancellable && (cancelled || pending_.NotedCancelled(id))) [[unlikely]]
      CancelSent(id);
    return true;
  }
  // Broken, or closed meanwhile. Whoever closed it may have ended our call with the others; if not,
  // it is still ours. It is taken before the others are ended as lost: it may never have left.
  const bool ours = pending_.Take(id) != nullptr;
  if (sent != Output::Result::kSent) ReadLast();
  if (!ours) return true;
  if (sent == Output::Result::kUnsent) return false;
  if (sent == Output::Result::kFailed) {
    EndAttempt(call, Outcome::kLost, "the connection broke while the request was being sent");
  } else {
    EndAttempt(call, close_outcome_.load(), CloseReason());
  }
  return true;
}

void ClientConnection::ReadLast() {
  // If another thread reads, it finds out: the output has shut the stream down.
  if (!TryTakeRole()) return;
  const ReadingReplies reading;
  bool would_block = false;
  while (!would_block && Read(orb::Wait::kNo, &would_block)) {
  }
  Abort("the peer does not take what is sent");
  ReleaseRole();
}

bool ClientConnection::Usable(Nanos now) {
  if (output_.failed()) ReadLast();
  if (closed()) return false;
  if (!InSteadyUse(now)) {
    last_used_.store(now, std::memory_order_relaxed);
    if (pending_.size() == 0) ReadUnasked();
  }
  return !closed();
}

void ClientConnection::NoticeEnd() {
  if (output_.failed()) ReadLast();
  if (!closed() && pending_.size() == 0) ReadUnasked();
}

void ClientConnection::ReadUnasked() {
  if (!stream_->HasInput() || !TryTakeRole()) return;
  const ReadingReplies reading;
  bool would_block = false;
  while (!would_block && Read(orb::Wait::kNo, &would_block)) {
  }
  ReleaseRole();
  EnsureReader();
}

bool ClientConnection::Read(orb::Wait wait, bool* would_block) {
  if (closed_.load()) return false;
  if (wait == orb::Wait::kStay) registration_.Stay();
  const IoResult r = input_.Receive(stream_.get(), wait);
  switch (r.kind) {
    case IoResult::kBytes:
      return Process();
    case IoResult::kWouldBlock:
      *would_block = true;
      input_.Relax();
      return true;
    case IoResult::kEnd:
      FailAll(Outcome::kLost, output_.failed() ? "the peer does not take what is sent"
                                               : "the peer closed it without a word");
      return false;
    case IoResult::kError:
      FailAll(r.error);
      return false;
  }
  return false;
}

bool ClientConnection::Process() {
  while (!input_.empty()) {
    const size_t n = codec_->Decode(input_.block(), input_.bytes(), &incoming_);
    if (incoming_.kind == Incoming::Kind::kNeedMore) break;
    input_.Consume(n);
    Handle(&incoming_);
    incoming_.reply.body.block.reset();
    if (closed_.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

void ClientConnection::Handle(Incoming* in) {
  switch (in->kind) {
    case Incoming::Kind::kReply:
    case Incoming::Kind::kLocateReply: {
      Invocation* const call = pending_.Take(in->id);
      if (call == nullptr) return;  // timed out or cancelled before
      call->reply.TakeFrom(&in->reply);
      call->locate_status = in->locate_status;
      call->outcome_ = Outcome::kReply;
      call->AttemptOver();
      return;
    }
    case Incoming::Kind::kReject: {
      Invocation* const call = pending_.Take(in->id);
      if (call != nullptr) EndAttempt(call, Outcome::kMalformed, in->error);
      return;
    }
    case Incoming::Kind::kClose:
      return FailAll(Outcome::kNotExecuted, "the peer closed the connection in good order");
    case Incoming::Kind::kError:
      return ProtocolError(*in);
    default:
      return;
  }
}

void ClientConnection::ProtocolError(const Incoming& in) {
  if (!in.farewell.empty()) output_.Write(in.farewell.view());
  FailAll(Outcome::kLost, StrCat("protocol error: ", in.error));
}

void ClientConnection::FailAll(int error) { FailAll(Outcome::kLost, ErrnoText(error)); }

void ClientConnection::FailAll(Outcome outcome, std::string_view why) {
  {
    MutexLock lock(&mu_);
    if (closed_.load()) return;
    close_reason_ = why;
    close_outcome_.store(outcome);
    closed_.store(true);
  }
  ends_->fetch_add(1, std::memory_order_release);
  stream_->Shutdown();
  std::vector<uint32_t> ids;
  pending_.ForEach([&ids](uint32_t id, Nanos) { ids.push_back(id); });
  for (const uint32_t id : ids) {
    if (Invocation* const call = pending_.Take(id)) EndAttempt(call, outcome, why);
  }
}

void ClientConnection::Abort(std::string_view why) { FailAll(Outcome::kLost, why); }

bool ClientConnection::CloseInGoodOrder() {
  // Not with a call in flight that the server may have begun: it could not be told whether it may
  // be sent again.
  if (!pending_.SealIfEmpty()) return false;
  BufferLease out;
  codec_->EncodeClose(out.get());
  output_.End(out->view());
  FailAll(Outcome::kNotExecuted, "closed by this side");
  return true;
}

void ClientConnection::Wait(Invocation* call) {
  const Nanos deadline = call->request->deadline;
  while (call->state_.load(std::memory_order_acquire) != Invocation::kOver) {
    // One that may be cancelled sleeps where it can be woken: the reactor reads for it.
    if (call->cancellable) {
      EnsureReader();
      Sleep(call, deadline);
    } else if (TryTakeRole()) {
      ReadFor(call, deadline);
      ReleaseRole();
    } else {
      Sleep(call, deadline);
    }
    if (call->state_.load(std::memory_order_acquire) == Invocation::kOver) break;
    if (deadline != kNoDeadline && context_->clock->Now() >= deadline) {
      Cancel(call->wire_id_, Outcome::kTimeout);
      // Cancelled by us, or being completed by somebody at this moment.
    }
  }
  EnsureReader();
}

void ClientConnection::ReadFor(Invocation* call, Nanos deadline) {
  const ReadingReplies reading;
  // Staying, which ends after two ticks of the reactor, is too coarse when no more than this is
  // left.
  constexpr Nanos kFine = 25 * kMillisecond;
  bool hot = true;
  for (;;) {
    Nanos left = kSecond;
    if (deadline != kNoDeadline) {
      left = std::min(left, deadline - context_->clock->Now());
      if (left <= 0) return;
    }
    // Not a hot connection: wait without waking every few milliseconds.
    const bool wait_first = !hot || left < kFine || !context_->reactor->supervised();
    if (wait_first) stream_->WaitReadable(left);
    bool would_block = false;
    const bool open = Read(wait_first ? orb::Wait::kNo : orb::Wait::kStay, &would_block);
    if (!open || call->state_.load(std::memory_order_acquire) == Invocation::kOver) return;
    hot = !would_block;
  }
}

void ClientConnection::Sleep(Invocation* call, Nanos deadline) {
  const bool may_lead = !call->cancellable;
  if (may_lead) {
    MutexLock lock(&mu_);
    sleepers_.push_back(call);
    sleeper_count_.fetch_add(1);
  }
  uint32_t pending = Invocation::kPending;
  // The role may have become free before we could be found; then do not sleep.
  if ((!may_lead || role_.load() != RoleState::kFree) &&
      call->state_.compare_exchange_strong(pending, Invocation::kSleeping)) {
    Nanos timeout = kNoDeadline;
    if (deadline != kNoDeadline) {
      timeout = std::max<Nanos>(0, deadline - context_->clock->Now());
    }
    FutexWait(&call->state_, Invocation::kSleeping, timeout);
  }
  if (may_lead) {
    MutexLock lock(&mu_);
    const auto it = std::find(sleepers_.begin(), sleepers_.end(), call);
    if (it != sleepers_.end()) {
      sleepers_.erase(it);
      sleeper_count_.fetch_sub(1);
    }
  }
  for (const Invocation::State s : {Invocation::kSleeping, Invocation::kLead}) {
    uint32_t expected = s;
    call->state_.compare_exchange_strong(expected, Invocation::kPending);
  }
}

void ClientConnection::EnsureReader() {
  if (pending_.size() == 0 || role_.load() != RoleState::kFree || closed_.load()) return;
  if (sleeper_count_.load() > 0) {
    MutexLock lock(&mu_);
    while (!sleepers_.empty()) {
      Invocation* const next = sleepers_.back();
      sleepers_.pop_back();
      sleeper_count_.fetch_sub(1);
      uint32_t state = Invocation::kSleeping;
      if (next->state_.compare_exchange_strong(state, Invocation::kLead)) {
        FutexWake(&next->state_);
        return;
      }
      // About to fall asleep: kLead keeps it awake. Over already: another one.
      if (state == Invocation::kPending &&
          next->state_.compare_exchange_strong(state, Invocation::kLead)) {
        return;
      }
    }
  }
  RoleState free = RoleState::kFree;
  if (!role_.compare_exchange_strong(free, RoleState::kArmed)) return;
  AddRef();  // until the event has come
  if (registration_.Arm()) return;
  ReleaseRole();
  Abort(kNoRoomToWatch);
  Unref();
}

void ClientConnection::OnReady() {
  const ReadingReplies reading;
  role_.exchange(RoleState::kHeld);
  orb::Wait wait = orb::Wait::kNo;
  for (;;) {
    bool would_block = false;
    if (!Read(wait, &would_block)) break;
    if (would_block && wait == orb::Wait::kStay) break;
    if (pending_.size() == 0 || !context_->reactor->MayStay()) break;
    // Somebody is there who would read for himself: let him.
    if (sleeper_count_.load(std::memory_order_relaxed) > 0) break;
    wait = input_.full() ? orb::Wait::kNo : orb::Wait::kStay;
  }
  ReleaseRole();
  EnsureReader();
  Unref();
}

bool ClientConnection::ReadAlone(uint32_t id) {
  bool read = false;
  if (context_->reactor->supervised() && TryTakeRole()) {
    const ReadingReplies reading;
    bool would_block = false;
    while (pending_.Waiting(id) && !would_block) {
      if (!Read(orb::Wait::kStay, &would_block)) break;
    }
    read = !would_block;
    ReleaseRole();
  }
  EnsureReader();
  return read;
}

void ClientConnection::Cancel(uint32_t id, Outcome outcome) {
  pending_.NoteCancelled(id);
  Invocation* const call = pending_.Take(id);
  if (call == nullptr) return;
  WriteCancel(id);
  EndAttempt(call, outcome, "");
}

void ClientConnection::CancelSent(uint32_t id) {
  Invocation* const call = pending_.Take(id);
  WriteCancel(id);
  if (call != nullptr) EndAttempt(call, Outcome::kCancelled, "");
}

void ClientConnection::WriteCancel(uint32_t id) {
  BufferLease out;
  codec_->EncodeCancel(id, minor_.load(std::memory_order_relaxed), out.get());
  output_.Write(out->view());
}

void ClientConnection::CheckDeadlines(Nanos now) {
  if (pending_.size() == 0) return;
  std::vector<uint32_t> late;
  pending_.ForEach([&](uint32_t id, Nanos deadline) {
    if (deadline <= now) late.push_back(id);
  });
  for (const uint32_t id : late) Cancel(id, Outcome::kTimeout);
}

void ClientConnection::CheckTime(Nanos now) {
  if (closed_.load()) return;
  const Nanos blocked = output_.blocked_since();
  if (blocked != 0 && now - blocked > context_->limits.write_timeout) {
    return Abort("the peer has read nothing for the write timeout while requests wait");
  }
  if (pending_.size() != 0) return;
  const Nanos rested = now - last_used_.load(std::memory_order_relaxed);
  if (context_->limits.idle_timeout != 0 && rested > context_->limits.idle_timeout) {
    CloseInGoodOrder();
  } else {
    ReadUnasked();
  }
}

}  // namespace weir::orb
