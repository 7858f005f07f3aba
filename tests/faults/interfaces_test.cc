// Filters that are plugged onto interfaces, when objects do not say what they are: the server hangs
// on `_is_a`, dies meanwhile, answers garbage or exceptions; and what happens to calls that wait
// for the answer: many at a time, deadlines, changes, the end of the ORB. No call passes without
// the filters that it should have met.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/filters/interface_fixture.h"

namespace weir::filters {
namespace {

using orb::CallRef;
using orb::Eventually;
using orb::TestCall;
using orb::TestOrb;

constexpr uint32_t kUnknown = static_cast<uint32_t>(orb::WeirMinor::kInterfaceUnknown);

// A server that answers `_is_a` as a test says, behind a gateway with the plug `p` on kBank.
class AskedServer : public InterfaceTest {
 protected:
  explicit AskedServer(InterfaceLimits limits = {}) : InterfaceTest(limits) {
    Plug("p", On(kBank));
  }

  void Begin(RawServant::Function is_a, Nanos timeout = kNoDeadline) {
    servant_ = std::make_shared<RawServant>(std::move(is_a));
    server_ = std::make_unique<TestOrb>();
    (*server_)->adapter().SetDefaultServant(servant_);
    gateway_ = NewGateway(server_->Listen(), timeout);
    endpoint_ = gateway_->Listen();
  }
  std::unique_ptr<TestCall> Start(const std::string& key, int32_t argument = 1) {
    auto call = std::make_unique<TestCall>("ping", argument, orb::In(orb::kPatience));
    client_->invoker().Start(client_.To({endpoint_}, key), call.get());
    return call;
  }
  // The result of `ping` with 1; of a system exception, -1, and it is in `exception_`.
  int32_t Call(const std::string& key) {
    const auto call = Start(key);
    EXPECT_TRUE(call->WaitDone());
    if (call->status.ok() && call->reply.status == orb::ReplyStatus::kNoException) {
      return call->result();
    }
    exception_ = call->exception();
    return -1;
  }
  // The call got what says that it was refused because the object is not known.
  void ExpectRefused(const orb::SystemException& e) {
    EXPECT_EQ(e.id, orb::ExceptionId::kTransient) << ToString(e);
    EXPECT_EQ(e.minor, kUnknown) << ToString(e);
    EXPECT_EQ(e.completed, orb::Completion::kNo);
  }

  std::shared_ptr<RawServant> servant_;
  std::unique_ptr<TestOrb> server_, gateway_;
  TestOrb client_;
  orb::Endpoint endpoint_;
  orb::SystemException exception_;
};

TEST_F(AskedServer, ThatHangsOnIsAHoldsTheCallUntilItsTimeoutAndIsAskedAgain) {
  orb::Held held;
  std::atomic<bool> hang{true};
  Begin(
      [&, hold = held.Hold()](CallRef call) {
        hang ? hold(std::move(call)) : RawServant::Answer(std::move(call), true);
      },
      200 * kMillisecond);
  EXPECT_EQ(Call("k"), -1);
  ExpectRefused(exception_);
  EXPECT_EQ(servant_->executed, 0);
  EXPECT_EQ(Ran(), Strings());
  EXPECT_EQ(Counter("p", "undecided"), 1u);
  EXPECT_NE(log_.lines().find("event=interface_unknown"), std::string::npos) << log_.lines();
  EXPECT_NE(log_.lines().find(kBank), std::string::npos) << log_.lines();
  hang = false;
  EXPECT_EQ(Call("k"), 2);
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
  EXPECT_EQ(servant_->asked, 2);
  held.Take();
}

TEST_F(AskedServer, ThatDiesMeanwhileFailsTheCallAndNothingIsRemembered) {
  orb::Held held;
  Begin(held.Hold());
  const auto call = Start("k");
  ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  const std::string address = (*server_)->endpoints()[0].address;
  held.Take();
  server_.reset();
  ASSERT_TRUE(call->WaitDone());
  // The reply that a dropped question gets may still come, or the connection ends before.
  ExpectRefused(call->exception());
  EXPECT_EQ(Ran(), Strings());
  // The next one finds nobody, and meets what it would without filters.
  EXPECT_TRUE(Eventually([&] {
    EXPECT_EQ(Call("k"), -1);
    return exception_.minor == static_cast<uint32_t>(orb::WeirMinor::kConnectFailed);
  })) << ToString(exception_);
  EXPECT_EQ(exception_.completed, orb::Completion::kNo);
  // Another server, another object.
  servant_ =
      std::make_shared<RawServant>([](CallRef c) { RawServant::Answer(std::move(c), false); });
  server_ = std::make_unique<TestOrb>();
  (*server_)->adapter().SetDefaultServant(servant_);
  server_->Listen("tcp", address);
  EXPECT_EQ(Call("k"), 2);
  EXPECT_EQ(Ran(), Strings());
}

TEST_F(AskedServer, ThatAnswersGarbageIsNotTakenAtItsWord) {
  std::atomic<int> which{0};
  Begin([&](CallRef call) {
    switch (which) {
      case 0:
        call->NewBody();
        call->SetResult();
        break;
      case 1:
        call->NewBody().WriteOctet(7);
        call->SetResult();
        break;
      case 2:
        call->NewBody().WriteString("IDL:acme/Oops:1.0");
        call->SetUserException();
        break;
      case 3:
        call->NewBody().WriteOctet(1);
        call->SetBody(orb::ReplyStatus::kSystemException);
        break;
      case 4:
        call->NewBody().WriteString("no reference");
        call->SetForward();
        break;
      default:
        return RawServant::Answer(std::move(call), true);
    }
    call.Send();
  });
  for (; which < 5; ++which) {
    EXPECT_EQ(Call("k"), -1) << which;
    if (which < 4) {
      ExpectRefused(exception_);
    } else {
      EXPECT_EQ(exception_.id, orb::ExceptionId::kInvObjref) << "as the call itself would get";
    }
    EXPECT_EQ(servant_->executed, 0) << which;
  }
  EXPECT_EQ(Ran(), Strings());
  EXPECT_EQ(Call("k"), 2);
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
}

TEST_F(AskedServer, WhoseObjectsKnowOfNoInterfacesHasNoObjectsOfThem) {
  std::atomic<int> which{0};
  Begin([&](CallRef call) {
    const orb::ExceptionId id =
        which == 0 ? orb::ExceptionId::kBadOperation : orb::ExceptionId::kNoImplement;
    call.SendSystemException({id, 1, orb::Completion::kNo});
  });
  for (const char* key : {"a", "b"}) {
    EXPECT_EQ(Call(key), 2);
    EXPECT_EQ(Call(key), 2);
    ++which;
  }
  EXPECT_EQ(servant_->asked, 2) << "that is an answer";
  EXPECT_EQ(Ran(), Strings());
}

TEST_F(AskedServer, ThatRaisesAnotherExceptionIsAskedAgain) {
  std::atomic<orb::ExceptionId> id{orb::ExceptionId::kNoPermission};
  Begin([&](CallRef call) { call.SendSystemException({id.load(), 77, orb::Completion::kNo}); });
  EXPECT_EQ(Call("k"), -1);
  ExpectRefused(exception_);
  // These two say about the object what they say about the call.
  for (const orb::ExceptionId same :
       {orb::ExceptionId::kObjectNotExist, orb::ExceptionId::kTransient}) {
    id = same;
    EXPECT_EQ(Call("k"), -1);
    EXPECT_EQ(exception_.id, same);
    EXPECT_EQ(exception_.minor, 77u);
  }
  EXPECT_EQ(servant_->asked, 3);
  EXPECT_EQ(servant_->executed, 0);
  EXPECT_EQ(Counter("p", "undecided"), 3u);
}

TEST_F(AskedServer, IsAskedOnceForAllFirstCallsOfAnObjectAndNoThreadWaits) {
  orb::Held held;
  Begin(held.Hold());
  constexpr int kCalls = 500;
  std::vector<std::unique_ptr<TestCall>> calls;
  const int threads = (*gateway_)->stats().threads;
  for (int i = 0; i < kCalls; ++i) calls.push_back(Start("k", i));
  ASSERT_TRUE(Eventually([&] {
    return (*gateway_)->stats().server.calls_in_progress == static_cast<uint64_t>(kCalls);
  }));
  EXPECT_EQ((*gateway_)->stats().threads, threads);
  ASSERT_EQ(held.size(), 1u);
  RawServant::Answer(std::move(held.Take()[0]), true);
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(calls[i]->WaitDone());
    EXPECT_EQ(calls[i]->result(), i + 1);
  }
  EXPECT_EQ(servant_->asked, 1);
  EXPECT_EQ(servant_->executed, kCalls);
  EXPECT_EQ(Ran().size(), 2u * kCalls);
}

TEST_F(AskedServer, AnswersAThousandFirstCallsForAThousandObjectsAtOnce) {
  orb::Held held;
  Begin(held.Hold());
  constexpr int kCalls = 1000;
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < kCalls; ++i) calls.push_back(Start(StrCat("object-", i), i));
  ASSERT_TRUE(Eventually([&] { return held.size() == kCalls; }));
  // Every other one is a bank.
  int banks = 0;
  for (CallRef& question : held.Take()) {
    const std::string key(question->request().object_key);
    const bool bank = (key.back() - '0') % 2 == 0;
    banks += bank;
    RawServant::Answer(std::move(question), bank);
  }
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(calls[i]->WaitDone());
    EXPECT_EQ(calls[i]->result(), i + 1);
  }
  EXPECT_EQ(banks, kCalls / 2);
  EXPECT_EQ(Ran().size(), 2u * banks);
  EXPECT_EQ(servant_->executed, kCalls);
  // All of them are known now.
  for (int i = 0; i < kCalls; i += 50) EXPECT_EQ(Call(StrCat("object-", i)), 2);
  EXPECT_EQ(servant_->asked, kCalls);
}

TEST_F(AskedServer, MayLoseThePlugWhileCallsWaitWhichKeepWhatTheyBeganWith) {
  orb::Held held;
  Begin(held.Hold());
  const auto before = Start("k");
  ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  Commit({Unplug("p")});
  EXPECT_EQ(Call("k"), 2) << "no plug, no question";
  EXPECT_EQ(Ran(), Strings());
  EXPECT_EQ(registry_.Drain(orb::In(20 * kMillisecond)).code(),
            absl::StatusCode::kDeadlineExceeded);
  RawServant::Answer(std::move(held.Take()[0]), true);
  ASSERT_TRUE(before->WaitDone());
  EXPECT_EQ(before->result(), 2);
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
  EXPECT_TRUE(registry_.Drain(orb::In(orb::kPatience)).ok());
}

TEST_F(AskedServer, HasCallersWhoCancelAndGo) {
  orb::Held held;
  Begin(held.Hold());
  {
    TestOrb other;
    auto call = std::make_unique<TestCall>("ping", 1);
    call->cancellable = true;
    other->invoker().Start(other.To({endpoint_}, "k"), call.get());
    ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
    other->invoker().Cancel(call.get());
    ASSERT_TRUE(call->WaitDone());
  }
  RawServant::Answer(std::move(held.Take()[0]), true);
  EXPECT_TRUE(Eventually([&] { return (*gateway_)->stats().server.calls_in_progress == 0; }));
  EXPECT_EQ(Call("k"), 2);
  EXPECT_EQ(servant_->asked, 1);
}

TEST_F(AskedServer, IsWaitedForUntilTheOrbEnds) {
  orb::Held held;
  Begin(held.Hold());
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(Start(StrCat("k", i % 4)));
  ASSERT_TRUE(Eventually([&] {
    return held.size() == 4 && (*gateway_)->stats().server.calls_in_progress == calls.size();
  }));
  EXPECT_EQ((*gateway_)->Shutdown(orb::In(20 * kMillisecond)).code(),
            absl::StatusCode::kDeadlineExceeded);
  for (const auto& call : calls) {
    ASSERT_TRUE(call->WaitDone());
    EXPECT_FALSE(call->status.ok() && call->reply.status == orb::ReplyStatus::kNoException);
  }
  EXPECT_TRUE(registry_.Drain(orb::In(orb::kPatience)).ok()) << "no call holds anything any more";
  EXPECT_EQ(servant_->executed, 0);
  gateway_.reset();
  held.Take();
}

TEST_F(AskedServer, IsAskedByAClientWhoseCallsKeepTheirDeadlines) {
  orb::Held held;
  Begin(held.Hold());
  TestOrb client({}, nullptr, registry_.gate());
  const auto target = client.To({{"tcp", (*server_)->endpoints()[0].address}}, "k");
  TestCall blocking("ping", 1, orb::In(50 * kMillisecond));
  (void)client.Invoke(target, &blocking);
  EXPECT_EQ(blocking.exception().id, orb::ExceptionId::kTimeout);
  EXPECT_EQ(blocking.exception().completed, orb::Completion::kNo);
  TestCall late("ping", 1, orb::In(50 * kMillisecond));
  TestCall patient("ping", 1, orb::In(orb::kPatience));
  client->invoker().Start(target, &patient);
  client->invoker().Start(target, &late);
  ASSERT_TRUE(late.WaitDone());
  EXPECT_EQ(late.exception().id, orb::ExceptionId::kTimeout);
  EXPECT_EQ(patient.done(), 0);
  EXPECT_EQ(servant_->asked, 1) << "the one question is still open";
  RawServant::Answer(std::move(held.Take()[0]), true);
  ASSERT_TRUE(patient.WaitDone());
  EXPECT_EQ(patient.result(), 2);
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
  EXPECT_EQ(servant_->executed, 1);
}

class SmallMemory : public AskedServer {
 protected:
  SmallMemory() : AskedServer({.objects = 64, .questions = 3}) {}
};

TEST_F(SmallMemory, ForgetsObjectsThatAPeerInventsAndFiltersEachRight) {
  Begin([](CallRef call) {
    const bool bank = call->request().object_key.ends_with("bank");
    RawServant::Answer(std::move(call), bank);
  });
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) {
      EXPECT_EQ(Call(StrCat(i, i % 2 == 0 ? "shop" : "bank")), 2);
      EXPECT_EQ(Ran(), i % 2 == 0 ? Strings() : (Strings{"p.a", "p.c"}));
    }
  }
  EXPECT_GT(servant_->asked, 900);
}

TEST_F(SmallMemory, AsksSoManyObjectsAtATimeAndRefusesCallsOfFurtherOnes) {
  orb::Held held;
  Begin(held.Hold());
  std::vector<std::unique_ptr<TestCall>> calls;
  for (const char* key : {"a", "b", "c", "a"}) calls.push_back(Start(key));
  ASSERT_TRUE(Eventually([&] { return (*gateway_)->stats().server.calls_in_progress == 4; }));
  ASSERT_TRUE(Eventually([&] { return held.size() == 3; }));
  EXPECT_EQ(Call("d"), -1);
  ExpectRefused(exception_);
  EXPECT_EQ(servant_->asked, 3);
  for (CallRef& question : held.Take()) RawServant::Answer(std::move(question), true);
  for (const auto& call : calls) {
    ASSERT_TRUE(call->WaitDone());
    EXPECT_EQ(call->result(), 2);
  }
}

class ShortMemory : public AskedServer {
 protected:
  ShortMemory() : AskedServer({.lifetime = 5 * kMillisecond}) {}
};

TEST_F(ShortMemory, AsksAgainWhenTheLastAnswerIsOld) {
  std::atomic<bool> bank{false};
  Begin([&](CallRef call) { RawServant::Answer(std::move(call), bank); });
  EXPECT_EQ(Call("k"), 2);
  EXPECT_EQ(Ran(), Strings());
  bank = true;
  EXPECT_TRUE(Eventually([&] {
    EXPECT_EQ(Call("k"), 2);
    return Ran() == (Strings{"p.a", "p.c"});
  }));
}

// Calls, changes and what is forgotten, all at the same time.
TEST_F(ShortMemory, UnderLoadNoBankIsEverCalledWithoutItsFilter) {
  Begin([](CallRef call) {
    const bool bank = call->request().object_key.starts_with("bank");
    RawServant::Answer(std::move(call), bank);
  });
  std::atomic<bool> stop{false};
  std::atomic<int> banks{0}, shops{0}, seen{0};
  probe_->up = [&](const std::string& plug, std::string_view, orb::Call& call) {
    EXPECT_TRUE(plug != "p" || call.request().object_key.starts_with("bank"));
    seen += plug == "p";
    return Verdict::kPass;
  };
  probe_->down = [](const std::string&, std::string_view, orb::Call&) { return Verdict::kPass; };
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        const bool bank = i % 3 != 0;
        const std::string key = StrCat(bank ? "bank" : "shop", i % 100, "-", t);
        EXPECT_EQ(Call(key), 2) << key << " " << ToString(exception_);
        ++(bank ? banks : shops);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    Plug(StrCat("more", i % 5), i % 2 == 0 ? On(kShop) : "key:bank1*", i % 7 - 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Commit({Unplug(StrCat("more", i % 5))});
  }
  stop = true;
  for (std::thread& t : callers) t.join();
  EXPECT_GT(banks, 0);
  EXPECT_GT(shops, 0);
  EXPECT_EQ(seen, banks);
  EXPECT_EQ(servant_->executed, banks + shops);
}

}  // namespace
}  // namespace weir::filters
