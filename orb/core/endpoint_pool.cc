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
      connecting_(slots_.size()) {}

EndpointPool::~EndpointPool() { Close(); }

std::optional<size_t> EndpointPool::Choose(uint64_t affinity, std::optional<size_t>* free) const {
  if (affinity != 0) {
    const size_t i = affinity % slots_.size();
    if (slots_[i] && !slots_[i]->closed()) return i;
    *free = i;
    return std::nullopt;
  }
  std::optional<size_t> best;
  size_t fewest = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const ClientConnection* const c = slots_[i].get();
    if (c == nullptr || c->closed()) {
      if (!free->has_value()) *free = i;
      continue;
    }
    const size_t n = c->calls_in_flight();
    if (n == 0) return i;
    if (!best.has_value() || n < fewest) {
      best = i;
      fewest = n;
    }
  }
  if (free->has_value()) return std::nullopt;
  return best;
}

Ref<ClientConnection> EndpointPool::GetIdle(Nanos now) {
  Ref<ClientConnection> open;
  {
    ReaderLockShared lock(&lock_);
    const ClientConnection* const c = slots_[0].get();
    if (c != nullptr && !c->closed() && c->calls_in_flight() == 0) open = slots_[0];
  }
  if (open && !open->Usable(now)) open = Ref<ClientConnection>();
  return open;
}

absl::StatusOr<Ref<ClientConnection>> EndpointPool::Get(uint64_t affinity, Nanos now,
                                                        Nanos deadline,
                                                        std::function<void()> park) {
  for (;;) {
    std::optional<size_t> free;
    Ref<ClientConnection> open;
    {
      ReaderLockShared lock(&lock_);
      if (const std::optional<size_t> i = Choose(affinity, &free)) open = slots_[*i];
    }
    // Outside the lock: a look at a connection may end it, and the calls on it.
    if (open) {
      if (open->Usable(now)) return open;
      continue;
    }
    {
      MutexLock lock(&mu_);
      if (connecting_[*free]) {
        if (park != nullptr) {
          parked_.push_back(std::move(park));
          return Ref<ClientConnection>();
        }
        settled_.WaitFor(&mu_, 100 * kMillisecond);
        now = context_->clock->Now();
        if (now >= deadline) {
          return absl::DeadlineExceededError(
              StrCat(address_, ": no connection before the deadline"));
        }
        continue;
      }
      connecting_[*free] = true;
    }
    const Nanos latest = std::min(deadline, now + context_->limits.connect_timeout);
    absl::StatusOr<std::unique_ptr<Stream>> stream;
    {
      Reactor::Blocking blocking(context_->reactor);
      stream = transport_->Connect(address_, latest);
    }
    Ref<ClientConnection> connection;
    if (stream.ok()) {
      connection = Ref<ClientConnection>::Adopt(new ClientConnection(
          context_, *std::move(stream), messaging_->NewCodec(Role::kClient), name_));
    }
    std::vector<std::function<void()>> parked;
    {
      MutexLock lock(&mu_);
      connecting_[*free] = false;
      parked.swap(parked_);
      if (connection) {
        ReaderLockExclusive slots(&lock_);
        std::swap(slots_[*free], connection);
      }
      settled_.SignalAll();
    }
    for (const std::function<void()>& resume : parked) resume();
    if (!stream.ok()) return stream.status();
    connection = Ref<ClientConnection>();  // the one that was there before, if any
    ReaderLockShared lock(&lock_);
    return slots_[*free];
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
  for (const auto& c : Connections()) c->CheckDeadlines(now);
}

void EndpointPool::CheckTime(Nanos now) {
  for (const auto& c : Connections()) c->CheckTime(now);
}

void EndpointPool::Close() {
  for (const auto& c : Connections()) {
    if (c->calls_in_flight() == 0 && !c->closed()) {
      c->CloseInGoodOrder();
    } else {
      c->Abort("this ORB shuts down");
    }
  }
}

size_t EndpointPool::size() const {
  const auto all = Connections();
  return std::count_if(all.begin(), all.end(), [](const auto& c) { return !c->closed(); });
}

}  // namespace weir::orb
