// corbaloc URLs (CORBA 3.3 part 2, 7.6.10.1), with omniORB's omniunix scheme:
//
//   corbaloc:ADDRESS{,ADDRESS}[/KEY]
//   ADDRESS = [iiop]:[1.N@][HOST][:PORT]       version 1.0, this host, port 2809 if left out
//           | omniunix:[1.N@]PATH[:]           always spoken to in 1.2; ':' ends the path
//           | rir:                             alone: an initial reference of this ORB
//
// KEY holds letters, digits and ;/:?@&=+$,-_.!~*'() as they are, other octets as %hh.
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_REFERENCE_CORBALOC_H_
#define WEIR_ORB_REFERENCE_CORBALOC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orb/reference/ior.h"

namespace weir::orb {

inline constexpr uint16_t kCorbalocPort = 2809;

struct CorbalocAddress {
  enum class Scheme : uint8_t { kIiop, kUnix };

  Scheme scheme = Scheme::kIiop;
  uint8_t minor = 0;  // of GIOP: 0 to 2
  std::string host;   // kIiop: never empty; IPv6 without brackets
  uint16_t port = 0;  // kIiop
  std::string path;   // kUnix: absolute

  bool operator==(const CorbalocAddress&) const = default;
};

struct Corbaloc {
  // In the order written; empty for rir.
  std::vector<CorbalocAddress> addresses;
  bool rir = false;
  // Unescaped, may hold any octet. Empty where none was written. For rir: the name of the initial
  // reference, "NameService" if none was written.
  std::string object_key;

  bool operator==(const Corbaloc&) const = default;
};

// Errors: BAD_PARAM statuses whose OMG minor code says which part is wrong (7 the scheme, 8 the
// address, 9 what is specific to the address's scheme, 10 the rest), and whose text names it.
absl::StatusOr<Corbaloc> ParseCorbaloc(std::string_view text, const IorLimits& limits = {});

// The inverse of ParseCorbaloc, in the shortest spelling that omniORB reads too.
std::string ToString(const Corbaloc& corbaloc);

// %hh for every octet that a corbaloc key cannot hold.
std::string EscapeKey(std::string_view object_key);

}  // namespace weir::orb

#endif  // WEIR_ORB_REFERENCE_CORBALOC_H_
