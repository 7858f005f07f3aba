#include "filters/builtin/delay.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "filters/builtin/dice.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

struct DelayOptions {
  Nanos time = 0;
  Nanos jitter = 0;
  double probability = 1;
  uint64_t seed = 0;
  size_t most = 0;
};

class DelayFilter : public Filter {
 public:
  DelayFilter(const DelayOptions& options, const Clock* clock)
      : options_(options),
        clock_(clock),
        requests_{Dice(options.seed, 0), Dice(options.seed, 1)},
        replies_{Dice(options.seed, 2), Dice(options.seed, 3)},
        thread_([this] { Run(); }) {}

  // No call is kept any more: each holds the snapshot that holds the filter.
  ~DelayFilter() override {
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      changed_.SignalAll();
    }
    thread_.join();
  }

  bool asynchronous() const override { return true; }
  void StartUp(int, Suspension call) override { Start(&requests_, std::move(call)); }
  void StartDown(int, Suspension call) override { Start(&replies_, std::move(call)); }
  // Not called for asynchronous filters.
  Verdict Up(int, orb::Call&) override { return Verdict::kPass; }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

  void LetGo() override {
    Kept all;
    {
      MutexLock lock(&mu_);
      all.swap(kept_);
    }
    for (auto& [due, call] : all) call.Fail("the node ends");
  }

  std::vector<FilterCounter> Counters() const override {
    MutexLock lock(&mu_);
    return {{"", "kept", kept_in_all_},
            {"", "passed_at_once", passed_at_once_},
            {"", "keeping", kept_.size()}};
  }

 private:
  using Kept = std::multimap<Nanos, Suspension>;  // by when they go on

  // What decides of the calls of one phase. Both are thrown for every call.
  struct PhaseDice {
    Dice kept, jitter;
  };

  void Start(PhaseDice* dice, Suspension call) {
    const double chance = dice->kept.Throw();
    const double share = dice->jitter.Throw();
    if (chance >= options_.probability) return call.Resume(Verdict::kPass);
    const Nanos due = clock_->Now() + options_.time +
                      static_cast<Nanos>(share * static_cast<double>(options_.jitter));
    {
      MutexLock lock(&mu_);
      if (kept_.size() < options_.most) {
        ++kept_in_all_;
        const auto it = kept_.emplace(due, std::move(call));
        if (it == kept_.begin()) changed_.SignalAll();
        return;
      }
      ++passed_at_once_;
    }
    call.Resume(Verdict::kPass);
  }

  void Run() {
    MutexLock lock(&mu_);
    while (!stopping_) {
      if (kept_.empty()) {
        changed_.Wait(&mu_);
        continue;
      }
      const Nanos left = kept_.begin()->first - clock_->Now();
      if (left > 0) {
        changed_.WaitFor(&mu_, left);
        continue;
      }
      Suspension call = std::move(kept_.extract(kept_.begin()).mapped());
      mu_.Unlock();
      call.Resume(Verdict::kPass);
      mu_.Lock();
    }
  }

  const DelayOptions options_;
  const Clock* const clock_;
  PhaseDice requests_;
  PhaseDice replies_;

  mutable Mutex mu_;
  CondVar changed_;
  Kept kept_ ABSL_GUARDED_BY(mu_);
  uint64_t kept_in_all_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t passed_at_once_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

class DelayKind : public FilterKind {
 public:
  std::string_view name() const override { return "delay"; }
  std::string_view help() const override {
    return "Makes some calls take longer, before or after the servant has done its work. Calls "
           "that are kept hold no thread. The nth request is kept or not, and for how long, by the "
           "seed and n alone, and so is the nth reply.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    constexpr Nanos kMost = 3600 * kSecond;
    ParameterReader read(*this, parameters);
    DelayOptions options;
    options.time = read.Duration("time", 0, kMost);
    options.jitter = read.Duration("jitter", 0, kMost);
    options.probability = read.Number("probability", 0, 1);
    options.seed = static_cast<uint64_t>(read.Integer("seed", 0, INT64_MAX));
    options.most = static_cast<size_t>(read.Integer("most", 1, 1'000'000));
    if (!read.ok()) return read.status();
    return std::make_unique<DelayFilter>(options, context.clock);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "hold",
       .phase = Phase::kUp,
       .reads = Reads::kNothing,
       .help = "keeps requests; the servant sees them later"},
      {.name = "hold_reply",
       .phase = Phase::kDown,
       .reads = Reads::kNothing,
       .help = "keeps replies; the caller sees them later"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "time",
       .value = "TIME",
       .required = true,
       .example = "100ms",
       .help = "how long (0s to 1h)"},
      {.name = "jitter",
       .value = "TIME",
       .otherwise = "0s",
       .help = "up to so much longer, evenly spread (0s to 1h)"},
      {.name = "probability",
       .value = "P",
       .otherwise = "1",
       .help = "how many are kept, from 0 (none) to 1 (all)"},
      {.name = "seed",
       .value = "N",
       .otherwise = "0",
       .help = "which ones, and their jitter (0 to 9223372036854775807)"},
      {.name = "most",
       .value = "N",
       .otherwise = "10000",
       .help = "calls kept at a time; further ones pass at once (1 to 1000000)"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewDelayKind() { return std::make_unique<DelayKind>(); }

}  // namespace weir::filters
