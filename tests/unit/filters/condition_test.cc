// Conditions of plugs: how they are written, and which calls they leave to a plug.

#include "filters/condition.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "filters/filter_gate.h"
#include "filters/snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/call_fixture.h"

namespace weir::filters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using List = std::vector<std::string>;

List Canonical(const List& conditions) {
  const absl::StatusOr<Conditions> parsed = Conditions::Parse(conditions);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? parsed->canonical : List();
}

TEST(ConditionsTest, EqualConditionsHaveOneCanonicalForm) {
  EXPECT_THAT(Canonical({}), IsEmpty());
  EXPECT_THAT(Canonical({"peer=10.0.0.7/32", "operation=get_*", "peer=::ffff:10.0.0.7", "context=1",
                         "context!=0X41434D45:00FF", "identity=uid:007", "operation!=get_x"}),
              ElementsAre("context!=0x41434d45:00ff", "context=0x00000001", "identity=uid:7",
                          "operation!=get_x", "operation=get_*", "peer=10.0.0.7"));
}

TEST(ConditionsTest, TheCanonicalFormReadsBack) {
  const List canonical = Canonical({"peer!=fd00::/8", "peer=unix", "identity=pid:1",
                                    "operation=a=b*", "context=0xffffffff:01*"});
  EXPECT_EQ(canonical.size(), 5u);
  EXPECT_EQ(Canonical(canonical), canonical);
}

TEST(ConditionsTest, BadOnesAreRefusedInOneLineThatSaysWhatToWrite) {
  for (const auto& [text, hint] : std::vector<std::pair<std::string, std::string>>{
           {"", "peer=10.0.0.0/8"},
           {"peer", "peer=10.0.0.0/8"},
           {"nonsense=1", "operation=get_*"},
           {"peer =10.0.0.1", "peer=10.0.0.0/8"},
           {"peer=", "10.0.0.0/8"},
           {"peer=10.0.0.0/33", "/32"},
           {"peer=localhost", "no range of peers"},
           {"peer=unix:uid=5", "identity=uid:1000"},
           {"identity=5", "uid:1000"},
           {"identity=uid:", "uid:1000"},
           {"identity=uid:-1", "uid:1000"},
           {"identity=uid:4294967296", "uid:1000"},
           {"identity=name:root", "uid:1000"},
           {"operation=", "IDL name"},
           {"operation=*", "IDL name"},
           {"operation=a*b", "IDL name"},
           {"operation=a b", "IDL name"},
           {"operation=" + std::string(256, 'x'), "IDL name"},
           {"context=", "0x41434d45"},
           {"context=0x", "0x41434d45"},
           {"context=0x100000000", "0x41434d45"},
           {"context=-1", "0x41434d45"},
           {"context=1:", "hex digits"},
           {"context=1:*", "hex digits"},
           {"context=1:0", "hex digits"},
           {"context=1:0g", "hex digits"},
           {"context=1:" + std::string(514, '0'), "hex digits"},
           {"peer=1\n2", "\\x0a"}}) {
    const absl::Status status = Conditions::Parse({text}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("bad condition '")) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(hint)) << text;
    EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos) << text;
  }
  EXPECT_FALSE(Conditions::Parse(List(257, "peer=unix")).ok());
}

class ConditionTest : public CallTest {
 protected:
  static PlugChange If(std::string name, List conditions, std::string selector = "all") {
    return PlugChange{.name = std::move(name),
                      .filter = "probe",
                      .parameters = {},
                      .selector = std::move(selector),
                      .conditions = std::move(conditions)};
  }
  // A plug, both ways, for every operation.
  void PlugIf(std::string name, List conditions, std::string selector = "all") {
    Commit({If(name, std::move(conditions), std::move(selector)), MapUp(name, "*", "a"),
            MapDown(name, "*", "a")});
  }
  // Whether the plug `p`, made so, meets the call: in both phases, or in none.
  bool Meets(List conditions, FakeCall* call) {
    Commit({Unplug("p")});
    PlugIf("p", std::move(conditions));
    const List seen = See(call);
    EXPECT_TRUE(seen.empty() || seen == List({"p^a", "pva"}));
    EXPECT_TRUE(call->reached_servant());
    return !seen.empty();
  }
  bool MeetsPeer(List conditions, const std::string& address,
                 const std::string& transport = "tcp") {
    FakeCall call;
    call.set_peer({transport, address});
    return Meets(std::move(conditions), &call);
  }
  bool MeetsOperation(List conditions, const std::string& operation) {
    FakeCall call("key", operation);
    return Meets(std::move(conditions), &call);
  }
  bool MeetsContexts(List conditions, std::vector<orb::ServiceContext> contexts) {
    FakeCall call;
    call.request().contexts = std::move(contexts);
    return Meets(std::move(conditions), &call);
  }
};

TEST_F(ConditionTest, ByThePeersAddress) {
  EXPECT_TRUE(MeetsPeer({"peer=10.0.0.0/8"}, "10.1.2.3:4"));
  EXPECT_FALSE(MeetsPeer({"peer=10.0.0.0/8"}, "11.1.2.3:4"));
  EXPECT_TRUE(MeetsPeer({"peer=fd00::/8"}, "[fd00::1]:4"));
  EXPECT_FALSE(MeetsPeer({"peer=fd00::/8"}, "[fe00::1]:4"));
  EXPECT_TRUE(MeetsPeer({"peer=unix"}, "unix:pid=1,uid=2", "unix"));
  EXPECT_FALSE(MeetsPeer({"peer=unix"}, "10.1.2.3:4"));
  EXPECT_FALSE(MeetsPeer({"peer=10.0.0.0/8"}, "unreadable"));
}

TEST_F(ConditionTest, AClientsPeerIsWhomItCalls) {
  EXPECT_TRUE(MeetsPeer({"peer=unix"}, "/run/server.sock", "unix"));
  EXPECT_FALSE(MeetsPeer({"identity!=uid:7", "peer=10.0.0.0/8"}, "/run/server.sock", "unix"));
  EXPECT_FALSE(MeetsPeer({"peer=0.0.0.0/0"}, "server.example:2809"));
}

TEST_F(ConditionTest, ByWhatTheTransportAttestsOfThePeer) {
  EXPECT_TRUE(MeetsPeer({"identity=uid:1000"}, "unix:pid=1,uid=1000", "unix"));
  EXPECT_FALSE(MeetsPeer({"identity=uid:1000"}, "unix:pid=1000,uid=1", "unix"));
  EXPECT_TRUE(MeetsPeer({"identity=pid:1000"}, "unix:pid=1000,uid=1", "unix"));
  EXPECT_FALSE(MeetsPeer({"identity=pid:1000"}, "unix:pid=1,uid=1000", "unix"));
}

TEST_F(ConditionTest, WhatIsNotKnownOfAPeerEqualsNothing) {
  for (const char* peer : {"10.1.2.3:4", "unix", "unreadable"}) {
    EXPECT_FALSE(MeetsPeer({"identity=uid:0"}, peer)) << peer;
    EXPECT_TRUE(MeetsPeer({"identity!=uid:0"}, peer)) << peer;
    EXPECT_FALSE(MeetsPeer({"identity=pid:0"}, peer)) << peer;
  }
}

TEST_F(ConditionTest, ByTheOperation) {
  EXPECT_TRUE(MeetsOperation({"operation=get_x"}, "get_x"));
  EXPECT_FALSE(MeetsOperation({"operation=get_x"}, "get_xy"));
  EXPECT_FALSE(MeetsOperation({"operation=get_x"}, "get_"));
  EXPECT_TRUE(MeetsOperation({"operation=get_*"}, "get_x"));
  EXPECT_TRUE(MeetsOperation({"operation=get_*"}, "get_"));
  EXPECT_FALSE(MeetsOperation({"operation=get_*"}, "get"));
  EXPECT_FALSE(MeetsOperation({"operation!=get_*"}, "get_x"));
  EXPECT_TRUE(MeetsOperation({"operation!=get_*"}, "set_x"));
  EXPECT_TRUE(MeetsOperation({"operation!=get_*"}, "get"));
}

TEST_F(ConditionTest, ByAServiceContext) {
  const std::string data("\x00\xff\x17", 3);
  const std::vector<orb::ServiceContext> contexts = {{7, "x"}, {0x41434d45, data}};
  EXPECT_TRUE(MeetsContexts({"context=0x41434d45"}, contexts));
  EXPECT_FALSE(MeetsContexts({"context=0x57454902"}, contexts));
  EXPECT_FALSE(MeetsContexts({"context=0x41434d45"}, {}));
  EXPECT_TRUE(MeetsContexts({"context!=0x41434d45"}, {}));
  EXPECT_TRUE(MeetsContexts({"context=0x41434d45:00ff17"}, contexts));
  EXPECT_FALSE(MeetsContexts({"context=0x41434d45:00ff"}, contexts));
  EXPECT_TRUE(MeetsContexts({"context=0x41434d45:00ff*"}, contexts));
  EXPECT_TRUE(MeetsContexts({"context=0x41434d45:00ff17*"}, contexts));
  EXPECT_FALSE(MeetsContexts({"context=0x41434d45:00ff1700*"}, contexts));
  EXPECT_FALSE(MeetsContexts({"context=7:00ff17"}, contexts));
  EXPECT_TRUE(MeetsContexts({"context=7:79"}, {{7, "x"}, {7, "y"}}));
}

TEST_F(ConditionTest, OfOneKindAnySufficesAndAllNegatedOnesMustHold) {
  const List some = {"peer=10.0.0.0/8", "peer=11.0.0.0/8", "peer!=10.1.0.0/16",
                     "peer!=11.1.0.0/16"};
  EXPECT_TRUE(MeetsPeer(some, "10.2.0.1:4"));
  EXPECT_TRUE(MeetsPeer(some, "11.2.0.1:4"));
  EXPECT_FALSE(MeetsPeer(some, "10.1.0.1:4"));
  EXPECT_FALSE(MeetsPeer(some, "11.1.0.1:4"));
  EXPECT_FALSE(MeetsPeer(some, "12.2.0.1:4"));
  const List operations = {"operation=get_*", "operation=set_*", "operation=ping",
                           "operation!=get_secret", "operation!=set_secret_*"};
  for (const auto& [operation, meets] :
       std::vector<std::pair<std::string, bool>>{{"get_a", true},
                                                 {"set_a", true},
                                                 {"ping", true},
                                                 {"pings", false},
                                                 {"get_secret", false},
                                                 {"get_secrets", true},
                                                 {"set_secret_a", false},
                                                 {"set_secret", true},
                                                 {"other", false}}) {
    EXPECT_EQ(MeetsOperation(operations, operation), meets) << operation;
  }
}

TEST_F(ConditionTest, ConditionsOfDifferentKindsMustAllHold) {
  const List both = {"peer=10.0.0.0/8", "operation=get_*", "context=7"};
  const auto meets = [&](const char* peer, const char* operation, uint32_t context) {
    FakeCall call("key", operation);
    call.set_peer({"tcp", peer});
    call.request().contexts = {{context, ""}};
    return Meets(both, &call);
  };
  EXPECT_TRUE(meets("10.0.0.1:4", "get_x", 7));
  EXPECT_FALSE(meets("11.0.0.1:4", "get_x", 7));
  EXPECT_FALSE(meets("10.0.0.1:4", "set_x", 7));
  EXPECT_FALSE(meets("10.0.0.1:4", "get_x", 8));
}

TEST_F(ConditionTest, AMappingOfAnOperationThatItsPlugIsNotConcernedWithNeverRuns) {
  Commit({If("p", {"operation=get_*"}), MapUp("p", "get_x", "b"), MapUp("p", "set_x", "b"),
          MapUp("p", "*", "a")});
  EXPECT_THAT(See("key", "get_x"), ElementsAre("p^b"));
  EXPECT_THAT(See("key", "get_y"), ElementsAre("p^a"));
  EXPECT_THAT(See("key", "set_x"), IsEmpty());
  EXPECT_THAT(See("key", "other"), IsEmpty());
}

TEST_F(ConditionTest, APlugThatIsNotConcernedIsAsIfItWereNotPlugged) {
  PlugIf("a", {});
  PlugIf("b", {"peer=11.0.0.0/8"});
  PlugIf("c", {"peer=10.0.0.0/8"});
  PlugIf("d", {"context=7"});
  // The fake call's peer is 10.0.0.7.
  EXPECT_THAT(See("key"), ElementsAre("a^a", "c^a", "cva", "ava"));
  bouncer_ = "c";
  EXPECT_THAT(See("key"), ElementsAre("a^a", "c^a", "ava"));
  EXPECT_THAT(registry_.Figures("b").steps, IsEmpty());
  EXPECT_THAT(registry_.Figures("d").steps, IsEmpty());
  EXPECT_EQ(registry_.Figures("c").steps.size(), 2u);
}

TEST_F(ConditionTest, ACallThatConcernsNoPlugHoldsNoSnapshotAndIsNotRecorded) {
  PlugIf("a", {"peer=11.0.0.0/8"});
  registry_.tracer()->Extend(Tracer::kRecording, kSecond);
  FakeCall call("key");
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  EXPECT_EQ(call.gate_state().hold, nullptr);
  EXPECT_EQ(call.gate_state().chain, nullptr);
  EXPECT_EQ(call.gate_state().trace, nullptr);
  EXPECT_THAT(registry_.tracer()->ring().Latest(10).calls, IsEmpty());
}

TEST_F(ConditionTest, TheDecisionOfTheUpPhaseHoldsForTheDownPhase) {
  // `a` takes away what `b` asks for, and adds what `c` asks for, before they have their turn.
  PlugIf("a", {});
  PlugIf("b", {"context=7"});
  PlugIf("c", {"context=8"});
  probe_->up = [this](const std::string& plug, std::string_view, orb::Call& call) {
    seen_.push_back(plug + "^");
    call.request().contexts = {{8, ""}};
    return Verdict::kPass;
  };
  FakeCall call;
  call.request().contexts = {{7, ""}};
  EXPECT_THAT(See(&call), ElementsAre("a^", "b^", "bva", "ava"));
}

TEST_F(ConditionTest, FiltersThatAnswerLaterAreLeftOutTheSameWay) {
  std::vector<Suspension> waiting;
  probe_->later = [&](Suspension call, Verdict) { waiting.push_back(std::move(call)); };
  PlugIf("a", {"peer=11.0.0.0/8"});
  PlugIf("b", {"peer=10.0.0.0/8"});
  PlugIf("c", {"context=7"});
  FakeCall call;
  EXPECT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kSuspended);
  ASSERT_EQ(waiting.size(), 1u);
  Suspension first = std::move(waiting[0]);
  waiting.clear();
  first.Resume(Verdict::kPass);
  EXPECT_THAT(waiting, IsEmpty());
  EXPECT_EQ(registry_.gate()->Down(call), orb::Gate::Outcome::kSuspended);
  ASSERT_EQ(waiting.size(), 1u);
  waiting[0].Resume(Verdict::kPass);
  registry_.gate()->Release(call);
  EXPECT_THAT(seen_, ElementsAre("b^a", "bva"));
}

// A filter elsewhere that changes nothing: notes "p?" when it is asked ahead, "p!" when that is
// forgotten, "p^" when it gets the call, which it keeps.
class LookerKind : public FilterKind {
 public:
  explicit LookerKind(List* seen) : seen_(seen) {}

  std::string_view name() const override { return "looker"; }
  std::string_view help() const override { return "For tests."; }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters&,
                                              const FilterContext& context) const override {
    return std::make_unique<Looker>(this, context.plug);
  }

  mutable std::vector<Suspension> waiting;

 private:
  class Looker : public Filter {
   public:
    Looker(const LookerKind* kind, std::string plug) : kind_(kind), plug_(std::move(plug)) {}
    Verdict Up(int, orb::Call&) override { return Verdict::kPass; }
    Verdict Down(int, orb::Call&) override { return Verdict::kPass; }
    bool asynchronous() const override { return true; }
    bool OnlyLooks(int) const override { return true; }
    void AskAhead(int, const orb::Call&) override { kind_->seen_->push_back(plug_ + "?"); }
    void Forget(int, const orb::Call&) override { kind_->seen_->push_back(plug_ + "!"); }
    void StartUp(int, Suspension call) override {
      kind_->seen_->push_back(plug_ + "^");
      kind_->waiting.push_back(std::move(call));
    }

   private:
    const LookerKind* const kind_;
    const std::string plug_;
  };

  List* const seen_;
  const std::vector<MethodInfo> methods_ = {{.name = "a", .phase = Phase::kUp}};
};

TEST_F(ConditionTest, FiltersThatAreNotConcernedAreNotAskedAheadEither) {
  auto made = std::make_unique<LookerKind>(&seen_);
  LookerKind* const kind = made.get();
  kinds_.Add(std::move(made));
  for (const auto& [name, filter, conditions] :
       std::vector<std::tuple<std::string, std::string, List>>{{"a", "looker", {}},
                                                               {"b", "looker", {"context=7"}},
                                                               {"c", "probe", {"context=7"}},
                                                               {"d", "looker", {"context!=7"}},
                                                               {"e", "probe", {}},
                                                               {"f", "looker", {}}}) {
    PlugChange plug = If(name, conditions);
    plug.filter = filter;
    Commit({plug, MapUp(name, "*", "a")});
  }
  const auto run = [&](Verdict verdict) {
    seen_.clear();
    FakeCall call;
    EXPECT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kSuspended);
    while (!kind->waiting.empty()) {
      Suspension first = std::move(kind->waiting[0]);
      kind->waiting.clear();
      if (verdict == Verdict::kBounce) first->SetResult();
      first.Resume(verdict);
    }
    registry_.gate()->Release(call);
    return seen_;
  };
  EXPECT_THAT(run(Verdict::kPass), ElementsAre("d?", "a^", "d^", "e^a", "f^"));
  EXPECT_THAT(run(Verdict::kBounce), ElementsAre("d?", "a^", "d!"));
}

// More than fit into the bits that a call has by itself.
TEST_F(ConditionTest, HundredsOfDifferentConditionsOfOneChain) {
  ChangeSet changes;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "p" + std::to_string(1000 + i);
    changes.push_back(If(name, {"context=" + std::to_string(i)}));
    changes.push_back(MapUp(name, "*", "a"));
    changes.push_back(MapDown(name, "*", "a"));
  }
  Commit(changes);
  for (const std::vector<uint32_t>& held : std::vector<std::vector<uint32_t>>{
           {}, {0}, {63}, {64}, {127}, {128}, {299}, {5, 70, 200, 299}}) {
    FakeCall call;
    List expected;
    for (const uint32_t id : held) call.request().contexts.push_back({id, ""});
    for (const uint32_t id : held) expected.push_back("p" + std::to_string(1000 + id) + "^a");
    for (size_t i = held.size(); i-- > 0;) {
      expected.push_back("p" + std::to_string(1000 + held[i]) + "va");
    }
    EXPECT_EQ(See(&call), expected);
    EXPECT_EQ(call.gate_state().own, nullptr);
  }
}

TEST_F(ConditionTest, ARedirectedCallIsJudgedAnewAndItsFirstDecisionStandsOnItsWayBack) {
  // Enough of them that both decisions need memory of their own.
  for (int i = 0; i < 70; ++i) {
    PlugIf("from" + std::to_string(100 + i), {"context=" + std::to_string(i)}, "key:from");
    PlugIf("to" + std::to_string(100 + i), {"context=" + std::to_string(i)}, "key:to");
  }
  PlugIf("z", {}, "key:from");
  probe_->up = [this](const std::string& plug, std::string_view, orb::Call& call) {
    seen_.push_back(plug + "^");
    if (plug != "z") return Verdict::kPass;
    call.request().contexts = {{2, ""}, {68, ""}};
    call.Redirect("to");
    return Verdict::kRedirect;
  };
  FakeCall call("from");
  call.request().contexts = {{1, ""}, {66, ""}};
  EXPECT_THAT(See(&call), ElementsAre("from101^", "from166^", "z^", "to102^", "to168^", "to168va",
                                      "to102va", "zva", "from166va", "from101va"));
}

TEST_F(ConditionTest, ACallThatIsRedirectedToWhereNothingConcernsIt) {
  PlugIf("from", {"peer=10.0.0.0/8"}, "key:from");
  PlugIf("z", {}, "key:from");
  PlugIf("to", {"peer=11.0.0.0/8"}, "key:to");
  probe_->up = [this](const std::string& plug, std::string_view, orb::Call& call) {
    seen_.push_back(plug + "^");
    if (plug != "z") return Verdict::kPass;
    call.Redirect("to");
    return Verdict::kRedirect;
  };
  EXPECT_THAT(See("from"), ElementsAre("from^", "z^", "zva", "fromva"));
}

TEST_F(ConditionTest, OfAPlugOnAnInterfaceAndWithoutTheQuestionWhereTheyDoNotHold) {
  PlugIf("a", {"operation=get_*"}, "interface:IDL:Bank:1.0");
  PlugIf("b", {"operation=get_x"}, "interface:IDL:Bank:1.0");
  PlugIf("c", {"peer=11.0.0.0/8"}, "interface:IDL:Shop:1.0");
  PlugIf("d", {"context=7"}, "interface:IDL:Bank:1.0");
  PlugIf("e", {"operation!=get_x"}, "key:bank");
  int asked = 0;
  const auto see = [&](const std::string& operation, std::vector<orb::ServiceContext> contexts,
                       const std::string& peer = "10.0.0.7:1") {
    asked = 0;
    FakeCall call("bank", operation);
    call.set_peer({"tcp", peer});
    call.object = {1, 0, call.request().object_key};
    call.is_a = [&](std::string_view id) {
      ++asked;
      return id == "IDL:Bank:1.0";
    };
    call.request().contexts = std::move(contexts);
    return See(&call);
  };
  EXPECT_THAT(see("set", {}), ElementsAre("e^a", "eva"));
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(see("get_x", {}), ElementsAre("a^a", "b^a", "bva", "ava"));
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(see("get_y", {{7, ""}}), ElementsAre("a^a", "d^a", "e^a", "eva", "dva", "ava"));
  EXPECT_THAT(see("get_z", {}), ElementsAre("a^a", "e^a", "eva", "ava"));
  EXPECT_THAT(see("get_x", {{7, ""}}), ElementsAre("a^a", "b^a", "d^a", "dva", "bva", "ava"));
  EXPECT_THAT(see("set", {{7, ""}}), ElementsAre("d^a", "e^a", "eva", "dva"));
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(see("set", {}, "11.0.0.7:1"), ElementsAre("e^a", "eva"));
  EXPECT_EQ(asked, 1);
}

TEST_F(ConditionTest, PlugsThatDifferInConditionsAreOtherPlugs) {
  PlugIf("p", {"peer=10.0.0.0/8", "operation=get_*"});
  Commit({If("p", {"operation=get_*", "peer=10.0.0.0/8", "peer=::ffff:10.0.0.0/104"})});
  EXPECT_FALSE(last_changed_);
  const absl::Status status = Try({If("p", {"peer=10.0.0.0/8"})});
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another conditions"));
  EXPECT_EQ(Try({If("q", {"peer"})}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ConditionTest, AStateReadBackHasTheSameConditionsAndBadOnesAreRefused) {
  PlugIf("p", {"peer=10.0.0.7/32"});
  const State state = registry_.state();
  Commit({Unplug("p")});
  registry_.Publish(*registry_.PrepareState(state));
  EXPECT_EQ(registry_.state(), state);
  EXPECT_THAT(See("key"), ElementsAre("p^a", "pva"));
  State bad = state;
  bad.plugs[0].conditions = {"peer=nowhere"};
  EXPECT_EQ(registry_.PrepareState(bad).status().code(), absl::StatusCode::kInvalidArgument);
}

// What costs calls something is what is in a chain.
TEST_F(ConditionTest, ConditionsOnOperationsAreCompiledAway) {
  ChangeSet changes;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "p" + std::to_string(i);
    changes.push_back(If(name, {"operation=get_" + std::to_string(1000 + i) + "*"}, "key:a"));
    changes.push_back(MapUp(name, "*", "a"));
  }
  Commit(changes);
  FakeCall call("a", "get_1500_x");
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  const auto* const chain = static_cast<const Chain*>(call.gate_state().chain);
  ASSERT_NE(chain, nullptr);
  EXPECT_EQ(chain->up.size(), 1u);
  EXPECT_EQ(chain->size, 1u);
  EXPECT_FALSE(chain->prepares);
  EXPECT_FALSE(chain->up[0].special);
  registry_.gate()->Release(call);
  FakeCall other("a", "get_999");
  ASSERT_EQ(registry_.gate()->Up(other), orb::Gate::Outcome::kPass);
  EXPECT_EQ(other.gate_state().hold, nullptr);
}

TEST_F(ConditionTest, EqualConditionsAreDecidedOnceForACall) {
  for (int i = 0; i < 100; ++i) {
    PlugIf("p" + std::to_string(i), {i % 2 == 0 ? "peer=10.0.0.0/8" : "peer=11.0.0.0/8",
                                     "operation!=x" + std::to_string(i)});
  }
  FakeCall call;
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  EXPECT_EQ(static_cast<const Chain*>(call.gate_state().chain)->conditions.size(), 2u);
  EXPECT_EQ(seen_.size(), 50u);
  registry_.gate()->Release(call);
}

}  // namespace
}  // namespace weir::filters
