#include "orb/giop/target_address.h"

namespace weir::giop {
namespace {

constexpr uint32_t kTagInternetIop = 0;

std::string_view Invalid(cdr::Decoder* in) {
  in->Fail(cdr::DecodeError::kBadValue);
  return {};
}

// The object key of an IIOP profile (CORBA 3.3 part 2, 9.7.2); what follows it is not looked at.
std::string_view KeyOfProfile(uint32_t tag, std::string_view data, cdr::Decoder* in) {
  if (!in->ok()) return {};
  if (tag != kTagInternetIop) return Invalid(in);
  cdr::Decoder profile = cdr::Decoder::FromEncapsulation(data, in);
  const uint8_t major = profile.ReadOctet();
  profile.ReadOctet();
  profile.ReadString();
  profile.ReadUShort();
  const std::string_view key = profile.ReadOctetSequence();
  if (!profile.ok() || major != 1) return Invalid(in);
  return key;
}

std::string_view DecodeProfile(cdr::Decoder* in) {
  const uint32_t tag = in->ReadULong();
  const std::string_view data = in->ReadOctetSequence();
  return KeyOfProfile(tag, data, in);
}

std::string_view DecodeReference(cdr::Decoder* in) {
  const uint32_t selected = in->ReadULong();
  in->ReadString();
  const uint32_t profiles = in->ReadSequenceLength(8);
  if (in->ok() && selected >= profiles) return Invalid(in);
  uint32_t selected_tag = 0;
  std::string_view selected_data;
  for (uint32_t i = 0; i < profiles && in->ok(); ++i) {
    const uint32_t tag = in->ReadULong();
    const std::string_view data = in->ReadOctetSequence();
    if (i == selected) {
      selected_tag = tag;
      selected_data = data;
    }
  }
  return KeyOfProfile(selected_tag, selected_data, in);
}

}  // namespace

std::string_view DecodeTargetAddress(cdr::Decoder* in) {
  switch (static_cast<AddressingDisposition>(in->ReadUShort())) {
    case AddressingDisposition::kKey:
      return in->ReadOctetSequence();
    case AddressingDisposition::kProfile:
      return DecodeProfile(in);
    case AddressingDisposition::kReference:
      return DecodeReference(in);
  }
  return Invalid(in);
}

}  // namespace weir::giop
