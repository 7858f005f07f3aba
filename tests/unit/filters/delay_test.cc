// The filter `delay`, in a real server: a call that it keeps is suspended.

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using ::testing::HasSubstr;

// With a clock that goes by itself: calls are kept until it is time.
class DelayTest : public ::testing::Test {
 protected:
  DelayTest() { AddBuiltinFilters(&kinds_); }

  void Plug(FilterParameters parameters, const std::string& up, const std::string& down = "") {
    ChangeSet changes = {PlugChange{"p", "delay", std::move(parameters), "all", 0}};
    if (!up.empty()) changes.push_back(MapUp("p", "*", up));
    if (!down.empty()) changes.push_back(MapDown("p", "*", down));
    auto prepared = registry_.Prepare(changes, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry_.Publish(*std::move(prepared));
  }
  uint64_t Counter(const std::string& name) {
    for (const FilterCounter& c : registry_.Counters("p")) {
      if (c.name == name) return c.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  FilterKinds kinds_;
  MemoryLogger logger_;
  Registry registry_{&kinds_, &orb::TheClock(), &logger_};
};

TEST_F(DelayTest, BothPhasesKeepTheCallForTheTimeAndNoLess) {
  Plug({{"time", "20ms"}}, "hold", "hold_reply");
  orb::TestOrb server{{}, registry_.gate()}, client;
  const auto target = client.To({server.Listen()});
  const Nanos began = orb::TheClock().Now();
  EXPECT_EQ(client.Ping(target, 4), 5);
  EXPECT_GE(orb::TheClock().Now() - began, 40 * kMillisecond);
  EXPECT_EQ(Counter("kept"), 2u);
  EXPECT_EQ(Counter("keeping"), 0u);
}

TEST_F(DelayTest, CallsThatAreKeptHoldNoThreadAndGoOnInTheOrderOfTheirTimes) {
  Plug({{"time", "50ms"}}, "hold");
  orb::TestOrb server{{}, registry_.gate()}, client;
  const auto target = client.To({server.Listen()});
  std::vector<std::unique_ptr<orb::TestCall>> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(std::make_unique<orb::TestCall>("ping", i));
    client->invoker().Start(target, calls.back().get());
  }
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(calls[i]->WaitDone());
    EXPECT_EQ(calls[i]->result(), i + 1);
  }
  EXPECT_EQ(Counter("kept"), 500u);
  EXPECT_LE(server->reactor().threads(), 8);
}

TEST_F(DelayTest, WhatIsTooManyPassesAtOnce) {
  Plug({{"time", "1h"}, {"most", "2"}}, "hold");
  orb::TestOrb client;
  std::vector<std::unique_ptr<orb::TestCall>> kept;
  {
    orb::TestOrb server{{}, registry_.gate()};
    const auto target = client.To({server.Listen()});
    for (int i = 0; i < 2; ++i) {
      kept.push_back(std::make_unique<orb::TestCall>("ping", i));
      client->invoker().Start(target, kept.back().get());
    }
    ASSERT_TRUE(orb::Eventually([this] { return Counter("keeping") == 2; }));
    EXPECT_EQ(client.Ping(target, 4), 5);
    EXPECT_EQ(Counter("passed_at_once"), 1u);
    // The server's end lets go of the two.
  }
  for (const auto& call : kept) EXPECT_TRUE(call->WaitDone());
  EXPECT_EQ(Counter("keeping"), 0u);
}

TEST_F(DelayTest, TheProbabilityAndTheSeedSayWhichCallsAreKept) {
  orb::TestOrb client;
  const auto pattern = [&](const std::string& seed) {
    Plug({{"time", "0s"}, {"probability", "0.3"}, {"seed", seed}}, "hold");
    orb::TestOrb server{{}, registry_.gate()};
    const auto target = client.To({server.Listen()});
    std::string kept;
    for (int i = 0; i < 60; ++i) {
      const uint64_t before = Counter("kept");
      EXPECT_EQ(client.Ping(target, i), i + 1);
      kept += Counter("kept") > before ? 'k' : '.';
    }
    registry_.Publish(*registry_.Prepare({Unplug("p")}, std::nullopt));
    return kept;
  };
  const std::string seven = pattern("7");
  EXPECT_EQ(pattern("7"), seven);
  EXPECT_NE(pattern("8"), seven);
  EXPECT_THAT(seven, HasSubstr("k"));
  EXPECT_THAT(seven, HasSubstr("."));
}

TEST_F(DelayTest, BadParametersAreRefused) {
  for (const FilterParameters& bad : {FilterParameters{},
                                      {{"time", "long"}},
                                      {{"time", "2h"}},
                                      {{"time", "1s"}, {"most", "0"}},
                                      {{"time", "1s"}, {"probability", "1.5"}},
                                      {{"time", "1s"}, {"jitter", "-1s"}}}) {
    EXPECT_EQ(
        registry_.Prepare({PlugChange{"p", "delay", bad, "all", 0}}, std::nullopt).status().code(),
        absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace weir::filters
