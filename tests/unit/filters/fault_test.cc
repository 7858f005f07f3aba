// The filter `fault`.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using orb::Completion;
using testing::HasSubstr;

class FaultTest : public BuiltinTest {
 protected:
  // One character for each of `calls`: '.' passed, 'u' failed on its way up, 'd' down.
  std::string Pattern(int calls) {
    std::string pattern;
    for (int i = 0; i < calls; ++i) {
      FakeCall call;
      call.Run(registry_.gate());
      const bool failed = call.system_exception().has_value();
      pattern += !call.reached_servant() ? 'u' : failed ? 'd' : '.';
    }
    return pattern;
  }
  // The pattern of a new filter with these parameters.
  std::string PatternOf(FilterParameters parameters, const std::string& up, const std::string& down,
                        int calls) {
    Commit({Unplug("p")});
    Plug("fault", std::move(parameters), up, down);
    return Pattern(calls);
  }
};

TEST_F(FaultTest, ProbabilityZeroFailsNothingAndOneFailsAll) {
  EXPECT_EQ(PatternOf({{"probability", "0"}}, "fail", "fail_reply", 300), std::string(300, '.'));
  EXPECT_EQ(PatternOf({{"probability", "1"}}, "fail", "", 300), std::string(300, 'u'));
  EXPECT_EQ(PatternOf({{"probability", "1.0"}}, "", "fail_reply", 300), std::string(300, 'd'));
}

TEST_F(FaultTest, TheSameSeedFailsTheSameCalls) {
  const FilterParameters seven = {{"probability", "0.3"}, {"seed", "7"}};
  const std::string first = PatternOf(seven, "fail", "", 200);
  EXPECT_EQ(PatternOf(seven, "fail", "", 200), first);
  EXPECT_NE(PatternOf({{"probability", "0.3"}, {"seed", "8"}}, "fail", "", 200), first);
  EXPECT_NE(PatternOf({{"probability", "0.3"}}, "fail", "", 200), first);
  // As splitmix64 gives them, computed elsewhere. A release that fails other calls than the last
  // one would break whoever keeps a seed that shows a bug.
  EXPECT_EQ(first.substr(0, 40), ".........u.u..u...uu.......u...uu..u.uu.");
}

TEST_F(FaultTest, RepliesHaveAStreamOfTheirOwn) {
  const FilterParameters half = {{"probability", "0.5"}, {"seed", "1"}};
  std::string up = PatternOf(half, "fail", "", 200);
  std::string down = PatternOf(half, "", "fail_reply", 200);
  for (char& c : up) c = c == 'u' ? 'x' : c;
  for (char& c : down) c = c == 'd' ? 'x' : c;
  EXPECT_NE(up, down);
}

TEST_F(FaultTest, AsManyFailAsTheProbabilitySays) {
  const std::string pattern = PatternOf({{"probability", "0.25"}}, "fail", "", 10'000);
  const auto failed = std::count(pattern.begin(), pattern.end(), 'u');
  // Five standard deviations; the seed is fixed, so this passes always or never.
  EXPECT_NEAR(static_cast<double>(failed), 2500, 217);
  auto counters = Counters();
  EXPECT_EQ(counters[".requests"], 10'000u);
  EXPECT_EQ(counters[".failed_requests"], static_cast<uint64_t>(failed));
  EXPECT_EQ(counters[".replies"], 0u);
}

TEST_F(FaultTest, TheCompletionStatusIsTrueUnlessSet) {
  Plug("fault", {{"probability", "1"}}, "fail", "");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kTransient);
  EXPECT_EQ(call.system_exception()->minor, static_cast<uint32_t>(orb::WeirMinor::kDenied));
  EXPECT_EQ(call.system_exception()->completed, Completion::kNo);

  Commit({Unplug("p")});
  Plug("fault", {{"probability", "1"}}, "", "fail_reply");
  call.Run(registry_.gate());
  EXPECT_EQ(call.system_exception()->completed, Completion::kYes);
  call.Run(registry_.gate(), [](orb::Call& c) { c.SetUserException(); });
  EXPECT_EQ(call.system_exception()->completed, Completion::kYes);
  call.Run(registry_.gate(), [](orb::Call& c) { c.SetSystemException({}); });
  EXPECT_EQ(call.system_exception()->completed, Completion::kMaybe);
  EXPECT_EQ(Counters()[".failed_replies"], 3u);
  EXPECT_EQ(Counters()[".raised"], 3u);
}

TEST_F(FaultTest, ExceptionAndCompletionStatusCanBeSet) {
  const std::vector<std::pair<std::string, Completion>> all = {
      {"no", Completion::kNo}, {"yes", Completion::kYes}, {"maybe", Completion::kMaybe}};
  for (const auto& [name, completed] : all) {
    for (const bool up : {true, false}) {
      Commit({Unplug("p")});
      Plug("fault", {{"probability", "1"}, {"exception", "COMM_FAILURE"}, {"completed", name}},
           up ? "fail" : "", up ? "" : "fail_reply");
      FakeCall call;
      call.Run(registry_.gate());
      EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kCommFailure);
      EXPECT_EQ(call.system_exception()->completed, completed) << name << up;
    }
  }
}

TEST_F(FaultTest, ThreadsTogetherFailTheCallsThatOneWould) {
  const FilterParameters parameters = {{"probability", "0.5"}, {"seed", "3"}};
  const std::string alone = PatternOf(parameters, "fail", "", 4000);
  Commit({Unplug("p")});
  Plug("fault", parameters, "fail", "");
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        FakeCall call;
        call.Run(registry_.gate());
        failed += !call.reached_servant();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, std::count(alone.begin(), alone.end(), 'u'));
  EXPECT_EQ(Counters()[".failed_requests"], static_cast<uint64_t>(failed));
}

TEST_F(FaultTest, BadParametersAreRefused) {
  for (const char* p : {"", "-0.1", "1.1", "nan", "half", "0.5%"}) {
    const absl::Status status = TryPlug("fault", {{"probability", p}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << p;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("parameter 'probability' is '" + std::string(p) +
                          "'; it must be a number from 0 to 1"));
  }
  EXPECT_THAT(std::string(TryPlug("fault", {{"probability", "1"}, {"seed", "-1"}}).message()),
              HasSubstr("from 0 to 9223372036854775807"));
  EXPECT_THAT(std::string(TryPlug("fault", {{"probability", "1"}, {"completed", "NO"}}).message()),
              HasSubstr("parameter 'completed' is 'NO'; it must be one of: yes, no, maybe"));
}

}  // namespace
}  // namespace weir::filters
