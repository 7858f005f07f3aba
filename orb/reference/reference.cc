#include "orb/reference/reference.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/host_port.h"
#include "base/strings.h"
#include "orb/reference/corbaloc.h"
#include "orb/reference/errors.h"

namespace weir::orb {
namespace {

constexpr std::string_view kTcp = "tcp";
constexpr std::string_view kUnix = "unix";
// sizeof(sockaddr_un::sun_path) without its NUL.
constexpr size_t kMaxUnixPath = 107;

bool IsPlausiblePath(std::string_view path) {
  return !path.empty() && path[0] == '/' && path.size() <= kMaxUnixPath &&
         std::none_of(path.begin(), path.end(), [](char c) { return absl::ascii_iscntrl(c); });
}

// The addresses that one profile, or several, contribute.
struct Addresses {
  std::vector<Endpoint> local;  // Unix sockets of this host
  std::vector<Endpoint> remote;

  bool empty() const { return local.empty() && remote.empty(); }

  void AddTcp(std::string_view host, uint16_t port) {
    if (port == 0 || !IsPlausibleHost(host)) return;
    Add(&remote, {std::string(kTcp), FormatHostPort(host, port)});
  }
  void AddUnix(std::string_view path) {
    if (IsPlausiblePath(path)) Add(&local, {std::string(kUnix), std::string(path)});
  }
  void Add(const Addresses& other) {
    for (const Endpoint& endpoint : other.local) Add(&local, endpoint);
    for (const Endpoint& endpoint : other.remote) Add(&remote, endpoint);
  }
  std::vector<Endpoint> Ordered(size_t limit) && {
    local.insert(local.end(), remote.begin(), remote.end());
    if (local.size() > limit) local.resize(limit);
    return std::move(local);
  }

 private:
  static void Add(std::vector<Endpoint>* list, Endpoint endpoint) {
    if (std::find(list->begin(), list->end(), endpoint) == list->end()) {
      list->push_back(std::move(endpoint));
    }
  }
};

// A malformed component costs its address, not the reference.
void AddComponents(const std::vector<TaggedComponent>& components, bool with_unix,
                   const ReferenceContext& context, Addresses* out) {
  for (const TaggedComponent& component : components) {
    if (component.tag == kTagAlternateIiopAddress) {
      if (auto address = DecodeAlternateAddress(component.data); address.ok()) {
        out->AddTcp(address->host, address->port);
      }
    } else if (component.tag == kTagOmniOrbUnix && with_unix && !context.hostname.empty()) {
      auto address = DecodeUnixAddress(component.data);
      if (address.ok() && address->hostname == context.hostname) out->AddUnix(address->path);
    }
  }
}

Reference FromCorbaloc(Corbaloc corbaloc, const ReferenceContext& context) {
  Reference reference;
  if (corbaloc.rir) {
    reference.rir = true;
    reference.rir_name = std::move(corbaloc.object_key);
    return reference;
  }
  reference.object_key = std::move(corbaloc.object_key);
  Addresses addresses;
  for (const CorbalocAddress& address : corbaloc.addresses) {
    reference.giop_minor = std::min(reference.giop_minor, address.minor);
    if (address.scheme == CorbalocAddress::Scheme::kUnix) {
      addresses.AddUnix(address.path);
      IiopProfile profile{2, context.hostname, 0, reference.object_key, {}};
      profile.components.push_back(EncodeUnixAddress({context.hostname, address.path}));
      reference.ior.profiles.push_back(EncodeIiopProfile(profile));
    } else {
      addresses.AddTcp(address.host, address.port);
      reference.ior.profiles.push_back(
          EncodeIiopProfile({address.minor, address.host, address.port, reference.object_key, {}}));
    }
  }
  reference.endpoints = std::move(addresses).Ordered(context.limits.max_endpoints);
  return reference;
}

absl::Status BadPublished(std::string_view address, std::string_view what) {
  return absl::InvalidArgumentError(StrCat("address to publish '", Escape(address), "': ", what));
}

}  // namespace

absl::StatusOr<Reference> ReferenceFromIor(Ior ior, const ReferenceContext& context) {
  if (ior.IsNil()) return Unusable("the reference is nil: it refers to no object");
  Reference reference;
  Addresses addresses, shared;
  bool found = false;
  absl::Status malformed;
  for (const TaggedProfile& tagged : ior.profiles) {
    if (tagged.tag == kTagMultipleComponents) {
      // omniORB puts alternate addresses here if the IIOP profile is 1.0.
      auto components = DecodeMultipleComponents(tagged.data, context.limits);
      if (components.ok()) AddComponents(*components, false, context, &shared);
    }
    if (tagged.tag != kTagInternetIop) continue;
    absl::StatusOr<IiopProfile> profile = DecodeIiopProfile(tagged.data, context.limits);
    if (!profile.ok()) {
      malformed = profile.status();
      continue;
    }
    const uint8_t minor = std::min<uint8_t>(profile->minor, 2);
    Addresses own;
    own.AddTcp(profile->host, profile->port);
    AddComponents(profile->components, minor >= 2, context, &own);
    // The first profile counts until one comes that has an address.
    if (!found || (addresses.empty() && !own.empty())) {
      found = true;
      reference.object_key = std::move(profile->object_key);
      reference.giop_minor = minor;
      addresses = std::move(own);
    } else if (profile->object_key == reference.object_key && !own.empty()) {
      reference.giop_minor = std::min(reference.giop_minor, minor);
      addresses.Add(own);
    }
  }
  if (!found && !malformed.ok()) return malformed;
  if (!found) {
    return Unusable(StrCat("the reference has ", ior.profiles.size(),
                           " profiles but none for IIOP (the first has tag ", ior.profiles[0].tag,
                           ")"));
  }
  addresses.Add(shared);
  reference.endpoints = std::move(addresses).Ordered(context.limits.max_endpoints);
  reference.type_id = ior.type_id;
  reference.ior = std::move(ior);
  return reference;
}

absl::StatusOr<Reference> ParseReference(std::string_view text, const ReferenceContext& context) {
  text = StripWhitespace(text);
  if (StartsWithIgnoreCase(text, "IOR:")) {
    absl::StatusOr<Ior> ior = ParseIor(text, context.limits);
    if (!ior.ok()) return ior.status();
    return ReferenceFromIor(*std::move(ior), context);
  }
  if (StartsWithIgnoreCase(text, "corbaloc:")) {
    absl::StatusOr<Corbaloc> corbaloc = ParseCorbaloc(text, context.limits);
    if (!corbaloc.ok()) return corbaloc.status();
    return FromCorbaloc(*std::move(corbaloc), context);
  }
  return BadParam(kBadScheme,
                  StrCat("reference '", Escape(text.substr(0, 40)), text.size() > 40 ? "..." : "",
                         "': does not begin with 'IOR:' or 'corbaloc:'; write for example "
                         "corbaloc::1.2@localhost:2809/NameService"));
}

std::string ToCorbaloc(const Reference& reference) {
  Corbaloc corbaloc;
  corbaloc.rir = reference.rir;
  corbaloc.object_key = reference.rir ? reference.rir_name : reference.object_key;
  for (const Endpoint& endpoint : reference.endpoints) {
    CorbalocAddress address;
    address.minor = reference.giop_minor;
    if (endpoint.transport == kTcp) {
      absl::StatusOr<HostPort> host_port = ParseHostPort(endpoint.address);
      // A zone's '%' does not go into a URL.
      if (!host_port.ok() || host_port->host.find('%') != std::string::npos) continue;
      address.host = host_port->host;
      address.port = host_port->port;
    } else {
      if (endpoint.address.find_first_of(",:") != std::string::npos) continue;
      address.scheme = CorbalocAddress::Scheme::kUnix;
      address.path = endpoint.address;
    }
    corbaloc.addresses.push_back(std::move(address));
  }
  if (corbaloc.addresses.empty() && !corbaloc.rir) return "";
  return ToString(corbaloc);
}

absl::StatusOr<Ior> BuildIor(std::string_view type_id, std::string_view object_key,
                             const std::vector<Endpoint>& published, const IorOptions& options) {
  std::vector<HostPort> tcp;
  std::vector<std::string> unix_paths;
  for (const Endpoint& endpoint : published) {
    if (endpoint.transport == kTcp) {
      absl::StatusOr<HostPort> address = ParseHostPort(endpoint.address);
      if (!address.ok()) return address.status();
      if (address->host.empty() || address->port == 0) {
        return BadPublished(endpoint.address, "clients need a host and a port");
      }
      tcp.push_back(*std::move(address));
    } else if (endpoint.transport == kUnix) {
      if (options.minor < 2) {
        return BadPublished(endpoint.address, "only IIOP 1.2 references name Unix sockets");
      }
      if (!IsPlausiblePath(endpoint.address)) {
        return BadPublished(endpoint.address, "not an absolute path of at most 107 bytes");
      }
      unix_paths.push_back(endpoint.address);
    } else {
      return BadPublished(endpoint.address,
                          StrCat("references cannot name transport '", endpoint.transport, "'"));
    }
  }
  if (tcp.empty() && unix_paths.empty()) return BadPublished("", "there is none");
  if (!unix_paths.empty() && options.hostname.empty()) {
    return BadPublished(unix_paths[0], "this host's name, which a reference needs, is empty");
  }

  std::vector<TaggedComponent> common;
  if (options.orb_type != 0) common.push_back(EncodeOrbType(options.orb_type));
  common.push_back(EncodeCodeSets(options.code_sets));

  Ior ior;
  ior.type_id = type_id;
  if (options.minor < 2) {
    for (const HostPort& address : tcp) {
      ior.profiles.push_back(EncodeIiopProfile(
          {options.minor, address.host, address.port, std::string(object_key), common}));
    }
    return ior;
  }
  IiopProfile profile{2, options.hostname, 0, std::string(object_key), std::move(common)};
  if (!tcp.empty()) {
    profile.host = tcp[0].host;
    profile.port = tcp[0].port;
  }
  for (size_t i = 1; i < tcp.size(); ++i) {
    profile.components.push_back(EncodeAlternateAddress(tcp[i]));
  }
  for (const std::string& path : unix_paths) {
    profile.components.push_back(EncodeUnixAddress({options.hostname, path}));
  }
  ior.profiles.push_back(EncodeIiopProfile(profile));
  return ior;
}

}  // namespace weir::orb
