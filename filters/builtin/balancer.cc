#include "filters/builtin/balancer.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "filters/builtin/destination.h"
#include "filters/parameters.h"
#include "filters/peer_address.h"

namespace weir::filters {
namespace {

constexpr size_t kMostObjects = 256;

enum class By : uint8_t { kRoundRobin, kPeer };

// Whether the reply says that nobody was reached.
bool NotReached(const orb::Reply& reply) {
  if (reply.status != orb::ReplyStatus::kSystemException) return false;
  cdr::Decoder in = reply.body.decoder();
  switch (static_cast<orb::WeirMinor>(orb::DecodeSystemException(&in).minor)) {
    case orb::WeirMinor::kConnectFailed:
    case orb::WeirMinor::kNameLookupFailed:
    case orb::WeirMinor::kConnectTimeout:
    case orb::WeirMinor::kConnectionLost:
    case orb::WeirMinor::kCallTimeout:
      return true;
    default:
      return false;
  }
}

class BalancerFilter : public Filter {
 public:
  BalancerFilter(std::vector<Destination> to, By by, Nanos aside, const Clock* clock)
      : by_(by), aside_(aside), clock_(clock), objects_(to.size()) {
    for (size_t i = 0; i < to.size(); ++i) objects_[i].to = std::move(to[i]);
  }

  Verdict Up(int, orb::Call& call) override {
    // A plug that covers the objects, too, is asked again about the one that it has chosen.
    if (call.redirected() && WhereSent(call) != nullptr) return Verdict::kPass;
    Object& object = objects_[by_ == By::kPeer ? ChooseByPeer(call) : ChooseNext()];
    object.sent.fetch_add(1, std::memory_order_relaxed);
    if (object.to.IsWhere(call)) return Verdict::kPass;
    const Verdict verdict = object.to.Send(&call);
    const void* const target = call.elsewhere().get();
    if (object.target.load(std::memory_order_relaxed) != target) {
      object.target.store(target, std::memory_order_relaxed);
    }
    return verdict;
  }

  Verdict Down(int, orb::Call& call) override {
    if (!NotReached(call.reply())) return Verdict::kPass;
    if (Object* const object = WhereSent(call)) {
      object->aside_until.store(clock_->Now() + aside_, std::memory_order_relaxed);
      object->put_aside.fetch_add(1, std::memory_order_relaxed);
    }
    return Verdict::kPass;
  }

  std::vector<FilterCounter> Counters() const override {
    std::vector<FilterCounter> counters;
    for (const Object& object : objects_) {
      counters.push_back({"", StrCat("sent ", object.to.text()), object.sent.load()});
      if (const uint64_t n = object.put_aside.load(); n != 0) {
        counters.push_back({"", StrCat("put_aside ", object.to.text()), n});
      }
    }
    return counters;
  }

 private:
  struct alignas(64) Object {
    Destination to;
    std::atomic<const void*> target{nullptr};  // what the reference was resolved to last
    std::atomic<Nanos> aside_until{0};
    std::atomic<uint64_t> sent{0};
    std::atomic<uint64_t> put_aside{0};
  };

  // The object that the call is for now, or null.
  Object* WhereSent(const orb::Call& call) {
    for (Object& object : objects_) {
      // Several references may have the same key.
      if (object.to.WasSent(call) &&
          object.target.load(std::memory_order_relaxed) == call.elsewhere().get()) {
        return &object;
      }
    }
    return nullptr;
  }

  bool IsAside(const Object& object, Nanos* now) const {
    const Nanos until = object.aside_until.load(std::memory_order_relaxed);
    if (until == 0) return false;
    if (*now == 0) *now = clock_->Now();
    return *now < until;
  }

  size_t ChooseNext() {
    const uint64_t first = next_.fetch_add(1, std::memory_order_relaxed);
    Nanos now = 0;
    for (size_t i = 0; i < objects_.size(); ++i) {
      const size_t index = (first + i) % objects_.size();
      if (!IsAside(objects_[index], &now)) return index;
    }
    return first % objects_.size();
  }

  // Each peer has an order of preference of its own (rendezvous hashing: Thaler, Ravishankar, Using
  // name-based mappings to increase hit rates, 1998), so that the peers of an object that is passed
  // over spread over all the others.
  size_t ChooseByPeer(const orb::Call& call) const {
    const PeerAddress peer = ParsePeerAddress(call.peer().address);
    Nanos now = 0;
    size_t best = 0, best_of_all = 0;
    uint64_t most = 0, most_of_all = 0;
    bool found = false;
    for (size_t i = 0; i < objects_.size(); ++i) {
      const uint64_t weight =
          absl::HashOf(static_cast<int>(peer.kind), peer.ip, peer.uid.value_or(0), i);
      if (i == 0 || weight > most_of_all) {
        most_of_all = weight;
        best_of_all = i;
      }
      if ((!found || weight > most) && !IsAside(objects_[i], &now)) {
        most = weight;
        best = i;
        found = true;
      }
    }
    return found ? best : best_of_all;
  }

  const By by_;
  const Nanos aside_;
  const Clock* const clock_;
  std::vector<Object> objects_;
  std::atomic<uint64_t> next_{0};
};

class BalancerKind : public FilterKind {
 public:
  std::string_view name() const override { return "balancer"; }
  std::string_view help() const override {
    return "Spreads calls over several objects, of the same server or of any other. With its down "
           "method it passes over those that could not be reached for a while.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    ParameterReader read(*this, parameters);
    std::vector<Destination> to;
    for (const absl::string_view text :
         absl::StrSplit(ToAbsl(read.Text("to")), ' ', absl::SkipEmpty())) {
      absl::StatusOr<Destination> one = Destination::Parse(ToStd(text));
      if (!one.ok()) {
        read.Fail("to", StrCat("'", Escape(ToStd(text).substr(0, 100)),
                               "': ", ToStd(one.status().message())));
        break;
      }
      to.push_back(*std::move(one));
    }
    if (to.empty() || to.size() > kMostObjects) {
      read.Fail("to", "it must be 1 to 256 keys and references with spaces between");
    }
    const auto by = static_cast<By>(read.Choice("by", {"round-robin", "peer"}));
    const Nanos aside = read.Duration("aside", 0, 3600 * kSecond);
    if (!read.ok()) return read.status();
    return std::make_unique<BalancerFilter>(std::move(to), by, aside, context.clock);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "balance",
       .phase = Phase::kUp,
       .reads = Reads::kHeader,
       .changes = true,
       .help = "sends the call to one of the objects"},
      {.name = "watch",
       .phase = Phase::kDown,
       .reads = Reads::kBody,
       .help = "has objects that could not be reached passed over for a while"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "to",
       .value = "'OBJECT OBJECT...'",
       .required = true,
       .example = "'corbaloc::1.2@a:2809/Bank corbaloc::1.2@b:2809/Bank'",
       .help = "the objects, with spaces between: keys of this server, or references"},
      {.name = "by",
       .value = "round-robin|peer",
       .otherwise = "round-robin",
       .help = "one after the other; or the same one for calls of the same peer"},
      {.name = "aside",
       .value = "TIME",
       .otherwise = "5s",
       .help = "how long an object is passed over that could not be reached (0s to 1h)"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewBalancerKind() { return std::make_unique<BalancerKind>(); }

}  // namespace weir::filters
