// Filters that are plugged onto interfaces, in all places where filters are: a server, a gateway,
// and a client whose calls block or not.

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "filters/interface_plans.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/interface_fixture.h"

namespace weir::filters {
namespace {

using orb::Endpoint;
using orb::TestCall;
using orb::TestOrb;

enum class Place { kServer, kGateway, kBlockingClient, kAsynchronousClient };

class Interfaces : public InterfaceTest, public ::testing::WithParamInterface<Place> {
 protected:
  Interfaces() {
    StartServer();
    if (place() == Place::kGateway) {
      gateway_ = NewGateway(endpoint_);
      endpoint_ = gateway_->Listen();
    }
    const bool in_client =
        place() == Place::kBlockingClient || place() == Place::kAsynchronousClient;
    client_ = std::make_unique<TestOrb>(orb::OrbOptions{}, nullptr,
                                        in_client ? registry_.gate() : nullptr);
  }
  Place place() const { return GetParam(); }

  void StartServer() {
    server_ = std::make_unique<TestOrb>(orb::OrbOptions{},
                                        place() == Place::kServer ? registry_.gate() : nullptr);
    endpoint_ = server_->Listen();
    server_address_ = endpoint_.address;
  }
  void Serve(const std::string& key, std::shared_ptr<orb::Servant> servant) {
    ASSERT_TRUE((*server_)->adapter().Activate(key, std::move(servant)).ok());
  }
  std::shared_ptr<orb::Target> To(const std::string& key) {
    std::shared_ptr<orb::Target>& target = targets_[key];
    if (target == nullptr) target = client_->To({endpoint_}, key);
    return target;
  }
  void Make(const std::shared_ptr<orb::Target>& target, TestCall* call) {
    if (place() == Place::kAsynchronousClient) {
      (*client_)->invoker().Start(target, call);
      ASSERT_TRUE(call->WaitDone());
    } else {
      (void)(*client_)->invoker().Invoke(target, call);
    }
  }
  // The result of `operation` with 1, or the exception's name.
  std::string Call(const std::string& key, const std::string& operation = "ping") {
    TestCall call(operation, 1, orb::In(orb::kPatience));
    Make(To(key), &call);
    if (!call.status.ok() || call.reply.status != orb::ReplyStatus::kNoException) {
      return std::string(orb::ExceptionName(call.exception().id));
    }
    return StrCat(call.result());
  }

  std::unique_ptr<TestOrb> server_, gateway_, client_;
  std::string server_address_;
  Endpoint endpoint_;
  std::map<std::string, std::shared_ptr<orb::Target>> targets_;
};
INSTANTIATE_TEST_SUITE_P(Places, Interfaces,
                         ::testing::Values(Place::kServer, Place::kGateway, Place::kBlockingClient,
                                           Place::kAsynchronousClient));

TEST_P(Interfaces, TheFirstCallOnAnObjectIsFiltered) {
  Serve("bank", Bank());
  Plug("p", On(kBank));
  EXPECT_EQ(Call("bank"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
}

TEST_P(Interfaces, AnObjectOfADerivedInterfaceIsFiltered) {
  Serve("safe", Safe());
  Plug("p", On(kBank));
  EXPECT_EQ(Call("safe"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
}

TEST_P(Interfaces, AnObjectOfAnotherInterfaceIsNot) {
  Serve("shop", Shop());
  Serve("bank", Bank());
  Plug("p", On(kBank));
  Plug("q", On(kSafe));
  EXPECT_EQ(Call("shop"), "2");
  EXPECT_EQ(Ran(), Strings());
  EXPECT_EQ(Call("bank"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"})) << "a base is not of the derived interface";
}

TEST_P(Interfaces, AnObjectIsAskedOnceForEachInterface) {
  const auto safe = Safe();
  const auto shop = Shop();
  Serve("safe", safe);
  Serve("shop", shop);
  Plug("p", On(kBank));
  Plug("q", On(kSafe));
  Plug("r", On(kBank));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Call("safe"), "2");
    EXPECT_EQ(Call("shop"), "2");
  }
  for (const auto& servant : {safe, shop}) {
    EXPECT_EQ(servant->executed, 5);
    EXPECT_EQ(servant->asked(kBank), 1);
    EXPECT_EQ(servant->asked(kSafe), 1);
  }
}

TEST_P(Interfaces, CommitsOfOtherPlugsDoNotAskAgain) {
  const auto bank = Bank();
  Serve("bank", bank);
  Plug("p", On(kBank));
  EXPECT_EQ(Call("bank"), "2");
  Plug("all", "all");
  EXPECT_EQ(Call("bank"), "2");
  Plug("r", On(kBank));
  EXPECT_EQ(Call("bank"), "2");
  Commit({DisableUp("p"), Unplug("r")});
  EXPECT_EQ(Call("bank"), "2");
  Commit({Unplug("p")});
  Plug("p", On(kBank));
  Plug("s", On(kShop));
  Ran();
  EXPECT_EQ(Call("bank"), "2");
  EXPECT_EQ(Ran(), (Strings{"all.a", "p.a", "p.c", "all.c"}));
  EXPECT_EQ(bank->asked(kBank), 1);
  EXPECT_EQ(bank->asked(kShop), 1);
}

TEST_P(Interfaces, PlugsOnInterfacesHaveTheOrderOfAllPlugs) {
  Serve("safe", Safe());
  Plug("on_key", "key:safe", 2);
  Plug("on_safe", On(kSafe), 1);
  Plug("on_all", "all", 3);
  Plug("on_bank", On(kBank), 2);
  Plug("on_prefix", "key:sa*", 2);
  Plug("first", On(kBank), -1);
  Plug("on_shop", On(kShop), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Call("safe"), "2");
    EXPECT_EQ(Ran(), (Strings{"first.a", "on_safe.a", "on_key.a", "on_bank.a", "on_prefix.a",
                              "on_all.a", "on_all.c", "on_prefix.c", "on_bank.c", "on_key.c",
                              "on_safe.c", "first.c"}));
  }
}

TEST_P(Interfaces, ANewObjectIsCoveredAtOnce) {
  Plug("p", On(kBank));
  EXPECT_EQ(Call("later"), "OBJECT_NOT_EXIST");
  EXPECT_EQ(Ran(), Strings());
  EXPECT_EQ(Call("later"), "OBJECT_NOT_EXIST");
  // That it was not there is not remembered.
  Serve("later", Safe());
  EXPECT_EQ(Call("later"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
}

TEST_P(Interfaces, AnOperationThatNoPlugOnAnInterfaceMapsAsksNothing) {
  const auto bank = Bank();
  Serve("bank", bank);
  Plug("p", On(kBank), 0, "ping");
  Plug("all", "all");
  EXPECT_EQ(Call("bank", "other"), "2");
  EXPECT_EQ(Ran(), (Strings{"all.a", "all.c"}));
  EXPECT_EQ(bank->asked(kBank), 0);
  EXPECT_EQ(Call("bank", "ping"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "all.a", "all.c", "p.c"}));
  EXPECT_EQ(bank->asked(kBank), 1);
  // Out of a '*'.
  Plug("star", On(kShop));
  Commit({MapUp("star", "ping", "b", false), MapDown("star", "ping", "b", false)});
  EXPECT_EQ(Call("bank", "ping"), "2");
  EXPECT_EQ(bank->asked(kShop), 0);
  EXPECT_EQ(Call("bank", "other"), "2");
  EXPECT_EQ(bank->asked(kShop), 1);
}

TEST_P(Interfaces, WhatIsDisabledAsksNothing) {
  const auto bank = Bank();
  Serve("bank", bank);
  Commit({PlugOn("p", On(kBank)), MapUp("p", "*", "a", false)});
  EXPECT_EQ(Call("bank"), "2");
  Plug("all", "all");
  EXPECT_EQ(Call("bank"), "2");
  EXPECT_EQ(bank->asked(kBank), 0);
  Ran();
  Commit({EnableUp("p")});
  EXPECT_EQ(Call("bank"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "all.a", "all.c"}));
}

TEST_P(Interfaces, AnotherObjectUnderTheSameKeyIsAskedAnew) {
  Serve("k", Bank());
  Plug("p", On(kBank));
  EXPECT_EQ(Call("k"), "2");
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
  if (place() == Place::kServer) {
    ASSERT_TRUE((*server_)->adapter().Deactivate("k").ok());
  } else {
    // A restart: what is known ends with the connections. One that was used a moment ago is not
    // looked at, and a call that is then lost on it is no matter of filters.
    server_.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    server_ = std::make_unique<TestOrb>();
    server_->Listen("tcp", server_address_);
  }
  Serve("k", Shop());
  EXPECT_EQ(Call("k"), "2");
  EXPECT_EQ(Ran(), Strings()) << "it is no bank any more";
}

TEST_P(Interfaces, BuiltinOperationsOfCallersAreFilteredLikeOthers) {
  const auto bank = Bank();
  Serve("bank", bank);
  Plug("p", On(kBank));
  TestCall call("_non_existent", 0, orb::In(orb::kPatience));
  Make(To("bank"), &call);
  EXPECT_FALSE(call.reply.body.decoder().ReadBoolean());
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"}));
  cdr::ByteBuffer body;
  cdr::Encoder(&body).WriteString(kBank);
  TestCall is_a("_is_a", 0, orb::In(orb::kPatience));
  is_a.message.body.bytes = body.view();
  Make(To("bank"), &is_a);
  EXPECT_TRUE(is_a.reply.body.decoder().ReadBoolean());
  EXPECT_EQ(Ran(), (Strings{"p.a", "p.c"})) << "Weir's own question is not filtered, a caller's is";
  EXPECT_EQ(bank->asked(kBank), 2);
}

TEST_P(Interfaces, ARedirectedCallIsFilteredByTheInterfacesOfTheOtherObject) {
  Serve("shop", Shop());
  const auto bank = Bank();
  Serve("bank", bank);
  const auto note = probe_->up;
  probe_->up = [&](const std::string& plug, std::string_view method, orb::Call& call) {
    note(plug, method, call);
    if (plug != "to_bank") return Verdict::kPass;
    call.Redirect("bank");
    return Verdict::kRedirect;
  };
  Plug("outer", On(kShop));
  Plug("to_bank", "key:shop");
  Plug("inner", On(kBank));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Call("shop"), "2");
    EXPECT_EQ(Ran(),
              (Strings{"outer.a", "to_bank.a", "inner.a", "inner.c", "to_bank.c", "outer.c"}));
  }
  EXPECT_EQ(bank->asked(kBank), 1);
  EXPECT_EQ(bank->executed, 2);
}

TEST_P(Interfaces, ACallThatIsRedirectedToWhereNothingIsComesDownThroughItsFilters) {
  Serve("shop", Shop());
  const auto note = probe_->up;
  probe_->up = [&](const std::string& plug, std::string_view method, orb::Call& call) {
    note(plug, method, call);
    if (plug != "to_nowhere") return Verdict::kPass;
    call.Redirect("nowhere");
    return Verdict::kRedirect;
  };
  Plug("outer", On(kShop));
  Plug("to_nowhere", "key:shop");
  EXPECT_EQ(Call("shop"), "OBJECT_NOT_EXIST");
  EXPECT_EQ(Ran(), (Strings{"outer.a", "to_nowhere.a", "to_nowhere.c", "outer.c"}));
}

TEST_P(Interfaces, AOnewayIsFilteredFromTheFirstOn) {
  const auto bank = Bank();
  Serve("bank", bank);
  Plug("p", On(kBank));
  TestCall call("ping", 1);
  call.message.response_expected = false;
  Make(To("bank"), &call);
  EXPECT_TRUE(orb::Eventually([&] { return bank->executed == 1; }));
  EXPECT_EQ(Ran(), Strings{"p.a"});
}

TEST_P(Interfaces, FiguresAndRecordsAreAsForOtherSelectors) {
  Serve("bank", Bank());
  Plug("p", On(kBank));
  registry_.tracer()->Extend(Tracer::kRecording, 100 * kSecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Call("bank"), "2");
  const PlugFigures figures = registry_.Figures("p");
  ASSERT_EQ(figures.steps.size(), 2u);
  EXPECT_EQ(figures.steps[0].counts.called(), 3u);
  EXPECT_EQ(figures.steps[1].counts.called(), 3u);
  std::vector<std::shared_ptr<const CallRecord>> records;
  EXPECT_TRUE(orb::Eventually([&] {
    records = registry_.tracer()->ring().Latest(10).calls;
    return records.size() == 3;
  }));
  for (const auto& record : records) EXPECT_EQ(record->steps.size(), 2u);
  EXPECT_EQ(Counter("p", "undecided"), 0u);
}

TEST_P(Interfaces, AServerThatDoesNotExistGivesTheSameExceptionAsWithoutFilters) {
  if (place() == Place::kServer) return;
  server_.reset();
  std::vector<orb::SystemException> exceptions;
  for (const bool filtered : {false, true}) {
    if (filtered) Plug("p", On(kBank));
    TestCall call("ping", 1, orb::In(orb::kPatience));
    Make(To("bank"), &call);
    exceptions.push_back(call.exception());
  }
  EXPECT_EQ(exceptions[0].id, orb::ExceptionId::kTransient);
  EXPECT_EQ(exceptions[1].id, exceptions[0].id);
  EXPECT_EQ(exceptions[1].minor, exceptions[0].minor);
  EXPECT_EQ(exceptions[1].completed, exceptions[0].completed);
  EXPECT_EQ(Ran(), Strings());
  EXPECT_EQ(Counter("p", "undecided"), 1u);
}

TEST_P(Interfaces, AnIsAThatThrowsFailsTheCallOfThatServerOnly) {
  if (place() != Place::kServer) return;
  class Throwing : public TypedServant {
   public:
    Throwing() : TypedServant({kBank}) {}
    bool IsA(std::string_view) const override { throw std::runtime_error("secret"); }
  };
  const auto throwing = std::make_shared<Throwing>();
  Serve("throwing", throwing);
  Serve("bank", Bank());
  Plug("p", On(kBank));
  EXPECT_EQ(Call("throwing"), "TRANSIENT");
  EXPECT_EQ(throwing->executed, 0);
  EXPECT_EQ(Counter("p", "undecided"), 1u);
  EXPECT_NE(log_.lines().find("secret"), std::string::npos) << log_.lines();
  EXPECT_EQ(Call("bank"), "2");
}

// What needs no ORB.

class InterfaceRegistry : public InterfaceTest {
 protected:
  InterfaceRegistry() : InterfaceTest({.objects = 4096}) {}

  // What a call of `key` meets, whose object is of `id` and has never been asked.
  Strings Meets(const std::string& key, const std::string& id) {
    FakeCall call(key, "op");
    call.object = {++domain_, 0, key};
    call.is_a = [&](std::string_view asked) { return asked == id; };
    call.Run(registry_.gate());
    EXPECT_TRUE(call.reached_servant());
    return Ran();
  }

  uint64_t domain_ = 0;
};

TEST_F(InterfaceRegistry, SoManyDifferentInterfacesAndNoMore) {
  for (size_t i = 0; i < InterfaceMemory::kMostInterfaces; ++i) {
    Plug(StrCat("p", i), StrCat("interface:IDL:acme/I", i, ":1.0"));
  }
  EXPECT_EQ(Meets("k", "IDL:acme/I63:1.0"), (Strings{"p63.a", "p63.c"}));
  const auto refused =
      registry_.Prepare({PlugOn("more", "interface:IDL:acme/More:1.0")}, std::nullopt);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  Plug("more", "interface:IDL:acme/I7:1.0");
  Plug("key", "key:k");
  // Ones that come in the place of others, until all numbers are used up.
  for (int i = 0; i < 200; ++i) {
    Commit({Unplug("p0")});
    const std::string id = StrCat("IDL:acme/New", i, ":1.0");
    Plug("p0", On(id), -1);
    ASSERT_EQ(Meets("k", id), (Strings{"p0.a", "key.a", "key.c", "p0.c"})) << i;
    ASSERT_EQ(Meets("other", "IDL:acme/I7:1.0"), (Strings{"p7.a", "more.a", "more.c", "p7.c"}));
  }
}

TEST_F(InterfaceRegistry, MoreCombinationsThanAreKeptAreAllRight) {
  constexpr size_t kKeys = InterfacePlans::kMost + 100;
  ChangeSet changes = {PlugOn("bank", On(kBank)), MapUp("bank", "*", "a")};
  for (size_t i = 0; i < kKeys; ++i) {
    const std::string plug = StrCat("p", i);
    changes.push_back(PlugOn(plug, StrCat("key:k", i), i % 2 == 0 ? 1 : -1));
    changes.push_back(MapDown(plug, "*", "c"));
  }
  Commit(changes);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(Meets(StrCat("k", i), kBank), (Strings{"bank.a", StrCat("p", i, ".c")}));
      ASSERT_EQ(Meets(StrCat("k", i), kShop), (Strings{StrCat("p", i, ".c")}));
    }
    ASSERT_EQ(Meets("k", kBank), Strings{"bank.a"});
  }
}

TEST_F(InterfaceRegistry, EachOperationOfAnObjectMeetsWhatIsMappedForIt) {
  Plug("key", "key:k", 0, "op");
  Plug("star", "key:k", 1);
  Plug("bank", On(kBank), 2, "op");
  Plug("all_of_bank", On(kBank), 3, "another");
  EXPECT_EQ(Meets("k", kBank), (Strings{"key.a", "star.a", "bank.a", "bank.c", "star.c", "key.c"}));
  EXPECT_EQ(Meets("k", kShop), (Strings{"key.a", "star.a", "star.c", "key.c"}));
  EXPECT_EQ(Meets("x", kBank), (Strings{"bank.a", "bank.c"}));
  EXPECT_EQ(Meets("x", kShop), Strings());
  Commit({MapUp("bank", "*", "b"), MapDown("bank", "*", "b")});
  FakeCall call("k", "third");
  call.object = {++domain_, 0, "k"};
  call.is_a = [](std::string_view id) { return id == kBank; };
  call.Run(registry_.gate());
  EXPECT_EQ(Ran(), (Strings{"star.a", "bank.b", "bank.b", "star.c"}));
  // `op` is mapped by both, but disabled on the interface: out of its '*'.
  Commit({DisableUp("bank", "op")});
  EXPECT_EQ(Meets("k", kBank), (Strings{"key.a", "star.a", "bank.c", "star.c", "key.c"}));
}

TEST_F(InterfaceRegistry, ConstraintsAndReplyOrdersHoldForPlugsOnInterfaces) {
  Plug("key", "key:k", -5);
  Plug("shop", On(kShop), 1);
  Commit({PlugChange{.name = "bank",
                     .filter = "probe",
                     .parameters = {},
                     .selector = On(kBank),
                     .priority = 9,
                     .down_priority = {},
                     .before = {"key"},
                     .after = {}},
          MapUp("bank", "*", "a"), MapDown("bank", "*", "c")});
  EXPECT_EQ(Meets("k", kBank), (Strings{"bank.a", "key.a", "key.c", "bank.c"}));
  Plug("bank2", On(kBank), 10);
  Commit({ReplyOrderChange{"all", ReplyOrder::kPlugOrder},
          ReplyOrderChange{"key:x", ReplyOrder::kReversed},
          ReplyOrderChange{"key:y*", ReplyOrder::kReversed}});
  EXPECT_EQ(Meets("k", kBank),
            (Strings{"bank.a", "key.a", "bank2.a", "bank.c", "key.c", "bank2.c"}));
  EXPECT_EQ(Meets("z", kBank), (Strings{"bank.a", "bank2.a", "bank.c", "bank2.c"}));
  for (const char* key : {"x", "yy"}) {
    EXPECT_EQ(Meets(key, kBank), (Strings{"bank.a", "bank2.a", "bank2.c", "bank.c"})) << key;
  }
  EXPECT_EQ(registry_.Prepare({ReplyOrderChange{On(kBank), ReplyOrder::kPlugOrder}}, std::nullopt)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::filters
