#include "orb/reference/ior.h"

#include "base/strings.h"
#include "orb/reference/errors.h"

namespace weir::orb {
namespace {

constexpr std::string_view kPrefix = "IOR:";

// -1 for what is no hex digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

absl::StatusOr<Ior> DecodeIor(cdr::Decoder* in, const IorLimits& limits) {
  Ior ior;
  size_t budget = limits.max_bytes;
  const auto spend = [&](std::string_view bytes) {
    if (bytes.size() > budget) in->Fail(cdr::DecodeError::kSequenceTooLong);
    if (in->ok()) budget -= bytes.size();
    return in->ok();
  };

  const std::string_view type_id = in->ReadString();
  // A tag and a length are the least that a profile takes.
  const uint32_t count = in->ReadSequenceLength(8, limits.max_profiles);
  if (spend(type_id)) {
    ior.type_id = type_id;
    ior.profiles.reserve(count);
  }
  for (uint32_t i = 0; i < count && in->ok(); ++i) {
    const uint32_t tag = in->ReadULong();
    const std::string_view data = in->ReadOctetSequence();
    if (spend(data)) ior.profiles.push_back({tag, std::string(data)});
  }
  if (!in->ok()) {
    return Malformed(StrCat("object reference: ", cdr::DecodeErrorText(in->error())));
  }
  return ior;
}

void EncodeIor(const Ior& ior, cdr::Encoder* out) {
  out->WriteString(ior.type_id);
  out->WriteULong(static_cast<uint32_t>(ior.profiles.size()));
  for (const TaggedProfile& profile : ior.profiles) {
    out->WriteULong(profile.tag);
    out->WriteOctetSequence(profile.data);
  }
}

std::vector<TaggedComponent> DecodeComponents(cdr::Decoder* in, const IorLimits& limits) {
  std::vector<TaggedComponent> components;
  const uint32_t count = in->ReadSequenceLength(8, limits.max_components);
  components.reserve(count);
  for (uint32_t i = 0; i < count && in->ok(); ++i) {
    const uint32_t tag = in->ReadULong();
    const std::string_view data = in->ReadOctetSequence();
    if (in->ok()) components.push_back({tag, std::string(data)});
  }
  if (!in->ok()) components.clear();
  return components;
}

void EncodeComponents(const std::vector<TaggedComponent>& components, cdr::Encoder* out) {
  out->WriteULong(static_cast<uint32_t>(components.size()));
  for (const TaggedComponent& component : components) {
    out->WriteULong(component.tag);
    out->WriteOctetSequence(component.data);
  }
}

absl::StatusOr<Ior> ParseIor(std::string_view text, const IorLimits& limits) {
  text = StripWhitespace(text);
  if (!StartsWithIgnoreCase(text, kPrefix)) {
    return BadParam(kBadScheme, "not an IOR: it does not begin with 'IOR:'");
  }
  const std::string_view hex = text.substr(kPrefix.size());
  // Twice the octets, and room for tags, lengths and padding.
  if (hex.size() / 2 > limits.max_bytes + 64 + 16 * size_t{limits.max_profiles}) {
    return Malformed(StrCat("IOR of ", hex.size(), " hex digits: longer than any reference"));
  }
  if (hex.size() % 2 != 0) {
    return BadParam(kBadOther, StrCat("IOR has an odd number of hex digits (", hex.size(),
                                      "): was its end cut off?"));
  }
  std::string octets(hex.size() / 2, '\0');
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexValue(hex[i]), low = HexValue(hex[i + 1]);
    if (high < 0 || low < 0) {
      return BadParam(kBadOther, StrCat("IOR has a character that is no hex digit, at ",
                                        kPrefix.size() + i + (high < 0 ? 0 : 1)));
    }
    octets[i / 2] = static_cast<char>(high << 4 | low);
  }
  cdr::Decoder in = cdr::Decoder::FromEncapsulation(octets);
  return DecodeIor(&in, limits);
}

std::string ToString(const Ior& ior, cdr::ByteOrder order) {
  cdr::ByteBuffer buffer;
  cdr::Encoder out(&buffer, order);
  out.WriteOctet(static_cast<uint8_t>(order));
  EncodeIor(ior, &out);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kPrefix);
  text.reserve(kPrefix.size() + 2 * buffer.size());
  for (const char c : buffer.view()) {
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

}  // namespace weir::orb
