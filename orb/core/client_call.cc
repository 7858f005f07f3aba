#include "orb/core/client_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/futex.h"
#include "orb/core/invoker.h"
#include "orb/core/is_a_call.h"
#include "orb/core/target.h"

namespace weir::orb {

// What one thread keeps.
struct ClientCallList {
  static constexpr int kMost = 32;

  ~ClientCallList() {
    closed = true;
    while (count > 0) delete calls[--count];
  }
  ClientCall* Take() { return count > 0 ? calls[--count] : new ClientCall; }
  void Put(ClientCall* call) {
    if (closed || count == kMost) {
      delete call;
    } else {
      calls[count++] = call;
    }
  }

  ClientCall* calls[kMost];
  int count = 0;
  bool closed = false;
};

namespace {

thread_local ClientCallList call_list;

// The very same octets.
bool Same(const std::vector<ServiceContext>& a, const std::vector<ServiceContext>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const ServiceContext& x, const ServiceContext& y) {
        return x.id == y.id && x.data.data() == y.data.data() && x.data.size() == y.data.size();
      });
}

bool Holds(const cdr::BlockRef& block, std::string_view bytes) {
  if (bytes.empty()) return true;
  if (!block) return false;
  const auto* const first = reinterpret_cast<const uint8_t*>(bytes.data());
  return first >= block->data() && first + bytes.size() <= block->data() + block->capacity();
}

}  // namespace

void ClientCall::Attach(Invoker* invoker, Gate* gate, Invocation* invocation) {
  ClientCall* const call = call_list.Take();
  call->invoker_ = invoker;
  call->gate_ = gate;
  call->invocation_ = invocation;
  call->request_ = invocation->request;
  call->peer_ = &invocation->target_->peer();
  call->id_ = NextCallId();
  call->keep_key_ = invocation->keep_key;
  call->operation_ = call->request_->operation;
  call->request_body_ = call->request_->body;
  if (!call->request_->contexts.empty()) call->contexts_ = call->request_->contexts;
  invocation->filtered_ = call;
}

Gate::Outcome ClientCall::Up() {
  const bool blocking = invocation_->blocking_;
  Gate::Outcome outcome = gate_->Up(*this);
  if (outcome == Gate::Outcome::kSuspended) {
    if (!blocking) return outcome;  // and perhaps all over
    outcome = WaitResumed() == kAnswered ? Gate::Outcome::kAnswer : Gate::Outcome::kPass;
  }
  answered_ = outcome == Gate::Outcome::kAnswer;
  TakeRedirect();
  return outcome;
}

ObjectIdentity ClientCall::Identity() {
  const Target& target = elsewhere_ != nullptr ? *elsewhere_ : *invocation_->target_;
  return target.Identify(request_->object_key, invoker_->context_->clock->Now());
}

void ClientCall::AskIsA(std::string_view id, Nanos deadline, IsAListener* listener) {
  // The question may outlive this call, of which only the caller keeps the target alive.
  IsACall::Start(invoker_,
                 elsewhere_ != nullptr ? elsewhere_ : invocation_->target_->shared_from_this(),
                 request_->object_key, id, deadline, listener);
}

void ClientCall::TakeRedirect() {
  if (!redirected_) return;
  if (elsewhere_ != nullptr) invocation_->target_ = elsewhere_;
  invocation_->key_ = request_->object_key;
  invocation_->keep_key = true;
}

absl::Status ClientCall::RedirectTo(std::string_view reference) {
  auto target = invoker_->targets().Find(reference);
  if (!target.ok()) return target.status();
  const std::string_view key = (*target)->reference().object_key;
  SendElsewhere(*std::move(target), key);
  return absl::OkStatus();
}

void ClientCall::ResumeUp(bool answered) {
  if (invocation_->blocking_) return Wake(answered ? kAnswered : kPassed);
  answered_ = answered;
  TakeRedirect();
  invoker_->UpDone(invocation_, answered);
}

bool ClientCall::Down() {
  if (!answered_) {
    if (invocation_->status.ok()) {
      reply_.TakeFrom(&invocation_->reply);
    } else {
      // Down filters see every failure as the exception that the caller would.
      failure_.Clear();
      cdr::Encoder out(&failure_);
      Encode(FromStatus(invocation_->status), &out);
      SetBorrowedBody(ReplyStatus::kSystemException, failure_.view());
    }
  }
  if (gate_state_.chain != nullptr && request_->response_expected) {
    const bool blocking = invocation_->blocking_;
    if (gate_->Down(*this) == Gate::Outcome::kSuspended) {
      if (!blocking) return false;
      WaitResumed();
    }
  }
  Finish();
  return true;
}

void ClientCall::ResumeDown() {
  if (invocation_->blocking_) return Wake(kPassed);
  Invocation* const invocation = invocation_;
  Finish();
  invocation->Done();
}

void ClientCall::Wake(uint32_t how) {
  resumed_.store(how, std::memory_order_release);
  // Only the address is used, and the object stays with some list of calls.
  FutexWake(&resumed_);
}

uint32_t ClientCall::WaitResumed() {
  while (resumed_.load(std::memory_order_acquire) == kNot) {
    FutexWait(&resumed_, kNot, kNoDeadline);
  }
  return resumed_.exchange(kNot);
}

void ClientCall::Finish() {
  request_->operation = operation_;
  request_->body = std::move(request_body_);
  if (!Same(request_->contexts, contexts_)) request_->contexts = contexts_;
  Invoker::Unnest(invocation_);
  const bool still_failed = !failure_.empty() && reply_.body.bytes.data() == failure_.view().data();
  if (!still_failed) {
    invocation_->status = absl::OkStatus();
    Detach();
    invocation_->reply.Clear();
    invocation_->reply.TakeFrom(&reply_);
  }
  if (gate_state_.hold != nullptr) gate_->Release(*this);
  invocation_->filtered_ = nullptr;
  invocation_->keep_key = keep_key_;
  if (redirected_) request_->object_key = {};  // what it was before is the invoker's affair
  redirected_ = false;
  elsewhere_.reset();

  reply_.Clear();
  contexts_.clear();
  kept_.clear();
  gate_state_ = GateState();
  answered_ = false;
  failure_.Clear();
  request_ = nullptr;
  invocation_ = nullptr;
  call_list.Put(this);
}

void ClientCall::Detach() {
  bool whole = Holds(reply_.body.block, reply_.body.bytes);
  size_t size = reply_.body.bytes.size();
  for (const ServiceContext& context : reply_.contexts) {
    whole = whole && Holds(reply_.body.block, context.data);
    size += context.data.size();
  }
  if (whole) return;
  cdr::BlockRef block = cdr::BlockRef::Allocate(std::max(size, cdr::Block::kStandardSize));
  size_t used = 0;
  const auto copy = [&](std::string_view bytes) {
    auto* const at = reinterpret_cast<char*>(block->data()) + used;
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    used += bytes.size();
    return std::string_view(at, bytes.size());
  };
  // The body first: where alignment matters, it begins where the block does.
  reply_.body.bytes = copy(reply_.body.bytes);
  for (ServiceContext& context : reply_.contexts) context.data = copy(context.data);
  reply_.body.block = std::move(block);
}

}  // namespace weir::orb
