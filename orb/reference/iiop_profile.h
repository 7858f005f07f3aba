// TAG_INTERNET_IOP profiles (CORBA 3.3 part 2, 9.7.2) and the tagged components that Weir reads or
// writes.
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_REFERENCE_IIOP_PROFILE_H_
#define WEIR_ORB_REFERENCE_IIOP_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/host_port.h"
#include "orb/reference/ior.h"

namespace weir::orb {

// Profile tags.
inline constexpr uint32_t kTagInternetIop = 0;
inline constexpr uint32_t kTagMultipleComponents = 1;

// Component tags.
inline constexpr uint32_t kTagOrbType = 0;
inline constexpr uint32_t kTagCodeSets = 1;
inline constexpr uint32_t kTagAlternateIiopAddress = 3;
inline constexpr uint32_t kTagSslSecTrans = 20;
// omniORB's: the same server on a Unix socket of host `hostname`. Only in IIOP 1.2 profiles.
inline constexpr uint32_t kTagOmniOrbUnix = 0x41545402;

// ORB_TYPE values: vendor ids of OMG's list. "WEIR" is not registered.
inline constexpr uint32_t kOrbTypeOmniOrb = 0x41545400;
inline constexpr uint32_t kOrbTypeTao = 0x54414f00;
inline constexpr uint32_t kOrbTypeWeir = 0x57454952;

// OSF code set registry.
inline constexpr uint32_t kCodeSetIso8859_1 = 0x00010001;
inline constexpr uint32_t kCodeSetUtf8 = 0x05010001;
inline constexpr uint32_t kCodeSetUtf16 = 0x00010109;

struct IiopProfile {
  // IIOP 1.`minor`. One above 2 is read as 2, which it must be compatible with, but shown as is.
  uint8_t minor = 2;
  // IPv6 without brackets. As sent: may be anything but contains no NUL.
  std::string host;
  // 0: no plain TCP; the real addresses are in components (SSL, Unix).
  uint16_t port = 0;
  std::string object_key;
  // None in IIOP 1.0.
  std::vector<TaggedComponent> components;

  bool operator==(const IiopProfile&) const = default;
};

// `data` is a profile's, in any byte order. Errors: MARSHAL statuses.
absl::StatusOr<IiopProfile> DecodeIiopProfile(std::string_view data, const IorLimits& limits = {});
TaggedProfile EncodeIiopProfile(const IiopProfile& profile);

// TAG_MULTIPLE_COMPONENTS. Errors: MARSHAL statuses.
absl::StatusOr<std::vector<TaggedComponent>> DecodeMultipleComponents(std::string_view data,
                                                                      const IorLimits& limits = {});

// CORBA 3.3 part 2, 7.10.2.4. A native code set of 0 is none.
struct CodeSetComponent {
  uint32_t native = 0;
  std::vector<uint32_t> conversion;

  bool operator==(const CodeSetComponent&) const = default;
};
struct CodeSetInfo {
  CodeSetComponent for_char;
  CodeSetComponent for_wchar;

  bool operator==(const CodeSetInfo&) const = default;
};

struct UnixAddress {
  // gethostname() of where the socket is: of use only to clients on the same host.
  std::string hostname;
  std::string path;

  bool operator==(const UnixAddress&) const = default;
};

struct SslSecTrans {
  uint16_t target_supports = 0;
  uint16_t target_requires = 0;
  uint16_t port = 0;

  bool operator==(const SslSecTrans&) const = default;
};

// Component data, in any byte order. Errors: MARSHAL statuses that name the component.
absl::StatusOr<uint32_t> DecodeOrbType(std::string_view data);
absl::StatusOr<CodeSetInfo> DecodeCodeSets(std::string_view data);
absl::StatusOr<HostPort> DecodeAlternateAddress(std::string_view data);
absl::StatusOr<UnixAddress> DecodeUnixAddress(std::string_view data);
absl::StatusOr<SslSecTrans> DecodeSslSecTrans(std::string_view data);

TaggedComponent EncodeOrbType(uint32_t orb_type);
TaggedComponent EncodeCodeSets(const CodeSetInfo& info);
TaggedComponent EncodeAlternateAddress(const HostPort& address);
TaggedComponent EncodeUnixAddress(const UnixAddress& address);

}  // namespace weir::orb

#endif  // WEIR_ORB_REFERENCE_IIOP_PROFILE_H_
