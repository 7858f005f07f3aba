#include "filters/condition.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr size_t kMaxOperation = 255;
// More would be compared with what a peer sends, at each call.
constexpr size_t kMaxOctets = 256;

std::optional<uint32_t> ParseNumber(std::string_view text, int base) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> ParseHex(std::string_view text) {
  const bool good = !text.empty() && text.size() % 2 == 0 && text.size() <= 2 * kMaxOctets &&
                    std::all_of(text.begin(), text.end(),
                                [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (!good) return std::nullopt;
  return absl::HexStringToBytes(ToAbsl(text));
}

// Takes `end` off the end of `*text`.
bool TakeEnd(std::string_view* text, char end) {
  if (!text->ends_with(end)) return false;
  text->remove_suffix(1);
  return true;
}

}  // namespace

// Fills in Conditions, one after the other.
class ConditionParser {
 public:
  explicit ConditionParser(Conditions* out) : out_(out) {}

  // INVALID_ARGUMENT; the caller adds which condition it is.
  absl::Status Parse(std::string_view condition) {
    const size_t equals = condition.find('=');
    if (equals == std::string_view::npos) return Unknown();
    std::string_view kind = condition.substr(0, equals);
    const std::string_view value = condition.substr(equals + 1);
    negated_ = TakeEnd(&kind, '!');
    if (kind == "peer") return Peer(value);
    if (kind == "identity") return Identity(value);
    if (kind == "operation") return Operation(value);
    if (kind == "context") return Context(value);
    return Unknown();
  }

 private:
  static absl::Status Unknown() {
    return absl::InvalidArgumentError(
        "there are peer=10.0.0.0/8, identity=uid:1000, operation=get_* and context=0x41434d45, "
        "each also with != in place of =");
  }

  absl::Status Peer(std::string_view value) {
    absl::StatusOr<PeerRange> range = PeerRange::Parse(value);
    if (!range.ok()) return range.status();
    const std::string canonical = range->Canonical();
    // One way to say it, and the kind makes a difference: kinds must all hold.
    if (value.starts_with("unix:")) {
      return absl::InvalidArgumentError("a user is written as identity=uid:1000");
    }
    Add(&out_->call.peers_, *std::move(range), "peer", canonical);
    return absl::OkStatus();
  }

  absl::Status Identity(std::string_view value) {
    using Kind = CallConditions::Identity::Kind;
    const size_t colon = value.find(':');
    const std::string_view kind = value.substr(0, colon);
    std::optional<uint32_t> number;
    if (colon != std::string_view::npos && (kind == "uid" || kind == "pid")) {
      number = ParseNumber(value.substr(colon + 1), 10);
    }
    if (!number.has_value()) {
      return absl::InvalidArgumentError("an identity is uid:1000 or pid:4711");
    }
    Add(&out_->call.identities_,
        CallConditions::Identity{kind == "uid" ? Kind::kUid : Kind::kPid, *number}, "identity",
        StrCat(kind, ":", *number));
    return absl::OkStatus();
  }

  absl::Status Operation(std::string_view value) {
    const std::string canonical(value);
    const bool prefix = TakeEnd(&value, '*');
    const bool good = !value.empty() && value.size() <= kMaxOperation &&
                      std::all_of(value.begin(), value.end(), [](unsigned char c) {
                        return absl::ascii_isgraph(c) && c != '*';
                      });
    if (!good) {
      return absl::InvalidArgumentError(
          "an operation is its IDL name, for example resolve or _get_balance, or the beginning of "
          "one and '*'");
    }
    Add(&out_->operations, OperationPattern{std::string(value), prefix}, "operation", canonical);
    return absl::OkStatus();
  }

  absl::Status Context(std::string_view value) {
    const size_t colon = value.find(':');
    std::string_view number = value.substr(0, colon);
    const bool hex = number.starts_with("0x") || number.starts_with("0X");
    if (hex) number.remove_prefix(2);
    const std::optional<uint32_t> id = ParseNumber(number, hex ? 16 : 10);
    if (!id.has_value()) {
      return absl::InvalidArgumentError(
          "a service context is its number, for example 0x41434d45 or 15");
    }
    CallConditions::Context context{*id, "", true};
    std::string canonical = absl::StrFormat("0x%08x", *id);
    if (colon != std::string_view::npos) {
      std::string_view octets = value.substr(colon + 1);
      context.prefix = TakeEnd(&octets, '*');
      std::optional<std::string> bytes = ParseHex(octets);
      if (!bytes.has_value()) {
        return absl::InvalidArgumentError(
            StrCat("a context's octets are 1 to ", kMaxOctets,
                   " pairs of hex digits, and perhaps '*' for more, as in 0x41434d45:00ff*"));
      }
      StrAppend(&canonical, ":", absl::BytesToHexString(*bytes), context.prefix ? "*" : "");
      context.octets = *std::move(bytes);
    }
    Add(&out_->call.contexts_, std::move(context), "context", canonical);
    return absl::OkStatus();
  }

  template <typename T>
  void Add(ConditionsOf<T>* to, T value, std::string_view kind, std::string_view canonical) {
    std::string text = StrCat(kind, negated_ ? "!=" : "=", canonical);
    std::vector<std::string>& all = out_->canonical;
    const auto it = std::lower_bound(all.begin(), all.end(), text);
    if (it != all.end() && *it == text) return;
    (negated_ ? to->none : to->any).push_back(std::move(value));
    all.insert(it, std::move(text));
  }

  Conditions* const out_;
  bool negated_ = false;
};

absl::StatusOr<Conditions> Conditions::Parse(const std::vector<std::string>& conditions) {
  if (conditions.size() > kMost) {
    return absl::InvalidArgumentError(StrCat("there are more than ", kMost, " conditions"));
  }
  Conditions parsed;
  ConditionParser parser(&parsed);
  for (const std::string& condition : conditions) {
    if (absl::Status status = parser.Parse(condition); !status.ok()) {
      return absl::InvalidArgumentError(
          StrCat("bad condition '", Escape(condition.substr(0, 256)), "': ", status.message()));
    }
  }
  for (const std::string& condition : parsed.canonical) {
    if (!condition.starts_with("operation")) parsed.canonical_call.push_back(condition);
  }
  return parsed;
}

bool CallConditions::Hold(const PeerAddress& peer, const orb::Request& request) const {
  return peers_.Hold([&](const PeerRange& range) { return range.Contains(peer, false); }) &&
         identities_.Hold([&](const Identity& identity) {
           return (identity.kind == Identity::Kind::kUid ? peer.uid : peer.pid) == identity.number;
         }) &&
         contexts_.Hold([&](const Context& wanted) {
           for (const orb::ServiceContext& context : request.contexts) {
             if (context.id == wanted.id && (wanted.prefix ? context.data.starts_with(wanted.octets)
                                                           : context.data == wanted.octets)) {
               return true;
             }
           }
           return false;
         });
}

PeerAddress PeerOf(const orb::Call& call) {
  PeerAddress peer = ParsePeerAddress(call.peer().address);
  // A client knows a socket's path.
  if (peer.kind == PeerAddress::Kind::kUnknown && call.peer().transport == "unix") {
    peer.kind = PeerAddress::Kind::kUnix;
  }
  return peer;
}

}  // namespace weir::filters
