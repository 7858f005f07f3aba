#include "base/sip_hash.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace weir {
namespace {

class State {
 public:
  explicit State(const SipKey& key)
      : v0_(0x736f6d6570736575 ^ key[0]),
        v1_(0x646f72616e646f6d ^ key[1] ^ 0xee),  // 0xee: 128 bits come out
        v2_(0x6c7967656e657261 ^ key[0]),
        v3_(0x7465646279746573 ^ key[1]) {}

  void Add(uint64_t word) {
    v3_ ^= word;
    Rounds<2>();
    v0_ ^= word;
  }

  // `size`: of all input.
  SipValue Finish(std::string_view bytes, size_t size) {
    while (bytes.size() >= 8) {
      Add(Word(bytes.data(), 8));
      bytes.remove_prefix(8);
    }
    Add(static_cast<uint64_t>(size) << 56 | Word(bytes.data(), bytes.size()));
    SipValue value;
    v2_ ^= 0xee;
    Rounds<4>();
    value[0] = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    Rounds<4>();
    value[1] = v0_ ^ v1_ ^ v2_ ^ v3_;
    return value;
  }

 private:
  // Little-endian; what is missing is zero.
  static uint64_t Word(const char* bytes, size_t size) {
    uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
      if (size != 0) std::memcpy(&word, bytes, size);
    } else {
      for (size_t i = 0; i < size; ++i) {
        word |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
      }
    }
    return word;
  }

  template <int n>
  void Rounds() {
    for (int i = 0; i < n; ++i) {
      v0_ += v1_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v3_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ += v3_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ += v1_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

SipValue SipHash(const SipKey& key, uint64_t prefix, std::string_view bytes) {
  State state(key);
  state.Add(prefix);
  return state.Finish(bytes, bytes.size() + sizeof prefix);
}

SipValue SipHash(const SipKey& key, std::string_view bytes) {
  return State(key).Finish(bytes, bytes.size());
}

}  // namespace weir
