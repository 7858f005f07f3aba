// SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012): a keyed hash that is quick on short
// input. Whoever does not know the key cannot find two inputs of the same hash, so what peers
// choose may be told apart by its hash alone.
//
// Thread safety: pure functions.

#ifndef WEIR_BASE_SIP_HASH_H_
#define WEIR_BASE_SIP_HASH_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

using SipKey = std::array<uint64_t, 2>;
using SipValue = std::array<uint64_t, 2>;

// Of `prefix`, in little-endian order, and then `bytes`.
SipValue SipHash(const SipKey& key, uint64_t prefix, std::string_view bytes);
SipValue SipHash(const SipKey& key, std::string_view bytes);

}  // namespace weir

#endif  // WEIR_BASE_SIP_HASH_H_
