// Calls and beta messages at the same time: each call sees exactly one snapshot.

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "filters/registry.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

constexpr int kThreads = 3;
constexpr int kCommits = 600;

// What the filters saw of the call that this thread carries, in order: "A^", "Av"...
thread_local std::vector<std::string> seen;

class ConcurrencyTest : public RegistryTest {
 protected:
  ConcurrencyTest() {
    probe_->up = [](const std::string& plug, std::string_view, orb::Call&) {
      seen.push_back(plug + "^");
      return Verdict::kPass;
    };
    probe_->down = [](const std::string& plug, std::string_view, orb::Call&) {
      seen.push_back(plug + "v");
      return Verdict::kPass;
    };
  }

  // Runs `check` on what each call has seen, on kThreads threads, until `commits` is through.
  template <typename Check, typename Commits>
  void Race(const Check& check, const Commits& commits) {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> calls{0}, filtered{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; !stop; ++i) {
          FakeCall call(i % 2 == 0 ? "k" : "k/" + std::to_string(i), "op", i * kThreads + t);
          seen.clear();
          call.Run(registry_.gate());
          EXPECT_TRUE(call.reached_servant());
          check(seen);
          ++calls;
          filtered += !seen.empty();
        }
      });
    }
    commits();
    // Every thread must have met both kinds of snapshot; how long that takes is up to the machine.
    while (filtered < 100 || calls == filtered) commits();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  }
};

TEST_F(ConcurrencyTest, TwoPlugsCommittedTogetherBothSeeACallOrNeitherDoes) {
  const std::vector<std::string> both = {"A^", "B^", "Bv", "Av"};
  Race(
      [&](const std::vector<std::string>& s) {
        EXPECT_TRUE(s.empty() || s == both) << testing::PrintToString(s);
      },
      [&] {
        for (int i = 0; i < kCommits; ++i) {
          Commit({PlugOn("A", "key:k*"), PlugOn("B", "all"), MapUp("A", "*", "a"),
                  MapDown("A", "op", "a"), MapUp("B", "op", "b"), MapDown("B", "*", "c")});
          Commit({Unplug("A"), Unplug("B")});
        }
      });
  EXPECT_EQ(probe_->made, probe_->destroyed) << "every filter was destroyed, and once";
}

TEST_F(ConcurrencyTest, TheFiltersThatSeeACallGoUpAreThoseThatSeeItsReply) {
  Commit({PlugOn("A", "all"), PlugOn("B", "key:k*"), PlugOn("C", "key:k")});
  Race(
      [&](const std::vector<std::string>& s) {
        ASSERT_EQ(s.size() % 2, 0u);
        for (size_t i = 0; i < s.size() / 2; ++i) {
          EXPECT_EQ(s[i][0], s[s.size() - 1 - i][0]);
          EXPECT_EQ(s[i][1], '^');
        }
        EXPECT_EQ(std::set<std::string>(s.begin(), s.end()).size(), s.size()) << "none runs twice";
      },
      [&] {
        for (int i = 0; i < kCommits; ++i) {
          const std::string plug(1, static_cast<char>('A' + i % 3));
          if (i / 3 % 2 == 0) {
            Commit({MapUp(plug, "op", i % 2 == 0 ? "a" : "b"), MapDown(plug, "op", "c")});
          } else {
            Commit({UnmapUp(plug, "op", "a"), UnmapUp(plug, "op", "b"),
                    UnmapChange{plug, "op", "c", Phase::kDown}});
          }
        }
        Commit({DisableUp("A"), DisableUp("B"), DisableUp("C"),
                EnableChange{"A", "", "", Phase::kDown, false},
                EnableChange{"B", "", "", Phase::kDown, false},
                EnableChange{"C", "", "", Phase::kDown, false}});
      });
}

TEST_F(ConcurrencyTest, ACallMayBeginOnOneThreadAndEndOnAnother) {
  Commit({PlugOn("A", "all"), MapUp("A", "*", "a"), MapDown("A", "*", "a")});
  for (int i = 0; i < 200; ++i) {
    FakeCall call;
    ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
    std::thread ending([&] {
      call.SetResult();
      registry_.gate()->Down(call);
      registry_.gate()->Release(call);
    });
    Commit({Unplug("A")});
    Commit({PlugOn("A", "all"), MapUp("A", "*", "a"), MapDown("A", "*", "a")});
    ending.join();
  }
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  EXPECT_EQ(probe_->made - probe_->destroyed, 1);
}

TEST_F(ConcurrencyTest, ManyMoreThreadsThanSlotsMayComeAndGo) {
  Commit({PlugOn("A", "all"), MapUp("A", "*", "a")});
  for (int round = 0; round < 4; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 200; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          FakeCall call;
          seen.clear();
          call.Run(registry_.gate());
          EXPECT_EQ(seen.size(), 1u);
        }
      });
    }
    for (int i = 0; i < 20; ++i) {
      Commit({Unplug("A"), PlugOn("A", "all"), MapUp("A", "*", "a")});
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  EXPECT_EQ(probe_->made - probe_->destroyed, 1);
}

}  // namespace
}  // namespace weir::filters
