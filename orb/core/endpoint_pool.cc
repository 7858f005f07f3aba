#include "orb/core/endpoint_pool.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace weir::orb {

EndpointPool::EndpointPool(const ClientContext* context, Transport* transport, Messaging* messaging,
                           std::string address)
    : context_(context),
      transport_(transport),
      messaging_(messaging),
      address_(std::move(address)),
      name_(StrCat(transport->name(), ":", address_)),
      slots_(std::max<size_t>(1, context->limits.max_connections_per_endpoint)),
      attempts_(slots_.size()) {}

EndpointPool::~EndpointPool() { Close(); }

EndpointPool::Choice EndpointPool::Choose(uint64_t affinity) const {
  Choice choice;
  ReaderLockShared lock(&lock_);
  if (affinity != 0) {
    const size_t i = affinity % slots_.size();
    if (slots_[i] && !slots_[i]->closed()) {
      choice.open = slots_[i];
    } else {
      choice.free = i;
    }
    return choice;
  }
  std::optional<size_t> best;
  size_t fewest = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const ClientConnection* const c = slots_[i].get();
    if (c == nullptr || c->closed()) {
      if (!choice.free.has_value()) choice.free = i;
      continue;
    }
    const size_t n = c->calls_in_flight();
    if (!best.has_value() || n < fewest) {
      best = i;
      fewest = n;
    }
    if (n == 0) break;
  }
  if (best.has_value()) {
    choice.open = slots_[*best];
    if (fewest == 0) choice.free.reset();
  }
  return choice;
}

absl::StatusOr<Ref<ClientConnection>> EndpointPool::Open(size_t i, Nanos now, Nanos deadline) {
  const Nanos latest = std::min(deadline, now + context_->limits.connect_timeout);
  absl::StatusOr<std::unique_ptr<Stream>> stream;
  {
    Reactor::Blocking blocking(context_->reactor);
    stream = transport_->Connect(address_, latest);
  }
  absl::Status outcome = stream.status();
  Ref<ClientConnection> opened;
  if (stream.ok()) {
    opened = Ref<ClientConnection>::Adopt(new ClientConnection(
        context_, *std::move(stream), messaging_->NewCodec(Role::kClient), name_, ends_));
  }
  Ref<ClientConnection> before =
      opened;  // swapped with the closed one, which goes without the lock
  std::vector<Park> parked;
  {
    MutexLock lock(&mu_);
    if (closed_) outcome = absl::CancelledError("this ORB shuts down");
    attempts_[i].connecting = false;
    ++attempts_[i].settled;
    attempts_[i].outcome = outcome;
    parked.swap(attempts_[i].parked);
    if (outcome.ok()) {
      ReaderLockExclusive slots(&lock_);
      std::swap(slots_[i], before);
    }
    settled_.SignalAll();
  }
  for (const Park& resume : parked) resume(outcome);
  if (!outcome.ok()) return outcome;
  return opened;
}

Ref<ClientConnection> EndpointPool::GetIdle(Nanos now) {
  Ref<ClientConnection> open;
  {
    ReaderLockShared lock(&lock_);
    ClientConnection* const c = slots_[0].get();
    if (c == nullptr || !c->Idle()) return open;
    open = slots_[0];
    if (c->InSteadyUse(now)) [[likely]]
      return open;
  }
  if (!open->Usable(now)) open = Ref<ClientConnection>();
  return open;
}

uint64_t EndpointPool::Ends(Nanos now) {
  constexpr Nanos kPause = 5 * kMillisecond;
  if (now - looked_.load(std::memory_order_relaxed) >= kPause) [[unlikely]] {
    looked_.store(now, std::memory_order_relaxed);
    for (size_t i = 0;; ++i) {
      Ref<ClientConnection> connection;
      {
        ReaderLockShared lock(&lock_);
        if (i == slots_.size()) break;
        connection = slots_[i];
      }
      // Without the lock: this may end it, and calls on it.
      if (connection) connection->NoticeEnd();
    }
  }
  return ends_->load(std::memory_order_acquire);
}

absl::StatusOr<Ref<ClientConnection>> EndpointPool::Get(uint64_t affinity, Nanos now,
                                                        Nanos deadline, Park park, bool hurried) {
  for (;;) {
    Choice choice = Choose(affinity);
    // A look at a connection may end it, and the calls on it; so no lock is held.
    if (!choice.free.has_value()) {
      if (choice.open->Usable(now)) return std::move(choice.open);
      continue;
    }
    const size_t i = *choice.free;
    {
      MutexLock lock(&mu_);
      Attempt& attempt = attempts_[i];
      if (closed_) return absl::CancelledError("this ORB shuts down");
      if (!attempt.connecting) {
        attempt.connecting = true;
        if (hurried && park != nullptr) {
          attempt.parked.push_back(std::move(park));
          context_->reactor->Post([pool = shared_from_this(), i, deadline] {
            (void)pool->Open(i, pool->context_->clock->Now(), deadline);
          });
          return Ref<ClientConnection>();
        }
      } else if (choice.open) {
        return std::move(choice.open);  // busy, but better than to wait
      } else if (park != nullptr) {
        attempt.parked.push_back(std::move(park));
        return Ref<ClientConnection>();
      } else {
        const uint64_t settled = attempt.settled;
        while (attempt.settled == settled) {
          if (now >= deadline) {
            return absl::DeadlineExceededError(
                StrCat(address_, ": no connection before the deadline"));
          }
          settled_.WaitFor(&mu_, std::min(100 * kMillisecond, deadline - now));
          now = context_->clock->Now();
        }
        if (!attempt.outcome.ok()) return attempt.outcome;
        continue;
      }
    }
    absl::StatusOr<Ref<ClientConnection>> opened = Open(i, now, deadline);
    // One more is not to be had; those that are there will do.
    if (!opened.ok() && choice.open && choice.open->Usable(now)) return std::move(choice.open);
    return opened;
  }
}

std::vector<Ref<ClientConnection>> EndpointPool::Connections() const {
  ReaderLockShared lock(&lock_);
  std::vector<Ref<ClientConnection>> result;
  for (const auto& c : slots_) {
    if (c) result.push_back(c);
  }
  return result;
}

void EndpointPool::CheckDeadlines(Nanos now) {
  {
    ReaderLockShared lock(&lock_);
    for (const auto& c : slots_) {
      if (c && c->calls_in_flight() > 0) checked_.push_back(c);
    }
  }
  for (const auto& c : checked_) c->CheckDeadlines(now);
  checked_.clear();
}

void EndpointPool::CheckTime(Nanos now) {
  for (const auto& c : Connections()) c->CheckTime(now);
}

void EndpointPool::Close() {
  {
    MutexLock lock(&mu_);
    closed_ = true;
  }
  for (const auto& c : Connections()) {
    if (!c->CloseInGoodOrder()) c->Abort("this ORB shuts down");
  }
}

void EndpointPool::End() {
  Close();
  std::vector<Ref<ClientConnection>> ended;  // go without the lock
  ReaderLockExclusive lock(&lock_);
  for (Ref<ClientConnection>& c : slots_) ended.push_back(std::move(c));
}

size_t EndpointPool::size() const {
  const auto all = Connections();
  return std::count_if(all.begin(), all.end(), [](const auto& c) { return !c->closed(); });
}

}  // namespace weir::orb
