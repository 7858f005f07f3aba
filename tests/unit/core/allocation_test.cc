// Steady calls allocate nothing, on either side: every operator new of this process is counted, and
// client and server are both in it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/unit/core/testing.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

void* operator new(size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace weir::orb {
namespace {

class Quick : public FunctionServant {
 public:
  explicit Quick(bool never_blocks) : never_blocks_(never_blocks) {}
  bool NeverBlocks() const override { return never_blocks_; }

 private:
  const bool never_blocks_;
};

class Allocations : public ::testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  Allocations() {
    const auto [transport, never_blocks] = GetParam();
    EXPECT_TRUE(server_->adapter().Activate("quick", std::make_shared<Quick>(never_blocks)).ok());
    at_ = server_.Listen(transport,
                         std::string_view(transport) == "tcp" ? "127.0.0.1:0" : dir_.File("s"));
  }
  // The least of several counts: a thread of the pool that serves its first call fills its lists.
  long CountBlockingCalls(const std::shared_ptr<Target>& target) {
    long least = 1'000'000;
    for (int round = 0; round < 10 && least > 0; ++round) {
      TestCall call("ping", 7);
      const long before = allocations.load();
      for (int i = 0; i < 1000; ++i) {
        if (!client_.Invoke(target, &call).ok() || call.result() != 8) return -1;
      }
      least = std::min(least, allocations.load() - before);
    }
    return least;
  }
  testing::TempDir dir_;
  TestOrb server_, client_;
  Endpoint at_;
};
INSTANTIATE_TEST_SUITE_P(Transports, Allocations,
                         ::testing::Combine(::testing::Values("tcp", "unix"), ::testing::Bool()));

TEST_P(Allocations, AThousandDirectBlockingCallsMakeNone) {
  EXPECT_EQ(CountBlockingCalls(client_.To({at_}, "quick")), 0);
}

TEST_P(Allocations, AThousandCallsWithADeadlineMakeNone) {
  const auto target = client_.To({at_}, "quick");
  long least = 1'000'000;
  for (int round = 0; round < 10 && least > 0; ++round) {
    TestCall call("ping", 7);
    const long before = allocations.load();
    for (int i = 0; i < 1000; ++i) {
      call.message.deadline = In(kPatience);
      ASSERT_TRUE(client_.Invoke(target, &call).ok());
    }
    least = std::min(least, allocations.load() - before);
  }
  EXPECT_EQ(least, 0);
}

}  // namespace
}  // namespace weir::orb
