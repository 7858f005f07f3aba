#include "filters/call_ring.h"

#include <algorithm>
#include <utility>

namespace weir::filters {

size_t CallRecord::Bytes() const {
  size_t bytes = sizeof *this + peer.capacity() + object_key.capacity() + operation.capacity() +
                 status.capacity() + steps.capacity() * sizeof(Step);
  for (const Step& step : steps) bytes += step.plug.capacity() + step.method.capacity();
  return bytes;
}

void CallRing::Add(CallRecord record) {
  const size_t bytes = record.Bytes();
  if (bytes > limits_.bytes) return;
  auto kept = std::make_shared<CallRecord>(std::move(record));
  // Freed after the lock is gone.
  std::vector<std::shared_ptr<const CallRecord>> gone;
  MutexLock lock(&mu_);
  kept->sequence = next_++;
  calls_.push_back(std::move(kept));
  bytes_ += bytes;
  while (!calls_.empty() && (calls_.size() > limits_.entries || bytes_ > limits_.bytes)) {
    bytes_ -= calls_.front()->Bytes();
    gone.push_back(std::move(calls_.front()));
    calls_.pop_front();
  }
}

std::shared_ptr<const CallRecord> CallRing::Find(uint64_t call) const {
  MutexLock lock(&mu_);
  const auto it =
      std::find_if(calls_.rbegin(), calls_.rend(), [&](const auto& c) { return c->call == call; });
  return it == calls_.rend() ? nullptr : *it;
}

CallRing::Page CallRing::After(uint64_t after, size_t limit) const {
  MutexLock lock(&mu_);
  return From(after < next_ ? after + 1 : next_, limit);
}

CallRing::Page CallRing::Latest(size_t limit) const {
  MutexLock lock(&mu_);
  return From(next_ - std::min(limit, calls_.size()), limit);
}

CallRing::Page CallRing::From(uint64_t first, size_t limit) const {
  const uint64_t oldest = next_ - calls_.size();
  Page page;
  page.missed = oldest - std::min(first, oldest);
  first = std::max(first, oldest);
  const size_t begin = first - oldest;
  const size_t end = begin + std::min(limit, calls_.size() - begin);
  page.calls.assign(calls_.begin() + begin, calls_.begin() + end);
  page.next = oldest + end - 1;
  return page;
}

std::string Cut(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  return std::string(text.substr(0, bytes)) + "...";
}

}  // namespace weir::filters
