// The filter `repeater`: copies of requests at other servers.

#include "filters/outgoing/repeater.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/core/nesting.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::TestCall;
using orb::TestOrb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RepeaterTest : public RegistryTest {
 protected:
  RepeaterTest() {
    kinds_.Add(NewRepeaterKind(&handle_));
    clock_.now = orb::TheClock().Now();  // the ORB's deadlines are by that one
    handle_.set(&*gateway_);
    endpoint_ = gateway_.Listen();
    for (TestOrb* orb : {&one_, &two_}) {
      orb->servant->On("note", [this, orb](orb::CallRef call) {
        std::string contexts;
        for (const orb::ServiceContext& c : call->request().contexts) {
          if (c.id == orb::kNestingContext) {
            EXPECT_EQ(orb::NestingIn({c}), 1);  // a filter has made the call
            continue;
          }
          StrAppend(&contexts, " ", c.id, "=", c.data);
        }
        {
          MutexLock lock(&mu_);
          (orb == &one_ ? at_one_ : at_two_)
              .push_back(StrCat(orb::FunctionServant::Argument(*call), contexts));
        }
        if (call->request().response_expected) {
          orb::FunctionServant::AnswerPlusOne(std::move(call));
        } else {
          call.Send();
        }
      });
    }
  }
  ~RepeaterTest() override { handle_.set(nullptr); }

  static std::string Reference(const orb::Endpoint& endpoint) {
    return StrCat("corbaloc::1.2@", endpoint.address, "/test");
  }
  void PlugTo(const std::string& to, FilterParameters parameters = {}) {
    parameters["to"] = to;
    Commit(
        {PlugChange{"p", "repeater", std::move(parameters), "all", 0}, MapUp("p", "*", "repeat")});
  }
  uint64_t Counter(const std::string& name) {
    for (const FilterCounter& c : registry_.Counters("p")) {
      if (c.name == name) return c.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  std::vector<std::string> At(TestOrb* orb) {
    MutexLock lock(&mu_);
    return orb == &one_ ? at_one_ : at_two_;
  }

  Mutex mu_;
  std::vector<std::string> at_one_ ABSL_GUARDED_BY(mu_), at_two_ ABSL_GUARDED_BY(mu_);
  OrbHandle handle_;
  TestOrb gateway_{{}, registry_.gate()};
  TestOrb one_, two_;
  TestOrb client_;
  orb::Endpoint endpoint_;
};

TEST_F(RepeaterTest, EachObjectGetsEveryRequestInItsOrderAndTheCallerOnlyTheServersReply) {
  gateway_.servant->On("note", [](orb::CallRef call) {
    call->NewBody().WriteLong(1000);
    call->SetResult();
    call.Send();
  });
  PlugTo(StrCat(Reference(one_.Listen()), " ", Reference(two_.Listen())));
  const auto target = client_.To({endpoint_});
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    // The order is that of the requests once there are connections.
    if (i == 1) {
      ASSERT_TRUE(orb::Eventually([this] { return Counter("answered") == 2; }));
    }
    TestCall call("note", i);
    call.message.contexts = {{0x57454977, "mine"}};
    ASSERT_TRUE(client_.Invoke(target, &call).ok()) << call.error();
    EXPECT_EQ(call.result(), 1000);
    expected.push_back(StrCat(i, " ", 0x57454977, "=mine"));
  }
  ASSERT_TRUE(orb::Eventually([this] { return Counter("in_flight") == 0; }));
  EXPECT_EQ(At(&one_), expected);
  EXPECT_EQ(At(&two_), expected);
  EXPECT_EQ(Counter("sent"), 100u);
  EXPECT_EQ(Counter("answered"), 100u);
  EXPECT_EQ(Counter("failed"), 0u);
}

TEST_F(RepeaterTest, AOnewayIsRepeatedAsOne) {
  PlugTo(Reference(one_.Listen()));
  TestCall call("note", 7);
  call.message.response_expected = false;
  client_.Invoke(client_.To({endpoint_}), &call).IgnoreError();
  ASSERT_TRUE(orb::Eventually([this] { return At(&one_).size() == 1; }));
  EXPECT_THAT(At(&one_), ElementsAre("7"));
  ASSERT_TRUE(orb::Eventually([this] { return Counter("answered") == 1; }));
}

TEST_F(RepeaterTest, AnObjectThatIsNotThereChangesNothingForTheCaller) {
  PlugTo("corbaloc::1.2@127.0.0.1:1/test");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client_.Ping(client_.To({endpoint_}), i), i + 1);
  ASSERT_TRUE(orb::Eventually([this] { return Counter("in_flight") == 0; }));
  EXPECT_EQ(Counter("failed"), 5u);
}

TEST_F(RepeaterTest, AnObjectThatDoesNotAnswerKeepsABoundedNumberOfCopies) {
  orb::Held held;
  one_.servant->On("stuck", held.Hold());
  gateway_.servant->On(
      "stuck", [](orb::CallRef call) { orb::FunctionServant::AnswerPlusOne(std::move(call)); });
  PlugTo(Reference(one_.Listen()), {{"most", "3"}, {"timeout", "1h"}});
  const auto target = client_.To({endpoint_});
  for (int i = 0; i < 10; ++i) {
    TestCall call("stuck", i);
    ASSERT_TRUE(client_.Invoke(target, &call).ok());
    EXPECT_EQ(call.result(), i + 1);
  }
  EXPECT_EQ(Counter("sent"), 3u);
  EXPECT_EQ(Counter("left_out"), 7u);
  ASSERT_TRUE(orb::Eventually([&] { return held.size() == 3; }));
  for (orb::CallRef& call : held.Take()) orb::FunctionServant::AnswerPlusOne(std::move(call));
  ASSERT_TRUE(orb::Eventually([this] { return Counter("answered") == 3; }));
}

TEST_F(RepeaterTest, CopiesOutliveTheFilter) {
  orb::Held held;
  one_.servant->On("stuck", held.Hold());
  gateway_.servant->On(
      "stuck", [](orb::CallRef call) { orb::FunctionServant::AnswerPlusOne(std::move(call)); });
  PlugTo(Reference(one_.Listen()));
  TestCall call("stuck", 1);
  ASSERT_TRUE(client_.Invoke(client_.To({endpoint_}), &call).ok());
  ASSERT_TRUE(orb::Eventually([&] { return held.size() == 1; }));
  Commit({Unplug("p")});
  ASSERT_TRUE(registry_.Drain(clock_.Now()).ok());
  for (orb::CallRef& kept : held.Take()) orb::FunctionServant::AnswerPlusOne(std::move(kept));
  EXPECT_EQ(client_.Ping(client_.To({endpoint_}), 4), 5);
}

TEST_F(RepeaterTest, BadParametersAreRefused) {
  const auto refused = [this](const std::string& to) {
    const absl::Status status = Try({PlugChange{"p", "repeater", {{"to", to}}, "all", 0}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
    return std::string(status.message());
  };
  EXPECT_THAT(refused(""), HasSubstr("1 to 16"));
  EXPECT_THAT(refused("key"), HasSubstr("'key'"));
  EXPECT_THAT(refused("corbaloc::host:1"), HasSubstr("an address and an object"));
}

}  // namespace
}  // namespace weir::filters
