#include "control/service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/describe.h"

namespace weir::control {
namespace {

// How much of a change set a line of the log shows.
constexpr size_t kLoggedBytes = 1000;
// A day: keeps deadline arithmetic far from overflow.
constexpr Nanos kMaxDrain = 86'400 * kSecond;
constexpr Nanos kDrainSlice = 100 * kMillisecond;

}  // namespace

Watcher::~Watcher() { service_->Remove(this); }

absl::StatusOr<std::optional<WatchEvent>> Watcher::Next() {
  MutexLock lock(&mu_);
  if (overrun_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the watcher is too slow: more than ", limit_,
                     " changes waited for it; watch again from revision ", delivered_));
  }
  if (queue_.empty()) {
    if (closed_) return absl::UnavailableError("the node is shutting down");
    return std::nullopt;
  }
  WatchEvent event = std::move(queue_.front());
  queue_.pop_front();
  delivered_ = event.revision;
  return event;
}

void Watcher::Start(std::vector<WatchEvent> events) {
  MutexLock lock(&mu_);
  started_with_ = events.size();
  queue_.assign(std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
}

void Watcher::Push(const WatchEvent& event) {
  {
    MutexLock lock(&mu_);
    if (overrun_) return;
    if (queue_.size() >= limit_ + started_with_) {
      overrun_ = true;
      queue_.clear();
    } else {
      queue_.push_back(event);
    }
  }
  wake_();
}

void Watcher::Close() {
  {
    MutexLock lock(&mu_);
    closed_ = true;
  }
  wake_();
}

Service::Service(filters::Registry* registry, Store* store, const Clock* clock, Logger* logger,
                 ServiceLimits limits)
    : registry_(registry), store_(store), clock_(clock), logger_(logger), limits_(limits) {
  MutexLock lock(&watch_mu_);
  latest_.state = std::make_shared<const filters::State>(registry->state());
  latest_.revision = latest_.state->revision;
  // Without the history, watchers that come back after a restart only start with the whole state.
  absl::StatusOr<std::vector<HistoryEntry>> history = store->History(
      latest_.revision > limits_.kept_changes ? latest_.revision - limits_.kept_changes : 0);
  if (!history.ok()) {
    logger->Log(LogLevel::kWarning,
                absl::StrCat("control: the history is not used: ", history.status().message()));
    return;
  }
  for (HistoryEntry& entry : *history) {
    if (!kept_.empty() && entry.revision != kept_.back().revision + 1) kept_.clear();
    kept_.push_back({entry.revision, nullptr,
                     std::make_shared<const filters::ChangeSet>(std::move(entry.changes))});
  }
  if (!kept_.empty() && kept_.back().revision != latest_.revision) kept_.clear();
}

Service::~Service() { Shutdown(); }

absl::StatusOr<Service::ApplyResult> Service::Apply(const filters::ChangeSet& changes,
                                                    const ApplyOptions& options) {
  if (changes.size() > limits_.changes) {
    return absl::ResourceExhaustedError(absl::StrCat("the change set has ", changes.size(),
                                                     " changes, over the limit of ",
                                                     limits_.changes, "; split it"));
  }
  ApplyResult result;
  {
    MutexLock lock(&commit_mu_);
    if (closed_) return absl::UnavailableError("the node is shutting down; nothing was changed");
    const uint64_t base = registry_->revision();
    absl::StatusOr<filters::Prepared> prepared =
        registry_->Prepare(changes, options.expected_revision);
    if (!prepared.ok()) return prepared.status();
    result.revision = prepared->state.revision;
    result.changed = prepared->changed;
    if (prepared->changed) {
      absl::Status stored = store_->Commit(base, prepared->state, changes, clock_->WallTime());
      if (!stored.ok()) {
        logger_->Log(LogLevel::kError, absl::StrCat("control: revision ", result.revision,
                                                    " was not committed: ", stored.message()));
        return stored;
      }
      filters::State state = prepared->state;
      registry_->Publish(*std::move(prepared));
      logger_->Log(LogLevel::kInfo, absl::StrCat("control: revision ", result.revision,
                                                 " committed: ", Describe(changes, kLoggedBytes)));
      Tell(std::move(state), changes);
    }
  }
  if (options.drain_timeout.has_value()) result.drained = Drain(options);
  return result;
}

absl::Status Service::Drain(const ApplyOptions& options) {
  const Nanos deadline = clock_->Now() + std::clamp<Nanos>(*options.drain_timeout, 0, kMaxDrain);
  for (;;) {
    // In slices, as the registry knows neither of callers that leave nor of the end of the node.
    const absl::Status drained = registry_->Drain(std::min(deadline, clock_->Now() + kDrainSlice));
    if (drained.code() != absl::StatusCode::kDeadlineExceeded || clock_->Now() >= deadline) {
      return drained;
    }
    if (options.cancelled != nullptr && options.cancelled()) {
      return absl::CancelledError("nobody waits any more");
    }
    MutexLock lock(&commit_mu_);
    if (closed_) return absl::UnavailableError("the node is shutting down");
  }
}

void Service::Tell(filters::State state, const filters::ChangeSet& changes) {
  const WatchEvent event{state.revision, nullptr,
                         std::make_shared<const filters::ChangeSet>(changes)};
  MutexLock lock(&watch_mu_);
  latest_.revision = state.revision;
  latest_.state = std::make_shared<const filters::State>(std::move(state));
  kept_.push_back(event);
  while (kept_.size() > limits_.kept_changes) kept_.pop_front();
  for (Watcher* watcher : watchers_) watcher->Push(event);
}

absl::StatusOr<std::unique_ptr<Watcher>> Service::Watch(std::optional<uint64_t> from,
                                                        std::function<void()> wake) {
  MutexLock lock(&watch_mu_);
  if (watch_closed_) return absl::UnavailableError("the node is shutting down");
  if (watchers_.size() >= limits_.watchers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", limits_.watchers, " watchers already, which is the limit"));
  }
  if (from.has_value() && *from > latest_.revision) {
    return absl::OutOfRangeError(absl::StrCat("revision ", *from,
                                              " is not reached; this node is at ", latest_.revision,
                                              "; was its store replaced?"));
  }
  std::unique_ptr<Watcher> watcher(new Watcher(this, limits_.queued_events, std::move(wake)));
  std::vector<WatchEvent> start;
  const bool kept = from.has_value() && (*from == latest_.revision ||
                                         (!kept_.empty() && kept_.front().revision <= *from + 1));
  if (kept) {
    for (const WatchEvent& event : kept_) {
      if (event.revision > *from) start.push_back(event);
    }
  } else {
    start.push_back(latest_);
  }
  watcher->Start(std::move(start));
  watchers_.push_back(watcher.get());
  return watcher;
}

void Service::Shutdown() {
  {
    MutexLock lock(&commit_mu_);
    closed_ = true;
  }
  MutexLock lock(&watch_mu_);
  watch_closed_ = true;
  for (Watcher* watcher : watchers_) watcher->Close();
}

size_t Service::watchers() const {
  MutexLock lock(&watch_mu_);
  return watchers_.size();
}

void Service::Remove(Watcher* watcher) {
  MutexLock lock(&watch_mu_);
  watchers_.erase(std::remove(watchers_.begin(), watchers_.end(), watcher), watchers_.end());
}

}  // namespace weir::control
