// Who a peer is, out of the text that transports name it by, and the ranges that people write in
// lists of peers.
//
// An IPv4 address is one however it comes: "::ffff:10.0.0.7" is 10.0.0.7, and a range that begins
// so is one of IPv4. A range of IPv6, "::/0" included, holds no IPv4 address.
//
// Thread safety: values and pure functions.

#ifndef WEIR_FILTERS_PEER_ADDRESS_H_
#define WEIR_FILTERS_PEER_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::filters {

struct PeerAddress {
  enum class Kind : uint8_t { kUnknown, kIpv4, kIpv6, kUnix };

  Kind kind = Kind::kUnknown;
  std::array<uint8_t, 16> ip{};  // of IPv4 the first 4; the others are 0
  std::optional<uint32_t> uid;   // of kUnix, if the system told; so is the next one
  std::optional<uint32_t> pid;   // 0 for a process that this one cannot see

  bool operator==(const PeerAddress&) const = default;
};

// Reads "10.0.0.7:40112", "[::1]:4", "unix:pid=4711,uid=0" and "unix", as orb::Peer::address has
// them; anything else is kUnknown. Allocates nothing.
PeerAddress ParsePeerAddress(std::string_view address);

class PeerRange {
 public:
  // "10.0.0.0/8", "10.0.0.7", "fd00::/8", "::1", "unix", "unix:uid=1000". INVALID_ARGUMENT says
  // what is wrong with it.
  static absl::StatusOr<PeerRange> Parse(std::string_view text);

  // The one spelling that equal ranges share; Parse reads it back.
  std::string Canonical() const;

  // `if_unknown` is the answer for a Unix peer of unknown uid where the range asks for one.
  bool Contains(const PeerAddress& peer, bool if_unknown) const;

 private:
  PeerAddress base_;
  int prefix_ = 0;  // bits of base_.ip that count
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_PEER_ADDRESS_H_
