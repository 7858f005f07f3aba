// Calls do not need the control plane: when it is gone, or its store refuses, they go on with what
// was committed last.

#include <signal.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <utility>

#include "control/node.h"
#include "gtest/gtest.h"
#include "tests/support/environment.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::control {
namespace {

using filters::MapUp;
using filters::PlugOn;
using filters::Unplug;

class ControlGone : public ::testing::Test {
 protected:
  ControlGone() {
    auto kind = std::make_unique<filters::ProbeKind>();
    probe_ = kind.get();
    probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
      call.NewBody().WriteLong(-1);
      call.SetResult();
      return filters::Verdict::kBounce;
    };
    kinds_.Add(std::move(kind));
    NodeOptions options;
    options.control = "unix:" + dir_.File("c");
    options.store = "sqlite:" + dir_.File("store");
    auto node = Node::Start(options, &kinds_, &orb::TheClock(), &logger_);
    EXPECT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
    EXPECT_TRUE(node_->Serve([] { return NodeInfo(); }).ok());
    server_ = std::make_unique<orb::TestOrb>(orb::OrbOptions(), node_->gate());
    endpoint_ = server_->Listen();
  }
  ~ControlGone() override {
    node_->Shutdown(orb::In(orb::kPatience));
    server_.reset();
  }
  absl::Status Apply(const filters::ChangeSet& changes) {
    return node_->service()->Apply(changes, {}).status();
  }
  int32_t Ping(int32_t value) { return client_.Ping(client_.To({endpoint_}), value); }

  const testing::TempDir dir_;
  NullLogger logger_;
  filters::FilterKinds kinds_;
  filters::ProbeKind* probe_ = nullptr;
  std::unique_ptr<Node> node_;
  std::unique_ptr<orb::TestOrb> server_;
  orb::TestOrb client_;
  orb::Endpoint endpoint_;
};

TEST_F(ControlGone, CallsGoOnWithTheLastSnapshotWhenTheControlPlaneIsGone) {
  ASSERT_TRUE(Apply({PlugOn("p", "all"), MapUp("p", "*", "a")}).ok());
  EXPECT_EQ(Ping(1), -1);
  node_->Shutdown(orb::In(orb::kPatience));
  EXPECT_FALSE(Apply({Unplug("p")}).ok());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Ping(i), -1);
}

// The store is another process's affair: here its disk is full.
TEST_F(ControlGone, CallsGoOnWithTheLastSnapshotWhenTheStoreRefuses) {
  ASSERT_TRUE(Apply({PlugOn("p", "all"), MapUp("p", "*", "a")}).ok());
  const rlimit full = {0, RLIM_INFINITY};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_FALSE(Apply({Unplug("p")}).ok());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Ping(i), -1);
  EXPECT_TRUE(Apply({Unplug("p")}).ok());
  EXPECT_EQ(Ping(1), 2);
}

}  // namespace
}  // namespace weir::control
