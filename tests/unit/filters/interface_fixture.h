// Servants of interfaces, ORBs around them, and a registry with the kind `probe` whose filters note
// what they see; for tests of filters that are plugged onto interfaces.
//
// Thread safety: as noted; servants and filters are called by several threads.

#ifndef WEIR_TESTS_UNIT_FILTERS_INTERFACE_FIXTURE_H_
#define WEIR_TESTS_UNIT_FILTERS_INTERFACE_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "filters/registry.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {

inline constexpr char kBank[] = "IDL:acme/Bank:1.0";
inline constexpr char kSafe[] = "IDL:acme/Safe:1.0";  // derived from kBank
inline constexpr char kShop[] = "IDL:acme/Shop:1.0";
inline std::string On(std::string_view id) { return StrCat("interface:", id); }

// An object of the given interfaces. Counts how often it is asked for each, and its calls.
class TypedServant : public orb::FunctionServant {
 public:
  explicit TypedServant(std::vector<std::string> ids) : ids_(std::move(ids)) {
    for (const char* operation : {"ping", "other"}) {
      On(operation, [this](orb::CallRef call) {
        ++executed;
        AnswerPlusOne(std::move(call));
      });
    }
  }
  std::string_view repository_id() const override { return ids_[0]; }
  bool IsA(std::string_view id) const override {
    MutexLock lock(&mu_);
    ++asked_[std::string(id)];
    return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  }
  int asked(std::string_view id) const {
    MutexLock lock(&mu_);
    return asked_[std::string(id)];
  }
  std::atomic<int> executed{0};

 private:
  const std::vector<std::string> ids_;
  mutable Mutex mu_;
  mutable std::map<std::string, int> asked_ ABSL_GUARDED_BY(mu_);
};

inline std::shared_ptr<TypedServant> Bank() {
  return std::make_shared<TypedServant>(std::vector<std::string>{kBank});
}
inline std::shared_ptr<TypedServant> Safe() {
  return std::make_shared<TypedServant>(std::vector<std::string>{kSafe, kBank});
}
inline std::shared_ptr<TypedServant> Shop() {
  return std::make_shared<TypedServant>(std::vector<std::string>{kShop});
}

// Serves all keys and all operations, those included that an ORB would answer itself.
class RawServant : public orb::Servant {
 public:
  using Function = std::function<void(orb::CallRef)>;

  explicit RawServant(Function is_a) : is_a_(std::move(is_a)) {}
  std::string_view repository_id() const override { return ""; }
  bool HandlesBuiltins() const override { return true; }
  void Dispatch(orb::CallRef call) override {
    if (call->request().operation == "_is_a") {
      ++asked;
      return is_a_(std::move(call));
    }
    ++executed;
    orb::FunctionServant::AnswerPlusOne(std::move(call));
  }
  static void Answer(orb::CallRef call, bool is_a) {
    call->NewBody().WriteBoolean(is_a);
    call->SetResult();
    call.Send();
  }
  std::atomic<int> asked{0}, executed{0};

 private:
  const Function is_a_;
};

class InterfaceTest : public ::testing::Test {
 protected:
  explicit InterfaceTest(InterfaceLimits limits = {})
      : registry_(&kinds_, &orb::TheClock(), &log_, {}, limits) {
    auto kind = std::make_unique<ProbeKind>();
    probe_ = kind.get();
    kinds_.Add(std::move(kind));
    const auto note = [this](const std::string& plug, std::string_view method, orb::Call&) {
      MutexLock lock(&mu_);
      ran_.push_back(StrCat(plug, ".", method));
      return Verdict::kPass;
    };
    probe_->up = note;
    probe_->down = note;
  }

  void Commit(const ChangeSet& changes) {
    absl::StatusOr<Prepared> prepared = registry_.Prepare(changes, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry_.Publish(*std::move(prepared));
  }
  // Notes "NAME.a" on the way up and "NAME.c" on the way down.
  void Plug(const std::string& name, const std::string& selector, int priority = 0,
            const std::string& operation = "*") {
    Commit({PlugOn(name, selector, priority), MapUp(name, operation, "a"),
            MapDown(name, operation, "c")});
  }
  // What has run since this was last asked.
  std::vector<std::string> Ran() {
    MutexLock lock(&mu_);
    return std::exchange(ran_, {});
  }
  uint64_t Counter(std::string_view plug, std::string_view name) {
    for (const FilterCounter& counter : registry_.Counters(plug)) {
      if (counter.name == name) return counter.value;
    }
    return 0;
  }

  // A gateway before `upstream`.
  std::unique_ptr<orb::TestOrb> NewGateway(const orb::Endpoint& upstream,
                                           Nanos timeout = kNoDeadline) {
    auto gateway = std::make_unique<orb::TestOrb>(orb::OrbOptions{}, registry_.gate());
    orb::TestOrb& orb = *gateway;
    EXPECT_TRUE(orb->adapter().Deactivate("test").ok());
    orb->adapter().SetDefaultServant(std::make_shared<orb::Forwarder>(
        &orb->invoker(), orb.To({upstream}, ""), &orb->reactor(), &orb::TheClock(), &orb.log,
        orb::ForwarderOptions{timeout}));
    return gateway;
  }

  using Strings = std::vector<std::string>;

  Mutex mu_;
  Strings ran_ ABSL_GUARDED_BY(mu_);
  orb::KeptLog log_;
  FilterKinds kinds_;
  ProbeKind* probe_ = nullptr;
  Registry registry_;
};

}  // namespace weir::filters

#endif  // WEIR_TESTS_UNIT_FILTERS_INTERFACE_FIXTURE_H_
