// The filter `replace`.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReplaceTest : public BuiltinTest {};

// A servant whose reply is all but what `replace` gives.
void AnswerOddly(orb::Call& call) {
  call.NewBody().WriteULong(99);
  call.SetUserException();
  call.reply().contexts.push_back({77, "context"});
  call.reply().body.order = cdr::ByteOrder::kBig;
  call.reply().body.alignment = 4;
}

TEST_F(ReplaceTest, AResultStandsInForTheServant) {
  Plug("replace", {{"result", "2A000000fF"}}, "replace");
  FakeCall call;
  call.Run(registry_.gate(), AnswerOddly);
  EXPECT_FALSE(call.reached_servant());
  EXPECT_EQ(call.reply().status, orb::ReplyStatus::kNoException);
  EXPECT_EQ(call.reply().body.bytes, std::string_view("\x2a\0\0\0\xff", 5));
  EXPECT_EQ(call.reply().body.order, cdr::kNativeOrder);
  EXPECT_EQ(call.reply().body.alignment, 0);
  EXPECT_EQ(call.reply().body.decoder().ReadULong(), 42u);
}

TEST_F(ReplaceTest, AResultReplacesAllOfTheServantsReply) {
  Plug("replace", {{"result", "2a000000"}}, "", "replace_reply");
  FakeCall call;
  call.Run(registry_.gate(), AnswerOddly);
  EXPECT_TRUE(call.reached_servant());
  EXPECT_EQ(call.reply().status, orb::ReplyStatus::kNoException);
  EXPECT_TRUE(call.reply().contexts.empty());
  EXPECT_EQ(call.reply().body.order, cdr::kNativeOrder);
  EXPECT_EQ(call.reply().body.alignment, 0);
  EXPECT_EQ(call.reply().body.bytes, std::string_view("\x2a\0\0\0", 4));
  EXPECT_EQ(Counters()[".raised"], 0u) << "it is no exception";
}

TEST_F(ReplaceTest, AnEmptyResultIsOneToo) {
  Plug("replace", {{"result", ""}}, "replace");
  FakeCall call;
  call.Run(registry_.gate(), AnswerOddly);
  EXPECT_FALSE(call.reached_servant());
  EXPECT_EQ(call.reply().status, orb::ReplyStatus::kNoException);
  EXPECT_TRUE(call.reply().body.bytes.empty());
}

TEST_F(ReplaceTest, AResultMaySayItsByteOrder) {
  Plug("replace", {{"result", "big:0000002a"}}, "replace");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.reply().body.order, cdr::ByteOrder::kBig);
  EXPECT_EQ(call.reply().body.decoder().ReadULong(), 42u);

  Commit({Unplug("p")});
  Plug("replace", {{"result", "little:2a000000"}}, "", "replace_reply");
  call.Run(registry_.gate(), AnswerOddly);
  EXPECT_EQ(call.reply().body.order, cdr::ByteOrder::kLittle);
  EXPECT_EQ(call.reply().body.decoder().ReadULong(), 42u);
}

TEST_F(ReplaceTest, AUserExceptionIsOneInBothPhases) {
  Plug("replace", {{"user", "IDL:acme/Closed:1.0"}}, "replace");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_FALSE(call.reached_servant());
  EXPECT_EQ(call.reply().status, orb::ReplyStatus::kUserException);
  EXPECT_EQ(call.reply().body.decoder().ReadString(), "IDL:acme/Closed:1.0");
  EXPECT_EQ(Counters()[".bounced"], 1u);

  // With a member: a string of one octet and its terminator, then the long 42.
  Commit({Unplug("p")});
  Plug("replace", {{"user", "big:00000002610000000000002a"}}, "", "replace_reply");
  call.Run(registry_.gate(), AnswerOddly);
  EXPECT_TRUE(call.reached_servant());
  EXPECT_EQ(call.reply().status, orb::ReplyStatus::kUserException);
  EXPECT_TRUE(call.reply().contexts.empty());
  cdr::Decoder in = call.reply().body.decoder();
  EXPECT_EQ(in.ReadString(), "a");
  EXPECT_EQ(in.ReadULong(), 42u);
  EXPECT_EQ(Counters()[".raised"], 1u);
}

TEST_F(ReplaceTest, WhatIsNoUserExceptionIsRefused) {
  for (const char* user : {"", "acme", "00", "little:0100000000", "big:00000009610000"}) {
    const absl::Status status = TryPlug("replace", {{"user", user}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << user;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("parameter 'user' is '"), HasSubstr("repository id")));
  }
}

TEST_F(ReplaceTest, AnExceptionHasTheCompletionStatusThatIsTrue) {
  Plug("replace", {{"exception", "NO_IMPLEMENT"}}, "replace");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_FALSE(call.reached_servant());
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kNoImplement);
  EXPECT_EQ(call.system_exception()->completed, orb::Completion::kNo);
  EXPECT_EQ(Counters()[".bounced"], 1u);

  Commit({Unplug("p")});
  Plug("replace", {{"exception", "NO_IMPLEMENT"}}, "", "replace_reply");
  call.Run(registry_.gate(), AnswerOddly);
  EXPECT_EQ(call.system_exception()->completed, orb::Completion::kYes);
  EXPECT_TRUE(call.reply().contexts.empty());
  call.Run(registry_.gate(), [](orb::Call& c) { c.SetForward(); });
  EXPECT_EQ(call.system_exception()->completed, orb::Completion::kMaybe);
  EXPECT_EQ(Counters()[".raised"], 2u);
}

TEST_F(ReplaceTest, OuterFiltersSeeTheReplacement) {
  Plug("replace", {{"exception", "NO_IMPLEMENT"}}, "", "replace_reply");
  Commit({PlugOn("outer", "all", -1, "log"), MapDown("outer", "*", "reply")});
  Commit({PlugOn("inner", "all", 1, "log"), MapDown("inner", "*", "reply")});
  FakeCall call;
  call.Run(registry_.gate());
  ASSERT_EQ(logger_.lines.size(), 2u);
  EXPECT_THAT(logger_.lines[0], AllOf(HasSubstr("plug=inner"), HasSubstr("status=NO_EXCEPTION")));
  EXPECT_THAT(logger_.lines[1],
              AllOf(HasSubstr("plug=outer"), HasSubstr("exception=NO_IMPLEMENT")));
}

TEST_F(ReplaceTest, BadParametersAreRefused) {
  for (const char* result : {"1", "123", "0g", "0x00", "00 00", "é0"}) {
    const absl::Status status = TryPlug("replace", {{"result", result}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << result;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("parameter 'result' is '"), HasSubstr("hexadecimal")));
  }
  EXPECT_THAT(std::string(TryPlug("replace", {{"exception", "NO_WAY"}}).message()),
              HasSubstr("'NO_WAY'"));
  const std::vector<FilterParameters> neither_or_both = {
      {},
      {{"result", ""}, {"exception", "UNKNOWN"}},
      {{"user", "IDL:a:1.0"}, {"exception", "UNKNOWN"}},
      {{"result", ""}, {"user", "IDL:a:1.0"}, {"exception", "UNKNOWN"}}};
  for (const FilterParameters& parameters : neither_or_both) {
    const absl::Status status = TryPlug("replace", parameters);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("'result', 'user' and 'exception'"), Not(HasSubstr("\n"))));
  }
}

TEST_F(ReplaceTest, AResultHasUpTo65536Octets) {
  EXPECT_EQ(TryPlug("replace", {{"result", std::string(2 * 65536 + 2, '0')}}).code(),
            absl::StatusCode::kInvalidArgument);
  Plug("replace", {{"result", std::string(2 * 65536, '0')}}, "replace");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.reply().body.bytes.size(), 65536u);
}

}  // namespace
}  // namespace weir::filters
