#include "filters/outgoing/repeater.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "filters/builtin/destination.h"
#include "filters/parameters.h"
#include "orb/core/code_sets.h"

namespace weir::filters {
namespace {

constexpr size_t kMostObjects = 16;
// Octets of the bodies of a filter's copies in flight. Stops a peer that sends large requests from
// filling the memory while an object does not answer.
constexpr int64_t kMostBytes = 64 << 20;

// What copies and their filter share: a copy may be under way when its filter goes.
struct Tally {
  std::atomic<uint64_t> sent{0}, answered{0}, failed{0}, left_out{0};
  std::atomic<int64_t> in_flight{0}, bytes{0};
};

// A request of its own. Deletes itself when it is over.
class Copy : public orb::Invocation {
 public:
  Copy(const orb::Call& call, std::shared_ptr<Tally> tally)
      : tally_(std::move(tally)),
        operation_(call.request().operation),
        principal_(call.request().principal),
        body_(call.request().body.bytes) {
    const orb::Request& original = call.request();
    message_.operation = operation_;
    message_.principal = principal_;
    message_.response_expected = original.response_expected;
    message_.minor = original.minor;
    message_.body.bytes = body_;
    message_.body.order = original.body.order;
    message_.body.alignment = original.body.alignment;
    message_.body.restarts = original.body.restarts;
    // The restarts are in there.
    if (original.body.restarts.count != 0) message_.body.block = original.body.block;
    contexts_.reserve(original.contexts.size());
    for (const orb::ServiceContext& c : original.contexts) {
      message_.contexts.push_back({c.id, contexts_.emplace_back(c.data)});
    }
    if (call.code_sets().told() && !orb::TellsCodeSets(message_.contexts)) {
      code_sets_ = orb::CodeSetsData(call.code_sets());
      message_.contexts.push_back({orb::kCodeSetsContext, code_sets_.view()});
    }
    // Copies of one connection's calls go the same way, and so keep their order.
    affinity = reinterpret_cast<uintptr_t>(&call.peer()) / 64;
    hurried = true;  // this thread has a call to carry
    request = &message_;
  }

  void Start(orb::Orb* orb, const std::shared_ptr<orb::Target>& to, Nanos deadline) {
    message_.deadline = deadline;
    // As a forwarder: what GIOP 1.1 has fragmented cannot be sent on in another version.
    if (message_.minor == orb::GiopMinor::k2 && to->reference().giop_minor == 1) {
      message_.minor = orb::GiopMinor::k0;
    }
    orb->invoker().Start(to, this);
  }

 private:
  void Done() override {
    const bool answered = status.ok() && reply.status != orb::ReplyStatus::kSystemException;
    (answered ? tally_->answered : tally_->failed).fetch_add(1, std::memory_order_relaxed);
    tally_->in_flight.fetch_sub(1, std::memory_order_relaxed);
    tally_->bytes.fetch_sub(static_cast<int64_t>(body_.size()), std::memory_order_relaxed);
    delete this;
  }

  const std::shared_ptr<Tally> tally_;
  const std::string operation_, principal_, body_;
  std::vector<std::string> contexts_;
  orb::CodeSetsData code_sets_;
  orb::Request message_;
};

class RepeaterFilter : public Filter {
 public:
  RepeaterFilter(std::vector<std::string> to, Nanos timeout, int64_t most, const Clock* clock,
                 OrbHandle* orb)
      : to_(std::move(to)), timeout_(timeout), most_(most), clock_(clock), orb_(orb) {}

  Verdict Up(int, orb::Call& call) override {
    for (const std::string& reference : to_) Repeat(reference, call);
    return Verdict::kPass;
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

  std::vector<FilterCounter> Counters() const override {
    return {{"", "sent", tally_->sent.load()},
            {"", "answered", tally_->answered.load()},
            {"", "failed", tally_->failed.load()},
            {"", "left_out", tally_->left_out.load()},
            {"", "in_flight", static_cast<uint64_t>(tally_->in_flight.load())}};
  }

 private:
  void Repeat(const std::string& reference, const orb::Call& call) {
    const auto size = static_cast<int64_t>(call.request().body.bytes.size());
    const bool many = tally_->in_flight.fetch_add(1, std::memory_order_relaxed) >= most_;
    const bool large = tally_->bytes.fetch_add(size, std::memory_order_relaxed) + size > kMostBytes;
    if (many || large) {
      Return(size);
      tally_->left_out.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    tally_->sent.fetch_add(1, std::memory_order_relaxed);
    bool started = false;
    orb_->With([&](orb::Orb* orb) {
      const auto target = orb->invoker().targets().Find(reference);
      if (!target.ok()) return;
      started = true;
      (new Copy(call, tally_))->Start(orb, *target, clock_->Now() + timeout_);
    });
    if (started) return;
    tally_->failed.fetch_add(1, std::memory_order_relaxed);
    Return(size);
  }
  // A copy that is not sent takes no room.
  void Return(int64_t size) {
    tally_->in_flight.fetch_sub(1, std::memory_order_relaxed);
    tally_->bytes.fetch_sub(size, std::memory_order_relaxed);
  }

  const std::vector<std::string> to_;
  const Nanos timeout_;
  const int64_t most_;
  const Clock* const clock_;
  OrbHandle* const orb_;
  const std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
};

class RepeaterKind : public FilterKind {
 public:
  explicit RepeaterKind(OrbHandle* orb) : orb_(orb) {}

  std::string_view name() const override { return "repeater"; }
  std::string_view help() const override {
    return "Repeats requests to other objects, to shadow a server with its next version or to keep "
           "a stand-by up to date. What they answer is counted, and changes nothing for the "
           "caller, who does not wait for it.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    ParameterReader read(*this, parameters);
    std::vector<std::string> to = absl::StrSplit(ToAbsl(read.Text("to")), ' ', absl::SkipEmpty());
    for (const std::string& text : to) {
      const absl::StatusOr<Destination> one = Destination::Parse(text);
      if (one.ok() && one->elsewhere()) continue;
      read.Fail("to", StrCat("'", Escape(std::string_view(text).substr(0, 100)), "': ",
                             one.ok() ? "it must be a reference, corbaloc:... or IOR:..."
                                      : ToStd(one.status().message())));
    }
    if (to.empty() || to.size() > kMostObjects) {
      read.Fail("to", "it must be 1 to 16 references with spaces between");
    }
    const Nanos timeout = read.Duration("timeout", kMillisecond, 3600 * kSecond);
    const int64_t most = read.Integer("most", 1, 1'000'000);
    if (!read.ok()) return read.status();
    return std::make_unique<RepeaterFilter>(std::move(to), timeout, most, context.clock, orb_);
  }

 private:
  OrbHandle* const orb_;
  const std::vector<MethodInfo> methods_ = {
      {.name = "repeat",
       .phase = Phase::kUp,
       .reads = Reads::kBody,
       .help = "sends copies of the request"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "to",
       .value = "'REFERENCE REFERENCE...'",
       .required = true,
       .example = "corbaloc::1.2@shadow:2809/Bank",
       .help = "the other objects, with spaces between"},
      {.name = "timeout",
       .value = "TIME",
       .otherwise = "5s",
       .help = "how long a copy may take (1ms to 1h)"},
      {.name = "most",
       .value = "N",
       .otherwise = "1000",
       .help = "copies in flight; further ones are left out (1 to 1000000)"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewRepeaterKind(OrbHandle* orb) {
  return std::make_unique<RepeaterKind>(orb);
}

}  // namespace weir::filters
