// The control plane without gRPC: commits, their order against the store, and watchers.

#include "control/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/control/support.h"
#include "tests/unit/filters/fake_call.h"

namespace weir::control {
namespace {

using ::testing::HasSubstr;

class ServiceTest : public ::testing::Test {
 protected:
  explicit ServiceTest(ServiceLimits limits = {}) { Restart(limits); }

  void Restart(ServiceLimits limits = {}) {
    service = std::make_unique<Service>(&node.registry, &store, &node.clock, &node.logger, limits);
  }
  absl::StatusOr<Service::ApplyResult> Apply(const filters::ChangeSet& changes,
                                             std::optional<uint64_t> expected = std::nullopt) {
    return service->Apply(changes, {expected, std::nullopt, nullptr});
  }
  std::unique_ptr<Watcher> Watch(
      std::optional<uint64_t> from, std::function<void()> wake = [] {}) {
    absl::StatusOr<std::unique_ptr<Watcher>> watcher = service->Watch(from, std::move(wake));
    EXPECT_TRUE(watcher.ok()) << watcher.status();
    return watcher.ok() ? *std::move(watcher) : nullptr;
  }
  // The revisions of the events that wait, negative for a whole state.
  static std::vector<int64_t> Revisions(Watcher* watcher) {
    std::vector<int64_t> revisions;
    for (;;) {
      absl::StatusOr<std::optional<WatchEvent>> event = watcher->Next();
      EXPECT_TRUE(event.ok()) << event.status();
      if (!event.ok() || !event->has_value()) return revisions;
      const int64_t revision = (*event)->revision;
      revisions.push_back((*event)->state != nullptr ? -revision : revision);
    }
  }

  TestRegistry node;
  FailingStore store;
  std::unique_ptr<Service> service;
};

TEST_F(ServiceTest, ACommitIsStoredAndPublishedAsTheNextRevision) {
  auto result = Apply({Plug("a"), MapUp("a", "op")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->revision, 1u);
  EXPECT_TRUE(result->changed);
  EXPECT_EQ(*store.Load(), node.registry.state());
  EXPECT_EQ(store.Load()->plugs.at(0).mappings.size(), 1u);
}

TEST_F(ServiceTest, AChangeSetThatChangesNothingKeepsTheRevisionAndIsNotStored) {
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  auto again = Apply({Plug("a")});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->revision, 1u);
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(store.History(0)->size(), 1u);
}

TEST_F(ServiceTest, WhenTheStoreFailsNothingIsChangedAndNobodyIsTold) {
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  auto watcher = Watch(1);
  store.failing = true;
  auto result = Apply({Plug("b")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(node.registry.revision(), 1u);
  EXPECT_EQ(node.registry.state().plugs.size(), 1u);
  EXPECT_THAT(Revisions(watcher.get()), ::testing::IsEmpty());

  store.failing = false;
  result = Apply({Plug("b")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->revision, 2u);
}

TEST_F(ServiceTest, AStaleRevisionIsAbortedAndChangesNothing) {
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  EXPECT_EQ(Apply({Plug("b")}, 0).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(node.registry.revision(), 1u);
  EXPECT_TRUE(Apply({Plug("b")}, 1).ok());
}

TEST_F(ServiceTest, OneBadChangeUndoesTheWholeSet) {
  auto result = Apply({Plug("a"), Plug("b", "nosuch")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(node.registry.state().plugs.empty());
  EXPECT_EQ(store.Load()->revision, 0u);
}

TEST_F(ServiceTest, DrainWaitsForTheCallsThatBeganBeforeTheCommit) {
  ASSERT_TRUE(Apply({Plug("a"), MapUp("a", "op", "count", true)}).ok());
  filters::FakeCall call("key", "op");
  ASSERT_TRUE(node.registry.gate()->active());
  node.registry.gate()->Up(call);

  auto result = service->Apply({Unplug("a")}, {std::nullopt, kMillisecond, nullptr});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->revision, 2u) << "the commit stands";
  EXPECT_EQ(result->drained.code(), absl::StatusCode::kDeadlineExceeded);

  std::thread finish([&] { node.registry.gate()->Release(call); });
  // The same again, as a person would try: a no-op that waits.
  result = service->Apply({Unplug("a")}, {std::nullopt, 60 * kSecond, nullptr});
  finish.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->drained.ok()) << result->drained;
  EXPECT_FALSE(result->changed);
}

TEST_F(ServiceTest, DrainEndsWhenNobodyWaitsAnyMoreAndWhenTheNodeEnds) {
  ASSERT_TRUE(Apply({Plug("a"), MapUp("a", "op", "count", true)}).ok());
  filters::FakeCall call("key", "op");
  node.registry.gate()->Up(call);

  auto result = service->Apply({Unplug("a")}, {std::nullopt, 3600 * kSecond, [] { return true; }});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->drained.code(), absl::StatusCode::kCancelled);

  std::atomic<bool> draining{false};
  std::thread shutdown([&] {
    while (!draining) std::this_thread::yield();
    service->Shutdown();
  });
  result = service->Apply({Unplug("a")}, {std::nullopt, 3600 * kSecond, [&] {
                                            draining = true;
                                            return false;
                                          }});
  shutdown.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->drained.code(), absl::StatusCode::kUnavailable);
  node.registry.gate()->Release(call);
}

TEST_F(ServiceTest, AWatchWithoutARevisionBeginsWithTheState) {
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  auto watcher = Watch(std::nullopt);
  ASSERT_TRUE(Apply({Plug("b")}).ok());
  EXPECT_THAT(Revisions(watcher.get()), ::testing::ElementsAre(-1, 2));
}

TEST_F(ServiceTest, AWatchFromARevisionGoesOnWithTheNextOne) {
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  ASSERT_TRUE(Apply({Plug("b")}).ok());
  ASSERT_TRUE(Apply({Plug("c")}).ok());
  EXPECT_THAT(Revisions(Watch(1).get()), ::testing::ElementsAre(2, 3));
  EXPECT_THAT(Revisions(Watch(0).get()), ::testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(Revisions(Watch(3).get()), ::testing::IsEmpty());
}

TEST_F(ServiceTest, AWatchFromARevisionThatIsNotReachedIsOutOfRange) {
  EXPECT_EQ(service->Watch(1, [] {}).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(ServiceTest, AWatchFromBeforeTheKeptChangesBeginsWithTheState) {
  Restart({.kept_changes = 2});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Apply({Plug(name)}).ok());
  EXPECT_THAT(Revisions(Watch(0).get()), ::testing::ElementsAre(-3));
  EXPECT_THAT(Revisions(Watch(1).get()), ::testing::ElementsAre(2, 3));
}

TEST_F(ServiceTest, TheStoresHistoryServesWatchersThatComeBackAfterARestart) {
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  ASSERT_TRUE(Apply({Plug("b")}).ok());
  Restart();
  EXPECT_THAT(Revisions(Watch(1).get()), ::testing::ElementsAre(2));
}

TEST_F(ServiceTest, ASlowWatcherIsEndedAndToldWhereToGoOn) {
  Restart({.queued_events = 2});
  auto watcher = Watch(std::nullopt);
  ASSERT_TRUE(watcher->Next().ok());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Apply({Plug(name)}).ok());
  // One more than fits beside what it began with.
  ASSERT_TRUE(Apply({Plug("d")}).ok());
  auto event = watcher->Next();
  EXPECT_EQ(event.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(event.status().message()), HasSubstr("from revision 0"));
  // It stays ended, and others are unharmed.
  EXPECT_FALSE(watcher->Next().ok());
  EXPECT_THAT(Revisions(Watch(0).get()), ::testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(ServiceTest, WatchersAreLimited) {
  Restart({.watchers = 1});
  auto first = Watch(std::nullopt);
  EXPECT_EQ(service->Watch(std::nullopt, [] {}).status().code(),
            absl::StatusCode::kResourceExhausted);
  first.reset();
  EXPECT_NE(Watch(std::nullopt), nullptr);
}

TEST_F(ServiceTest, AnOversizedChangeSetIsRefused) {
  Restart({.changes = 1});
  EXPECT_EQ(Apply({Plug("a"), Plug("b")}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ServiceTest, ShutdownEndsWatchersAfterWhatIsQueuedAndRefusesCommits) {
  auto watcher = Watch(0);
  ASSERT_TRUE(Apply({Plug("a")}).ok());
  service->Shutdown();
  auto event = watcher->Next();
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->revision, 1u);
  EXPECT_EQ(watcher->Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Apply({Plug("b")}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(service->Watch(std::nullopt, [] {}).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ServiceTest, ConcurrentCommitsGetDistinctRevisionsAndWatchersMissNone) {
  constexpr int kThreads = 4;
  constexpr int kCommits = 50;
  Mutex mu;
  CondVar woken;
  bool wake = false;
  auto watcher = Watch(0, [&] {
    MutexLock lock(&mu);
    wake = true;
    woken.Signal();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kCommits; ++i) {
        auto result = Apply({Plug(absl::StrCat("p", t, "-", i))});
        EXPECT_TRUE(result.ok()) << result.status();
        // Others come and go meanwhile.
        Watch(std::nullopt).reset();
      }
    });
  }
  std::vector<int64_t> seen;
  while (seen.size() < kThreads * kCommits) {
    {
      MutexLock lock(&mu);
      while (!wake) woken.Wait(&mu);
      wake = false;
    }
    for (int64_t revision : Revisions(watcher.get())) seen.push_back(revision);
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i + 1));
  EXPECT_EQ(store.Load()->plugs.size(), static_cast<size_t>(kThreads * kCommits));
}

}  // namespace
}  // namespace weir::control
