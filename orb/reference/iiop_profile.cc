#include "orb/reference/iiop_profile.h"

#include "base/strings.h"
#include "orb/reference/errors.h"

namespace weir::orb {
namespace {

absl::Status Check(const cdr::Decoder& in, std::string_view what) {
  if (in.ok()) return absl::OkStatus();
  return Malformed(StrCat(what, ": ", cdr::DecodeErrorText(in.error())));
}

CodeSetComponent DecodeCodeSetComponent(cdr::Decoder* in) {
  CodeSetComponent component;
  component.native = in->ReadULong();
  // The registry has a few hundred code sets.
  const uint32_t count = in->ReadSequenceLength(4, 256);
  component.conversion.reserve(count);
  for (uint32_t i = 0; i < count; ++i) component.conversion.push_back(in->ReadULong());
  return component;
}

void EncodeCodeSetComponent(const CodeSetComponent& component, cdr::Encoder* out) {
  out->WriteULong(component.native);
  out->WriteULong(static_cast<uint32_t>(component.conversion.size()));
  for (const uint32_t id : component.conversion) out->WriteULong(id);
}

// The octets of an encapsulation whose content `write` encodes.
template <typename Write>
std::string Encapsulate(const Write& write) {
  cdr::ByteBuffer buffer;
  cdr::Encoder out(&buffer);
  out.WriteOctet(static_cast<uint8_t>(out.order()));
  write(&out);
  return std::string(buffer.view());
}

}  // namespace

absl::StatusOr<IiopProfile> DecodeIiopProfile(std::string_view data, const IorLimits& limits) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  IiopProfile profile;
  const uint8_t major = in.ReadOctet();
  profile.minor = in.ReadOctet();
  if (in.ok() && major != 1) {
    return Malformed(StrCat("IIOP profile: version ", major, ".", profile.minor,
                            ", known are 1.0, 1.1 and 1.2"));
  }
  profile.host = in.ReadString();
  profile.port = in.ReadUShort();
  profile.object_key = in.ReadOctetSequence();
  if (profile.minor >= 1) profile.components = DecodeComponents(&in, limits);
  if (absl::Status status = Check(in, "IIOP profile"); !status.ok()) return status;
  return profile;
}

TaggedProfile EncodeIiopProfile(const IiopProfile& profile) {
  return {kTagInternetIop, Encapsulate([&](cdr::Encoder* out) {
            out->WriteOctet(1);
            out->WriteOctet(profile.minor);
            out->WriteString(profile.host);
            out->WriteUShort(profile.port);
            out->WriteOctetSequence(profile.object_key);
            if (profile.minor >= 1) EncodeComponents(profile.components, out);
          })};
}

absl::StatusOr<std::vector<TaggedComponent>> DecodeMultipleComponents(std::string_view data,
                                                                      const IorLimits& limits) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  std::vector<TaggedComponent> components = DecodeComponents(&in, limits);
  if (absl::Status status = Check(in, "multiple components profile"); !status.ok()) return status;
  return components;
}

absl::StatusOr<uint32_t> DecodeOrbType(std::string_view data) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  const uint32_t orb_type = in.ReadULong();
  if (absl::Status status = Check(in, "component ORB_TYPE"); !status.ok()) return status;
  return orb_type;
}

absl::StatusOr<CodeSetInfo> DecodeCodeSets(std::string_view data) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  CodeSetInfo info;
  info.for_char = DecodeCodeSetComponent(&in);
  info.for_wchar = DecodeCodeSetComponent(&in);
  if (absl::Status status = Check(in, "component CODE_SETS"); !status.ok()) return status;
  return info;
}

absl::StatusOr<HostPort> DecodeAlternateAddress(std::string_view data) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  HostPort address;
  address.host = in.ReadString();
  address.port = in.ReadUShort();
  if (absl::Status status = Check(in, "component ALTERNATE_IIOP_ADDRESS"); !status.ok()) {
    return status;
  }
  return address;
}

absl::StatusOr<UnixAddress> DecodeUnixAddress(std::string_view data) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  UnixAddress address;
  address.hostname = in.ReadString();
  address.path = in.ReadString();
  if (absl::Status status = Check(in, "component OMNIORB_UNIX_TRANS"); !status.ok()) return status;
  return address;
}

absl::StatusOr<SslSecTrans> DecodeSslSecTrans(std::string_view data) {
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(data);
  SslSecTrans ssl;
  ssl.target_supports = in.ReadUShort();
  ssl.target_requires = in.ReadUShort();
  ssl.port = in.ReadUShort();
  // VisiBroker wrote ulongs; its numbers would be read as others.
  if (in.ok() && data.size() != 8) in.Fail(cdr::DecodeError::kBadValue);
  if (absl::Status status = Check(in, "component SSL_SEC_TRANS"); !status.ok()) return status;
  return ssl;
}

TaggedComponent EncodeOrbType(uint32_t orb_type) {
  return {kTagOrbType, Encapsulate([&](cdr::Encoder* out) { out->WriteULong(orb_type); })};
}

TaggedComponent EncodeCodeSets(const CodeSetInfo& info) {
  return {kTagCodeSets, Encapsulate([&](cdr::Encoder* out) {
            EncodeCodeSetComponent(info.for_char, out);
            EncodeCodeSetComponent(info.for_wchar, out);
          })};
}

TaggedComponent EncodeAlternateAddress(const HostPort& address) {
  return {kTagAlternateIiopAddress, Encapsulate([&](cdr::Encoder* out) {
            out->WriteString(address.host);
            out->WriteUShort(address.port);
          })};
}

TaggedComponent EncodeUnixAddress(const UnixAddress& address) {
  return {kTagOmniOrbUnix, Encapsulate([&](cdr::Encoder* out) {
            out->WriteString(address.hostname);
            out->WriteString(address.path);
          })};
}

}  // namespace weir::orb
