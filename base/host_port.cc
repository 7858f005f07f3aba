#include "base/host_port.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/strings.h"

namespace weir {
namespace {

constexpr std::string_view kExamples = "write HOST:PORT, as in 127.0.0.1:2809 or [::1]:2809";

absl::Status Bad(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      StrCat("address '", Escape(text), "': ", what, "; ", kExamples));
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_'; }

// With an optional "%zone", as in "fe80::1%eth0".
bool IsIpv6(std::string_view host) {
  const size_t percent = host.find('%');
  if (percent != host.npos) {
    const std::string_view zone = host.substr(percent + 1);
    if (zone.empty() || zone.size() > 32) return false;
    if (!std::all_of(zone.begin(), zone.end(), IsNameCharacter)) return false;
    host = host.substr(0, percent);
  }
  if (host.size() >= INET6_ADDRSTRLEN) return false;
  in6_addr unused;
  return inet_pton(AF_INET6, std::string(host).c_str(), &unused) == 1;
}

}  // namespace

std::optional<uint16_t> ParsePort(std::string_view digits) {
  if (digits.empty() || digits.size() > 5) return std::nullopt;
  uint32_t port = 0;
  for (const char c : digits) {
    if (!absl::ascii_isdigit(c)) return std::nullopt;
    port = port * 10 + static_cast<uint32_t>(c - '0');
  }
  if (port > 65535) return std::nullopt;
  return static_cast<uint16_t>(port);
}

bool IsPlausibleHost(std::string_view host) {
  if (host.find(':') != host.npos) return host.find('\0') == host.npos && IsIpv6(host);
  return !host.empty() && host.size() <= 255 &&
         std::all_of(host.begin(), host.end(), IsNameCharacter);
}

absl::StatusOr<HostPort> ParseHostPort(std::string_view text,
                                       std::optional<uint16_t> default_port) {
  std::string_view host, rest;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find(']');
    if (close == text.npos) return Bad(text, "'[' without ']'");
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (host.find(':') == host.npos || !IsPlausibleHost(host)) {
      return Bad(text, "what stands in brackets is not an IPv6 address");
    }
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (rest.find(':', 1) != rest.npos) {
      return Bad(text, "more than one ':'; an IPv6 address stands in brackets");
    }
    if (!host.empty() && !IsPlausibleHost(host)) {
      return Bad(text, host.size() > 255 ? "the host name is longer than 255 characters"
                                         : "not a host name or address");
    }
  }
  HostPort result{std::string(host), default_port.value_or(0)};
  if (rest.empty()) {
    if (!default_port) return Bad(text, "no port");
    return result;
  }
  if (rest[0] != ':') return Bad(text, "something other than ':' behind ']'");
  rest.remove_prefix(1);
  if (rest.empty()) {
    return Bad(text, "no port behind ':' (0 picks a free port where one listens)");
  }
  const std::optional<uint16_t> port = ParsePort(rest);
  if (!port) return Bad(text, "the port is not a number from 0 to 65535");
  result.port = *port;
  return result;
}

std::string FormatHostPort(std::string_view host, uint16_t port) {
  if (host.find(':') != host.npos) return StrCat("[", host, "]:", port);
  return StrCat(host, ":", port);
}

}  // namespace weir
