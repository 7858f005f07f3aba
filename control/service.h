// The control plane without its transport: commits change sets to the registry through the store,
// and tells watchers of them.
//
// A commit goes: Registry::Prepare (all that can fail) -> Store::Commit (durable) ->
// Registry::Publish (calls see it) -> watchers are told -> it is acknowledged. If the store fails,
// nothing has changed. Commits are serialized; calls and lists go on meanwhile.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_CONTROL_SERVICE_H_
#define WEIR_CONTROL_SERVICE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/logger.h"
#include "base/mutex.h"
#include "control/store.h"
#include "filters/registry.h"

namespace weir::control {

struct ServiceLimits {
  // Change sets that are kept for watchers that come back.
  size_t kept_changes = 1024;
  // Events that may wait for one watcher: one that never reads must not fill the memory.
  size_t queued_events = 1024;
  // Watchers at a time: opening streams must not, either.
  size_t watchers = 256;
  // Changes in one change set: they are compiled while other commits wait.
  size_t changes = 10'000;
};

// What a watcher sees. Exactly one of the two is set; events are shared among watchers.
struct WatchEvent {
  uint64_t revision = 0;
  std::shared_ptr<const filters::State> state;        // a beginning: forget what you know
  std::shared_ptr<const filters::ChangeSet> changes;  // committed as `revision`
};

class Service;

// One watcher's bounded queue of events. Destroy it to stop watching.
//
// Thread safety: safe for concurrent use.
class Watcher {
 public:
  ~Watcher();

  // The next event, or nothing for now. RESOURCE_EXHAUSTED once the watcher has been too slow:
  // events that were not delivered are gone, and the text says where to watch again from.
  // UNAVAILABLE when the service is shutting down and all events were delivered.
  absl::StatusOr<std::optional<WatchEvent>> Next();

 private:
  friend class Service;
  Watcher(Service* service, size_t limit, std::function<void()> wake)
      : service_(service), limit_(limit), wake_(std::move(wake)) {}

  // Without waking: for the events that a watcher starts with, whatever their number.
  void Start(std::vector<WatchEvent> events);
  void Push(const WatchEvent& event);
  void Close();

  Service* const service_;
  const size_t limit_;
  const std::function<void()> wake_;
  Mutex mu_;
  std::deque<WatchEvent> queue_ ABSL_GUARDED_BY(mu_);
  size_t started_with_ ABSL_GUARDED_BY(mu_) = 0;  // events that do not count against the limit
  uint64_t delivered_ ABSL_GUARDED_BY(mu_) = 0;   // revision of the last event from Next
  bool overrun_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

class Service {
 public:
  // All of them must outlive the service. While it exists, nobody else may publish to `registry` or
  // write to `store`, and both must be at the same revision.
  Service(filters::Registry* registry, Store* store, const Clock* clock, Logger* logger,
          ServiceLimits limits = {});
  // REQUIRES: no watcher is left.
  ~Service();

  struct ApplyOptions {
    std::optional<uint64_t> expected_revision;
    // How long to wait, after the commit, for the calls that began before it. Nanoseconds.
    std::optional<Nanos> drain_timeout;
    // True once nobody waits for the answer any more; then draining ends. May be null.
    std::function<bool()> cancelled;
  };
  struct ApplyResult {
    uint64_t revision = 0;
    bool changed = false;
    // Unless OK, not all older calls have ended; the commit stands. DEADLINE_EXCEEDED says how many
    // still run, CANCELLED and UNAVAILABLE that the waiting was given up.
    absl::Status drained;
  };
  // Errors: those of Registry::Prepare and Store::Commit; RESOURCE_EXHAUSTED (too many changes).
  // After an error nothing has changed.
  absl::StatusOr<ApplyResult> Apply(const filters::ChangeSet& changes, const ApplyOptions& options);

  // Begins to watch after revision `from`; without it, or if the changes since are not kept any
  // more, with the whole state. `wake` is called, on other threads and at times under a lock, when
  // Next may have something new; it must neither block nor call back into the watcher or service.
  // Errors: OUT_OF_RANGE (a revision that is not reached yet), RESOURCE_EXHAUSTED (too many
  // watchers), UNAVAILABLE (shutting down).
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(std::optional<uint64_t> from,
                                                 std::function<void()> wake);

  // Ends all watchers, after what is queued for them, and drains; refuses new ones and commits.
  void Shutdown();

  const filters::Registry& registry() const { return *registry_; }
  const Store& store() const { return *store_; }
  size_t watchers() const;

 private:
  friend class Watcher;
  void Remove(Watcher* watcher);
  absl::Status Drain(const ApplyOptions& options);
  void Tell(filters::State state, const filters::ChangeSet& changes) ABSL_LOCKS_EXCLUDED(watch_mu_);

  filters::Registry* const registry_;
  Store* const store_;
  const Clock* const clock_;
  Logger* const logger_;
  const ServiceLimits limits_;

  // Serializes commits; held while the store writes. Taken before watch_mu_.
  Mutex commit_mu_;
  bool closed_ ABSL_GUARDED_BY(commit_mu_) = false;

  // Never held while anything blocks.
  mutable Mutex watch_mu_;
  std::vector<Watcher*> watchers_ ABSL_GUARDED_BY(watch_mu_);
  std::deque<WatchEvent> kept_ ABSL_GUARDED_BY(watch_mu_);  // changes, revisions without gaps
  WatchEvent latest_ ABSL_GUARDED_BY(watch_mu_);            // the state that was told last
  bool watch_closed_ ABSL_GUARDED_BY(watch_mu_) = false;
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_SERVICE_H_
