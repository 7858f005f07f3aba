#include "filters/builtin/cache.h"

#include <atomic>
#include <string>

#include "base/strings.h"
#include "filters/builtin/reply_cache.h"
#include "filters/builtin/thread_counters.h"
#include "filters/escape.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

// Whether the call is one that may be answered so. Of one that a filter has sent to another object,
// key and server are not what the question was.
bool MayBeKept(const orb::Call& call) {
  const orb::Request& request = call.request();
  return request.response_expected && request.body.alignment == 0 &&
         request.body.restarts.count == 0 && !call.redirected();
}

CacheQuestion QuestionOf(const orb::Call& call) {
  const orb::Request& request = call.request();
  return {.object_key = request.object_key,
          .operation = request.operation,
          .body = request.body.bytes,
          .order = request.body.order,
          .code_sets = call.code_sets(),
          .giop_1_1 = request.minor == orb::GiopMinor::k1};
}

class CacheFilter : public Filter {
 public:
  CacheFilter(const ReplyCache::Limits& limits, const Clock* clock)
      : cache_(limits), clock_(clock) {}

  Verdict Up(int, orb::Call& call) override {
    if (!MayBeKept(call)) return Verdict::kPass;
    const std::shared_ptr<const CacheAnswer> answer = cache_.Find(QuestionOf(call), clock_->Now());
    counters_.Add(answer != nullptr ? kHits : kMisses);
    if (answer == nullptr) return Verdict::kPass;
    call.NewBody().WriteOctets(answer->bytes);
    call.SetResult();
    call.reply().body.order = answer->order;
    call.reply().body.alignment = answer->alignment;
    return Verdict::kBounce;
  }

  Verdict Down(int, orb::Call& call) override {
    const orb::Reply& reply = call.reply();
    // What was asked before the cache was told to forget may be what it was to forget.
    const Nanos began = call.gate_state().began;
    const auto still_good = [&] {
      return began == 0 || began > forgot_.load(std::memory_order_acquire);
    };
    if (MayBeKept(call) && reply.status == orb::ReplyStatus::kNoException &&
        reply.contexts.empty() && reply.body.restarts.count == 0 &&
        cache_.Store(QuestionOf(call), reply.body.bytes, reply.body.order, reply.body.alignment,
                     clock_->Now(), still_good)) {
      counters_.Add(kStored);
    }
    return Verdict::kPass;
  }

  absl::StatusOr<std::string> Tell(std::string_view, const FilterParameters& parameters) override {
    const auto text = [&](const char* name) {
      const auto it = parameters.find(name);
      return it != parameters.end() ? std::string_view(it->second) : std::string_view();
    };
    const absl::StatusOr<std::string> key = UnescapeKey(text("key"));
    if (!key.ok()) return key.status();
    forgot_.store(clock_->Now(), std::memory_order_release);
    const size_t forgotten = cache_.Forget(*key, text("operation"));
    return StrCat("forgot ", forgotten, forgotten == 1 ? " result" : " results");
  }

  std::vector<FilterCounter> Counters() const override {
    const auto sum = counters_.Sum();
    const ReplyCache::Size size = cache_.size();
    return {{"", "hits", sum[kHits]},      {"", "misses", sum[kMisses]},
            {"", "stored", sum[kStored]},  {"", "evicted", size.evicted},
            {"", "entries", size.entries}, {"", "bytes", size.bytes}};
  }

 private:
  enum Counter : size_t { kHits, kMisses, kStored };

  ReplyCache cache_;
  const Clock* const clock_;
  std::atomic<Nanos> forgot_{0};
  ThreadCounters<3> counters_;
};

class CacheKind : public FilterKind {
 public:
  std::string_view name() const override { return "cache"; }
  std::string_view help() const override {
    return "Keeps results and answers equal requests with them. Map lookup and store to the same "
           "operations, and only to such whose result depends on nothing but object, operation "
           "and arguments. Service contexts and the caller's identity are ignored: plug what "
           "refuses callers or changes requests with a lower --priority, so that it runs before. "
           "Exceptions, replies "
           "with service contexts, oneways and calls that a filter has redirected are not kept. "
           "`weir tell PLUG forget` empties it; what "
           "was asked before is not kept afterwards, either.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }
  absl::Span<const CommandInfo> commands() const override { return commands_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    ParameterReader read(*this, parameters);
    const ReplyCache::Limits limits = {
        .ttl = read.Duration("ttl", kMillisecond, 24 * 3600 * kSecond),
        .max_bytes = static_cast<size_t>(read.Integer("max_bytes", 1024, int64_t{1} << 30)),
        .max_entries = static_cast<size_t>(read.Integer("max_entries", 1, 1'000'000))};
    if (!read.ok()) return read.status();
    return std::make_unique<CacheFilter>(limits, context.clock);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "lookup",
       .phase = Phase::kUp,
       .reads = Reads::kBody,
       .help = "answers with a kept result, if there is one"},
      {.name = "store",
       .phase = Phase::kDown,
       .reads = Reads::kBody,
       .timed = true,
       .help = "keeps the result"},
  };
  const std::vector<CommandInfo> commands_ = {
      {.name = "forget",
       .parameters = {{.name = "key",
                       .value = "KEY",
                       .help = "only results of this object, with %XX for bytes that are no text"},
                      {.name = "operation", .value = "NAME", .help = "only results of this one"}},
       .help = "forgets results: all of them, or those of an object or operation"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "ttl",
       .value = "TIME",
       .otherwise = "30s",
       .example = "5s",
       .help = "how long a result is good (1ms to 24h)"},
      {.name = "max_bytes",
       .value = "N",
       .otherwise = "67108864",
       .help = "octets of requests and results that are kept (1024 to 1073741824), and 256 for "
               "each"},
      {.name = "max_entries",
       .value = "N",
       .otherwise = "10000",
       .help = "results that are kept (1 to 1000000)"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewCacheKind() { return std::make_unique<CacheKind>(); }

}  // namespace weir::filters
