// References as the invoker uses them: where to connect, which key to ask for, in which version;
// whatever they were written as. And how a server's references are made.
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_REFERENCE_REFERENCE_H_
#define WEIR_ORB_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orb/reference/iiop_profile.h"
#include "orb/reference/ior.h"

namespace weir::orb {

// An address of one transport.
struct Endpoint {
  std::string transport;  // "tcp", "unix"
  std::string address;    // "HOST:PORT" with IPv6 in brackets; an absolute path

  bool operator==(const Endpoint&) const = default;
};

struct Reference {
  std::string type_id;
  std::string object_key;
  // The highest GIOP 1.N that all of `endpoints` take: 0 to 2.
  uint8_t giop_minor = 2;
  // In the order in which to try them: Unix sockets of this host, then the addresses of each
  // profile, its alternate ones last. No duplicates. Empty if there is none that Weir can use, as
  // with an SSL-only server; `ior` tells more.
  std::vector<Endpoint> endpoints;
  // What the server published, or for a corbaloc what says the same.
  Ior ior;
  // corbaloc:rir:/NAME: an initial reference, which this ORB is to be asked for. All of the above
  // is then empty.
  bool rir = false;
  std::string rir_name;
};

struct ReferenceContext {
  // gethostname() of this host. Unix sockets of references that name another host are not used;
  // nor are any if this is empty, except those of a corbaloc.
  std::string hostname;
  IorLimits limits;
};

// "IOR:..." or "corbaloc:...". Errors: BAD_PARAM, MARSHAL or INV_OBJREF statuses that say what is
// wrong.
absl::StatusOr<Reference> ParseReference(std::string_view text, const ReferenceContext& context);

// For what a peer sent, as in LOCATION_FORWARD. Where the profiles name different keys, those with
// the key of the first usable one count. Addresses that cannot be any are left out.
// Errors: INV_OBJREF for the nil reference and for one without an IIOP profile, MARSHAL if all IIOP
// profiles are malformed.
absl::StatusOr<Reference> ReferenceFromIor(Ior ior, const ReferenceContext& context);

// The reference as a corbaloc: URL, for people to type and for configuration files. It has no type
// id, and leaves out sockets whose path has a ',' or ':'. Empty if nothing is left to connect to.
std::string ToCorbaloc(const Reference& reference);

struct IorOptions {
  // IIOP 1.`minor`, 0 to 2. Below 2 there is one profile for each address, and no Unix socket.
  uint8_t minor = 2;
  // gethostname() of this host, for Unix sockets; clients compare it with theirs.
  std::string hostname;
  // What the server's strings are in, and what it converts. None in IIOP 1.0.
  CodeSetInfo code_sets = {{kCodeSetUtf8, {kCodeSetIso8859_1}}, {kCodeSetUtf16, {kCodeSetUtf16}}};
  uint32_t orb_type = kOrbTypeWeir;
};

// The reference that a server publishes for `object_key`, reachable at `published` ("tcp" and
// "unix" endpoints, the preferred ones first). In IIOP 1.2 it has one profile: the first TCP
// address is the profile's, the others are ALTERNATE_IIOP_ADDRESS components, Unix sockets
// omniORB's component. If there are only Unix sockets, the profile says `hostname` and port 0, as
// omniORB's does. Errors: INVALID_ARGUMENT for an address that no client could use (no host, port
// 0), for another transport, and for no address at all.
absl::StatusOr<Ior> BuildIor(std::string_view type_id, std::string_view object_key,
                             const std::vector<Endpoint>& published, const IorOptions& options);

}  // namespace weir::orb

#endif  // WEIR_ORB_REFERENCE_REFERENCE_H_
