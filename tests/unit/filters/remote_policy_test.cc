// What calls get that a remote filter does not answer, as plugs write it, and where it is.

#include <memory>
#include <string>
#include <vector>

#include "filters/remote/orb_channel.h"
#include "filters/remote/policy.h"
#include "filters/remote/ref_kind.h"
#include "gmock/gmock.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FailurePolicyTest, WhatIsNoneIsRefusedInOneLine) {
  for (const char* text : {"", "Open", "answer", "answer=", "answer=NO_WAY", "answer=open",
                           "answer=result:0", "answer=result:zz", "answer=result:middle:00",
                           "answer=user:", "answer=user:00", "answer=user:acme", "result:00"}) {
    const auto policy = FailurePolicy::Parse(text);
    EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(policy.status().message()), Not(HasSubstr("\n")));
  }
  EXPECT_THAT(std::string(FailurePolicy::Parse("answer=result:0").status().message()),
              AllOf(HasSubstr("result:"), HasSubstr("hexadecimal")));
  EXPECT_THAT(std::string(FailurePolicy::Parse("answer=TRANSIEN").status().message()),
              HasSubstr("answer=TRANSIENT"));
}

// A call that a servant has answered, for the down phase.
void Answered(orb::Call* call, orb::ReplyStatus status) {
  call->NewBody().WriteULong(1);
  call->SetBody(status);
}

TEST(FailurePolicyTest, OpenPassesInBothPhases) {
  const FailurePolicy open = *FailurePolicy::Parse("open");
  FakeCall call;
  Answered(&call, orb::ReplyStatus::kNoException);
  EXPECT_EQ(open.Apply(Phase::kUp, call), Verdict::kPass);
  EXPECT_EQ(open.Apply(Phase::kDown, call), Verdict::kPass);
  EXPECT_EQ(call.reply().body.decoder().ReadULong(), 1u);
}

TEST(FailurePolicyTest, AnExceptionSaysWhatThePhaseKnowsOfTheServant) {
  const FailurePolicy transient = *FailurePolicy::Parse("answer=TRANSIENT");
  FakeCall call;
  EXPECT_EQ(transient.Apply(Phase::kUp, call), Verdict::kBounce);
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kTransient);
  EXPECT_EQ(call.system_exception()->completed, orb::Completion::kNo);
  for (const auto& [status, completed] :
       {std::pair{orb::ReplyStatus::kNoException, orb::Completion::kYes},
        std::pair{orb::ReplyStatus::kUserException, orb::Completion::kYes},
        std::pair{orb::ReplyStatus::kSystemException, orb::Completion::kMaybe}}) {
    Answered(&call, status);
    EXPECT_EQ(transient.Apply(Phase::kDown, call), Verdict::kRaise);
    EXPECT_EQ(call.system_exception()->completed, completed);
  }
  EXPECT_EQ(FailurePolicy::Parse("closed")->exception, orb::ExceptionId::kNoPermission);
}

TEST(FailurePolicyTest, AResultAndAUserExceptionAreTheReplyAndOutliveThePolicy) {
  FakeCall up, down, user;
  Answered(&down, orb::ReplyStatus::kSystemException);
  Answered(&user, orb::ReplyStatus::kNoException);
  {
    const FailurePolicy result = *FailurePolicy::Parse("answer=result:big:0000002a");
    EXPECT_EQ(result.Apply(Phase::kUp, up), Verdict::kBounce);
    EXPECT_EQ(result.Apply(Phase::kDown, down), Verdict::kPass);
    const FailurePolicy closed = *FailurePolicy::Parse("answer=user:IDL:acme/Closed:1.0");
    EXPECT_EQ(closed.Apply(Phase::kDown, user), Verdict::kRaise);
  }
  for (const FakeCall* call : {&up, &down}) {
    EXPECT_EQ(call->reply().status, orb::ReplyStatus::kNoException);
    EXPECT_EQ(call->reply().body.decoder().ReadULong(), 42u);
  }
  EXPECT_EQ(user.reply().status, orb::ReplyStatus::kUserException);
  EXPECT_EQ(user.reply().body.decoder().ReadString(), "IDL:acme/Closed:1.0");
}

class RefPlug : public ::testing::Test {
 protected:
  RefPlug() {
    kinds_.Add(NewRefKind(&handle_));
    registry_ = std::make_unique<Registry>(&kinds_, &orb::TheClock(), &logger_);
  }
  absl::Status Plug(FilterParameters parameters, const ChangeSet& more = {}) {
    ChangeSet changes = {PlugChange{"p", "ref", std::move(parameters), "all", 0}};
    changes.insert(changes.end(), more.begin(), more.end());
    auto prepared = registry_->Prepare(changes, std::nullopt);
    if (!prepared.ok()) return prepared.status();
    registry_->Publish(*std::move(prepared));
    return absl::OkStatus();
  }

  orb::KeptLog logger_;
  OrbHandle handle_;
  FilterKinds kinds_;
  std::unique_ptr<Registry> registry_;
};

// Nobody is there from the start: the caller gets the canned answer, byte for byte.
TEST_F(RefPlug, CallersGetTheCannedAnswer) {
  orb::TestOrb server({}, registry_->gate()), client;
  const auto target = client.To({server.Listen()});
  int executed = 0;
  server.servant->On("echo", [&](orb::CallRef call) {
    ++executed;
    call->NewBody().WriteLong(7);
    call->SetResult();
    call.Send();
  });
  ASSERT_TRUE(Plug({{"at", "corbaloc::1.2@127.0.0.1:1/f"},
                    {"on-failure", "answer=user:big:00000002610000000000002a"},
                    {"on-failure.down", "answer=result:little:2a000000"}},
                   {MapUp("p", "up", "check"), MapDown("p", "echo", "look")})
                  .ok());
  orb::TestCall up("up"), down("echo");
  ASSERT_TRUE(client.Invoke(target, &up).ok());
  EXPECT_EQ(up.reply.status, orb::ReplyStatus::kUserException);
  EXPECT_EQ(up.reply.body.bytes, std::string_view("\0\0\0\2a\0\0\0\0\0\0*", 12));
  cdr::Decoder in = up.reply.body.decoder();
  EXPECT_EQ(in.ReadString(), "a");
  EXPECT_EQ(in.ReadULong(), 42u);
  EXPECT_EQ(executed, 0);
  ASSERT_TRUE(client.Invoke(target, &down).ok());
  EXPECT_EQ(down.reply.status, orb::ReplyStatus::kNoException);
  EXPECT_EQ(down.result(), 42);
  EXPECT_EQ(executed, 1);
}

TEST_F(RefPlug, SparesAreSplitAtCommasThatBeginAReference) {
  ASSERT_TRUE(Plug({{"at", "corbaloc::1.2@a:1,:b:2/f"},
                    {"spare", "corbaloc::1.2@c:1,:d:2/k,ey,CORBALOC::1.2@e:1/f"}})
                  .ok());
  // Nothing can be reached without an ORB, which each says.
  const std::string lines = logger_.lines();
  for (const char* at : {"at=corbaloc::1.2@a:1,:b:2/f ", "at=corbaloc::1.2@c:1,:d:2/k,ey ",
                         "at=CORBALOC::1.2@e:1/f "}) {
    EXPECT_THAT(lines, HasSubstr(at));
  }
}

TEST_F(RefPlug, BadSparesAreRefused) {
  const std::string at = "corbaloc::a:1/f";
  std::string many = "corbaloc::b:1/f0";
  for (int i = 1; i < 8; ++i) many += ",corbaloc::b:1/f" + std::to_string(i);
  for (const auto& [spare, error] : std::vector<std::pair<std::string, std::string>>{
           {"", "empty"},
           {"corbaloc::b:1/f,", "empty"},
           {",corbaloc::b:1/f", "empty"},
           {at, "is there already"},
           {"corbaloc::b:1/f,corbaloc::b:1/f", "is there already"},
           {"b:1", "reference"},
           {many, "7 addresses at most"}}) {
    const absl::Status status = Plug({{"at", at}, {"spare", spare}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spare;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("parameter 'spare' is '"), HasSubstr(error), Not(HasSubstr("\n"))))
        << spare;
  }
}

}  // namespace
}  // namespace weir::filters
