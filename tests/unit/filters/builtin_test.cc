// The shipped filters, plugged into a registry as people plug them.

#include "filters/builtin/builtin.h"

#include <memory>
#include <string>
#include <vector>

#include "filters/log_line.h"
#include "filters/operation_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using Table = OperationTable<4>;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_F(BuiltinTest, EachKindSaysWhatItIsFor) {
  std::vector<std::string> names;
  for (const FilterKind* kind : kinds_.All()) {
    names.emplace_back(kind->name());
    EXPECT_FALSE(kind->help().empty());
  }
  EXPECT_THAT(names,
              ElementsAre("access", "balancer", "cache", "count", "delay", "deny", "fault", "log",
                          "message-log", "probe", "rate-limit", "replace", "router", "transform"));
}

TEST_F(BuiltinTest, ParametersThatAFilterDoesNotKnowAreRefused) {
  for (const FilterKind* kind : kinds_.All()) {
    if (kind == probe_) continue;
    const absl::Status status = TryPlug(std::string(kind->name()), {{"colour\n", "red"}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("no parameter 'colour"), Not(HasSubstr("\n")),
                      HasSubstr("its parameters are: ")));
  }
}

TEST_F(BuiltinTest, ParametersThatAFilterNeedsAreNamed) {
  for (const auto& [filter, parameter] :
       {std::pair{"fault", "probability"}, std::pair{"rate-limit", "rate"}}) {
    const absl::Status status = TryPlug(filter, {});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string("needs parameter '") + parameter + "'"));
  }
}

TEST_F(BuiltinTest, TheExamplesAndDefaultsThatAreShownAreAccepted) {
  for (const FilterKind* kind : kinds_.All()) {
    FilterParameters example, spelled_out;
    for (const ParameterInfo& p : kind->parameters()) {
      EXPECT_FALSE(p.name.empty() || p.value.empty() || p.help.empty()) << kind->name();
      EXPECT_FALSE(p.required && p.example.empty()) << kind->name() << " " << p.name;
      EXPECT_FALSE(p.required && !p.otherwise.empty()) << kind->name() << " " << p.name;
      if (!p.example.empty()) example[p.name] = spelled_out[p.name] = p.example;
      if (!p.otherwise.empty()) spelled_out[p.name] = p.otherwise;
    }
    const FilterContext context{&clock_, &logger_, "p"};
    EXPECT_TRUE(kind->New(example, context).ok()) << kind->New(example, context).status();
    EXPECT_TRUE(kind->New(spelled_out, context).ok()) << kind->New(spelled_out, context).status();
  }
}

TEST_F(BuiltinTest, LongBadValuesAreCutInErrors) {
  const absl::Status status = TryPlug("count", {{"operations", std::string(100'000, '\n')}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LT(status.message().size(), 600u);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x0a..."));
}

TEST_F(BuiltinTest, CountTellsOperationsAndOutcomesApart) {
  Commit({PlugOn("p", "all", 0, "count"), MapUp("p", "*", "count"), MapDown("p", "*", "count")});
  for (int i = 0; i < 3; ++i) Call("resolve");
  FakeCall user("k", "resolve"), system("k", "bind"), oneway("k", "notify");
  user.Run(registry_.gate(), [](orb::Call& call) { call.SetUserException(); });
  system.Run(registry_.gate(), [](orb::Call& call) { call.SetSystemException({}); });
  oneway.request().response_expected = false;
  oneway.Run(registry_.gate());
  auto counters = Counters();
  EXPECT_EQ(counters["resolve.requests"], 4u);
  EXPECT_EQ(counters["resolve.replies"], 4u);
  EXPECT_EQ(counters["resolve.user_exceptions"], 1u);
  EXPECT_EQ(counters["resolve.system_exceptions"], 0u);
  EXPECT_EQ(counters["bind.system_exceptions"], 1u);
  EXPECT_EQ(counters["notify.requests"], 1u);
  EXPECT_EQ(counters["notify.replies"], 0u);
}

TEST_F(BuiltinTest, CountSeesTheExceptionOfAnInnerDeny) {
  Commit({PlugOn("p", "all", 0, "count"), MapUp("p", "*", "count"), MapDown("p", "*", "count"),
          PlugOn("d", "all", 1, "deny"), MapUp("d", "*", "deny")});
  Call("op");
  EXPECT_EQ(Counters()["op.system_exceptions"], 1u);
}

TEST_F(BuiltinTest, CountLumpsOperationsBeyondItsLimitTogether) {
  ASSERT_TRUE(TryPlug("count", {{"operations", "10"}}).ok());
  Commit({MapUp("p", "*", "count")});
  for (int i = 0; i < 1000; ++i) Call("op" + std::to_string(i));
  auto counters = Counters();
  EXPECT_EQ(counters.size(), 11u * 4);
  EXPECT_EQ(counters["op9.requests"], 1u);
  EXPECT_EQ(counters["(other).requests"], 990u);
}

TEST_F(BuiltinTest, CountTellsAThousandAndTwentyFourOperationsApartUnlessSetOtherwise) {
  auto table = std::make_unique<Table>(1024);
  for (int i = 0; i < 2000; ++i) table->Find("op" + std::to_string(i)).Add(0);
  const auto rows = table->Rows();
  ASSERT_EQ(rows.size(), 1025u);
  EXPECT_EQ(rows.back().operation, kOtherOperations);
  EXPECT_EQ(rows.back().values[0], 2000u - 1024u);
}

TEST_F(BuiltinTest, CountGivesEnormousNamesNoRow) {
  auto table = std::make_unique<Table>(10);
  table->Find(std::string(1 << 20, 'x')).Add(0);
  table->Find(std::string(Table::kMaxName, 'y')).Add(0);
  const auto rows = table->Rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].operation, std::string(Table::kMaxName, 'y'));
  EXPECT_EQ(rows[1].operation, kOtherOperations);
}

TEST_F(BuiltinTest, CountRefusesABadLimit) {
  for (const char* limit : {"", "0", "-1", "65537", "12x", "99999999999999999999"}) {
    const absl::Status status = TryPlug("count", {{"operations", limit}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << limit;
    EXPECT_THAT(std::string(status.message()), HasSubstr("from 1 to 65536"));
  }
}

TEST_F(BuiltinTest, DenyAnswersNoPermission) {
  Commit({PlugOn("p", "all", 0, "deny"), MapUp("p", "unbind", "deny")});
  FakeCall denied("k", "unbind"), passed("k", "bind");
  denied.Run(registry_.gate());
  passed.Run(registry_.gate());
  EXPECT_TRUE(passed.reached_servant());
  EXPECT_FALSE(denied.reached_servant());
  const auto exception = denied.system_exception();
  ASSERT_TRUE(exception.has_value());
  EXPECT_EQ(exception->id, orb::ExceptionId::kNoPermission);
  EXPECT_EQ(exception->minor, static_cast<uint32_t>(orb::WeirMinor::kDenied));
  EXPECT_EQ(exception->completed, orb::Completion::kNo);
  EXPECT_EQ(Counters()[".bounced"], 1u);
}

TEST_F(BuiltinTest, DenyAnswersTheExceptionThatWasSet) {
  ASSERT_TRUE(TryPlug("deny", {{"exception", "OBJECT_NOT_EXIST"}}).ok());
  Commit({MapUp("p", "*", "deny")});
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kObjectNotExist);
}

TEST_F(BuiltinTest, DenyListsTheExceptionsThereAre) {
  const absl::Status status = TryPlug("deny", {{"exception", "NO_WAY"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("'NO_WAY'"), HasSubstr("UNKNOWN, BAD_PARAM"),
                    HasSubstr("ACTIVITY_REQUIRED")));
}

TEST_F(BuiltinTest, LogWritesALineForTheRequestAndOneForTheReply) {
  Commit({PlugOn("p", "all", 0, "log"), MapUp("p", "*", "request"), MapDown("p", "*", "reply")});
  FakeCall call("NameService", "resolve", 17);
  call.Run(registry_.gate(), [&](orb::Call& c) {
    clock_.now += 184 * kMicrosecond + 999;
    c.SetResult();
  });
  EXPECT_THAT(logger_.lines,
              ElementsAre("event=request plug=p call=17 peer=tcp:10.0.0.7:40112 key=NameService "
                          "operation=resolve",
                          "event=reply plug=p call=17 peer=tcp:10.0.0.7:40112 key=NameService "
                          "operation=resolve status=NO_EXCEPTION microseconds=184"));
}

TEST_F(BuiltinTest, LogOfRepliesAloneStillKnowsHowLongTheyTook) {
  Commit({PlugOn("p", "all", 0, "log"), MapDown("p", "*", "reply")});
  FakeCall call;
  call.Run(registry_.gate(), [&](orb::Call& c) {
    clock_.now += 7 * kMicrosecond;
    c.SetResult();
  });
  ASSERT_EQ(logger_.lines.size(), 1u);
  EXPECT_THAT(logger_.lines[0], HasSubstr("microseconds=7"));
}

TEST_F(BuiltinTest, LogNamesTheException) {
  Commit({PlugOn("p", "all", 0, "log"), MapDown("p", "*", "reply")});
  FakeCall call;
  call.Run(registry_.gate(), [](orb::Call& c) {
    cdr::Encoder out = c.NewBody();
    out.WriteString("IDL:omg.org/CosNaming/NamingContext/NotFound:1.0");
    c.SetUserException();
  });
  call.Run(registry_.gate(), [](orb::Call& c) {
    c.SetSystemException({orb::ExceptionId::kTransient, 2, orb::Completion::kNo});
  });
  call.Run(registry_.gate(), [](orb::Call& c) {  // a user exception without an id
    c.NewBody();
    c.SetUserException();
  });
  ASSERT_EQ(logger_.lines.size(), 3u);
  EXPECT_THAT(logger_.lines[0],
              HasSubstr("status=USER_EXCEPTION "
                        "exception=IDL:omg.org/CosNaming/NamingContext/NotFound:1.0 micro"));
  EXPECT_THAT(logger_.lines[1],
              HasSubstr("status=SYSTEM_EXCEPTION exception=TRANSIENT minor=2 completed=NO micro"));
  EXPECT_THAT(logger_.lines[2], HasSubstr("status=USER_EXCEPTION exception=- micro"));
}

TEST_F(BuiltinTest, HostileBytesCannotForgeALine) {
  Commit({PlugOn("p", "all", 0, "log"), MapUp("p", "*", "request"), MapDown("p", "*", "reply")});
  FakeCall call(std::string("a\r\nevent=reply \0\x1b[31m\xff%", 23), "op\nstatus=x y\t\"");
  call.set_peer({"unix", "pid=1 uid=0\n"});
  call.Run(registry_.gate());
  ASSERT_EQ(logger_.lines.size(), 2u);
  for (const std::string& line : logger_.lines) {
    for (const unsigned char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << int{c};
    EXPECT_THAT(line, HasSubstr("key=a%0D%0Aevent=reply%20%00%1B%5B31m%FF%25 "));
    EXPECT_THAT(line, HasSubstr("operation=op%0Astatus=x%20y%09%22"));
    EXPECT_THAT(line, HasSubstr("peer=unix:pid=1%20uid=0%0A "));
  }
}

TEST_F(BuiltinTest, LongValuesAreCutAndPushNothingOut) {
  Commit({PlugOn("p", "all", 0, "log"), MapUp("p", "*", "request"), MapDown("p", "*", "reply")});
  FakeCall call(std::string(1 << 20, '\n'), std::string(1 << 20, 'o'));
  call.set_peer({"tcp", std::string(1 << 16, 'a')});
  call.Run(registry_.gate());
  ASSERT_EQ(logger_.lines.size(), 2u);
  EXPECT_THAT(logger_.lines[1], AllOf(HasSubstr("%0A..."), HasSubstr("ooo..."),
                                      HasSubstr(" status=NO_EXCEPTION microseconds=0")));
  EXPECT_LT(logger_.lines[1].size(), 5 * LogLine::kMaxValue);
}

TEST_F(BuiltinTest, AnEmptyKeyIsShownAsADash) {
  Commit({PlugOn("p", "all", 0, "log"), MapUp("p", "*", "request")});
  FakeCall call("", "op");
  call.Run(registry_.gate());
  EXPECT_THAT(logger_.lines[0], HasSubstr(" key=- "));
}

}  // namespace
}  // namespace weir::filters
