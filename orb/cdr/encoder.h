// Writes CDR (CORBA 3.3 part 2, 9.3) into a ByteBuffer, in either byte order. Padding octets are 0.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_ORB_CDR_ENCODER_H_
#define WEIR_ORB_CDR_ENCODER_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "orb/cdr/byte_buffer.h"
#include "orb/cdr/byte_order.h"

namespace weir::cdr {

class Encoder {
 public:
  // Appends to `*out`, which must outlive the encoder. The alignment position of the byte that
  // comes next is `position`: 0 at the start of a GIOP message or encapsulation.
  explicit Encoder(ByteBuffer* out, ByteOrder order = kNativeOrder, size_t position = 0)
      : out_(out), shift_(position - out->size()), order_(order) {}

  ByteOrder order() const { return order_; }
  size_t position() const { return out_->size() + shift_; }
  ByteBuffer* buffer() { return out_; }

  // Pads up to the next multiple of `n` (1, 2, 4 or 8).
  void Align(size_t n) {
    const size_t pad = (~position() + 1) & (n - 1);
    if (pad != 0) std::memset(out_->Extend(pad), 0, pad);
  }

  void WriteOctet(uint8_t v) { *out_->Extend(1) = v; }
  void WriteBoolean(bool v) { WriteOctet(v ? 1 : 0); }
  void WriteUShort(uint16_t v) { Write(v); }
  void WriteULong(uint32_t v) { Write(v); }
  void WriteULongLong(uint64_t v) { Write(v); }
  void WriteShort(int16_t v) { Write(static_cast<uint16_t>(v)); }
  void WriteLong(int32_t v) { Write(static_cast<uint32_t>(v)); }
  void WriteLongLong(int64_t v) { Write(static_cast<uint64_t>(v)); }
  void WriteFloat(float v) { Write(std::bit_cast<uint32_t>(v)); }
  void WriteDouble(double v) { Write(std::bit_cast<uint64_t>(v)); }

  void WriteOctets(std::string_view v) { out_->Append(v); }
  // REQUIRES: v.size() < 2^32.
  void WriteOctetSequence(std::string_view v) {
    WriteULong(static_cast<uint32_t>(v.size()));
    out_->Append(v);
  }
  // REQUIRES: no NUL in `v`, v.size() < 2^32 - 1.
  void WriteString(std::string_view v) {
    WriteULong(static_cast<uint32_t>(v.size() + 1));
    uint8_t* at = out_->Extend(v.size() + 1);
    if (!v.empty()) std::memcpy(at, v.data(), v.size());
    at[v.size()] = 0;
  }

 private:
  template <typename T>
  void Write(T v) {
    const size_t pad = (~position() + 1) & (sizeof(T) - 1);
    uint8_t* at = out_->Extend(pad + sizeof(T));
    for (size_t i = 0; i < pad; ++i) at[i] = 0;
    if (order_ != kNativeOrder) v = SwapBytes(v);
    std::memcpy(at + pad, &v, sizeof v);
  }

  ByteBuffer* out_;
  size_t shift_;
  ByteOrder order_;
};

}  // namespace weir::cdr

#endif  // WEIR_ORB_CDR_ENCODER_H_
