// References for people and for programs that read JSON: everything that is in them, unknown parts
// in hex. Whatever octets a reference holds, both forms are printable ASCII.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_REFERENCE_DESCRIBE_H_
#define WEIR_ORB_REFERENCE_DESCRIBE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "orb/reference/ior.h"

namespace weir::orb {

// Several lines, each ended by '\n':
//
//   type id:   IDL:omg.org/CosNaming/NamingContextExt:1.0
//   profile 1: IIOP 1.2
//     address: 127.0.0.1:2809
//     key:     "NameService" (0x4e616d6553657276696365, 11 bytes)
//     ORB_TYPE: omniORB
std::string Describe(const Ior& ior);

// One object, without a newline: type_id, nil, profiles [tag, name, then for IIOP version, host,
// port, key, key_hex; components [tag, name, value, hex]; for others hex]. Texts have octets that
// are not printable ASCII as \xhh; the hex members are exact. `error` stands where something could
// not be decoded.
std::string DescribeJson(const Ior& ior);

// A JSON string, in quotes, with octets that are not printable ASCII as \xhh (in the string's
// value).
std::string JsonString(std::string_view octets);

// "CODE_SETS", "OMNIORB_UNIX_TRANS"; in hex if unknown.
std::string ComponentName(uint32_t tag);

}  // namespace weir::orb

#endif  // WEIR_ORB_REFERENCE_DESCRIBE_H_
