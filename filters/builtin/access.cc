#include "filters/builtin/access.h"

#include <string>

#include "base/strings.h"
#include "filters/builtin/fixed_exception.h"
#include "filters/builtin/thread_counters.h"
#include "filters/parameters.h"
#include "filters/peer_address.h"

namespace weir::filters {
namespace {

// Each call is compared with each range.
constexpr size_t kMaxRanges = 256;

using Ranges = std::vector<PeerRange>;

bool Contain(const Ranges& ranges, const PeerAddress& peer, bool if_unknown) {
  for (const PeerRange& range : ranges) {
    if (range.Contains(peer, if_unknown)) return true;
  }
  return false;
}

// Nothing if it is not set.
Ranges ReadRanges(const char* name, ParameterReader* read) {
  Ranges ranges;
  if (!read->Has(name)) return ranges;
  std::string_view rest = read->Text(name);
  while (read->ok()) {
    const size_t comma = rest.find(',');
    absl::StatusOr<PeerRange> range = PeerRange::Parse(rest.substr(0, comma));
    if (!range.ok()) {
      read->Fail(name, ToStd(range.status().message()));
    } else if (ranges.size() == kMaxRanges) {
      read->Fail(name, StrCat("it may list ", kMaxRanges, " ranges at most"));
    } else {
      ranges.push_back(*range);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return ranges;
}

class AccessFilter : public Filter {
 public:
  AccessFilter(Ranges allow, Ranges deny, orb::ExceptionId exception)
      : allow_(std::move(allow)), deny_(std::move(deny)), exception_(exception) {}

  Verdict Up(int, orb::Call& call) override {
    const PeerAddress peer = ParsePeerAddress(call.peer().address);
    if (MayPass(peer)) {
      counters_.Add(kPassed);
      return Verdict::kPass;
    }
    counters_.Add(kRefused);
    if (peer.kind == PeerAddress::Kind::kUnknown) counters_.Add(kUnreadable);
    exception_.Set(orb::Completion::kNo, &call);
    return Verdict::kBounce;
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

  std::vector<FilterCounter> Counters() const override {
    const auto sum = counters_.Sum();
    return {{"", "passed", sum[kPassed]},
            {"", "refused", sum[kRefused]},
            {"", "unreadable", sum[kUnreadable]}};
  }

 private:
  enum Counter : size_t { kPassed, kRefused, kUnreadable };

  bool MayPass(const PeerAddress& peer) const {
    if (peer.kind == PeerAddress::Kind::kUnknown) return false;
    if (Contain(deny_, peer, /*if_unknown=*/true)) return false;
    return allow_.empty() || Contain(allow_, peer, /*if_unknown=*/false);
  }

  const Ranges allow_;  // empty: not given
  const Ranges deny_;
  const FixedException exception_;
  ThreadCounters<3> counters_;
};

class AccessKind : public FilterKind {
 public:
  std::string_view name() const override { return "access"; }
  std::string_view help() const override {
    return "Refuses calls by the peer's address. A peer in deny is refused; then, if allow is "
           "given, every peer that is not in it. Ranges, separated by commas: 10.0.0.0/8, "
           "10.0.0.7, fd00::/8, ::1, unix, unix:uid=1000. IPv4 peers are only in ranges of IPv4, "
           "also where they come as IPv6 (::ffff:10.0.0.7). A peer whose address cannot be read "
           "is refused.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    if (!read.Has("allow") && !read.Has("deny")) {
      read.Fail("filter 'access' needs one of the parameters 'allow' and 'deny', or both");
    }
    Ranges allow = ReadRanges("allow", &read);
    Ranges deny = ReadRanges("deny", &read);
    const orb::ExceptionId exception = read.Exception("exception");
    if (!read.ok()) return read.status();
    return std::make_unique<AccessFilter>(std::move(allow), std::move(deny), exception);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "check",
       .phase = Phase::kUp,
       .reads = Reads::kHeader,
       .help = "refuses peers that may not call"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "allow",
       .value = "RANGES",
       .example = "10.0.0.0/8,unix",
       .help = "who may call (up to 256 ranges); unless set, everybody who is not in deny"},
      {.name = "deny", .value = "RANGES", .help = "who may not call (up to 256 ranges)"},
      {.name = "exception",
       .value = "NAME",
       .otherwise = "NO_PERMISSION",
       .help = "the system exception that refused callers get"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewAccessKind() { return std::make_unique<AccessKind>(); }

}  // namespace weir::filters
