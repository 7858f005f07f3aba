// A filtered call allocates nothing. In a binary of its own, because it replaces operator new.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "filters/builtin/builtin.h"
#include "filters/registry.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/fake_call.h"

namespace {
std::atomic<int> allocations{0};
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new(size_t size, std::align_val_t alignment) {
  ++allocations;
  const size_t a = static_cast<size_t>(alignment);
  void* memory = std::aligned_alloc(a, (size + a - 1) / a * a);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace weir::filters {
namespace {

class AllocationTest : public testing::Test {
 protected:
  AllocationTest() { AddBuiltinFilters(&kinds_); }

  void Commit(const ChangeSet& changes) {
    auto prepared = registry_.Prepare(changes, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status().ToString();
    registry_.Publish(*std::move(prepared));
  }
  void PlugBoth(const std::string& name, const std::string& filter, const std::string& selector,
                const std::string& up, const std::string& down,
                const FilterParameters& parameters = {}) {
    Commit({PlugChange{name, filter, parameters, selector, 0}});
    if (!up.empty()) Commit({MapChange{name, "*", up, Phase::kUp, true}});
    if (!down.empty()) Commit({MapChange{name, "*", down, Phase::kDown, true}});
  }

  // Of a thousand calls, after the first.
  int AllocationsOfCalls() {
    FakeCall call("some/object/key/of/usual/length", "an_operation_of_usual_length");
    call.Run(registry_.gate());
    const int before = allocations;
    reached_servant_ = 0;
    for (int i = 0; i < 1000; ++i) {
      call.Run(registry_.gate());
      reached_servant_ += call.reached_servant();
    }
    return allocations - before;
  }

  FilterKinds kinds_;
  SystemClock clock_;
  NullLogger logger_;
  Registry registry_{&kinds_, &clock_, &logger_};
  int reached_servant_ = 0;  // of those thousand calls
};

TEST_F(AllocationTest, TheTestItselfSeesAllocations) {
  const int before = allocations;
  std::string* volatile text = new std::string(100, 'x');
  delete text;
  EXPECT_EQ(allocations - before, 2);
}

TEST_F(AllocationTest, ACountedCallAllocatesNothing) {
  PlugBoth("c", "count", "all", "count", "count");
  EXPECT_EQ(AllocationsOfCalls(), 0);
}

TEST_F(AllocationTest, ACallThroughManyFiltersOfEveryKindOfSelectorAllocatesNothing) {
  PlugBoth("a", "count", "all", "count", "count");
  PlugBoth("b", "count", "key:some/*", "count", "count");
  PlugBoth("c", "count", "key:some/object/key/of/usual/length", "count", "count");
  PlugBoth("l", "log", "all", "request", "reply");
  EXPECT_EQ(AllocationsOfCalls(), 0);
}

TEST_F(AllocationTest, ACallOfAnObjectWhoseInterfacesAreKnownAllocatesNothing) {
  PlugBoth("a", "count", "all", "count", "count");
  PlugBoth("b", "count", "interface:IDL:acme/Bank:1.0", "count", "count");
  PlugBoth("c", "count", "interface:IDL:acme/Shop:1.0", "count", "count");
  for (const bool is_a_bank : {true, false}) {
    FakeCall call("some/object/key/of/usual/length", "an_operation_of_usual_length");
    call.object = {is_a_bank ? 1u : 2u, 0, call.request().object_key};
    call.is_a = [&](std::string_view id) { return is_a_bank && id == "IDL:acme/Bank:1.0"; };
    call.Run(registry_.gate());
    const int before = allocations;
    for (int i = 0; i < 1000; ++i) call.Run(registry_.gate());
    EXPECT_EQ(allocations - before, 0);
  }
  const auto counters = registry_.Counters("b");
  ASSERT_FALSE(counters.empty());
}

TEST_F(AllocationTest, DecidingConditionsAllocatesNothing) {
  // As many as there are bits for.
  for (int i = 0; i < 32; ++i) {
    const std::string name = "p" + std::to_string(i);
    for (const bool holds : {true, false}) {
      const std::string number = std::to_string(i);
      Commit({PlugChange{.name = name + (holds ? "y" : "n"),
                         .filter = "count",
                         .parameters = {},
                         .selector = "all",
                         .conditions = {"peer=10.0.0.0/8", "identity!=uid:" + number,
                                        holds ? "context!=7" : "context=7", "operation=an_*"}},
              MapChange{name + (holds ? "y" : "n"), "*", "count", Phase::kUp, true}});
    }
  }
  EXPECT_EQ(AllocationsOfCalls(), 0);
  EXPECT_EQ(reached_servant_, 1000);
}

TEST_F(AllocationTest, ADeniedCallAllocatesNothing) {
  PlugBoth("c", "count", "all", "count", "count");
  PlugBoth("d", "deny", "all", "deny", "");
  EXPECT_EQ(AllocationsOfCalls(), 0);
}

TEST_F(AllocationTest, ACallThatTheShippedFiltersPassAllocatesNothing) {
  PlugBoth("access", "access", "all", "check", "", {{"allow", "10.0.0.0/8,fd00::/8,unix"}});
  PlugBoth("all", "rate-limit", "all", "limit", "", {{"rate", "1000000"}});
  PlugBoth("peer", "rate-limit", "all", "limit", "", {{"rate", "1000000"}, {"per", "peer"}});
  PlugBoth("op", "rate-limit", "all", "limit", "", {{"rate", "1000000"}, {"per", "operation"}});
  PlugBoth("fault", "fault", "all", "fail", "fail_reply", {{"probability", "0"}});
  PlugBoth("cache", "cache", "all", "lookup", "");
  PlugBoth("log", "message-log", "all", "request", "reply");
  EXPECT_EQ(AllocationsOfCalls(), 0);
  EXPECT_EQ(reached_servant_, 1000);
}

TEST_F(AllocationTest, ACallThatTheShippedFiltersAnswerAllocatesNothing) {
  const std::vector<std::tuple<std::string, std::string, FilterParameters>> answering = {
      {"access", "check", {{"deny", "10.0.0.0/8"}}},
      {"rate-limit", "limit", {{"rate", "0.001"}}},
      {"fault", "fail", {{"probability", "1"}}},
      {"replace", "replace", {{"result", "00112233"}}},
      {"replace", "replace", {{"exception", "UNKNOWN"}}}};
  for (const auto& [filter, up, parameters] : answering) {
    PlugBoth("p", filter, "all", up, "", parameters);
    EXPECT_EQ(AllocationsOfCalls(), 0) << filter;
    EXPECT_EQ(reached_servant_, 0) << filter;
    Commit({UnplugChange{"p"}});
  }
}

TEST_F(AllocationTest, AReplyThatTheShippedFiltersReplaceAllocatesNothing) {
  PlugBoth("fault", "fault", "all", "", "fail_reply", {{"probability", "1"}});
  PlugBoth("replace", "replace", "all", "", "replace_reply", {{"result", "00112233"}});
  EXPECT_EQ(AllocationsOfCalls(), 0);
}

TEST_F(AllocationTest, ACallThatTheCacheAnswersAllocatesNothing) {
  PlugBoth("cache", "cache", "all", "lookup", "store");
  EXPECT_EQ(AllocationsOfCalls(), 0);  // the first call, which is not counted, is kept
  EXPECT_EQ(reached_servant_, 0);
}

TEST_F(AllocationTest, AMillionDifferentKeysCostNoMemory) {
  PlugBoth("c", "count", "key:k*", "count", "count");
  PlugBoth("x", "count", "key:x", "count", "count");
  FakeCall call;
  call.request().object_key = "k";
  call.Run(registry_.gate());
  char key[16] = "k";
  const int before = allocations;
  for (uint32_t i = 0; i < 1'000'000; ++i) {
    std::memcpy(key + 1, &i, sizeof i);
    call.request().object_key = std::string_view(key, 1 + sizeof i);
    call.Run(registry_.gate());
  }
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace weir::filters
