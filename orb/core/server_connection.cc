#include "orb/core/server_connection.h"

#include <utility>

#include "base/strings.h"
#include "orb/core/buffer_lease.h"
#include "orb/core/server_call.h"
#include "orb/transport/socket.h"

namespace weir::orb {

ServerConnection::ServerConnection(const ServerContext* context, std::unique_ptr<Stream> stream,
                                   std::unique_ptr<Codec> codec, std::string_view transport)
    : context_(context),
      stream_(std::move(stream)),
      codec_(std::move(codec)),
      peer_{std::string(transport), stream_->peer_address()},
      registration_(context->reactor, stream_->fd(), this),
      output_(stream_.get(), context->reactor, context->clock, context->limits.max_queued_output,
              {[this] { AddRef(); }, [this] { Unref(); }, [this] { ResumeReading(); }}) {}

ServerConnection::~ServerConnection() { context_->closed(this); }

void ServerConnection::Open() { Arm(); }

// `this` may be gone afterwards.
void ServerConnection::Arm() {
  if (registration_.Arm()) return;
  LogInputError(kNoRoomToWatch);
  // Callers may hold the mutex.
  context_->reactor->Post([this] { Close(); });
}

void ServerConnection::OnReady() {
  // What a previous owner has left, if the input was lent on.
  if (!input_.empty()) {
    const Next next = Process();
    if (next == Next::kLent) return;
    if (next == Next::kClose) return Close();
  }
  Wait wait = Wait::kNo;
  for (;;) {
    const IoResult r = input_.Receive(stream_.get(), wait);
    switch (r.kind) {
      case IoResult::kBytes: {
        received_.store(received_.load(std::memory_order_relaxed) + r.bytes,
                        std::memory_order_relaxed);
        const Next next = Process();
        if (next == Next::kLent) return;
        if (next == Next::kClose) return Close();
        break;
      }
      case IoResult::kWouldBlock:
        // Called back: the connection is no longer hot.
        if (wait == Wait::kStay) return Rearm();
        break;
      case IoResult::kEnd:
        if (!input_.empty() || codec_->MidMessage()) {
          LogInputError("the peer closed in the middle of a message");
        }
        return Close();
      case IoResult::kError:
        return Close();
    }
    // Without a thread that watches the rest, others must get their turn.
    if (output_.congested() || !context_->reactor->MayStay()) return Rearm();
    wait = input_.full() ? Wait::kNo : Wait::kStay;
    registration_.Stay();
  }
}

// Hands the input over to whichever thread gets the next event. `this` may be gone afterwards.
void ServerConnection::Rearm() {
  input_.Relax();
  if (output_.congested()) {
    MutexLock lock(&mu_);
    // Checked again under the lock: the flusher resumes reading only if it finds `paused_`.
    if (output_.congested()) {
      paused_ = true;
      return;
    }
  }
  Arm();
}

void ServerConnection::ResumeReading() {
  MutexLock lock(&mu_);
  if (!paused_) return;
  paused_ = false;
  Arm();
}

ServerConnection::Next ServerConnection::Process() {
  while (!input_.empty()) {
    ServerCallLease call;
    const size_t n = codec_->Decode(input_.block(), input_.bytes(), call.incoming());
    if (call.incoming()->kind == Incoming::Kind::kNeedMore) break;
    input_.Consume(n);
    const Next next = Handle(&call);
    if (next != Next::kGoOn) return next;
  }
  const bool partial = !input_.empty() || codec_->MidMessage();
  if (partial != (partial_since_.load(std::memory_order_relaxed) != 0)) [[unlikely]] {
    partial_since_.store(partial ? context_->clock->Now() : 0, std::memory_order_relaxed);
  }
  return Next::kGoOn;
}

ServerConnection::Next ServerConnection::Handle(ServerCallLease* call) {
  const Incoming* const in = call->incoming();
  switch (in->kind) {
    case Incoming::Kind::kRequest:
      return HandleRequest(call);
    case Incoming::Kind::kLocateRequest:
      return HandleLocateRequest(call);
    case Incoming::Kind::kCancel:
      HandleCancel(in->id);
      return Next::kGoOn;
    case Incoming::Kind::kReject:
      LogInputError(in->error);
      if (in->request.response_expected) {
        SendSystemException(in->id, in->request.minor, in->exception);
      }
      return Next::kGoOn;
    case Incoming::Kind::kError:
      LogInputError(in->error);
      if (!in->farewell.empty()) output_.Write(in->farewell.view());
      return Next::kClose;
    case Incoming::Kind::kClose:
      return Next::kClose;
    default:
      return Next::kGoOn;
  }
}

uint32_t ServerConnection::BeginUpcall() {
  AddRef();  // for HandleRequest, which may no longer own the input when the servant returns
  const uint32_t number = (upcall_.load(std::memory_order_relaxed) >> 2) + 1;
  const uint32_t token = number << 2 | kRunning;
  if (slow_upcalls_.load(std::memory_order_relaxed) == 0) [[likely]] {
    upcall_.store(token, std::memory_order_release);
  } else {
    slow_upcalls_.fetch_sub(1, std::memory_order_relaxed);
    upcall_.store(number << 2 | kInputLent, std::memory_order_release);
    PassInputOn();
  }
  return token;
}

bool ServerConnection::EndUpcall(uint32_t upcall) {
  uint32_t expected = upcall;
  if (upcall_.compare_exchange_strong(expected, upcall & ~3u) ||
      (expected == ((upcall & ~3u) | kSeen) &&
       upcall_.compare_exchange_strong(expected, upcall & ~3u))) {
    return true;
  }
  return false;
}

void ServerConnection::LendInput() {
  uint32_t word = upcall_.load(std::memory_order_acquire);
  switch (word & 3u) {
    case kRunning:
      upcall_.compare_exchange_strong(word, (word & ~3u) | kSeen);
      return;
    case kSeen:
      if (upcall_.compare_exchange_strong(word, (word & ~3u) | kInputLent)) {
        slow_upcalls_.store(kSlowUpcalls, std::memory_order_relaxed);
        PassInputOn();
      }
      return;
    default:
      return;
  }
}

// In place of the owner, which is inside an upcall.
void ServerConnection::PassInputOn() {
  if (input_.empty()) return Rearm();
  // Bytes that have arrived cause no event: some thread is to go on with them.
  context_->reactor->Post([this] { OnReady(); });
}

bool ServerConnection::Overloaded() const {
  return context_->pending_bytes.load(std::memory_order_relaxed) >
             context_->limits.max_pending_bytes ||
         calls_in_progress() > context_->limits.max_calls_per_connection;
}

// A request that must not be served, if it is one.
std::optional<ServerConnection::Next> ServerConnection::Refuse(ServerCallLease* call) {
  Incoming* const in = call->incoming();
  bool duplicate, too_many_bytes;
  {
    MutexLock lock(&mu_);
    duplicate = late_.contains(in->id);
    too_many_bytes = late_bytes_ > context_->limits.max_pending_bytes_per_connection;
  }
  if (!duplicate && !too_many_bytes && !Overloaded()) return std::nullopt;
  EndCall();
  if (duplicate) {
    LogInputError(StrCat("request id ", in->id, " is in use already"));
    return Next::kClose;
  }
  in->kind = Incoming::Kind::kReject;
  in->exception = {ExceptionId::kNoResources, WeirMinor::kTooManyPending, Completion::kNo};
  in->error =
      calls_in_progress() >= context_->limits.max_calls_per_connection
          ? StrCat("more than ", context_->limits.max_calls_per_connection, " calls in progress")
          : "too many bytes of requests wait for late answers";
  return Handle(call);
}

bool ServerConnection::BeginCall() {
  if (state_.fetch_add(1) & kClosing) [[unlikely]] {
    state_.fetch_sub(1);
    return false;
  }
  return true;
}

void ServerConnection::EndCall() { state_.fetch_sub(1); }

void ServerConnection::AddLate(ServerCall* call) {
  late_[call->incoming_.id] = call;
  late_count_.fetch_add(1);
  late_bytes_ += call->incoming_.wire_size;
  context_->pending_bytes.fetch_add(call->incoming_.wire_size, std::memory_order_relaxed);
}

void ServerConnection::RemoveLate(ServerCall* call) {
  MutexLock lock(&mu_);  // after which AddLate is over
  context_->pending_bytes.fetch_sub(call->incoming_.wire_size, std::memory_order_relaxed);
  late_.erase(call->incoming_.id);
  late_count_.fetch_sub(1);
  late_bytes_ -= call->incoming_.wire_size;
}

ServerConnection::Next ServerConnection::HandleRequest(ServerCallLease* call) {
  calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // After our CloseConnection a request is not to be executed: the peer will send it again
  // elsewhere.
  if (!BeginCall()) return Next::kGoOn;
  if (late_count_.load(std::memory_order_relaxed) != 0 || Overloaded()) [[unlikely]] {
    if (const std::optional<Next> refused = Refuse(call)) return *refused;
  }
  const bool alone = input_.empty() && late_count_.load(std::memory_order_relaxed) == 0;
  ServerCall* const begun = call->Release();
  begun->Begin(this, alone);
  const uint32_t upcall = begun->Run();
  if (upcall == 0) [[likely]]
    return Next::kGoOn;
  const bool still_owner = EndUpcall(upcall);
  Unref();
  return still_owner ? Next::kGoOn : Next::kLent;
}

ServerConnection::Next ServerConnection::HandleLocateRequest(ServerCallLease* call) {
  const Incoming* const in = call->incoming();
  const std::shared_ptr<Servant> servant = context_->adapter->Find(in->request.object_key);
  if (servant != nullptr && servant->HandlesBuiltins()) return HandleRequest(call);
  SendLocateReply(in->id, in->request.minor,
                  servant != nullptr ? LocateStatus::kObjectHere : LocateStatus::kUnknownObject,
                  Reply());
  return Next::kGoOn;
}

void ServerConnection::SendLocateReply(uint32_t id, GiopMinor minor, LocateStatus status,
                                       const Reply& reply) {
  if (reply.status == ReplyStatus::kLocationForward) status = LocateStatus::kObjectForward;
  if (reply.status == ReplyStatus::kSystemException) {
    // Before GIOP 1.2 there is no way to say more than that the object is not to be had.
    status = minor == GiopMinor::k2 ? LocateStatus::kSystemException : LocateStatus::kUnknownObject;
  }
  const bool has_body =
      status == LocateStatus::kObjectForward || status == LocateStatus::kSystemException;
  BufferLease out;
  codec_->EncodeLocateReply(id, minor, status, has_body ? reply.body : Body(), out.get());
  output_.Write(out->view());
}

void ServerConnection::HandleCancel(uint32_t id) {
  MutexLock lock(&mu_);
  const auto it = late_.find(id);
  if (it != late_.end()) it->second->Cancel();
}

void ServerConnection::SendReply(uint32_t id, GiopMinor minor, const Reply& reply) {
  BufferLease out;
  const absl::Status status = codec_->EncodeReply(id, minor, reply, out.get());
  if (!status.ok()) [[unlikely]]
    return ReplyNotEncodable(id, minor, status);
  output_.Write(out->view());
}

void ServerConnection::ReplyNotEncodable(uint32_t id, GiopMinor minor, const absl::Status& why) {
  context_->logger->Log(LogLevel::kError, StrCat("event=reply_not_encodable peer=", peer_.address,
                                                 " error=\"", why.message(), "\""));
  SystemException e = FromStatus(why);
  e.completed = Completion::kYes;
  SendSystemException(id, minor, e);
}

void ServerConnection::SendSystemException(uint32_t id, GiopMinor minor, const SystemException& e) {
  BufferLease body;
  cdr::Encoder encoder(body.get());
  Encode(e, &encoder);
  Reply reply;
  reply.status = ReplyStatus::kSystemException;
  reply.body.bytes = body->view();
  BufferLease out;
  if (codec_->EncodeReply(id, minor, reply, out.get()).ok()) output_.Write(out->view());
}

bool ServerConnection::TryCloseInGoodOrder() {
  uint32_t idle = 0;
  if (state_.compare_exchange_strong(idle, kClosing)) {
    BufferLease out;
    codec_->EncodeClose(out.get());
    // The peer reads the message, then the end, and closes: its end of stream is our last event.
    output_.End(out->view());
  }
  return output_.ended();
}

void ServerConnection::Abort(std::string_view reason) {
  if (!reason.empty()) LogInputError(reason);
  state_.fetch_or(kClosing);  // what has arrived and is not read yet is not served any more
  stream_->Shutdown();
  // A connection that waits for its output to drain is not armed for input: it must be found again.
  ResumeReading();
}

void ServerConnection::CheckTime(Nanos now) {
  const ServerLimits& limits = context_->limits;
  const Nanos blocked = output_.blocked_since();
  if (blocked != 0 && now - blocked > limits.write_timeout) {
    return Abort("the peer has read nothing for the write timeout while replies wait");
  }
  if (ended_.load()) return;

  const Nanos partial = partial_since_.load(std::memory_order_relaxed);
  if (partial != partial_seen_) {
    partial_seen_ = partial;
    partial_base_ = received_.load(std::memory_order_relaxed);
  } else if (partial != 0) {
    const uint64_t arrived = received_.load(std::memory_order_relaxed) - partial_base_;
    const Nanos allowed =
        limits.message_timeout + static_cast<Nanos>(arrived / limits.min_rate) * kSecond;
    if (now - partial > allowed) {
      return Abort("a message did not arrive whole within the message timeout");
    }
  }

  const uint64_t calls = calls_.load(std::memory_order_relaxed);
  if (calls != seen_calls_ || calls_in_progress() != 0 || quiet_since_ == 0) {
    seen_calls_ = calls;
    quiet_since_ = now;
    return;
  }
  if ((state_.load() & kClosing) != 0) {
    if (TryCloseInGoodOrder() && now - quiet_since_ > limits.message_timeout) Abort("");
  } else if (limits.idle_timeout != 0 && now - quiet_since_ > limits.idle_timeout) {
    TryCloseInGoodOrder();
    quiet_since_ = now;
  }
}

void ServerConnection::LogInputError(std::string_view what) {
  // A peer that sends rubbish without end must not fill the log: after the first few, only each
  // time their number has doubled.
  constexpr uint64_t kFirstFew = 8;
  const uint64_t n = input_errors_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (n > kFirstFew && (n & (n - 1)) != 0) return;
  context_->logger->Log(LogLevel::kWarning,
                        StrCat("event=connection_error transport=", peer_.transport, " peer=",
                               peer_.address, " count=", n, " error=\"", Escape(what), "\""));
}

// The owner of the input, once.
void ServerConnection::Close() {
  ended_.store(true);
  output_.End("");
  // Closing on unread input would make the kernel destroy what the peer has not read yet of our
  // last message.
  input_.Discard();
  for (int i = 0; i < 64; ++i) {
    if (input_.Receive(stream_.get(), Wait::kNo).kind != IoResult::kBytes) break;
    input_.Discard();
  }
  input_.Relax();
  {
    MutexLock lock(&mu_);
    for (const auto& [id, call] : late_) call->Cancel();
  }
  registration_.Remove();
  Unref();
}

}  // namespace weir::orb
