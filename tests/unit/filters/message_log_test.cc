// The filter `message-log`.

#include <string>

#include "filters/log_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class MessageLogTest : public BuiltinTest {
 protected:
  // The last words of the line of a request with this body.
  std::string LineOf(std::string_view body, cdr::ByteOrder order = cdr::ByteOrder::kLittle) {
    FakeCall call;
    call.request().body.bytes = body;
    call.request().body.order = order;
    call.Run(registry_.gate());
    const std::string& line = logger_.lines.back();
    return line.substr(line.find(" size=") + 1);
  }
};

TEST_F(MessageLogTest, LinesAreThoseOfLogAndTheBody) {
  Plug("message-log", {}, "request", "reply");
  FakeCall call("NameService", "resolve", 17);
  call.request().body.bytes = std::string_view("\0\x01\xab\n", 4);
  call.request().body.order = cdr::ByteOrder::kBig;
  call.Run(registry_.gate(), [&](orb::Call& c) {
    clock_.now += 184 * kMicrosecond;
    c.NewBody().WriteULong(0x01020304);
    c.SetResult();
  });
  EXPECT_THAT(logger_.lines,
              ElementsAre("event=request plug=p call=17 peer=tcp:10.0.0.7:40112 key=NameService "
                          "operation=resolve size=4 order=big body=0001ab0a",
                          "event=reply plug=p call=17 peer=tcp:10.0.0.7:40112 key=NameService "
                          "operation=resolve status=NO_EXCEPTION microseconds=184 size=4 "
                          "order=little body=04030201"));
}

TEST_F(MessageLogTest, ExceptionsAreNamedAndDumped) {
  Plug("message-log", {}, "", "reply");
  FakeCall call;
  call.Run(registry_.gate(), [](orb::Call& c) {
    c.SetSystemException({orb::ExceptionId::kTransient, 2, orb::Completion::kNo});
  });
  ASSERT_EQ(logger_.lines.size(), 1u);
  EXPECT_THAT(logger_.lines[0], AllOf(HasSubstr("exception=TRANSIENT minor=2 completed=NO"),
                                      HasSubstr("body=2000000049444c3a")));
}

TEST_F(MessageLogTest, BodiesAreCutBehindAsManyBytesAsSet) {
  Plug("message-log", {{"bytes", "3"}}, "request");
  EXPECT_EQ(LineOf(""), "size=0 order=little body=-");
  EXPECT_EQ(LineOf("ab"), "size=2 order=little body=6162");
  EXPECT_EQ(LineOf("abc"), "size=3 order=little body=616263");
  EXPECT_EQ(LineOf("abcd"), "size=4 order=little body=616263...");
}

TEST_F(MessageLogTest, NoBytesAtAllLeaveTheSize) {
  Plug("message-log", {{"bytes", "0"}}, "request");
  EXPECT_EQ(LineOf("abcd"), "size=4 order=little body=...");
  EXPECT_EQ(LineOf(""), "size=0 order=little body=-");
}

TEST_F(MessageLogTest, TheLongestLineHasRoomForAllWords) {
  Plug("message-log", {{"bytes", "1024"}}, "request", "reply");
  const std::string body(5000, '\xee');
  FakeCall call(std::string(1 << 20, '\n'), std::string(1 << 20, '\n'), UINT64_MAX);
  call.set_peer({std::string(1000, '\n'), std::string(1000, '\n')});
  call.request().body.bytes = body;
  call.Run(registry_.gate(), [&](orb::Call& c) {
    clock_.now += 1LL << 62;
    c.NewBody().WriteString(std::string(3000, '\n'));
    c.SetUserException();
  });
  std::string dump;
  for (int i = 0; i < 1024; ++i) dump += "ee";
  ASSERT_EQ(logger_.lines.size(), 2u);
  EXPECT_THAT(logger_.lines[0], EndsWith(" size=5000 order=little body=" + dump + "..."));
  EXPECT_THAT(logger_.lines[1],
              AllOf(HasSubstr(" size=3005 order=little body=b90b0000"), EndsWith("0a0a...")));
}

TEST_F(MessageLogTest, ABadNumberOfBytesIsRefused) {
  for (const char* bytes : {"", "-1", "1025", "1k"}) {
    const absl::Status status = TryPlug("message-log", {{"bytes", bytes}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bytes;
    EXPECT_THAT(std::string(status.message()), HasSubstr("from 0 to 1024"));
  }
}

}  // namespace
}  // namespace weir::filters
