// The filter `transform`.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using ::testing::HasSubstr;

class TransformTest : public BuiltinTest {
 protected:
  // "1=ab;2=" for contexts of these ids and octets.
  static std::string Spell(const std::vector<orb::ServiceContext>& contexts) {
    std::string text;
    for (const orb::ServiceContext& c : contexts) StrAppend(&text, c.id, "=", c.data, ";");
    return text;
  }
};

TEST_F(TransformTest, TheServantSeesTheOtherOperationAndContexts) {
  Plug("transform",
       {{"operation", "resolve_str"}, {"drop-contexts", "0x11,5"}, {"add-contexts", "7:6162,9:"}},
       "transform");
  FakeCall call("key", "resolve");
  call.request().contexts = {{17, "x"}, {6, "y"}, {5, "z"}, {7, "old"}};
  std::string operation, contexts;
  call.Run(registry_.gate(), [&](orb::Call& seen) {
    operation = seen.request().operation;
    contexts = Spell(seen.request().contexts);
    seen.SetResult();
  });
  EXPECT_EQ(operation, "resolve_str");
  EXPECT_EQ(contexts, "6=y;7=ab;9=;");
}

TEST_F(TransformTest, TheCallerSeesTheOtherContexts) {
  Plug("transform", {{"drop-reply-contexts", "1"}, {"add-reply-contexts", "2:62"}}, "transform",
       "transform_reply");
  FakeCall call;
  std::string operation;
  call.Run(registry_.gate(), [&](orb::Call& seen) {
    operation = seen.request().operation;
    seen.SetResult();
    seen.reply().contexts = {{1, "a"}, {3, "c"}};
  });
  EXPECT_EQ(operation, "op");
  EXPECT_EQ(Spell(call.reply().contexts), "3=c;2=b;");
}

TEST_F(TransformTest, InAClientTheCallersRequestIsAsBefore) {
  Plug("transform", {{"operation", "renamed"}, {"add-contexts", "0x57454999:6162"}}, "transform");
  orb::TestOrb caller{{}, nullptr, registry_.gate()}, server;
  std::string seen;
  server.servant->On("renamed", [&](orb::CallRef call) {
    seen = Spell(call->request().contexts);
    orb::FunctionServant::AnswerPlusOne(std::move(call));
  });
  const auto target = caller.To({server.Listen()});
  orb::TestCall call("ping", 4);
  call.message.contexts = {{0x57454977, "mine"}};
  ASSERT_TRUE(caller.Invoke(target, &call).ok()) << call.error();
  EXPECT_EQ(call.result(), 5);
  EXPECT_EQ(seen, StrCat(0x57454977, "=mine;", 0x57454999, "=ab;"));
  EXPECT_EQ(call.message.operation, "ping");
  EXPECT_EQ(Spell(call.message.contexts), StrCat(0x57454977, "=mine;"));
}

TEST_F(TransformTest, BadParametersAreRefused) {
  const auto refused = [this](FilterParameters parameters) {
    const absl::Status status = TryPlug("transform", std::move(parameters));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(refused({}), HasSubstr("at least one"));
  EXPECT_THAT(refused({{"operation", "two words"}}), HasSubstr("IDL name"));
  EXPECT_THAT(refused({{"operation", std::string(256, 'x')}}), HasSubstr("IDL name"));
  for (const char* bad : {"x", "0x", "-1", "4294967296", "1;2"}) {
    EXPECT_THAT(refused({{"drop-contexts", bad}}), HasSubstr("numbers with commas")) << bad;
  }
  for (const char* bad : {"1", "1:0", "1:xx", "x:00", ":00"}) {
    EXPECT_THAT(refused({{"add-reply-contexts", bad}}), HasSubstr("ID:HEX")) << bad;
  }
}

}  // namespace
}  // namespace weir::filters
