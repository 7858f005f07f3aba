#include "orb/core/adapter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/strings.h"

namespace weir::orb {
namespace {

class NullServant : public Servant {
 public:
  std::string_view repository_id() const override { return ""; }
  void Dispatch(CallRef) override {}
};

TEST(ObjectAdapter, FindsTheServantOfAKey) {
  ObjectAdapter adapter;
  const auto servant = std::make_shared<NullServant>();
  EXPECT_EQ(adapter.Find("a"), nullptr);
  ASSERT_TRUE(adapter.Activate("a", servant).ok());
  EXPECT_EQ(adapter.Find("a"), servant);
  EXPECT_EQ(adapter.Find("b"), nullptr);
  EXPECT_EQ(adapter.Find(std::string_view("a\0", 2)), nullptr);
  EXPECT_EQ(adapter.size(), 1u);
}

TEST(ObjectAdapter, AKeyIsActiveOnceAndItsErrorsNameIt) {
  ObjectAdapter adapter;
  ASSERT_TRUE(adapter.Activate("k\x01", std::make_shared<NullServant>()).ok());
  const absl::Status twice = adapter.Activate("k\x01", std::make_shared<NullServant>());
  EXPECT_EQ(twice.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(twice.message().find("k\\x01"), absl::string_view::npos);
  EXPECT_TRUE(adapter.Deactivate("k\x01").ok());
  EXPECT_EQ(adapter.Deactivate("k\x01").code(), absl::StatusCode::kNotFound);
}

TEST(ObjectAdapter, TheDefaultServantServesWhatNobodyElseDoes) {
  ObjectAdapter adapter;
  const auto own = std::make_shared<NullServant>(), other = std::make_shared<NullServant>();
  ASSERT_TRUE(adapter.Activate("a", own).ok());
  adapter.SetDefaultServant(other);
  EXPECT_EQ(adapter.Find("a"), own);
  EXPECT_EQ(adapter.Find("b"), other);
  ASSERT_TRUE(adapter.Deactivate("a").ok());
  EXPECT_EQ(adapter.Find("a"), other);
  adapter.SetDefaultServant(nullptr);
  EXPECT_EQ(adapter.Find("a"), nullptr);
}

TEST(ObjectAdapter, AServantLivesUntilItsLastUserLetsGo) {
  ObjectAdapter adapter;
  auto servant = std::make_shared<NullServant>();
  const std::weak_ptr<NullServant> watch = servant;
  ASSERT_TRUE(adapter.Activate("a", std::move(servant)).ok());
  std::shared_ptr<Servant> user = adapter.Find("a");
  ASSERT_TRUE(adapter.Deactivate("a").ok());
  EXPECT_FALSE(watch.expired());
  user.reset();
  EXPECT_TRUE(watch.expired());
}

// Its destructor may look into the adapter: no lock is held then.
class CuriousServant : public NullServant {
 public:
  explicit CuriousServant(ObjectAdapter* adapter) : adapter_(adapter) {}
  ~CuriousServant() override { adapter_->Find("a"); }

 private:
  ObjectAdapter* const adapter_;
};

TEST(ObjectAdapter, DestroysServantsOutsideItsLock) {
  ObjectAdapter adapter;
  ASSERT_TRUE(adapter.Activate("a", std::make_shared<CuriousServant>(&adapter)).ok());
  adapter.SetDefaultServant(std::make_shared<CuriousServant>(&adapter));
  ASSERT_TRUE(adapter.Deactivate("a").ok());
  adapter.SetDefaultServant(nullptr);
}

TEST(ObjectAdapter, ManyFindWhileKeysComeAndGo) {
  ObjectAdapter adapter;
  const auto fixed = std::make_shared<NullServant>();
  ASSERT_TRUE(adapter.Activate("fixed", fixed).ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> finders;
  for (int i = 0; i < 3; ++i) {
    finders.emplace_back([&] {
      while (!stop.load()) {
        EXPECT_EQ(adapter.Find("fixed"), fixed);
        adapter.Find("moving7");
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const std::string key = StrCat("moving", i % 10);
    EXPECT_TRUE(adapter.Activate(key, std::make_shared<NullServant>()).ok());
    EXPECT_TRUE(adapter.Deactivate(key).ok());
  }
  stop.store(true);
  for (std::thread& t : finders) t.join();
}

}  // namespace
}  // namespace weir::orb
