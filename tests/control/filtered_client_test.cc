// The example of a client with a control listener of its own: its calls are filtered while it runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/control/harness.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr Milliseconds kPatience = std::chrono::seconds(60);

class FilteredClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = StartWeir({"echo", "--listen", "giop:tcp:127.0.0.1:0"});
    ASSERT_TRUE(server);
    auto started = Process::Start(
        {.argv = {RunfilePath("examples/cpp/filtered_client"), server.ior, control, "5"}});
    ASSERT_TRUE(started.ok()) << started.status();
    client = *std::move(started);
    ASSERT_TRUE(client->WaitForLine("^ready control unix:", kPatience).ok());
  }
  void Ok(const std::vector<std::string>& arguments) {
    const Ran ran = Weir(control, arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  }
  // The client prints such a line; those before it do not matter.
  void ExpectLine(const std::string& pattern) {
    const auto line = client->WaitForLine(pattern, kPatience);
    EXPECT_TRUE(line.ok()) << line.status();
  }

  TempDir dir;
  const std::string control = "unix:" + dir.File("s");
  WeirNode server;
  std::unique_ptr<Process> client;
};

TEST_F(FilteredClientTest, ADenyBouncesItsCallsWhileItIsEnabled) {
  ExpectLine("^it is there$");
  Ok({"plug", "guard", "--filter", "deny", "--on", "key:echo"});
  Ok({"map", "guard", "*", "--up", "deny", "--enable"});
  ExpectLine("^NO_PERMISSION ");
  Ok({"disable", "guard"});
  ExpectLine("^it is there$");
  Ok({"enable", "guard", "--up"});
  ExpectLine("^NO_PERMISSION ");
  const Ran list = Weir(control, {"list", "guard"});
  EXPECT_THAT(list.out, HasSubstr("bounced"));
  Ok({"unplug", "guard", "--drain"});
  ExpectLine("^it is there$");
  EXPECT_EQ(client->Stop(), 0);
}

TEST_F(FilteredClientTest, APlugForOtherObjectsOrPeersDoesNotConcernIt) {
  for (const std::vector<std::string>& plug :
       {std::vector<std::string>{"plug", "a", "--filter", "deny", "--on", "key:other"},
        {"plug", "b", "--filter", "deny", "--on", "all", "--if", "peer=10.0.0.0/8"}}) {
    Ok(plug);
    Ok({"map", plug[1], "*", "--up", "deny", "--enable"});
  }
  // Behind both, so that its line tells that they were met, and passed by.
  Ok({"plug", "c", "--filter", "deny", "--on", "all", "--if", "peer=127.0.0.0/8", "--set",
      "exception=TRANSIENT"});
  Ok({"map", "c", "*", "--up", "deny", "--enable"});
  ExpectLine("^TRANSIENT ");
  EXPECT_EQ(client->out().find("NO_PERMISSION"), std::string::npos);
  EXPECT_EQ(client->Stop(), 0);
}

TEST_F(FilteredClientTest, WithoutItsServerItGoesOnAndSaysWhatHappens) {
  EXPECT_EQ(server.process->Stop(), 0);
  ExpectLine("127.0.0.1");
  Ok({"plug", "guard", "--filter", "deny", "--on", "all"});
  Ok({"map", "guard", "*", "--up", "deny", "--enable"});
  ExpectLine("^NO_PERMISSION ");
  EXPECT_EQ(client->Stop(), 0);
}

}  // namespace
}  // namespace weir::testing
