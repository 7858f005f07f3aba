// A network address as people write it, and as references carry it: "orb.example:2809",
// "127.0.0.1:0", "[::1]:2809", ":2809".
//
// Thread safety: values and pure functions.

#ifndef WEIR_BASE_HOST_PORT_H_
#define WEIR_BASE_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

struct HostPort {
  // A name or numeric address, IPv6 without brackets. Empty where none was written: what that means
  // (every interface, this host) is up to whoever asked.
  std::string host;
  uint16_t port = 0;

  bool operator==(const HostPort&) const = default;
};

// Parses "HOST:PORT". IPv6 addresses stand in brackets, with an optional %zone. The host may be
// empty. Without ":PORT" the port is `default_port`, or that is an error if none is given.
// Errors: INVALID_ARGUMENT, one line that says what is wrong and shows what is right.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text,
                                       std::optional<uint16_t> default_port = std::nullopt);

// 0..65535 in decimal digits, at most five, and nothing else.
std::optional<uint16_t> ParsePort(std::string_view digits);

// Whether `host` can be a host at all: an IPv6 address, or else 1 to 255 letters, digits, '.', '-'
// and '_'. What comes out of a reference is untrusted and ends up in logs and look-ups.
bool IsPlausibleHost(std::string_view host);

// The inverse of ParseHostPort; brackets where the host has a ':'.
std::string FormatHostPort(std::string_view host, uint16_t port);

}  // namespace weir

#endif  // WEIR_BASE_HOST_PORT_H_
