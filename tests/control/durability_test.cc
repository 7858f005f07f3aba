// What a node acknowledged is there after kill -9 at any moment.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/control/harness.h"
#include "tests/support/environment.h"
#include "tools/weir/control_client.h"

namespace weir::testing {
namespace {

namespace v1 = control::v1;
using tools::ControlClient;

// Plugs "pN" for N = next, next + 1... as fast as it goes, until the node is gone. Each second one
// replaces the plug before it, so that revisions differ in more than growth. Returns the number and
// revision of the last acknowledged change set.
struct Acknowledged {
  int number = -1;
  uint64_t revision = 0;
};

Acknowledged Stream(ControlClient* client, int next, std::atomic<int>* sent) {
  Acknowledged last;
  for (;; ++next) {
    v1::ApplyRequest request;
    v1::ChangeSet* changes = request.mutable_change_set();
    v1::Plug* plug = changes->add_changes()->mutable_plug();
    plug->set_name(absl::StrCat("p", next));
    plug->set_filter("count");
    plug->set_selector("all");
    v1::Map* map = changes->add_changes()->mutable_map();
    map->set_plug(plug->name());
    map->set_operation("op");
    map->set_phase(v1::PHASE_UP);
    map->set_method("count");
    map->set_enable(next % 3 == 0);
    if (next % 2 == 1) {
      changes->add_changes()->mutable_unplug()->set_name(absl::StrCat("p", next - 1));
    }
    auto response = client->Apply(request);
    if (!response.ok()) return last;
    last = {next, response->revision()};
    sent->fetch_add(1);
  }
}

// The plugs that a stream of change sets 0..`last` leads to are the odd ones, and the last.
void ExpectEffectsOf(int last, const v1::ListResponse& list, const std::string& context) {
  std::vector<bool> there(last + 3);
  for (const v1::PlugState& plug : list.plugs()) {
    const int number = std::stoi(plug.plug().name().substr(1));
    ASSERT_LT(number, static_cast<int>(there.size())) << context << ": never sent";
    there[number] = true;
    ASSERT_EQ(plug.mappings_size(), 1) << context << ": half a change set";
    EXPECT_EQ(plug.mappings(0).enabled(), number % 3 == 0) << context;
  }
  // The change set after the last acknowledged one may have been committed, too, whole.
  const bool one_more = there[last + 1];
  for (int n = 0; n <= last; ++n) {
    const bool expected = n % 2 == 1 || (n == last && !one_more);
    EXPECT_EQ(there[n], expected) << context << ": plug p" << n;
  }
  EXPECT_FALSE(there[last + 2]) << context;
}

TEST(DurabilityTest, EveryAcknowledgedRevisionSurvivesKillDashNine) {
  constexpr int kRounds = 20;
  const TempDir dir;
  const std::string control = "unix:" + dir.File("s");
  const std::string store = "sqlite:" + dir.File("db");
  std::mt19937 random(20260101);
  int last = -1;
  uint64_t revision = 0;
  int acknowledged = 0;

  for (int round = 0; round < kRounds; ++round) {
    const std::string context = absl::StrCat("round ", round);
    ControlNode node = StartControlNode(control, store);
    ASSERT_NE(node.process, nullptr);
    auto client = ControlClient::Connect(node.address, 30, context);
    ASSERT_TRUE(client.ok()) << client.status();
    auto list = (*client)->List({});
    ASSERT_TRUE(list.ok()) << list.status();
    ASSERT_GE(list->revision(), revision) << context;
    ASSERT_LE(list->revision(), revision + 1) << context;
    ExpectEffectsOf(last, *list, context);
    if (::testing::Test::HasFailure()) return;
    if (list->revision() == revision + 1) ++last;

    // Killed after a random number of acknowledgements, at a random moment of the next commit.
    std::atomic<int> sent{0};
    const int least = std::uniform_int_distribution<int>(0, 12)(random);
    const auto delay =
        std::chrono::microseconds(std::uniform_int_distribution<int>(0, 3000)(random));
    std::thread killer([&] {
      while (sent.load() < least) std::this_thread::yield();
      std::this_thread::sleep_for(delay);
      node.process->Kill();
    });
    const Acknowledged round_last = Stream(client->get(), last + 1, &sent);
    killer.join();
    revision = list->revision();
    if (round_last.number >= 0) {
      last = round_last.number;
      revision = round_last.revision;
    }
    acknowledged += sent.load();
  }
  EXPECT_GT(acknowledged, kRounds) << "too few commits to mean anything";
}

}  // namespace
}  // namespace weir::testing
