// A filter kind that does what a test tells it, and a registry to plug it into.
//
// Thread safety: as each class says.

#ifndef WEIR_TESTS_UNIT_FILTERS_PROBE_H_
#define WEIR_TESTS_UNIT_FILTERS_PROBE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/logger.h"
#include "filters/registry.h"
#include "gtest/gtest.h"

namespace weir::filters {

// Up methods `a`, `b`; down methods `a`, `b`, `c`. Parameter `bad` makes New fail.
//
// Thread safety: set the hooks before calls begin; they are called by the calling threads.
class ProbeKind : public FilterKind {
 public:
  using Hook = std::function<Verdict(const std::string& plug, std::string_view method, orb::Call&)>;

  explicit ProbeKind(std::string name = "probe") : name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  std::string_view help() const override { return "For tests."; }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    if (parameters.contains("bad")) {
      return absl::InvalidArgumentError("parameter 'bad' is not known");
    }
    ++made;
    return std::make_unique<Probe>(this, context.plug);
  }

  Hook up = [](const std::string&, std::string_view, orb::Call&) { return Verdict::kPass; };
  Hook down = [](const std::string&, std::string_view, orb::Call&) { return Verdict::kPass; };
  // If set before the filter is made: verdicts do not return, but are given to this.
  std::function<void(Suspension call, Verdict verdict)> later;
  mutable std::atomic<int> made{0};       // filters made
  mutable std::atomic<int> destroyed{0};  // filters destroyed

 private:
  class Probe : public Filter {
   public:
    Probe(const ProbeKind* kind, std::string plug) : kind_(kind), plug_(std::move(plug)) {}
    ~Probe() override { ++kind_->destroyed; }
    Verdict Up(int method, orb::Call& call) override {
      ++seen_;
      return kind_->up(plug_, kind_->methods_[method].name, call);
    }
    Verdict Down(int method, orb::Call& call) override {
      return kind_->down(plug_, kind_->methods_[method].name, call);
    }
    bool asynchronous() const override { return asynchronous_; }
    void StartUp(int method, Suspension call) override {
      const Verdict verdict = Up(method, *call);
      kind_->later(std::move(call), verdict);
    }
    void StartDown(int method, Suspension call) override {
      const Verdict verdict = Down(method, *call);
      kind_->later(std::move(call), verdict);
    }
    std::vector<FilterCounter> Counters() const override { return {{"", "seen", seen_}}; }

   private:
    const ProbeKind* const kind_;
    const std::string plug_;
    const bool asynchronous_ = kind_->later != nullptr;
    std::atomic<uint64_t> seen_{0};
  };

  const std::string name_;
  const std::vector<MethodInfo> methods_ = {
      {.name = "a", .phase = Phase::kUp},
      {.name = "b", .phase = Phase::kUp},
      {.name = "a", .phase = Phase::kDown},
      {.name = "b", .phase = Phase::kDown},
      {.name = "c", .phase = Phase::kDown, .timed = true},
  };
};

// Keeps the lines.
//
// Thread safety: one thread logs at a time.
class MemoryLogger : public Logger {
 public:
  void Log(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

// Says what the test says.
class ManualClock : public Clock {
 public:
  Nanos Now() const override { return now; }
  Nanos WallTime() const override { return now; }
  std::atomic<Nanos> now{1000 * kSecond};
};

// The beta messages, as short as tests want them.
inline Change PlugOn(std::string name, std::string selector, int priority = 0,
                     std::string filter = "probe") {
  return PlugChange{std::move(name), std::move(filter), {}, std::move(selector), priority};
}
inline Change Unplug(std::string name) { return UnplugChange{std::move(name)}; }
inline Change MapUp(std::string plug, std::string operation, std::string method,
                    bool enable = true) {
  return MapChange{std::move(plug), std::move(operation), std::move(method), Phase::kUp, enable};
}
inline Change MapDown(std::string plug, std::string operation, std::string method,
                      bool enable = true) {
  return MapChange{std::move(plug), std::move(operation), std::move(method), Phase::kDown, enable};
}
inline Change UnmapUp(std::string plug, std::string operation, std::string method) {
  return UnmapChange{std::move(plug), std::move(operation), std::move(method), Phase::kUp};
}
inline Change EnableUp(std::string plug, std::string operation = "", std::string method = "") {
  return EnableChange{std::move(plug), std::move(operation), std::move(method), Phase::kUp, true};
}
inline Change DisableUp(std::string plug, std::string operation = "", std::string method = "") {
  return EnableChange{std::move(plug), std::move(operation), std::move(method), Phase::kUp, false};
}

// A registry that knows the kind `probe`, with a fixture's usual helpers.
class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    auto kind = std::make_unique<ProbeKind>();
    probe_ = kind.get();
    kinds_.Add(std::move(kind));
  }

  absl::Status Try(const ChangeSet& changes, std::optional<uint64_t> expected = std::nullopt) {
    absl::StatusOr<Prepared> prepared = registry_.Prepare(changes, expected);
    if (!prepared.ok()) return prepared.status();
    last_changed_ = prepared->changed;
    registry_.Publish(*std::move(prepared));
    return absl::OkStatus();
  }
  void Commit(const ChangeSet& changes) {
    const absl::Status status = Try(changes);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  FilterKinds kinds_;
  ProbeKind* probe_ = nullptr;
  ManualClock clock_;
  MemoryLogger logger_;
  Registry registry_{&kinds_, &clock_, &logger_};
  bool last_changed_ = false;
};

}  // namespace weir::filters

#endif  // WEIR_TESTS_UNIT_FILTERS_PROBE_H_
