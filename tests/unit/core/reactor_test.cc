#include "orb/core/reactor.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// An eventfd and what happens when it rings.
class Bell : public EventHandler {
 public:
  explicit Bell(std::function<void()> then)
      : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), then_(std::move(then)) {}
  ~Bell() override { close(fd_); }
  int fd() const { return fd_; }
  void Ring() {
    const uint64_t one = 1;
    EXPECT_EQ(write(fd_, &one, sizeof one), 8);
  }
  void Still() {
    uint64_t count;
    EXPECT_EQ(read(fd_, &count, sizeof count), 8);
  }
  void OnReady() override { then_(); }

 private:
  const int fd_;
  const std::function<void()> then_;
};

TEST(Reactor, AnEventComesOnceUntilItIsArmedAgain) {
  std::atomic<int> events{0};
  Bell bell([&] { ++events; });
  Reactor reactor({}, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  EXPECT_TRUE(reactor.Add(bell.fd(), &bell));
  bell.Ring();
  EXPECT_TRUE(Eventually([&] { return events == 1; }));
  Sleep(20);
  EXPECT_EQ(events, 1);
  EXPECT_TRUE(reactor.Arm(bell.fd(), &bell));  // still readable
  EXPECT_TRUE(Eventually([&] { return events == 2; }));
  reactor.Stop();
}

TEST(Reactor, WhatIsRemovedGetsNoEvent) {
  std::atomic<int> events{0};
  Bell bell([&] { ++events; });
  Reactor reactor({}, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  reactor.Add(bell.fd(), &bell);
  reactor.Remove(bell.fd());
  bell.Ring();
  Sleep(30);
  reactor.Stop();
  EXPECT_EQ(events, 0);
}

TEST(Reactor, ADescriptorThatCannotBeWatchedIsReported) {
  Bell bell([] {});
  Reactor reactor({}, &TheClock());
  EXPECT_FALSE(reactor.Add(-1, &bell));
  EXPECT_FALSE(reactor.Arm(bell.fd(), &bell));  // was never added
}

TEST(Reactor, PostedTasksAllRun) {
  std::atomic<int> ran{0};
  Reactor reactor({}, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  std::vector<std::thread> posters;
  for (int t = 0; t < 3; ++t) {
    posters.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) reactor.Post([&] { ++ran; });
    });
  }
  for (std::thread& t : posters) t.join();
  EXPECT_TRUE(Eventually([&] { return ran == 3000; }));
  reactor.Stop();
}

TEST(Reactor, ATaskThatBlocksHoldsUpNoOther) {
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  ReactorOptions options;
  options.min_threads = 2;
  Reactor reactor(options, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  for (int i = 0; i < 20; ++i) {
    reactor.Post([&] {
      Reactor::Blocking blocking(&reactor);
      ++ran;
      while (!go) Sleep(1);
    });
  }
  EXPECT_TRUE(Eventually([&] { return ran == 20; }));
  EXPECT_GE(reactor.threads(), 20);
  go = true;
  reactor.Stop();
}

TEST(Reactor, NeverHasMoreThreadsThanAllowed) {
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  ReactorOptions options;
  options.min_threads = 2;
  options.max_threads = 5;
  Reactor reactor(options, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  for (int i = 0; i < 20; ++i) {
    reactor.Post([&] {
      Reactor::Blocking blocking(&reactor);
      ++ran;
      while (!go) Sleep(1);
    });
  }
  EXPECT_TRUE(Eventually([&] { return ran == 5; }));
  Sleep(50);
  EXPECT_EQ(ran, 5);
  EXPECT_EQ(reactor.threads(), 5);
  go = true;
  EXPECT_TRUE(Eventually([&] { return ran == 20; }));
  reactor.Stop();
}

TEST(Reactor, ThreadsAboveTheMinimumLeaveWhenThereIsNoWork) {
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  ReactorOptions options;
  options.min_threads = 2;
  options.linger = 50 * kMillisecond;
  Reactor reactor(options, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  for (int i = 0; i < 8; ++i) {
    reactor.Post([&] {
      Reactor::Blocking blocking(&reactor);
      ++ran;
      while (!go) Sleep(1);
    });
  }
  EXPECT_TRUE(Eventually([&] { return ran == 8; }));
  go = true;
  EXPECT_TRUE(Eventually([&] { return reactor.threads() == 2; }));
  reactor.Stop();
}

// The minimum's threads may be blocked for hours: then the last of the others must stay.
TEST(Reactor, TheLastThreadThatWatchesDoesNotLeave) {
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  ReactorOptions options;
  options.min_threads = 2;
  options.linger = 20 * kMillisecond;
  Reactor reactor(options, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  for (int i = 0; i < 2; ++i) {
    reactor.Post([&] {
      Reactor::Blocking blocking(&reactor);
      ++ran;
      while (!go) Sleep(1);
    });
  }
  EXPECT_TRUE(Eventually([&] { return ran == 2 && reactor.MayStay(); }));
  Sleep(200);  // many times the linger
  EXPECT_TRUE(reactor.MayStay());
  Bell bell([&] { ++ran; });
  reactor.Add(bell.fd(), &bell);
  bell.Ring();
  EXPECT_TRUE(Eventually([&] { return ran == 3; }));
  go = true;
  reactor.Stop();
}

// The alarm that makes the pool grow must not be lost between one blocked thread and the next.
TEST(Reactor, GrowsEachTimeAllThreadsBlock) {
  ReactorOptions options;
  options.min_threads = 2;
  options.linger = kMillisecond;
  Reactor reactor(options, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> go{false};
    std::atomic<int> ran{0}, over{0};
    for (int i = 0; i < 3; ++i) {
      reactor.Post([&] {
        Reactor::Blocking blocking(&reactor);
        ++ran;
        while (!go) std::this_thread::yield();
        ++over;
      });
    }
    ASSERT_TRUE(Eventually([&] { return ran == 3; })) << round;
    go = true;
    ASSERT_TRUE(Eventually([&] { return over == 3; }));
  }
  reactor.Stop();
}

TEST(Reactor, TicksComeAgainAndAgainUntilItStops) {
  std::atomic<int> ticks{0};
  Reactor reactor({}, &TheClock());
  reactor.AddTick(2 * kMillisecond, [&] { ++ticks; });
  ASSERT_TRUE(reactor.Start().ok());
  EXPECT_TRUE(Eventually([&] { return ticks > 5; }));
  reactor.Stop();
  const int last = ticks;
  Sleep(20);
  EXPECT_EQ(ticks, last);
}

TEST(Reactor, WhatIsLeftAtStopIsDoneByDrain) {
  std::atomic<int> events{0}, ran{0};
  Bell bell([&] {
    bell.Still();
    ++events;
  });
  Reactor reactor({}, &TheClock());
  ASSERT_TRUE(reactor.Start().ok());
  reactor.Add(bell.fd(), &bell);
  reactor.Stop();
  reactor.Post([&] {
    ++ran;
    reactor.Post([&] { ++ran; });
  });
  bell.Ring();
  reactor.Drain();
  EXPECT_EQ(events, 1);
  EXPECT_EQ(ran, 2);
}

TEST(Reactor, StopsWithoutHavingStarted) {
  Reactor reactor({}, &TheClock());
  reactor.Stop();
}

}  // namespace
}  // namespace weir::orb
