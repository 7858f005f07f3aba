#include "tests/interop/outgoing_filters.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "filters/builtin/builtin.h"
#include "filters/remote/grpc_kind.h"
#include "filters/remote/ref_kind.h"
#include "gtest/gtest.h"
#include "orb/giop/giop.h"
#include "orb/transport/unix.h"
#include "tests/support/pass_only.h"

namespace weir::testing {
namespace {

orb::OrbOptions Options() {
  orb::OrbOptions options;
  char hostname[256] = "";
  gethostname(hostname, sizeof(hostname) - 1);
  options.hostname = hostname;
  return options;
}

}  // namespace

std::unique_ptr<OutgoingFilters> OutgoingFilters::New(const Clock* clock, bool wanted) {
  if (!wanted) return nullptr;
  auto made = std::unique_ptr<OutgoingFilters>(new OutgoingFilters(clock));
  made->Plug();
  return made;
}

OutgoingFilters::OutgoingFilters(const Clock* clock)
    : clock_(clock),
      asking_(Options(), clock, &logger_, nullptr),
      registry_(&kinds_, clock, &logger_) {
  asking_.AddMessaging(std::make_unique<giop::Giop>());
  asking_.AddTransport(
      std::make_unique<orb::UnixTransport>(clock, orb::TransportOptions::Supervised()));
  EXPECT_TRUE(asking_.Start().ok());
  handle_.set(&asking_);
  filters::AddBuiltinFilters(&kinds_);
  kinds_.Add(filters::NewGrpcKind());
  kinds_.Add(filters::NewRefKind(&handle_));
}

OutgoingFilters::~OutgoingFilters() {
  handle_.set(nullptr);
  EXPECT_TRUE(asking_.Shutdown(clock_->Now() + 5 * kSecond).ok());
}

void OutgoingFilters::Plug() {
  filters::ChangeSet changes;
  for (const PassOnlyPlug& plug : PassOnlyPlugs()) {
    filters::PlugChange change;
    change.name = plug.name;
    change.filter = plug.kind;
    change.selector = "all";
    if (!plug.at.empty()) change.parameters = {{"at", plug.at}, {"timeout", "20s"}};
    changes.push_back(std::move(change));
    changes.push_back(
        filters::MapChange{plug.name, "*", plug.method_up, filters::Phase::kUp, true});
    changes.push_back(
        filters::MapChange{plug.name, "*", plug.method_down, filters::Phase::kDown, true});
  }
  auto prepared = registry_.Prepare(changes, std::nullopt);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  registry_.Publish(*std::move(prepared));
  for (const PassOnlyPlug& plug : PassOnlyPlugs()) {
    for (int tries = 0; !plug.at.empty() && Counter(plug.name, "connected") == 0; ++tries) {
      ASSERT_LT(tries, 20'000) << plug.name << " is not connected";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

uint64_t OutgoingFilters::Counter(const std::string& plug, const std::string& name) const {
  for (const filters::FilterCounter& c : registry_.Counters(plug)) {
    if (c.name == name) return c.value;
  }
  return 0;
}

uint64_t OutgoingFilters::least_calls() const {
  uint64_t least = ~uint64_t{0};
  for (const PassOnlyPlug& plug : PassOnlyPlugs()) {
    uint64_t phases[2] = {0, 0};
    for (const filters::StepFigures& step : registry_.Figures(plug.name).steps) {
      phases[step.phase == filters::Phase::kUp ? 0 : 1] += step.counts.called();
    }
    least = std::min({least, phases[0], phases[1]});
  }
  return least;
}

}  // namespace weir::testing
