#include "orb/core/forwarder.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "orb/core/code_sets.h"
#include "orb/core/is_a_call.h"
#include "orb/core/nesting.h"

namespace weir::orb {

// One call on its way through. Kept per thread between uses, as server calls are.
class Forwarder::Forwarded : public Invocation, public Call::Watcher {
 public:
  static void Start(Forwarder* forwarder, CallRef call, bool patience);

  // The caller has cancelled, or gone: the upstream need not go on either.
  void CallAbandoned() override { forwarder_->invoker_->CancelSoon(this); }

 private:
  friend struct ForwardedList;

  void Done() override;

  Forwarder* forwarder_ = nullptr;
  CallRef call_;
  std::string_view key_;  // as the caller sent it
  CodeSetsData code_sets_;
  bool tells_code_sets_ = false;  // the last context of the request is ours
};

struct ForwardedList {
  static constexpr int kMost = 32;
  ~ForwardedList() {
    closed = true;
    while (count > 0) delete items[--count];
  }
  Forwarder::Forwarded* Take() { return count > 0 ? items[--count] : new Forwarder::Forwarded; }
  void Put(Forwarder::Forwarded* f) {
    if (closed || count == kMost) {
      delete f;
    } else {
      items[count++] = f;
    }
  }

  Forwarder::Forwarded* items[kMost];
  int count = 0;
  bool closed = false;
};

namespace {
thread_local ForwardedList forwarded_list;
}  // namespace

void Forwarder::Forwarded::Start(Forwarder* forwarder, CallRef call, bool patience) {
  Forwarded* const f = forwarded_list.Take();
  const std::shared_ptr<Target>& to = forwarder->TargetOf(*call);
  f->forwarder_ = forwarder;
  f->request = &call->request();
  f->key_ = f->request->object_key;
  f->keep_key = true;
  f->cancellable = true;
  f->hurried = call->resumed();
  call->set_watcher(f);
  f->locate = call->locate();
  // The layout of a body that GIOP 1.1 has fragmented depends on its types, which we do not know:
  // it cannot be sent on in another version. In 1.0 the upstream does not fragment its replies.
  if (f->request->minor == GiopMinor::k2 && to->reference().giop_minor == 1) {
    f->request->minor = GiopMinor::k0;
  }
  f->tells_code_sets_ = call->code_sets().told() && !TellsCodeSets(f->request->contexts);
  if (f->tells_code_sets_) {
    f->code_sets_ = CodeSetsData(call->code_sets());
    f->request->contexts.push_back({kCodeSetsContext, f->code_sets_.view()});
  }
  // All calls of one connection go the same way, and so keep their order.
  f->affinity = reinterpret_cast<uintptr_t>(&call->peer()) / 64;
  if (forwarder->options_.timeout != kNoDeadline) {
    f->request->deadline = forwarder->clock_->Now() + forwarder->options_.timeout;
  }
  f->call_ = std::move(call);
  if (!patience) {
    forwarder->invoker_->Start(to, f);
    return;
  }
  const Nanos began = forwarder->clock_->Now();
  const bool read = forwarder->invoker_->Start(to, f, /*patience=*/true);
  forwarder->LearnPatience(read && forwarder->clock_->Now() - began < kMillisecond);
}

void Forwarder::Forwarded::Done() {
  CallRef call = std::move(call_);
  call->request().object_key = key_;
  if (tells_code_sets_) call->request().contexts.pop_back();
  if (status.ok()) {
    std::swap(call->reply(), reply);
    call->locate_status = locate_status;
  } else {
    if (!call->abandoned()) {
      forwarder_->logger_->Log(
          LogLevel::kWarning,
          StrCat("event=upstream_failed call=", call->id(), " peer=", call->peer().address,
                 " error=\"upstream ", Escape(ToStd(status.message())), "\""));
    }
    call->SetSystemException(FromStatus(status));
    status = absl::OkStatus();
  }
  reply.Clear();
  request = nullptr;
  call.Send();
  // Not before: until then the call's watcher may be told something.
  ForgetCancellation();
  forwarded_list.Put(this);
}

Forwarder::Forwarder(Invoker* invoker, std::shared_ptr<Target> upstream, Reactor* reactor,
                     const Clock* clock, Logger* logger, ForwarderOptions options)
    : invoker_(invoker),
      upstream_(std::move(upstream)),
      reactor_(reactor),
      clock_(clock),
      logger_(logger),
      options_(options) {
  if (upstream_ != nullptr) upstream_->remembers_forward = false;
}

bool Forwarder::MayBePatient() {
  const int skip = skip_.load(std::memory_order_relaxed);
  if (skip == 0) return reactor_->MayStay();
  skip_.store(skip - 1, std::memory_order_relaxed);
  return false;
}

void Forwarder::LearnPatience(bool paid) {
  int penalty = kLeastPenalty;
  if (!paid) {
    skip_.store(penalty_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    penalty = std::min(penalty_.load(std::memory_order_relaxed) * 2, kMostPenalty);
  }
  if (penalty_.load(std::memory_order_relaxed) != penalty) {
    penalty_.store(penalty, std::memory_order_relaxed);
  }
}

void Forwarder::Dispatch(CallRef call) {
  const bool patience = call->alone() && MayBePatient();
  if (call->elsewhere() != nullptr) [[unlikely]] {
    // Servers that send calls to each other come to an end: each goes one deeper.
    const FilterScope sent(std::min(NestingIn(call->request().contexts) + 1, kDeepestNesting));
    return Forwarded::Start(this, std::move(call), /*patience=*/false);
  }
  Forwarded::Start(this, std::move(call), patience);
}

ObjectIdentity Forwarder::Identify(std::string_view key) {
  return upstream_->Identify(key, clock_->Now());
}

void Forwarder::AskIsA(std::string_view key, std::string_view id, Nanos deadline,
                       IsAListener* listener) {
  if (options_.timeout != kNoDeadline) {
    deadline = std::min(deadline, clock_->Now() + options_.timeout);
  }
  IsACall::Start(invoker_, upstream_, key, id, deadline, listener);
}

}  // namespace weir::orb
