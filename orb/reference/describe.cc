#include "orb/reference/describe.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/host_port.h"
#include "base/strings.h"
#include "orb/reference/iiop_profile.h"

namespace weir::orb {
namespace {

struct TagName {
  uint32_t tag;
  const char* name;
};

// CORBA 3.3 part 2, 7.6.6, and OMG's list of tags; then vendors'.
constexpr TagName kComponentNames[] = {
    {kTagOrbType, "ORB_TYPE"},
    {kTagCodeSets, "CODE_SETS"},
    {2, "POLICIES"},
    {kTagAlternateIiopAddress, "ALTERNATE_IIOP_ADDRESS"},
    {5, "COMPLETE_OBJECT_KEY"},
    {6, "ENDPOINT_ID_POSITION"},
    {12, "LOCATION_POLICY"},
    {13, "ASSOCIATION_OPTIONS"},
    {14, "SEC_NAME"},
    {15, "SPKM_1_SEC_MECH"},
    {16, "SPKM_2_SEC_MECH"},
    {17, "KERBEROSV5_SEC_MECH"},
    {18, "CSI_ECMA_SECRET_SEC_MECH"},
    {19, "CSI_ECMA_HYBRID_SEC_MECH"},
    {kTagSslSecTrans, "SSL_SEC_TRANS"},
    {21, "CSI_ECMA_PUBLIC_SEC_MECH"},
    {22, "GENERIC_SEC_MECH"},
    {23, "FIREWALL_TRANS"},
    {25, "JAVA_CODEBASE"},
    {33, "CSI_SEC_MECH_LIST"},
    {34, "NULL_TAG"},
    {36, "TLS_SEC_TRANS"},
    {100, "DCE_STRING_BINDING"},
    {101, "DCE_BINDING_NAME"},
    {102, "DCE_NO_PIPES"},
    {103, "DCE_SEC_MECH"},
    {123, "INET_SEC_TRANS"},
    {0x41545401, "OMNIORB_BIDIR"},
    {kTagOmniOrbUnix, "OMNIORB_UNIX_TRANS"},
    {0x41545403, "OMNIORB_PERSISTENT_ID"},
    {0x41545404, "OMNIORB_RESTRICTED_CONNECTION"},
    {0x54414f01, "TAO_SSL_ENDPOINTS"},
    {0x54414f02, "TAO_ENDPOINTS"},
};

constexpr TagName kOrbTypes[] = {
    {kOrbTypeOmniOrb, "omniORB"}, {kOrbTypeTao, "TAO"}, {kOrbTypeWeir, "Weir"}};

constexpr TagName kCodeSets[] = {
    {0, "none"},
    {kCodeSetIso8859_1, "ISO-8859-1"},
    {0x00010002, "ISO-8859-2"},
    {0x00010005, "ISO-8859-5"},
    {0x00010007, "ISO-8859-7"},
    {0x0001000f, "ISO-8859-15"},
    {0x00010020, "ISO-646"},
    {0x00010100, "UCS-2 level 1"},
    {0x00010101, "UCS-2 level 2"},
    {0x00010102, "UCS-2 level 3"},
    {0x00010104, "UCS-4 level 1"},
    {0x00010105, "UCS-4 level 2"},
    {0x00010106, "UCS-4 level 3"},
    {kCodeSetUtf16, "UTF-16"},
    {kCodeSetUtf8, "UTF-8"},
    {0x100204e4, "windows-1252"},
};

template <size_t N>
std::string NameOf(const TagName (&names)[N], uint32_t tag) {
  for (const TagName& name : names) {
    if (name.tag == tag) return name.name;
  }
  return absl::StrFormat("0x%08x", tag);
}

std::string Hex(std::string_view octets) { return absl::BytesToHexString(ToAbsl(octets)); }

std::string HexText(std::string_view octets) {
  if (octets.empty()) return "0 bytes";
  return StrCat("0x", Hex(octets), ", ", octets.size(), octets.size() == 1 ? " byte" : " bytes");
}

std::string AddressText(const HostPort& address) {
  return FormatHostPort(Escape(address.host), address.port);
}

std::string CodeSetText(const CodeSetComponent& component) {
  std::string text = NameOf(kCodeSets, component.native);
  if (component.conversion.empty()) return text;
  return StrCat(text, " (converts ",
                absl::StrJoin(component.conversion, ", ",
                              [](std::string* out, uint32_t id) { *out += NameOf(kCodeSets, id); }),
                ")");
}

// What a component of a known kind says; empty for others.
absl::StatusOr<std::string> ComponentText(const TaggedComponent& component) {
  switch (component.tag) {
    case kTagOrbType: {
      const auto type = DecodeOrbType(component.data);
      if (!type.ok()) return type.status();
      return NameOf(kOrbTypes, *type);
    }
    case kTagCodeSets: {
      const auto sets = DecodeCodeSets(component.data);
      if (!sets.ok()) return sets.status();
      return StrCat("char ", CodeSetText(sets->for_char), ", wchar ", CodeSetText(sets->for_wchar));
    }
    case kTagAlternateIiopAddress: {
      const auto address = DecodeAlternateAddress(component.data);
      if (!address.ok()) return address.status();
      return AddressText(*address);
    }
    case kTagOmniOrbUnix: {
      const auto address = DecodeUnixAddress(component.data);
      if (!address.ok()) return address.status();
      return StrCat(Escape(address->path), " on host ", Escape(address->hostname));
    }
    case kTagSslSecTrans: {
      const auto ssl = DecodeSslSecTrans(component.data);
      if (!ssl.ok()) return ssl.status();
      return absl::StrFormat("port %d, supports 0x%04x, requires 0x%04x", ssl->port,
                             ssl->target_supports, ssl->target_requires);
    }
    default:
      return std::string();
  }
}

void DescribeComponents(const std::vector<TaggedComponent>& components, std::string* out) {
  for (const TaggedComponent& component : components) {
    const absl::StatusOr<std::string> text = ComponentText(component);
    StrAppend(out, "  ", ComponentName(component.tag), ": ");
    if (!text.ok()) {
      StrAppend(out, "malformed, ", HexText(component.data), "\n");
    } else {
      StrAppend(out, text->empty() ? HexText(component.data) : *text, "\n");
    }
  }
}

void DescribeProfile(const TaggedProfile& tagged, std::string* out) {
  if (tagged.tag == kTagInternetIop) {
    const absl::StatusOr<IiopProfile> profile = DecodeIiopProfile(tagged.data);
    if (!profile.ok()) {
      StrAppend(out, "malformed ", profile.status().message(),
                "\n  octets:  ", HexText(tagged.data), "\n");
      return;
    }
    const std::string& key = profile->object_key;
    StrAppend(out, "IIOP 1.", profile->minor,
              "\n  address: ", AddressText({profile->host, profile->port}));
    if (profile->port == 0) StrAppend(out, " (no plain TCP)");
    StrAppend(out, "\n  key:     \"", Escape(key), "\" (", HexText(key), ")\n");
    DescribeComponents(profile->components, out);
  } else if (tagged.tag == kTagMultipleComponents) {
    const auto components = DecodeMultipleComponents(tagged.data);
    if (!components.ok()) {
      StrAppend(out, "malformed ", components.status().message(),
                "\n  octets:  ", HexText(tagged.data), "\n");
      return;
    }
    StrAppend(out, "multiple components\n");
    DescribeComponents(*components, out);
  } else {
    StrAppend(out, absl::StrFormat("unknown, tag 0x%08x", tagged.tag),
              "\n  octets:  ", HexText(tagged.data), "\n");
  }
}

// Of a text that is printable ASCII already.
std::string RawJsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string ComponentsJson(const std::vector<TaggedComponent>& components) {
  return StrCat(
      "[",
      absl::StrJoin(components, ",",
                    [](std::string* out, const TaggedComponent& component) {
                      StrAppend(out, "{\"tag\":", component.tag,
                                ",\"name\":", RawJsonString(ComponentName(component.tag)));
                      const auto text = ComponentText(component);
                      if (!text.ok()) {
                        StrAppend(out,
                                  ",\"error\":", RawJsonString(ToStd(text.status().message())));
                      } else if (!text->empty()) {
                        StrAppend(out, ",\"value\":", RawJsonString(*text));
                      }
                      StrAppend(out, ",\"hex\":\"", Hex(component.data), "\"}");
                    }),
      "]");
}

std::string ProfileJson(const TaggedProfile& tagged) {
  std::string json = StrCat("{\"tag\":", tagged.tag);
  absl::Status status;
  if (tagged.tag == kTagInternetIop) {
    StrAppend(&json, ",\"name\":\"INTERNET_IOP\"");
    const auto profile = DecodeIiopProfile(tagged.data);
    if (profile.ok()) {
      return StrCat(json, ",\"version\":\"1.", profile->minor,
                    "\",\"host\":", JsonString(profile->host), ",\"port\":", profile->port,
                    ",\"key\":", JsonString(profile->object_key), ",\"key_hex\":\"",
                    Hex(profile->object_key),
                    "\",\"components\":", ComponentsJson(profile->components), "}");
    }
    status = profile.status();
  } else if (tagged.tag == kTagMultipleComponents) {
    StrAppend(&json, ",\"name\":\"MULTIPLE_COMPONENTS\"");
    const auto components = DecodeMultipleComponents(tagged.data);
    if (components.ok()) {
      return StrCat(json, ",\"components\":", ComponentsJson(*components), "}");
    }
    status = components.status();
  }
  if (!status.ok()) StrAppend(&json, ",\"error\":", RawJsonString(ToStd(status.message())));
  return StrCat(json, ",\"hex\":\"", Hex(tagged.data), "\"}");
}

}  // namespace

std::string JsonString(std::string_view octets) { return RawJsonString(Escape(octets)); }

std::string ComponentName(uint32_t tag) { return NameOf(kComponentNames, tag); }

std::string Describe(const Ior& ior) {
  std::string out =
      StrCat("type id:   ", ior.type_id.empty() ? "(none)" : Escape(ior.type_id), "\n");
  if (ior.IsNil()) out += "nil:       it refers to no object\n";
  for (size_t i = 0; i < ior.profiles.size(); ++i) {
    StrAppend(&out, "profile ", i + 1, ": ");
    DescribeProfile(ior.profiles[i], &out);
  }
  return out;
}

std::string DescribeJson(const Ior& ior) {
  return StrCat("{\"type_id\":", JsonString(ior.type_id),
                ",\"nil\":", ior.IsNil() ? "true" : "false", ",\"profiles\":[",
                absl::StrJoin(ior.profiles, ",",
                              [](std::string* out, const TaggedProfile& profile) {
                                *out += ProfileJson(profile);
                              }),
                "]}");
}

}  // namespace weir::orb
