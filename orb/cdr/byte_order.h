// Byte order of CDR data (CORBA 3.3 part 2, 9.3). Thread safety: values and pure functions.

#ifndef WEIR_ORB_CDR_BYTE_ORDER_H_
#define WEIR_ORB_CDR_BYTE_ORDER_H_

#include <bit>
#include <cstdint>

namespace weir::cdr {

// The value on the wire: bit 0 of the GIOP flags, or the first octet of an encapsulation.
enum class ByteOrder : uint8_t { kBig = 0, kLittle = 1 };

inline constexpr ByteOrder kNativeOrder =
    std::endian::native == std::endian::little ? ByteOrder::kLittle : ByteOrder::kBig;

constexpr uint16_t SwapBytes(uint16_t v) { return __builtin_bswap16(v); }
constexpr uint32_t SwapBytes(uint32_t v) { return __builtin_bswap32(v); }
constexpr uint64_t SwapBytes(uint64_t v) { return __builtin_bswap64(v); }

}  // namespace weir::cdr

#endif  // WEIR_ORB_CDR_BYTE_ORDER_H_
