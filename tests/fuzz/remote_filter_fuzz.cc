// What filters in other processes and the nodes that ask them send each other as objects:
// questions, answers, descriptions. The first octet says which, and the byte order. What is
// accepted is the same when it is encoded and decoded again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "filters/remote/wire.h"

namespace {

using weir::cdr::ByteOrder;
using weir::cdr::Decoder;

template <typename T>
std::string Encoded(const T& value) {
  weir::cdr::ByteBuffer buffer;
  weir::cdr::Encoder out(&buffer);
  weir::filters::Encode(value, &out);
  return std::string(buffer.view());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Decoder in(bytes, data[0] & 1 ? ByteOrder::kLittle : ByteOrder::kBig);
  switch (data[0] >> 1 & 3) {
    case 0:
      filters::DecodeQuestion(&in).IgnoreError();
      break;
    case 1:
      if (const auto answer = filters::DecodeAnswer(&in); answer.ok()) {
        const std::string once = Encoded(*answer);
        Decoder again(once, cdr::kNativeOrder);
        const auto twice = filters::DecodeAnswer(&again);
        if (!twice.ok() || Encoded(*twice) != once) abort();
      }
      break;
    default:
      if (const auto methods = filters::DecodeMethods(&in); methods.ok()) {
        const std::string once = Encoded(*methods);
        Decoder again(once, cdr::kNativeOrder);
        const auto twice = filters::DecodeMethods(&again);
        if (!twice.ok() || Encoded(*twice) != once) abort();
      }
      break;
  }
  return 0;
}
