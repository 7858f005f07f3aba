// The rules of beta messages, through Registry::Prepare.

#include "filters/changes.h"

#include <string>

#include "filters/registry.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

class ChangesTest : public RegistryTest {
 protected:
  // Refused with `code`, in one line that contains `hint`, and nothing has changed.
  void ExpectRefused(const ChangeSet& changes, absl::StatusCode code, std::string_view hint) {
    const State before = registry_.state();
    const int made = probe_->made - probe_->destroyed;
    const absl::Status status = Try(changes);
    EXPECT_EQ(status.code(), code) << status.ToString();
    const std::string message(status.message());
    EXPECT_NE(message.find(hint), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(registry_.state(), before);
    EXPECT_EQ(probe_->made - probe_->destroyed, made);
  }
  void ExpectNoChange(const ChangeSet& changes) {
    const State before = registry_.state();
    Commit(changes);
    EXPECT_FALSE(last_changed_);
    EXPECT_EQ(registry_.state(), before);
  }
  const Plug& PlugNamed(std::string_view name) {
    state_ = registry_.state();
    for (const Plug& plug : state_.plugs) {
      if (plug.name == name) return plug;
    }
    ADD_FAILURE() << "no plug " << name;
    return none_;
  }
  std::string EnabledUp(std::string_view plug, std::string_view operation) {
    std::string enabled;
    for (const Mapping& m : PlugNamed(plug).mappings) {
      if (m.operation == operation && m.phase == Phase::kUp && m.enabled) enabled += m.method;
    }
    return enabled;
  }

  State state_;
  Plug none_;
};

TEST_F(ChangesTest, EachCommitThatChangesSomethingIsOneRevision) {
  EXPECT_EQ(registry_.revision(), 0u);
  Commit({PlugOn("p", "all"), MapUp("p", "op", "a")});
  EXPECT_EQ(registry_.revision(), 1u);
  Commit({Unplug("p")});
  EXPECT_EQ(registry_.revision(), 2u);
}

TEST_F(ChangesTest, PlugsAreKeptByNameWithTheirSelectorInCanonicalForm) {
  Commit({PlugOn("z", "key:%61"), PlugOn("a", "all")});
  ASSERT_EQ(registry_.state().plugs.size(), 2u);
  EXPECT_EQ(registry_.state().plugs[0].name, "a");
  EXPECT_EQ(registry_.state().plugs[1].selector, "key:a");
}

TEST_F(ChangesTest, PluggingTheSameAgainChangesNothing) {
  Commit({PlugOn("p", "key:a"), MapUp("p", "op", "a")});
  ExpectNoChange({PlugOn("p", "key:a")});
  ExpectNoChange({PlugOn("p", "key:%61")});
  EXPECT_EQ(probe_->made, 1);
}

TEST_F(ChangesTest, APlugOfThatNameWithAnythingElseIsRefusedWithAHint) {
  kinds_.Add(std::make_unique<ProbeKind>("other"));
  Commit({PlugOn("p", "key:a")});
  const auto code = absl::StatusCode::kAlreadyExists;
  ExpectRefused({PlugOn("p", "key:b")}, code, "another target");
  ExpectRefused({PlugOn("p", "key:a", 1)}, code, "another priority");
  ExpectRefused({PlugOn("p", "key:a", 0, "other")}, code, "another filter");
  ExpectRefused({PlugChange{"p", "probe", {{"x", "y"}}, "key:a", 0}}, code, "another parameters");
  ExpectRefused({PlugOn("p", "key:b")}, code, "unplug it first");
}

TEST_F(ChangesTest, OneChangeSetMayReplaceAPlug) {
  Commit({PlugOn("p", "key:a"), MapUp("p", "op", "a")});
  Commit({Unplug("p"), PlugOn("p", "key:b")});
  EXPECT_EQ(PlugNamed("p").selector, "key:b");
  EXPECT_TRUE(PlugNamed("p").mappings.empty());
}

TEST_F(ChangesTest, UnpluggingWhatIsNotPluggedChangesNothing) { ExpectNoChange({Unplug("p")}); }

TEST_F(ChangesTest, PlugAndUnplugInOneChangeSetComeToNothing) {
  ExpectNoChange({PlugOn("p", "all"), Unplug("p")});
  EXPECT_EQ(registry_.revision(), 0u);
}

TEST_F(ChangesTest, BadPlugsAreRefused) {
  ExpectRefused({PlugOn("", "all")}, absl::StatusCode::kInvalidArgument, "bad plug name");
  ExpectRefused({PlugOn("a b\n", "all")}, absl::StatusCode::kInvalidArgument, "bad plug name");
  ExpectRefused({PlugOn(std::string(65, 'x'), "all")}, absl::StatusCode::kInvalidArgument, "64");
  ExpectRefused({PlugOn("p", "nonsense")}, absl::StatusCode::kInvalidArgument, "key:NameService");
  ExpectRefused({PlugOn("p", "all", 0, "nope")}, absl::StatusCode::kNotFound, "there are: probe");
  ExpectRefused({PlugChange{"p", "probe", {{"bad", ""}}, "all", 0}},
                absl::StatusCode::kInvalidArgument, "plug 'p': parameter 'bad'");
}

TEST_F(ChangesTest, AChangeSetIsAllOrNothing) {
  ExpectRefused({PlugOn("p", "all"), MapUp("p", "op", "a"), MapUp("p", "op", "nope")},
                absl::StatusCode::kNotFound, "change 3 of 3: ");
  ExpectRefused({PlugOn("p", "all"), PlugChange{"q", "probe", {{"bad", ""}}, "all", 0}},
                absl::StatusCode::kInvalidArgument, "plug 'q'");
  EXPECT_TRUE(registry_.state().plugs.empty());
  EXPECT_FALSE(registry_.gate()->active());
}

TEST_F(ChangesTest, AStaleExpectedRevisionIsAborted) {
  Commit({PlugOn("p", "all")});
  EXPECT_EQ(Try({Unplug("p")}, 0).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(registry_.revision(), 1u);
  EXPECT_TRUE(Try({Unplug("p")}, 1).ok());
  EXPECT_EQ(registry_.revision(), 2u);
}

TEST_F(ChangesTest, AMappingStartsDisabledUnlessAskedOtherwise) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a", false), MapUp("p", "y", "a", true)});
  EXPECT_EQ(EnabledUp("p", "x"), "");
  EXPECT_EQ(EnabledUp("p", "y"), "a");
}

TEST_F(ChangesTest, MappingAgainNeverDisables) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a", true)});
  ExpectNoChange({MapUp("p", "x", "a", false)});
  EXPECT_EQ(EnabledUp("p", "x"), "a");
}

TEST_F(ChangesTest, EnablingOneMethodDisablesItsSiblingOfTheSamePhaseOnly) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a"), MapDown("p", "x", "c")});
  Commit({MapUp("p", "x", "b")});
  EXPECT_EQ(EnabledUp("p", "x"), "b");
  Commit({EnableUp("p", "x", "a")});
  EXPECT_EQ(EnabledUp("p", "x"), "a");
  int down = 0;
  for (const Mapping& m : PlugNamed("p").mappings) down += m.phase == Phase::kDown && m.enabled;
  EXPECT_EQ(down, 1);
}

TEST_F(ChangesTest, MappingsOfUnknownThingsAreRefused) {
  Commit({PlugOn("p", "all")});
  ExpectRefused({MapUp("q", "op", "a")}, absl::StatusCode::kNotFound, "no plug is named 'q'");
  ExpectRefused({MapUp("p", "op", "c")}, absl::StatusCode::kNotFound, "up methods are: a, b");
  ExpectRefused({MapUp("p", "", "a")}, absl::StatusCode::kInvalidArgument, "bad operation");
  ExpectRefused({MapUp("p", "a*", "a")}, absl::StatusCode::kInvalidArgument, "bad operation");
  ExpectRefused({MapUp("p", "a b", "a")}, absl::StatusCode::kInvalidArgument, "bad operation");
  ExpectRefused({UnmapUp("p", "op", "nope")}, absl::StatusCode::kNotFound, "no up method 'nope'");
}

TEST_F(ChangesTest, UnmappingIsIdempotent) {
  Commit({PlugOn("p", "all"), MapUp("p", "op", "a")});
  Commit({UnmapUp("p", "op", "a")});
  EXPECT_TRUE(last_changed_);
  EXPECT_TRUE(PlugNamed("p").mappings.empty());
  ExpectNoChange({UnmapUp("p", "op", "a")});
}

TEST_F(ChangesTest, EnableWithoutAMethodTakesTheOnlyOne) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a", false), MapUp("p", "y", "b", false)});
  Commit({EnableUp("p", "x")});
  EXPECT_EQ(EnabledUp("p", "x"), "a");
  EXPECT_EQ(EnabledUp("p", "y"), "");
  ExpectNoChange({EnableUp("p", "x")});
}

TEST_F(ChangesTest, EnableWithoutAnOperationTakesAllOfThem) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a", false), MapUp("p", "y", "b", false)});
  Commit({EnableUp("p")});
  EXPECT_EQ(EnabledUp("p", "x"), "a");
  EXPECT_EQ(EnabledUp("p", "y"), "b");
}

TEST_F(ChangesTest, EnableWithoutAMethodIsRefusedIfSeveralAreMapped) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a", false), MapUp("p", "x", "b", false)});
  ExpectRefused({EnableUp("p", "x")}, absl::StatusCode::kFailedPrecondition, "a, b");
  ExpectRefused({EnableUp("p")}, absl::StatusCode::kFailedPrecondition, "operation 'x'");
}

TEST_F(ChangesTest, EnablingWhatIsNotMappedIsRefused) {
  Commit({PlugOn("p", "all"), MapDown("p", "x", "a")});
  ExpectRefused({EnableUp("p", "x")}, absl::StatusCode::kNotFound, "map it first");
  ExpectRefused({EnableUp("p")}, absl::StatusCode::kNotFound, "map it first");
  ExpectRefused({EnableUp("p", "x", "a")}, absl::StatusCode::kNotFound, "up method 'a'");
  ExpectRefused({DisableUp("p", "x")}, absl::StatusCode::kNotFound, "operation 'x'");
  ExpectRefused({EnableUp("q", "x")}, absl::StatusCode::kNotFound, "no plug is named 'q'");
}

TEST_F(ChangesTest, DisableWithoutNamesDisablesAllOfThePhase) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a"), MapUp("p", "y", "b"), MapDown("p", "x", "a")});
  Commit({DisableUp("p")});
  EXPECT_EQ(EnabledUp("p", "x"), "");
  EXPECT_EQ(EnabledUp("p", "y"), "");
  EXPECT_TRUE(registry_.gate()->active());  // the down mapping
  ExpectNoChange({DisableUp("p")});
  ExpectNoChange({DisableUp("p", "x")});
}

TEST_F(ChangesTest, AStateReadBackIsTheSameState) {
  Commit({PlugOn("p", "key:a*", 3), MapUp("p", "x", "a"), MapUp("p", "x", "b", false)});
  Commit({PlugOn("q", "all"), MapDown("q", "*", "c")});
  FilterKinds kinds;
  kinds.Add(std::make_unique<ProbeKind>());
  Registry other(&kinds, &clock_, &logger_);
  auto prepared = other.PrepareState(registry_.state());
  ASSERT_TRUE(prepared.ok()) << prepared.status().ToString();
  EXPECT_TRUE(prepared->changed);
  other.Publish(*std::move(prepared));
  EXPECT_EQ(other.state(), registry_.state());
  EXPECT_TRUE(other.gate()->active());
}

TEST_F(ChangesTest, AStateThatBreaksTheRulesIsRefused) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a"), MapUp("p", "x", "b", false)});
  const State good = registry_.state();
  const auto code = [&](const State& state) {
    return registry_.PrepareState(state).status().code();
  };
  EXPECT_EQ(code(good), absl::StatusCode::kOk);
  State bad = good;
  bad.plugs.push_back(bad.plugs[0]);
  EXPECT_EQ(code(bad), absl::StatusCode::kInvalidArgument);
  bad.plugs[1].name = "q";  // still the same sequence
  EXPECT_EQ(code(bad), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.plugs[0].mappings[1].enabled = true;
  EXPECT_EQ(code(bad), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.plugs[0].filter = "nope";
  EXPECT_EQ(code(bad), absl::StatusCode::kNotFound);
  bad = good;
  bad.plugs[0].parameters["bad"] = "";
  EXPECT_EQ(code(bad), absl::StatusCode::kInvalidArgument);
}

TEST_F(ChangesTest, ANewPlugAfterAStateReadBackComesLast) {
  State state;
  state.revision = 9;
  state.plugs.push_back(Plug{.name = "p", .filter = "probe", .selector = "all", .sequence = 40});
  registry_.Publish(*registry_.PrepareState(state));
  Commit({PlugOn("a", "all")});
  EXPECT_EQ(registry_.revision(), 10u);
  EXPECT_EQ(PlugNamed("a").sequence, 41u);
}

}  // namespace
}  // namespace weir::filters
