#include "orb/reference/corbaloc.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/host_port.h"
#include "base/strings.h"
#include "orb/reference/errors.h"

namespace weir::orb {
namespace {

constexpr std::string_view kPrefix = "corbaloc:";
constexpr std::string_view kUnixScheme = "omniunix";
constexpr std::string_view kExamples =
    "; write for example corbaloc::1.2@localhost:2809/NameService or "
    "corbaloc:omniunix:/run/x.sock:/NameService";
// sizeof(sockaddr_un::sun_path) with its NUL.
constexpr size_t kMaxUnixPath = 107;
constexpr size_t kMaxQuoted = 80;

// What a person sees of a part that may be long and hold anything.
std::string Quote(std::string_view part) {
  return StrCat("'", Escape(part.substr(0, kMaxQuoted)), part.size() > kMaxQuoted ? "...'" : "'");
}

absl::Status Bad(uint32_t minor, std::string_view part, std::string_view what) {
  return BadParam(minor, StrCat("corbaloc: ", Quote(part), ": ", what, kExamples));
}

bool IsKeyCharacter(char c) {
  return absl::ascii_isalnum(c) ||
         (c != '\0' && std::string_view(";/:?@&=+$,-_.!~*'()").find(c) != std::string_view::npos);
}

absl::StatusOr<std::string> UnescapeKey(std::string_view text) {
  std::string key;
  key.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsKeyCharacter(text[i])) {
      key += text[i];
    } else if (text[i] != '%') {
      return Bad(kBadOther, text.substr(i, 1), "has to be written as %hh in an object key");
    } else if (text.size() - i < 3 || !absl::ascii_isxdigit(text[i + 1]) ||
               !absl::ascii_isxdigit(text[i + 2])) {
      return Bad(kBadOther, text.substr(i, 3), "'%' in an object key needs two hex digits");
    } else {
      const auto value = [](char c) {
        return absl::ascii_isdigit(c) ? c - '0' : (c | 32) - 'a' + 10;
      };
      key += static_cast<char>(value(text[i + 1]) << 4 | value(text[i + 2]));
      i += 2;
    }
  }
  return key;
}

// Takes "1.N@" off the front of `*part`, if there is an '@'.
absl::Status TakeVersion(std::string_view* part, uint8_t* minor) {
  const size_t at = part->find('@');
  if (at == part->npos) return absl::OkStatus();
  const std::string_view version = part->substr(0, at);
  if (version.size() != 3 || version.substr(0, 2) != "1." || version[2] < '0' || version[2] > '2') {
    return Bad(kBadSchemePart, version, "not a GIOP version, known are 1.0, 1.1 and 1.2");
  }
  *minor = static_cast<uint8_t>(version[2] - '0');
  part->remove_prefix(at + 1);
  return absl::OkStatus();
}

absl::StatusOr<CorbalocAddress> ParseIiop(std::string_view part) {
  CorbalocAddress address;
  if (absl::Status status = TakeVersion(&part, &address.minor); !status.ok()) return status;
  if (part.empty()) part = "localhost";
  // "host:" is legal and means the default port.
  std::string_view host_port = part;
  if (host_port.ends_with(":") && !host_port.ends_with("::")) host_port.remove_suffix(1);
  absl::StatusOr<HostPort> parsed = ParseHostPort(host_port, kCorbalocPort);
  if (!parsed.ok()) return Bad(kBadAddress, part, ToStd(parsed.status().message()));
  address.host = parsed->host.empty() ? "localhost" : parsed->host;
  address.port = parsed->port;
  if (address.port == 0) return Bad(kBadAddress, part, "nothing can be reached at port 0");
  return address;
}

absl::StatusOr<CorbalocAddress> ParseUnix(std::string_view part) {
  CorbalocAddress address;
  address.scheme = CorbalocAddress::Scheme::kUnix;
  // A '@' behind the first '/' belongs to the path.
  if (part.find('@') < part.find('/')) {
    if (absl::Status status = TakeVersion(&part, &address.minor); !status.ok()) return status;
  }
  // The Unix component exists only in IIOP 1.2 profiles, so omniORB too ignores what is written.
  address.minor = 2;
  if (part.empty() || part[0] != '/') {
    return Bad(kBadSchemePart, part, "not an absolute path of a Unix socket");
  }
  if (part.size() > kMaxUnixPath) {
    return Bad(
        kBadSchemePart, part,
        StrCat("a Unix socket's path has at most ", kMaxUnixPath, " bytes, not ", part.size()));
  }
  if (std::any_of(part.begin(), part.end(), [](char c) { return absl::ascii_iscntrl(c); })) {
    return Bad(kBadSchemePart, part, "control character in the path of a Unix socket");
  }
  address.path = part;
  return address;
}

}  // namespace

absl::StatusOr<Corbaloc> ParseCorbaloc(std::string_view text, const IorLimits& limits) {
  text = StripWhitespace(text);
  if (!StartsWithIgnoreCase(text, kPrefix)) {
    return Bad(kBadScheme, text, "does not begin with 'corbaloc:'");
  }
  if (text.size() > limits.max_bytes) {
    return BadParam(kBadOther,
                    StrCat("corbaloc of ", text.size(), " characters: longer than any reference"));
  }
  std::string_view rest = text.substr(kPrefix.size());
  Corbaloc result;
  for (;;) {
    const size_t colon = rest.find(':');
    const std::string_view scheme = rest.substr(0, std::min(colon, rest.find_first_of("/,")));
    const bool is_rir = scheme == "rir";
    const bool is_unix = scheme == kUnixScheme;
    if (scheme.size() != colon || !(is_rir || is_unix || scheme.empty() || scheme == "iiop")) {
      return Bad(kBadScheme, scheme,
                 "not a kind of address, known are iiop: (or just ':'), omniunix: and rir:");
    }
    rest.remove_prefix(colon + 1);
    if (is_rir) {
      if (!result.addresses.empty()) return Bad(kBadOther, "rir:", "stands only alone");
      result.rir = true;
    } else if (result.addresses.size() == limits.max_endpoints) {
      return BadParam(kBadOther,
                      StrCat("corbaloc with more than ", limits.max_endpoints, " addresses"));
    } else {
      const size_t end = std::min(rest.find_first_of(is_unix ? ":," : "/,"), rest.size());
      absl::StatusOr<CorbalocAddress> address =
          is_unix ? ParseUnix(rest.substr(0, end)) : ParseIiop(rest.substr(0, end));
      if (!address.ok()) return address.status();
      result.addresses.push_back(*std::move(address));
      rest.remove_prefix(end);
      if (is_unix && !rest.empty() && rest[0] == ':') {
        rest.remove_prefix(1);
        if (!rest.empty() && rest[0] != '/' && rest[0] != ',') {
          return Bad(kBadOther, rest, "between a Unix socket's path and the key stands ':/'");
        }
      }
    }
    if (rest.empty() || rest[0] == '/') break;
    if (result.rir || rest[0] != ',') {
      return Bad(kBadOther, rest, "cannot follow an address; a key follows after '/'");
    }
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  absl::StatusOr<std::string> key = UnescapeKey(rest);
  if (!key.ok()) return key.status();
  result.object_key = *std::move(key);
  if (result.rir && result.object_key.empty()) result.object_key = "NameService";
  return result;
}

std::string EscapeKey(std::string_view object_key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(object_key.size());
  for (const char c : object_key) {
    if (IsKeyCharacter(c)) {
      text += c;
    } else {
      text += '%';
      text += kDigits[static_cast<uint8_t>(c) >> 4];
      text += kDigits[static_cast<uint8_t>(c) & 15];
    }
  }
  return text;
}

std::string ToString(const Corbaloc& corbaloc) {
  std::string text(kPrefix);
  if (corbaloc.rir) StrAppend(&text, "rir:");
  for (const CorbalocAddress& address : corbaloc.addresses) {
    if (text.size() > kPrefix.size()) text += ',';
    if (address.scheme == CorbalocAddress::Scheme::kUnix) {
      StrAppend(&text, kUnixScheme, ":", address.path, ":");
    } else {
      text += ':';
      if (address.minor != 0) StrAppend(&text, "1.", address.minor, "@");
      StrAppend(&text, FormatHostPort(address.host, address.port));
    }
  }
  StrAppend(&text, "/", EscapeKey(corbaloc.object_key));
  return text;
}

}  // namespace weir::orb
