#include "orb/cdr/decoder.h"

namespace weir::cdr {

std::string_view DecodeErrorText(DecodeError error) {
  switch (error) {
    case DecodeError::kNone:
      return "no error";
    case DecodeError::kPastEnd:
      return "data ends before what it announces";
    case DecodeError::kStringEmpty:
      return "string of length 0, without even its NUL";
    case DecodeError::kStringNotEnded:
      return "string without its terminating NUL";
    case DecodeError::kStringNul:
      return "NUL inside a string";
    case DecodeError::kSequenceTooLong:
      return "sequence longer than its data or its limit";
    case DecodeError::kBadBoolean:
      return "boolean that is neither 0 nor 1";
    case DecodeError::kBadValue:
      return "value out of range";
    case DecodeError::kTooDeep:
      return "nesting too deep";
  }
  return "unknown error";
}

void Decoder::SetRestarts(Restarts restarts) {
  base_ = cur_;
  restarts_ = restarts;
  end_ = base_ + restarts_.offsets[0];
}

void Decoder::NextRun() {
  origin_ = end_ - kFragmentPosition;
  restarts_ = restarts_.Next();
  end_ = restarts_.count != 0 ? base_ + restarts_.offsets[0] : last_;
}

bool Decoder::Reach(size_t n, size_t size) {
  for (;;) {
    const size_t pad = (~Offset() + 1) & (n - 1);
    if (InRun() >= pad + size) {
      cur_ += pad;
      return true;
    }
    if (restarts_.count == 0) break;
    cur_ = end_;
    NextRun();
  }
  Fail(DecodeError::kPastEnd);
  return false;
}

std::string_view Decoder::ReadAcross(size_t n) {
  if (remaining() < n) {
    Fail(DecodeError::kPastEnd);
    return {};
  }
  std::string_view v(reinterpret_cast<const char*>(cur_), n);
  cur_ += n;
  while (restarts_.count != 0 && cur_ >= end_) NextRun();
  return v;
}

std::string_view Decoder::ReadString() {
  const uint32_t length = ReadULong();
  if (!ok()) return {};
  if (length == 0) {
    Fail(DecodeError::kStringEmpty);
    return {};
  }
  std::string_view v = ReadOctets(length);
  if (!ok()) return {};
  if (v.back() != '\0') {
    Fail(DecodeError::kStringNotEnded);
    return {};
  }
  v.remove_suffix(1);
  if (std::memchr(v.data(), 0, v.size()) != nullptr) {
    Fail(DecodeError::kStringNul);
    return {};
  }
  return v;
}

uint32_t Decoder::ReadSequenceLength(size_t min_size, uint32_t limit) {
  const uint32_t n = ReadULong();
  if (n > limit || n > remaining() / min_size) {
    Fail(DecodeError::kSequenceTooLong);
    return 0;
  }
  return n;
}

Decoder Decoder::FromEncapsulation(std::string_view octets, Decoder* parent) {
  Decoder result({}, kNativeOrder);
  DecodeError error = parent != nullptr ? parent->error() : DecodeError::kNone;
  if (error == DecodeError::kNone) {
    if (octets.empty()) {
      error = DecodeError::kPastEnd;
    } else if (static_cast<uint8_t>(octets[0]) > 1) {
      error = DecodeError::kBadValue;
    } else {
      return Decoder(octets.substr(1), static_cast<ByteOrder>(octets[0]), 1);
    }
  }
  result.Fail(error);
  if (parent != nullptr) parent->Fail(error);
  return result;
}

}  // namespace weir::cdr
