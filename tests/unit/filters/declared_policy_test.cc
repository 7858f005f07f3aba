// What a remote filter declares of itself: the policy for calls that it does not answer, and what
// the node makes of an answer that leaves something open or goes too far.

#include "filters/remote/wire.h"
#include "tests/unit/filters/remote_fixture.h"

namespace weir::filters {
namespace {

class DeclaredPolicies : public RemoteFilterFixture {
 protected:
  static std::vector<MethodInfo> Declare(DeclaredPolicy up, DeclaredPolicy down = {}) {
    std::vector<MethodInfo> methods = Methods();
    methods[0].policy = std::move(up);
    methods[1].policy = std::move(down);
    return methods;
  }
  // How a call ends now that nobody is there.
  std::string OutcomeWhileAway(Phase phase = Phase::kUp) { return Start(phase)->outcome(); }
};

TEST_F(DeclaredPolicies, HoldWhereThePlugDoesNotSay) {
  Make(1);
  channel(0).Connect(Declare({.timeout = 7 * kSecond, .on_failure = "open"},
                             {.timeout = 3 * kSecond, .on_failure = "answer=TRANSIENT"}));
  const auto up = Start(), down = Start(Phase::kDown);
  EXPECT_EQ(channel(0).deadlines[0], clock_.Now() + 7 * kSecond);
  EXPECT_EQ(channel(0).deadlines[1], clock_.Now() + 3 * kSecond);
  Pass(3 * kSecond, *down);
  EXPECT_EQ(down->outcome(), "raise by policy");
  EXPECT_EQ(down->call.system_exception()->id, orb::ExceptionId::kTransient);
  EXPECT_EQ(up->outcome(), "");
  Pass(4 * kSecond, *up);
  EXPECT_EQ(up->outcome(), "pass by policy");
}

TEST_F(DeclaredPolicies, ComeAfterWhatThePlugSays) {
  RemoteOptions options;
  options.up.timeout = 2 * kSecond;
  options.down.on_failure = *FailurePolicy::Parse("closed");
  Make(1, options);
  const DeclaredPolicy declared = {.timeout = 7 * kSecond, .on_failure = "open"};
  channel(0).Connect(Declare(declared, declared));
  const auto up = Start(), down = Start(Phase::kDown);
  EXPECT_EQ(channel(0).deadlines[0], clock_.Now() + 2 * kSecond);
  EXPECT_EQ(channel(0).deadlines[1], clock_.Now() + 7 * kSecond);
  channel(0).Lose();
  EXPECT_EQ(up->outcome(), "pass by policy");
  EXPECT_EQ(down->outcome(), "raise by policy");
}

TEST_F(DeclaredPolicies, AreRememberedWhileTheFilterIsAwayAndUnknownBefore) {
  Make(1);
  EXPECT_EQ(OutcomeWhileAway(), "bounce by policy") << "closed, as nobody has said anything";
  channel(0).Connect(Declare({.on_failure = "open"}));
  channel(0).Lose();
  EXPECT_EQ(OutcomeWhileAway(), "pass by policy");
  EXPECT_EQ(OutcomeWhileAway(Phase::kDown), "raise by policy") << "it has said nothing of that";
}

TEST_F(DeclaredPolicies, AreThoseOfTheLastConnection) {
  Make(1);
  channel(0).Connect(Declare({.on_failure = "open"}));
  channel(0).Lose();
  channel(0).Connect(Methods());
  channel(0).Lose();
  EXPECT_EQ(OutcomeWhileAway(), "bounce by policy");
}

TEST_F(DeclaredPolicies, AMappingOfLaterHasThemToo) {
  Make(1);
  std::vector<MethodInfo> methods = Methods();
  methods.push_back({.name = "late", .phase = Phase::kUp, .policy = {.on_failure = "open"}});
  channel(0).Connect(methods);
  channel(0).Lose();
  up_ = *filter_->MethodIndex(Phase::kUp, "late");
  EXPECT_EQ(OutcomeWhileAway(), "pass by policy");
}

TEST_F(DeclaredPolicies, TheFirstReplicaThatHasTheMethodSpeaksForAll) {
  Make(2);
  channel(1).Connect(Declare({.on_failure = "open"}));
  channel(1).Lose();
  EXPECT_EQ(OutcomeWhileAway(), "pass by policy");
  channel(0).Connect(Declare({.on_failure = "closed"}));
  channel(0).Lose();
  EXPECT_EQ(OutcomeWhileAway(), "bounce by policy");
}

TEST_F(DeclaredPolicies, ThoseThatMakeNoSenseAreLoggedAndLeftOut) {
  Make(1);
  for (const DeclaredPolicy& bad : {DeclaredPolicy{.on_failure = "answer=NO_WAY"},
                                    DeclaredPolicy{.timeout = 4000 * kSecond, .on_failure = "open"},
                                    DeclaredPolicy{.timeout = 1, .on_failure = "open"}}) {
    channel(0).Connect(Declare(bad));
    channel(0).Lose();
    EXPECT_EQ(OutcomeWhileAway(), "bounce by policy") << bad.on_failure << bad.timeout;
  }
  EXPECT_NE(logger_.lines().find("event=filter_declares_bad_policy plug=p at=address-0"),
            std::string::npos)
      << logger_.lines();
}

TEST_F(DeclaredPolicies, ACallThatWaitsKeepsThePolicyThatItBeganWith) {
  Make(1);
  channel(0).Connect(Declare({.on_failure = "open"}));
  const auto call = Start();
  channel(0).Connect(Declare({.on_failure = "closed"}));
  channel(0).Lose();
  EXPECT_EQ(call->outcome(), "pass by policy");
}

TEST_F(DeclaredPolicies, ARedirectOfAReplyIsRefusedAndCounted) {
  Make(1);
  ConnectAll();
  const auto call = Start(Phase::kDown);
  Answer answer;
  answer.kind = Answer::Kind::kRedirect;
  answer.redirect = "elsewhere";
  channel(0).Answer(channel(0).last(), answer);
  EXPECT_EQ(call->outcome(), "pass");
  EXPECT_EQ(call->call.request().object_key, "key");
  EXPECT_FALSE(call->call.redirected());
  EXPECT_EQ(Counter("refused"), 1u);
}

TEST_F(DeclaredPolicies, ACompletionStatusThatIsNotSaidIsWhatThePhaseKnows) {
  Make(1);
  ConnectAll();
  Answer answer;
  answer.kind = Answer::Kind::kSystemException;
  answer.exception = {orb::ExceptionId::kNoPermission, 5, orb::Completion::kYes};
  answer.completed_unset = true;
  const auto up = Start(), down = Start(Phase::kDown), failed = Start(Phase::kDown);
  failed->call.SetSystemException({orb::ExceptionId::kInternal, 0, orb::Completion::kNo});
  for (const uint64_t ticket : channel(0).tickets) channel(0).Answer(ticket, answer);
  EXPECT_EQ(up->call.system_exception()->completed, orb::Completion::kNo);
  EXPECT_EQ(down->call.system_exception()->completed, orb::Completion::kYes);
  EXPECT_EQ(failed->call.system_exception()->completed, orb::Completion::kMaybe);
  EXPECT_EQ(failed->call.system_exception()->minor, 5u);
  // What is said is what the caller is told.
  answer.completed_unset = false;
  const auto said = Start();
  channel(0).Answer(channel(0).last(), answer);
  EXPECT_EQ(said->call.system_exception()->completed, orb::Completion::kYes);
}

std::string Encoded(const std::vector<MethodInfo>& methods) {
  cdr::ByteBuffer buffer;
  cdr::Encoder out(&buffer);
  Encode(methods, &out);
  return std::string(buffer.view());
}

TEST(DescriptionTest, PoliciesTravelBehindTheMethods) {
  std::vector<MethodInfo> methods = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  methods[1].policy = {.timeout = 250 * kMillisecond, .on_failure = "open"};
  methods[2].policy.on_failure = "closed";
  const std::string bytes = Encoded(methods);
  cdr::Decoder in(bytes, cdr::kNativeOrder);
  const auto decoded = DecodeMethods(&in);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->size(), 3u);
  EXPECT_EQ((*decoded)[0].policy.timeout, 0);
  EXPECT_EQ((*decoded)[0].policy.on_failure, "");
  EXPECT_EQ((*decoded)[1].policy.timeout, 250 * kMillisecond);
  EXPECT_EQ((*decoded)[1].policy.on_failure, "open");
  EXPECT_EQ((*decoded)[2].policy.timeout, 0);
  EXPECT_EQ((*decoded)[2].policy.on_failure, "closed");
}

// Filters built before there were policies end their reply behind the methods, and nodes built
// before read no further than that.
TEST(DescriptionTest, OlderFiltersAndNodesGetOnWithNewerOnes) {
  // The last text ends where a sequence's length may begin, so that nothing pads.
  std::vector<MethodInfo> methods = {{.name = "a"},
                                     {.name = "b", .phase = Phase::kDown, .help = "abc"}};
  const std::string none = Encoded(methods);
  const std::string old = none.substr(0, none.size() - 4);
  cdr::Decoder in(old, cdr::kNativeOrder);
  const auto decoded = DecodeMethods(&in);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->size(), 2u);
  EXPECT_EQ((*decoded)[1].name, "b");
  EXPECT_EQ((*decoded)[1].policy.on_failure, "");
  methods[0].policy.on_failure = "open";
  EXPECT_TRUE(Encoded(methods).starts_with(old));
}

TEST(DescriptionTest, APolicyOfNoMethodIsMalformed) {
  cdr::ByteBuffer buffer;
  cdr::Encoder out(&buffer);
  out.WriteULong(0);  // methods
  out.WriteULong(1);
  out.WriteULong(0);
  out.WriteULong(5);
  out.WriteString("open");
  cdr::Decoder in(buffer.view(), cdr::kNativeOrder);
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeMethods(&in).status()));
}

}  // namespace
}  // namespace weir::filters
