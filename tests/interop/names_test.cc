// nameclt and omniNames, directly and with our gateway between them.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Names : public ::testing::Test {
 protected:
  // A corbaloc without a key names the upstream's address only, as `weir gateway --help` says.
  Names()
      : gateway_(names_.running()
                     ? StartWeir({"gateway", "--listen", "giop:tcp:127.0.0.1:0", "--upstream",
                                  "corbaloc::1.2@127.0.0.1:" + std::to_string(names_.port()),
                                  "--control", "unix:" + dir_.File("c"), "--store", "memory"})
                     : WeirNode()) {}
  void SetUp() override { ASSERT_TRUE(names_.running() && gateway_); }

  Outcome Direct(const Args& command) { return NameClient(names_.port(), "1.2", command); }
  Outcome Through(const Args& command, const std::string& version = "1.2") {
    return NameClient(gateway_.port, version, command);
  }
  static Outcome NameClient(int port, const std::string& version, const Args& command) {
    Args arguments = {"-ORBInitRef", "NameService=" + Corbaloc(port, "NameService", version)};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return RunProgram("nameclt", arguments);
  }

  const TempDir dir_;
  const NameServer names_;
  const WeirNode gateway_;
};

TEST_F(Names, WhatIsBoundThroughTheGatewayIsSeenOnBothWays) {
  const std::string ior = names_.ior();
  for (const char* version : {"1.0", "1.1", "1.2"}) {
    const std::string name = std::string("object.v") + version[2];
    Outcome outcome = Through({"bind", name, ior}, version);
    EXPECT_TRUE(outcome.ok()) << outcome;
    for (const Outcome& listed : {Direct({"list"}), Through({"list"}, version)}) {
      EXPECT_TRUE(listed.ok()) << listed;
      EXPECT_THAT(listed.out, HasSubstr(name));
    }
    const Outcome direct = Direct({"resolve", name});
    outcome = Through({"resolve", name}, version);
    EXPECT_TRUE(outcome.ok()) << outcome;
    EXPECT_EQ(outcome.out, direct.out);
    EXPECT_THAT(outcome.out, HasSubstr("IOR:"));
    outcome = Through({"unbind", name}, version);
    EXPECT_TRUE(outcome.ok()) << outcome;
    EXPECT_THAT(Direct({"list"}).out, Not(HasSubstr(name)));
  }
}

TEST_F(Names, ContextsNestThroughTheGateway) {
  EXPECT_TRUE(Through({"bind_new_context", "outer.c"}).ok());
  EXPECT_TRUE(Through({"bind_new_context", "outer.c/inner.c"}).ok());
  const Outcome outcome = Through({"list", "outer.c"});
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("inner.c/"));
}

// User exceptions of CosNaming, with a name sequence as their member.
TEST_F(Names, ErrorsAreTheSameOnBothWays) {
  for (const Args& command : {Args{"resolve", "no.such"}, Args{"list", "no.such/at.all"},
                              Args{"remove_context", "no.such"}}) {
    const Outcome direct = Direct(command);
    const Outcome through = Through(command);
    EXPECT_EQ(through.exit_code, direct.exit_code) << through;
    EXPECT_NE(through.exit_code, 0);
    EXPECT_EQ(through.err, direct.err);
  }
}

TEST_F(Names, ALongListIsComplete) {
  const std::string ior = names_.ior();
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(Through({"bind", "long_name_of_entry_" + std::to_string(100 + i), ior}).ok());
  }
  const Outcome outcome = Through({"list"});
  EXPECT_TRUE(outcome.ok()) << outcome;
  for (int i = 0; i < 25; ++i) {
    EXPECT_THAT(outcome.out, HasSubstr("long_name_of_entry_" + std::to_string(100 + i)));
  }
}

}  // namespace
}  // namespace weir::testing
