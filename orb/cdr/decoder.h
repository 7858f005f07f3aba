// Reads CDR (CORBA 3.3 part 2, 9.3) out of bytes that somebody else owns and that nobody trusts.
//
// Errors stick: after the first one every read returns zero or an empty view and ok() is false, so
// a caller reads a whole structure and checks once. Every length is compared with the bytes that
// are really there before anything uses it; nothing is allocated here.
//
// Views that are returned point into the input and live as long as it does.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_ORB_CDR_DECODER_H_
#define WEIR_ORB_CDR_DECODER_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "orb/cdr/byte_order.h"

namespace weir::cdr {

// Why decoding failed. The names follow the MARSHAL minor codes of omniORB.
enum class DecodeError : uint8_t {
  kNone,
  kPastEnd,          // a primitive, or a length, reaches past the end of the data
  kStringEmpty,      // string of length 0: not even its NUL
  kStringNotEnded,   // last octet of a string is not NUL
  kStringNul,        // a NUL inside a string
  kSequenceTooLong,  // more elements than could be there, or than a limit allows
  kBadBoolean,       // boolean other than 0 and 1
  kBadValue,         // an enumerator, discriminator or byte order out of range
  kTooDeep,          // nesting beyond the limit
};

// English, for logs: "string without its terminating NUL".
std::string_view DecodeErrorText(DecodeError error);

// Where the data of a GIOP 1.1 Fragment stands: behind its header of 12 bytes. In that version
// alignment is relative to the fragment, not to the whole message (CORBA 3.3 part 2, 9.4.9).
inline constexpr size_t kFragmentPosition = 12;

// Offsets, ascending, at which alignment starts anew. Not owned.
struct Restarts {
  const uint32_t* offsets = nullptr;
  uint32_t count = 0;

  Restarts Next() const { return {offsets + 1, count - 1}; }
};

class Decoder {
 public:
  // `position` is the alignment position of the first byte of `bytes`: 0 for the first byte of a
  // GIOP message or encapsulation, otherwise how far behind that byte `bytes` starts (modulo 8 will
  // do).
  Decoder(std::string_view bytes, ByteOrder order, size_t position = 0)
      : cur_(reinterpret_cast<const uint8_t*>(bytes.data())),
        end_(cur_ + bytes.size()),
        origin_(cur_ - position),
        last_(end_),
        swap_(order != kNativeOrder) {}
  // As above, for bytes gathered from GIOP 1.1 fragments: alignment starts anew at each of the
  // `restarts`, ascending offsets into `bytes`, as if the byte there stood at kFragmentPosition.
  Decoder(std::string_view bytes, ByteOrder order, size_t position, Restarts restarts)
      : Decoder(bytes, order, position) {
    if (restarts.count != 0) SetRestarts(restarts);
  }

  bool ok() const { return error_ == DecodeError::kNone; }
  DecodeError error() const { return error_; }
  // Records an error found by the caller, unless one is recorded already.
  void Fail(DecodeError error) {
    if (ok()) error_ = error;
    cur_ = end_ = last_;
    restarts_ = {};
  }

  ByteOrder order() const {
    return swap_ == (kNativeOrder == ByteOrder::kBig) ? ByteOrder::kLittle : ByteOrder::kBig;
  }
  size_t remaining() const { return static_cast<size_t>(last_ - cur_); }
  // Alignment position of the next byte.
  size_t position() const {
    return restarts_.count != 0 && cur_ == end_ ? kFragmentPosition : Offset();
  }
  // Those that lie ahead of the next byte; offsets as they were given.
  Restarts restarts_ahead() const {
    return restarts_.count != 0 && cur_ == end_ ? restarts_.Next() : restarts_;
  }
  // What has not been read yet.
  std::string_view rest() const { return {reinterpret_cast<const char*>(cur_), remaining()}; }

  // Skips padding up to the next multiple of `n` (1, 2, 4 or 8).
  void Align(size_t n) {
    const size_t pad = (~Offset() + 1) & (n - 1);
    if (InRun() < pad) [[unlikely]] {
      Reach(n, 0);
      return;
    }
    cur_ += pad;
  }
  void Skip(size_t n) { ReadOctets(n); }

  uint8_t ReadOctet() {
    if (cur_ == end_) [[unlikely]] {
      if (!Reach(1, 1)) return 0;
    }
    return *cur_++;
  }
  bool ReadBoolean() {
    const uint8_t v = ReadOctet();
    if (v > 1) [[unlikely]]
      Fail(DecodeError::kBadBoolean);
    return v == 1;
  }
  uint16_t ReadUShort() { return Read<uint16_t>(); }
  uint32_t ReadULong() { return Read<uint32_t>(); }
  uint64_t ReadULongLong() { return Read<uint64_t>(); }
  int16_t ReadShort() { return static_cast<int16_t>(Read<uint16_t>()); }
  int32_t ReadLong() { return static_cast<int32_t>(Read<uint32_t>()); }
  int64_t ReadLongLong() { return static_cast<int64_t>(Read<uint64_t>()); }
  float ReadFloat() { return std::bit_cast<float>(Read<uint32_t>()); }
  double ReadDouble() { return std::bit_cast<double>(Read<uint64_t>()); }

  // `n` octets.
  std::string_view ReadOctets(size_t n) {
    if (InRun() < n) [[unlikely]]
      return ReadAcross(n);
    std::string_view v(reinterpret_cast<const char*>(cur_), n);
    cur_ += n;
    return v;
  }
  // sequence<octet>: ulong length, octets.
  std::string_view ReadOctetSequence() { return ReadOctets(ReadULong()); }
  // string: ulong length that counts the NUL, octets, NUL. The view is without the NUL. Length 0, a
  // missing NUL and a NUL inside are errors.
  std::string_view ReadString();
  // The length of a sequence whose elements take at least `min_size` bytes each (>= 1). An error if
  // so many cannot be there, or if there are more than `limit`.
  uint32_t ReadSequenceLength(size_t min_size, uint32_t limit = UINT32_MAX);

  // sequence<octet> that holds an encapsulation: a decoder of its content, behind the byte order
  // octet. On an error this decoder fails and the result is empty and failed.
  Decoder ReadEncapsulation() { return FromEncapsulation(ReadOctetSequence(), this); }
  // The same for octets already at hand. If `parent` is given, it fails when the result does.
  static Decoder FromEncapsulation(std::string_view octets, Decoder* parent = nullptr);

 private:
  static uint16_t Swap(uint16_t v) { return SwapBytes(v); }
  static uint32_t Swap(uint32_t v) { return SwapBytes(v); }
  static uint64_t Swap(uint64_t v) { return SwapBytes(v); }

  // Bytes up to the end, or to where alignment starts anew: a primitive never lies across.
  size_t InRun() const { return static_cast<size_t>(end_ - cur_); }
  size_t Offset() const { return static_cast<size_t>(cur_ - origin_); }
  void SetRestarts(Restarts restarts);
  // Enters the next run. REQUIRES: there is one, and cur_ >= end_.
  void NextRun();
  // Goes to the next place, in this run or a later one, where `size` bytes aligned to `n` fit;
  // fails if there is none.
  bool Reach(size_t n, size_t size);
  // ReadOctets for more than this run has.
  std::string_view ReadAcross(size_t n);

  template <typename T>
  T Read() {
    size_t pad = (~Offset() + 1) & (sizeof(T) - 1);
    if (InRun() < pad + sizeof(T)) [[unlikely]] {
      if (!Reach(sizeof(T), sizeof(T))) return 0;
      pad = 0;
    }
    T v;
    std::memcpy(&v, cur_ + pad, sizeof v);
    cur_ += pad + sizeof(T);
    return swap_ ? Swap(v) : v;
  }

  const uint8_t* cur_;
  const uint8_t* end_;             // of the run that cur_ is in
  const uint8_t* origin_;          // where alignment position 0 of this run is
  const uint8_t* last_;            // end of all bytes
  const uint8_t* base_ = nullptr;  // what restarts_ count from; set only if there are any
  Restarts restarts_;
  bool swap_;
  DecodeError error_ = DecodeError::kNone;
};

}  // namespace weir::cdr

#endif  // WEIR_ORB_CDR_DECODER_H_
