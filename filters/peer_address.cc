#include "filters/peer_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/strings.h"

namespace weir::filters {
namespace {

using Kind = PeerAddress::Kind;

constexpr std::string_view kUnixName = "unix";
constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMappedBits = 96;

std::optional<uint32_t> ParseNumber(std::string_view digits) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// As inet_pton takes it, four numbers without leading zeros, but in a quarter of its time: calls
// wait for it.
bool ParseIpv4(std::string_view text, uint8_t* octets) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) return false;
      text.remove_prefix(1);
    }
    uint32_t value = 0;
    size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      if (digits == 3 || (digits > 0 && value == 0)) return false;
      value = value * 10 + (text[digits] - '0');
    }
    if (digits == 0 || value > 255) return false;
    octets[i] = static_cast<uint8_t>(value);
    text.remove_prefix(digits);
  }
  return text.empty();
}

// An address without port, brackets and zone. Mapped addresses stay IPv6.
PeerAddress ParseIp(std::string_view text) {
  PeerAddress address;
  if (ParseIpv4(text, address.ip.data())) {
    address.kind = Kind::kIpv4;
    return address;
  }
  address.ip = {};
  char ended[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof ended || text.find('\0') != std::string_view::npos) return address;
  text.copy(ended, text.size());
  ended[text.size()] = '\0';
  if (inet_pton(AF_INET6, ended, address.ip.data()) == 1) {
    address.kind = Kind::kIpv6;
  }
  return address;
}

bool IsMapped(const PeerAddress& address) {
  return address.kind == Kind::kIpv6 &&
         std::equal(kMapped.begin(), kMapped.end(), address.ip.begin());
}

PeerAddress Unmapped(const PeerAddress& address) {
  PeerAddress ipv4{.kind = Kind::kIpv4};
  std::copy(address.ip.begin() + kMapped.size(), address.ip.end(), ipv4.ip.begin());
  return ipv4;
}

// The first `bits` bits are the same.
bool SamePrefix(const uint8_t* a, const uint8_t* b, int bits) {
  if (std::memcmp(a, b, bits / 8) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

PeerAddress ParseUnix(std::string_view rest) {
  PeerAddress address{.kind = Kind::kUnix};
  if (rest.empty()) return address;
  constexpr std::string_view kPid = ":pid=", kUid = ",uid=";
  const size_t at = rest.find(kUid);
  if (!rest.starts_with(kPid) || at == std::string_view::npos) return {};
  address.pid = ParseNumber(rest.substr(kPid.size(), at - kPid.size()));
  address.uid = ParseNumber(rest.substr(at + kUid.size()));
  return address.pid.has_value() && address.uid.has_value() ? address : PeerAddress();
}

}  // namespace

PeerAddress ParsePeerAddress(std::string_view text) {
  if (text.starts_with(kUnixName)) return ParseUnix(text.substr(kUnixName.size()));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = text.substr(0, colon);
  if (!host.starts_with('[')) {
    const PeerAddress address = ParseIp(host);
    return address.kind == Kind::kIpv4 ? address : PeerAddress();
  }
  if (!host.ends_with(']')) return {};
  host = host.substr(1, host.size() - 2);
  const PeerAddress address = ParseIp(host.substr(0, host.find('%')));
  if (address.kind != Kind::kIpv6) return {};
  return IsMapped(address) ? Unmapped(address) : address;
}

absl::StatusOr<PeerRange> PeerRange::Parse(std::string_view text) {
  PeerRange range;
  if (text == kUnixName) {
    range.base_.kind = Kind::kUnix;
    return range;
  }
  constexpr std::string_view kUid = "unix:uid=";
  if (text.starts_with(kUid)) {
    range.base_.kind = Kind::kUnix;
    range.base_.uid = ParseNumber(text.substr(kUid.size()));
    if (range.base_.uid.has_value()) return range;
    return absl::InvalidArgumentError(
        StrCat("'", Escape(text), "' has no user's number; write it as unix:uid=1000"));
  }
  const size_t slash = text.find('/');
  range.base_ = ParseIp(text.substr(0, slash));
  if (range.base_.kind == Kind::kUnknown) {
    return absl::InvalidArgumentError(
        StrCat("'", Escape(text),
               "' is no range of peers; there are 10.0.0.0/8, 10.0.0.7, fd00::/8, ::1, unix and "
               "unix:uid=1000"));
  }
  const int bits = range.base_.kind == Kind::kIpv4 ? 32 : 128;
  range.prefix_ = bits;
  if (slash != std::string_view::npos) {
    const std::optional<uint32_t> prefix = ParseNumber(text.substr(slash + 1));
    if (!prefix.has_value() || *prefix > static_cast<uint32_t>(bits)) {
      return absl::InvalidArgumentError(
          StrCat("'", Escape(text), "' must end in a number of bits from /0 to /", bits));
    }
    range.prefix_ = static_cast<int>(*prefix);
  }
  for (int bit = range.prefix_; bit < bits; ++bit) {
    if ((range.base_.ip[bit / 8] >> (7 - bit % 8) & 1) == 0) continue;
    return absl::InvalidArgumentError(StrCat("'", Escape(text), "' has bits set behind the first ",
                                             range.prefix_,
                                             "; set them to 0, or write another number of bits"));
  }
  if (IsMapped(range.base_) && range.prefix_ >= kMappedBits) {
    range.base_ = Unmapped(range.base_);
    range.prefix_ -= kMappedBits;
  }
  return range;
}

std::string PeerRange::Canonical() const {
  if (base_.kind == Kind::kUnix) {
    return base_.uid.has_value() ? StrCat(kUnixName, ":uid=", *base_.uid) : std::string(kUnixName);
  }
  const bool ipv4 = base_.kind == Kind::kIpv4;
  char text[INET6_ADDRSTRLEN];
  inet_ntop(ipv4 ? AF_INET : AF_INET6, base_.ip.data(), text, sizeof text);
  return prefix_ == (ipv4 ? 32 : 128) ? std::string(text) : StrCat(text, "/", prefix_);
}

bool PeerRange::Contains(const PeerAddress& peer, bool if_unknown) const {
  if (peer.kind != base_.kind || peer.kind == Kind::kUnknown) return false;
  if (peer.kind != Kind::kUnix) return SamePrefix(peer.ip.data(), base_.ip.data(), prefix_);
  if (!base_.uid.has_value()) return true;
  return peer.uid.has_value() ? *peer.uid == *base_.uid : if_unknown;
}

}  // namespace weir::filters
