// A filter sends a call to another object: that one's own filters apply, and on the way down they
// come first. In a real server, with filters that answer at once, within the call, and later.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::TestCall;
using orb::TestOrb;

enum class When { kAtOnce, kSuspendedAndAtOnce, kLater };

class Redirect : public RegistryTest, public ::testing::WithParamInterface<When> {
 protected:
  Redirect() {
    if (GetParam() == When::kSuspendedAndAtOnce) {
      probe_->later = [](Suspension call, Verdict verdict) { call.Resume(verdict); };
    } else if (GetParam() == When::kLater) {
      probe_->later = [this](Suspension call, Verdict verdict) {
        std::lock_guard<std::mutex> lock(mu_);
        threads_.emplace_back([call = std::move(call), verdict]() mutable {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          call.Resume(verdict);
        });
      };
    }
    for (const char* key : {"a", "b", "c"}) Serve(&server_, key, key);
    endpoint_ = server_.Listen();
    Serve(&other_, "b", "other b");
    Serve(&other_, "d", "other d");
    other_endpoint_ = other_.Listen();
    // A plug named "x-to-y" sends calls to y, one named "x-at-y" to y of the other server; others
    // note that they ran and pass.
    probe_->up = [this](const std::string& plug, std::string_view, orb::Call& call) {
      Note(plug + " up");
      if (const size_t to = plug.find("-to-"); to != std::string::npos) {
        call.Redirect(plug.substr(to + 4));
        return Verdict::kRedirect;
      }
      if (const size_t at = plug.find("-at-"); at != std::string::npos) {
        EXPECT_TRUE(call.RedirectTo(Elsewhere(plug.substr(at + 4))).ok());
        return Verdict::kRedirect;
      }
      return Verdict::kPass;
    };
    probe_->down = [this](const std::string& plug, std::string_view, orb::Call&) {
      Note(plug + " down");
      return Verdict::kPass;
    };
  }
  ~Redirect() override {
    std::vector<std::thread> threads;
    {
      std::lock_guard<std::mutex> lock(mu_);
      threads.swap(threads_);
    }
    for (std::thread& t : threads) t.join();
  }

  // Has an object of that key there, which answers `who` with `name`.
  void Serve(TestOrb* orb, const std::string& key, const std::string& name) {
    auto servant = std::make_shared<orb::FunctionServant>();
    servant->On("who", [this, name](orb::CallRef call) {
      Note("servant " + name);
      call->NewBody().WriteString(name);
      call->SetResult();
      call.Send();
    });
    EXPECT_TRUE((*orb)->adapter().Activate(key, servant).ok());
  }
  std::string Elsewhere(const std::string& key) const {
    return "corbaloc::1.2@" + other_endpoint_.address + "/" + key;
  }
  void Note(std::string what) {
    std::lock_guard<std::mutex> lock(mu_);
    ran_.push_back(std::move(what));
  }
  std::vector<std::string> ran() {
    std::lock_guard<std::mutex> lock(mu_);
    return ran_;
  }
  void Plug(const std::string& name, const std::string& selector) {
    Commit({PlugOn(name, selector), MapUp(name, "*", "a"), MapDown(name, "*", "a")});
  }
  // Who answers `who` of `key`; or the exception's name.
  std::string Who(const std::string& key) {
    TestCall call("who", 0, orb::In(orb::kPatience));
    const absl::Status status = client_.Invoke(client_.To({endpoint_}, key), &call);
    if (!status.ok()) return status.ToString();
    if (call.reply.status != orb::ReplyStatus::kNoException) {
      return std::string(orb::ExceptionName(call.exception().id));
    }
    return std::string(call.reply.body.decoder().ReadString());
  }

  std::mutex mu_;
  std::vector<std::string> ran_;
  std::vector<std::thread> threads_;
  TestOrb server_{{}, registry_.gate()};
  TestOrb other_;  // without filters
  TestOrb client_;
  orb::Endpoint endpoint_, other_endpoint_;
};
INSTANTIATE_TEST_SUITE_P(Filters, Redirect,
                         ::testing::Values(When::kAtOnce, When::kSuspendedAndAtOnce, When::kLater));

TEST_P(Redirect, TheOtherObjectAnswersAfterItsOwnFilters) {
  Plug("outer", "key:a");
  Plug("p-to-b", "key:a");
  Plug("inner", "key:a");
  Plug("of_b", "key:b");
  EXPECT_EQ(Who("a"), "b");
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer up", "p-to-b up", "of_b up", "servant b",
                                             "of_b down", "p-to-b down", "outer down"}));
  EXPECT_EQ(Who("b"), "b");
}

TEST_P(Redirect, ToAnObjectWithoutFilters) {
  Plug("outer", "key:a");
  Plug("p-to-c", "key:a");
  EXPECT_EQ(Who("a"), "c");
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer up", "p-to-c up", "servant c", "p-to-c down",
                                             "outer down"}));
}

TEST_P(Redirect, AFilterOfTheOtherObjectThatNeedsTheTimeHasIt) {
  std::atomic<Nanos> began{0};
  probe_->down = [&](const std::string&, std::string_view, orb::Call& call) {
    began = call.gate_state().began;
    return Verdict::kPass;
  };
  Plug("p-to-b", "key:a");
  Commit({PlugOn("of_b", "key:b"), MapDown("of_b", "*", "c")});
  EXPECT_EQ(Who("a"), "b");
  EXPECT_EQ(began, clock_.now);
}

TEST_P(Redirect, OnAndOn) {
  Plug("p-to-b", "key:a");
  Plug("of_b", "key:b");
  Plug("q-to-c", "key:b");
  Plug("of_c", "key:c");
  EXPECT_EQ(Who("a"), "c");
  EXPECT_EQ(ran(),
            (std::vector<std::string>{"p-to-b up", "of_b up", "q-to-c up", "of_c up", "servant c",
                                      "of_c down", "q-to-c down", "of_b down", "p-to-b down"}));
}

TEST_P(Redirect, ACircleEndsAndSaysSo) {
  Plug("outer", "key:a");
  Plug("p-to-b", "key:a");
  Plug("q-to-a", "key:b");
  EXPECT_EQ(Who("a"), "TRANSIENT");
  ASSERT_EQ(logger_.lines.size(), 1u);
  EXPECT_NE(logger_.lines[0].find("event=redirect_loop"), std::string::npos) << logger_.lines[0];
  for (const std::string& what : ran()) EXPECT_FALSE(what.starts_with("servant")) << what;
  // Each time that it had passed the outer filter, it passes it again on the way down.
  const auto all = ran();
  EXPECT_EQ(std::count(all.begin(), all.end(), "outer up"),
            std::count(all.begin(), all.end(), "outer down"));
  EXPECT_EQ(Who("c"), "c");
}

TEST_P(Redirect, ToNowhereIsObjectNotExist) {
  Plug("outer", "key:a");
  Plug("p-to-nowhere", "key:a");
  EXPECT_EQ(Who("a"), "OBJECT_NOT_EXIST");
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer up", "p-to-nowhere up", "p-to-nowhere down",
                                             "outer down"}));
}

TEST_P(Redirect, ABounceByTheOtherObjectsFilterPassesDownThroughTheFirstOnes) {
  Plug("outer", "key:a");
  Plug("p-to-b", "key:a");
  Plug("of_b", "key:b");
  Plug("bounce", "key:b");
  const auto before = probe_->up;
  probe_->up = [before](const std::string& plug, std::string_view method, orb::Call& call) {
    if (plug != "bounce") return before(plug, method, call);
    call.NewBody().WriteString("bounced");
    call.SetResult();
    return Verdict::kBounce;
  };
  EXPECT_EQ(Who("a"), "bounced");
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer up", "p-to-b up", "of_b up", "of_b down",
                                             "p-to-b down", "outer down"}));
}

TEST_P(Redirect, ManyTimesInARow) {
  Plug("p-to-b", "key:a");
  Plug("of_b", "key:b");
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(Who("a"), "b");
    ASSERT_EQ(Who("c"), "c");
  }
}

TEST_P(Redirect, ToAnObjectOfAnotherServer) {
  Plug("outer", "key:a");
  Plug("p-at-d", "key:a");
  Plug("of_d", "key:d");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Who("a"), "other d");
    EXPECT_EQ(Who("b"), "b");
  }
  auto all = ran();
  all.resize(7);
  EXPECT_EQ(all, (std::vector<std::string>{"outer up", "p-at-d up", "of_d up", "servant other d",
                                           "of_d down", "p-at-d down", "outer down"}));
}

TEST_P(Redirect, ThereAndBackAgain) {
  Plug("p-at-d", "key:a");
  Plug("q-to-b", "key:d");
  Plug("of_b", "key:b");
  EXPECT_EQ(Who("a"), "b");
  EXPECT_EQ(ran(), (std::vector<std::string>{"p-at-d up", "q-to-b up", "of_b up", "servant b",
                                             "of_b down", "q-to-b down", "p-at-d down"}));
}

TEST_P(Redirect, ToTheSameKeyOfAnotherServer) {
  Plug("outer", "key:b");
  Plug("p-at-b", "key:b");
  Plug("inner", "key:b");
  EXPECT_EQ(Who("b"), "other b");
  // It is the key that they are plugged onto.
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer up", "p-at-b up", "inner up", "servant other b",
                                             "inner down", "p-at-b down", "outer down"}));
}

TEST_P(Redirect, ServersThatSendACallToEachOtherComeToAnEnd) {
  other_endpoint_ = endpoint_;  // which is the shortest circle
  Plug("p-at-a", "key:a");
  EXPECT_EQ(Who("a"), "TRANSIENT");
  const auto all = ran();
  EXPECT_EQ(std::count(all.begin(), all.end(), "p-at-a up"), 4);
  EXPECT_EQ(std::count(all.begin(), all.end(), "p-at-a down"), 4);
  EXPECT_EQ(Who("c"), "c");
}

TEST_P(Redirect, APlugOnEverythingThatSendsAllToOneObjectIsNoCircle) {
  Plug("outer", "all");
  Plug("p-at-d", "all");
  Plug("inner", "all");
  EXPECT_EQ(Who("a"), "other d");
  // Each is asked about both objects.
  EXPECT_EQ(ran(),
            (std::vector<std::string>{"outer up", "p-at-d up", "outer up", "p-at-d up", "inner up",
                                      "servant other d", "inner down", "p-at-d down", "outer down",
                                      "p-at-d down", "outer down"}));
}

TEST_P(Redirect, ToAnObjectThatTheOtherServerLacks) {
  Plug("outer", "key:a");
  Plug("p-at-nowhere", "key:a");
  EXPECT_EQ(Who("a"), "OBJECT_NOT_EXIST");
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer up", "p-at-nowhere up", "p-at-nowhere down",
                                             "outer down"}));
}

TEST_P(Redirect, ToAServerThatIsNotThere) {
  other_endpoint_.address = "127.0.0.1:1";
  Plug("outer", "key:a");
  Plug("p-at-d", "key:a");
  EXPECT_EQ(Who("a"), "TRANSIENT");
  EXPECT_EQ(ran(),
            (std::vector<std::string>{"outer up", "p-at-d up", "p-at-d down", "outer down"}));
}

TEST_P(Redirect, WhatIsNoReferenceLeavesTheCallAsItWas) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    for (const char* bad : {"", "b", "corbaloc:", "corbaloc:rir:/b", "IOR:00", "IOR:xyz"}) {
      EXPECT_FALSE(call.RedirectTo(bad).ok()) << bad;
    }
    EXPECT_FALSE(call.redirected());
    return Verdict::kPass;
  };
  Plug("p", "key:a");
  EXPECT_EQ(Who("a"), "a");
}

TEST_P(Redirect, InAClientToAnotherServerAndTheRequestIsAsBefore) {
  TestOrb caller{{}, nullptr, registry_.gate()};
  Plug("p-at-d", "key:a");
  Plug("of_d", "key:d");
  TestOrb server;
  Serve(&server, "a", "a");
  const auto target = caller.To({server.Listen()}, "a");
  for (int i = 0; i < 3; ++i) {
    TestCall blocking("who"), later("who");
    ASSERT_TRUE(caller.Invoke(target, &blocking).ok()) << blocking.status;
    EXPECT_EQ(blocking.reply.body.decoder().ReadString(), "other d");
    EXPECT_FALSE(blocking.keep_key);
    caller->invoker().Start(target, &later);
    ASSERT_TRUE(later.WaitDone());
    EXPECT_EQ(later.reply.body.decoder().ReadString(), "other d");
  }
  Commit({Unplug("p-at-d")});
  TestCall call("who");
  ASSERT_TRUE(caller.Invoke(target, &call).ok());
  EXPECT_EQ(call.reply.body.decoder().ReadString(), "a");
}

TEST_P(Redirect, InAClientItGoesToTheOtherKeyAndTheRequestIsAsBefore) {
  TestOrb caller{{}, nullptr, registry_.gate()};
  Plug("p-to-b", "key:a");
  Plug("of_b", "key:b");
  TestOrb server;  // without filters of its own
  for (const char* key : {"a", "b"}) {
    auto servant = std::make_shared<orb::FunctionServant>();
    servant->On("who", [key = std::string(key)](orb::CallRef call) {
      call->NewBody().WriteString(key);
      call->SetResult();
      call.Send();
    });
    ASSERT_TRUE(server->adapter().Activate(key, servant).ok());
  }
  const orb::Endpoint endpoint = server.Listen();
  const auto target = caller.To({endpoint}, "a");
  for (int i = 0; i < 3; ++i) {
    TestCall blocking("who"), later("who");
    ASSERT_TRUE(caller.Invoke(target, &blocking).ok()) << blocking.status;
    EXPECT_EQ(blocking.reply.body.decoder().ReadString(), "b");
    EXPECT_FALSE(blocking.keep_key);
    caller->invoker().Start(target, &later);
    ASSERT_TRUE(later.WaitDone());
    EXPECT_EQ(later.reply.body.decoder().ReadString(), "b");
  }
  Commit({Unplug("p-to-b")});
  TestCall call("who");
  ASSERT_TRUE(caller.Invoke(target, &call).ok());
  EXPECT_EQ(call.reply.body.decoder().ReadString(), "a");
}

}  // namespace
}  // namespace weir::filters
