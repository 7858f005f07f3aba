#include "filters/builtin/rate_limit.h"

#include <cmath>

#include "absl/hash/hash.h"
#include "base/strings.h"
#include "filters/builtin/fixed_exception.h"
#include "filters/builtin/rate_buckets.h"
#include "filters/builtin/thread_counters.h"
#include "filters/parameters.h"
#include "filters/peer_address.h"

namespace weir::filters {
namespace {

enum class Per : uint8_t { kAll, kPeer, kOperation };

uint64_t HashOf(const PeerAddress& peer) {
  return absl::HashOf(static_cast<int>(peer.kind), peer.ip, peer.uid.value_or(0));
}

class RateLimitFilter : public Filter {
 public:
  RateLimitFilter(Nanos interval, int64_t burst, Per per, size_t buckets,
                  orb::ExceptionId exception, const Clock* clock)
      : per_(per),
        clock_(clock),
        exception_(exception),
        buckets_(interval, burst, per == Per::kAll ? 0 : buckets) {}

  Verdict Up(int, orb::Call& call) override {
    if (Take(call)) {
      counters_.Add(kPassed);
      return Verdict::kPass;
    }
    counters_.Add(kRefused);
    exception_.Set(orb::Completion::kNo, &call);
    return Verdict::kBounce;
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

  std::vector<FilterCounter> Counters() const override {
    const auto sum = counters_.Sum();
    return {
        {"", "passed", sum[kPassed]}, {"", "refused", sum[kRefused]}, {"", "shared", sum[kShared]}};
  }

 private:
  enum Counter : size_t { kPassed, kRefused, kShared };

  bool Take(const orb::Call& call) {
    const Nanos now = clock_->Now();
    if (per_ == Per::kAll) return buckets_.TakeShared(now);
    const uint64_t hash = per_ == Per::kPeer
                              ? HashOf(ParsePeerAddress(call.peer().address))
                              : absl::Hash<absl::string_view>()(ToAbsl(call.request().operation));
    bool shared = false;
    const bool taken = buckets_.Take(hash, now, &shared);
    if (shared) counters_.Add(kShared);
    return taken;
  }

  const Per per_;
  const Clock* const clock_;
  const FixedException exception_;
  RateBuckets buckets_;
  ThreadCounters<3> counters_;
};

class RateLimitKind : public FilterKind {
 public:
  std::string_view name() const override { return "rate-limit"; }
  std::string_view help() const override {
    return "Refuses calls that come faster than a rate, with token buckets. There is one bucket "
           "for all calls that meet the filter, or one for each peer (a host, or the user at the "
           "other end of a Unix socket) or operation. If more peers or operations call at a time "
           "than there are buckets, the further ones share one. Callers may invent operations: "
           "with per=operation map the method to the operations that there are, not to '*'.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    constexpr int64_t kMaxBurst = 1'000'000;
    ParameterReader read(*this, parameters);
    const double rate = read.Number("rate", 0.001, 1e6);
    const int64_t burst = read.Has("burst")
                              ? read.Integer("burst", 1, kMaxBurst)
                              : std::max<int64_t>(1, static_cast<int64_t>(std::ceil(rate)));
    const auto per = static_cast<Per>(read.Choice("per", {"all", "peer", "operation"}));
    const int64_t buckets = read.Integer("buckets", 1, 65536);
    const orb::ExceptionId exception = read.Exception("exception");
    if (!read.ok()) return read.status();
    return std::make_unique<RateLimitFilter>(std::llround(kSecond / rate), burst, per,
                                             static_cast<size_t>(buckets), exception,
                                             context.clock);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "limit",
       .phase = Phase::kUp,
       .reads = Reads::kHeader,
       .help = "refuses what is too fast"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "rate",
       .value = "N",
       .required = true,
       .example = "100",
       .help = "calls a second (0.001 to 1000000)"},
      {.name = "burst",
       .value = "N",
       .help = "how many may come at once after a quiet time (1 to 1000000); unless set, those of "
               "one second, at least 1"},
      {.name = "per",
       .value = "all|peer|operation",
       .otherwise = "all",
       .example = "peer",
       .help = "what has a bucket of its own"},
      {.name = "buckets",
       .value = "N",
       .otherwise = "4096",
       .help = "how many peers or operations have one at a time (1 to 65536)"},
      {.name = "exception",
       .value = "NAME",
       .otherwise = "TRANSIENT",
       .help = "the system exception that refused callers get"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewRateLimitKind() { return std::make_unique<RateLimitKind>(); }

}  // namespace weir::filters
