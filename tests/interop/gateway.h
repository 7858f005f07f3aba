// A gateway between omniORB programs, as the interop tests use it.
//
// Thread safety: to be used on the test's main thread; see process.h.

#ifndef WEIR_TESTS_INTEROP_GATEWAY_H_
#define WEIR_TESTS_INTEROP_GATEWAY_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/weir_command.h"

namespace weir::testing {

inline constexpr char kEchoServer[] = "tests/peers/omni_echo_server";
inline constexpr char kEchoClient[] = "tests/peers/omni_echo_client";
inline constexpr char kServer[] = "tests/peers/omni_interop_server";
inline constexpr char kClient[] = "tests/peers/omni_interop_client";

// A gateway on a free TCP port and on the Unix socket "g" of its folder.
struct Gateway {
  explicit Gateway(const std::string& upstream, const Args& more = {}) {
    Args arguments = {"gateway",
                      "--listen",
                      "giop:tcp:127.0.0.1:0",
                      "--listen",
                      "giop:unix:" + dir.File("g"),
                      "--upstream",
                      upstream,
                      "--control",
                      "unix:" + dir.File("c"),
                      "--store",
                      "memory"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    node = StartWeir(arguments);
  }
  std::string Tcp(const std::string& key, const std::string& version = "1.2") const {
    return Corbaloc(node.port, key, version);
  }
  std::string Unix(const std::string& key) const { return UnixCorbaloc(dir.File("g"), key); }
  explicit operator bool() const { return static_cast<bool>(node); }

  TempDir dir;
  WeirNode node;
};

// A corbaloc cannot say which code sets the server takes: an omniORB client then needs these.
inline Args WideOptions() {
  return {"-ORBdefaultWCharCodeSet", "UTF-16", "-ORBdefaultCharCodeSet", "ISO-8859-1"};
}

// One upstream and one gateway with the usual settings.
class GatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    upstream_port_ = FreePort();
    ASSERT_NO_FATAL_FAILURE(StartUpstream());
    gateway_ = std::make_unique<Gateway>(Corbaloc(upstream_port_, "interop"));
    ASSERT_TRUE(*gateway_);
  }
  void StartUpstream() {
    Args options = ListenOn(upstream_port_);
    for (const std::string& option : UpstreamOptions()) options.push_back(option);
    upstream_ = StartOmniServer(kServer, options);
    ASSERT_NE(upstream_.process, nullptr);
  }
  virtual Args UpstreamOptions() const { return {}; }
  std::unique_ptr<Process> InteractiveClient(const Args& options = {}) {
    Args arguments = {gateway_->Tcp("interop"), "--interactive"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return StartClient(kClient, arguments);
  }

  Server upstream_;
  int upstream_port_ = 0;
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_INTEROP_GATEWAY_H_
