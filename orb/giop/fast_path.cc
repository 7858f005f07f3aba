#include "orb/giop/fast_path.h"

namespace weir::giop {
namespace {

// Where the parts of a 1.2 request addressed by key, and of a reply, stand.
constexpr size_t kIdAt = 12;
constexpr size_t kFlagsAt = 16;
constexpr size_t kDispositionAt = 20;
constexpr size_t kKeyLengthAt = 24;
constexpr size_t kKeyAt = 28;
constexpr size_t kStatusAt = 16;
constexpr size_t kReplyContextsAt = 20;
constexpr size_t kReplyBodyAt = 24;

constexpr uint8_t kTwoWay = 3;

// The most octets between an operation and the body of a request: NUL, 3 of padding, 4 for the
// number of contexts, 4 of padding.
constexpr size_t kZeroes = 16;

constexpr size_t AlignUp(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }

// Reads as 0 unless one of these octets is 0.
uint64_t ZeroOctets(uint64_t octets) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  return (octets - kOnes) & ~octets & kHighs;
}

// Whether the first NUL of these `n` > 0 octets is the last one. Operations are short: a call of
// memchr would cost more than the search.
inline bool EndsWithItsOnlyNul(const uint8_t* at, size_t n) {
  if (at[n - 1] != 0) return false;
  const size_t before = n - 1;
  if (before > 16) return std::memchr(at, 0, before) == nullptr;
  if (before >= 8) {
    uint64_t first, last;
    std::memcpy(&first, at, sizeof first);
    std::memcpy(&last, at + before - 8, sizeof last);
    return (ZeroOctets(first) | ZeroOctets(last)) == 0;
  }
  if (before >= 4) {
    uint32_t first, last;
    std::memcpy(&first, at, sizeof first);
    std::memcpy(&last, at + before - 4, sizeof last);
    return ZeroOctets(uint64_t{last} << 32 | first) == 0;
  }
  for (size_t i = 0; i < before; ++i) {
    if (at[i] == 0) return false;
  }
  return true;
}

// memcpy for what is mostly a handful of octets.
inline void CopyFew(uint8_t* to, std::string_view from) {
  const size_t n = from.size();
  if (n > 16) {
    std::memcpy(to, from.data(), n);
  } else if (n >= 8) {
    uint64_t first, last;
    std::memcpy(&first, from.data(), sizeof first);
    std::memcpy(&last, from.data() + n - 8, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + n - 8, &last, sizeof last);
  } else if (n >= 4) {
    uint32_t first, last;
    std::memcpy(&first, from.data(), sizeof first);
    std::memcpy(&last, from.data() + n - 4, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + n - 4, &last, sizeof last);
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(from[i]);
  }
}

uint32_t Load(const uint8_t* at, bool swap) {
  uint32_t v;
  std::memcpy(&v, at, sizeof v);
  return swap ? cdr::SwapBytes(v) : v;
}

void Store(uint32_t v, bool swap, uint8_t* at) {
  if (swap) v = cdr::SwapBytes(v);
  std::memcpy(at, &v, sizeof v);
}

std::string_view View(const uint8_t* at, size_t n) {
  return {reinterpret_cast<const char*>(at), n};
}

inline void StoreHeader(MessageType type, cdr::ByteOrder order, size_t total, uint8_t* at) {
  const uint8_t front[8] = {
      'G', 'I', 'O', 'P', 1, 2, static_cast<uint8_t>(order), static_cast<uint8_t>(type)};
  std::memcpy(at, front, sizeof front);
  Store(static_cast<uint32_t>(total - kHeaderSize), order != cdr::kNativeOrder, at + 8);
}

// Sets the body to what begins at the next multiple of 8 from `at` on, if anything does.
inline bool TakeBody12(const uint8_t* message, size_t size, size_t at, cdr::ByteOrder order,
                       orb::Body* body) {
  body->bytes = {};
  if (at < size) {
    at = AlignUp(at, 8);
    if (at > size) return false;
    body->bytes = View(message + at, size - at);
  }
  body->order = order;
  body->alignment = 0;
  body->restarts = {};
  return true;
}

// Reads the contexts that begin at `*at`, and moves it behind them.
bool TakeContexts(const uint8_t* message, size_t size, bool swap, uint32_t limit, size_t* at,
                  std::vector<orb::ServiceContext>* contexts) {
  contexts->clear();
  size_t next = *at;
  if (size < next + 4) return false;
  const uint32_t count = Load(message + next, swap);
  next += 4;
  if (count > limit) return false;
  for (uint32_t i = 0; i < count; ++i) {
    next = AlignUp(next, 4);
    if (size < next + 8) return false;
    const uint32_t id = Load(message + next, swap);
    const uint32_t length = Load(message + next + 4, swap);
    next += 8;
    if (length > size - next) return false;
    contexts->push_back({id, View(message + next, length)});
    next += length;
  }
  *at = next;
  return true;
}

}  // namespace

bool FastDecodeRequest12(std::string_view bytes, cdr::ByteOrder order, const Limits& limits,
                         uint32_t* id, orb::Request* request) {
  const auto* const message = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t size = bytes.size();
  const bool swap = order != cdr::kNativeOrder;
  if (size < kKeyAt) return false;
  const uint8_t flags = message[kFlagsAt];
  if (flags != 0 && flags != kTwoWay) return false;
  // KeyAddr is 0 in either order.
  if ((message[kDispositionAt] | message[kDispositionAt + 1]) != 0) return false;
  const uint32_t key_length = Load(message + kKeyLengthAt, swap);
  if (key_length > size - kKeyAt || key_length > limits.max_key_size) return false;

  size_t at = AlignUp(kKeyAt + key_length, 4);
  if (size < at + 4) return false;
  const uint32_t length = Load(message + at, swap);
  at += 4;
  if (length == 0 || length > size - at || length - 1 > limits.max_operation_size) return false;
  if (!EndsWithItsOnlyNul(message + at, length)) return false;
  request->operation = View(message + at, length - 1);

  at = AlignUp(at + length, 4);
  if (size < at + 4) return false;
  if (Load(message + at, swap) == 0) [[likely]] {
    request->contexts.clear();
    at += 4;
  } else if (!TakeContexts(message, size, swap, limits.max_service_contexts, &at,
                           &request->contexts)) {
    return false;
  }
  if (!TakeBody12(message, size, at, order, &request->body)) return false;
  *id = Load(message + kIdAt, swap);
  request->object_key = View(message + kKeyAt, key_length);
  request->principal = {};
  request->response_expected = flags != 0;
  request->minor = GiopMinor::k2;
  request->deadline = kNoDeadline;
  return true;
}

bool FastDecodeReply12(std::string_view bytes, cdr::ByteOrder order, uint32_t* id,
                       orb::Reply* reply) {
  const auto* const message = reinterpret_cast<const uint8_t*>(bytes.data());
  const bool swap = order != cdr::kNativeOrder;
  if (bytes.size() < kReplyBodyAt) return false;
  const uint32_t status = Load(message + kStatusAt, swap);
  if (status > static_cast<uint32_t>(orb::ReplyStatus::kNeedsAddressingMode)) return false;
  if (Load(message + kReplyContextsAt, swap) != 0) return false;
  *id = Load(message + kIdAt, swap);
  reply->status = static_cast<orb::ReplyStatus>(status);
  reply->contexts.clear();
  return TakeBody12(message, bytes.size(), kReplyBodyAt, order, &reply->body);
}

bool FastEncodeRequest12(uint32_t id, const orb::Request& request, size_t most,
                         cdr::ByteBuffer* out) {
  const orb::Body& body = request.body;
  if (!request.contexts.empty() || body.alignment != 0 || body.restarts.count != 0) return false;
  const size_t key = request.object_key.size(), operation = request.operation.size();
  const size_t operation_at = AlignUp(kKeyAt + key, 4);
  const size_t contexts_at = AlignUp(operation_at + 4 + operation + 1, 4);
  size_t body_at = contexts_at + 4;
  if (!body.bytes.empty()) body_at = AlignUp(body_at, 8);
  const size_t total = body_at + body.bytes.size();
  if (total > most) return false;

  const bool swap = body.order != cdr::kNativeOrder;
  uint8_t* const message = out->Extend(total + kZeroes);
  out->Truncate(out->size() - kZeroes);
  StoreHeader(MessageType::kRequest, body.order, total, message);
  Store(id, swap, message + kIdAt);
  const uint8_t fixed[8] = {request.response_expected ? kTwoWay : uint8_t{0}};
  std::memcpy(message + kFlagsAt, fixed, sizeof fixed);
  Store(static_cast<uint32_t>(key), swap, message + kKeyLengthAt);
  // Padding first, then what is before and behind it.
  if (key > 0) Store(0, false, message + operation_at - 4);
  CopyFew(message + kKeyAt, request.object_key);
  Store(static_cast<uint32_t>(operation + 1), swap, message + operation_at);
  CopyFew(message + operation_at + 4, request.operation);
  // Covers the NUL, its padding, the empty list of contexts, and the padding before the body.
  std::memset(message + operation_at + 4 + operation, 0, kZeroes);
  CopyFew(message + body_at, body.bytes);
  return true;
}

bool FastEncodeReply12(uint32_t id, const orb::Reply& reply, size_t most, cdr::ByteBuffer* out) {
  const orb::Body& body = reply.body;
  const size_t total = kReplyBodyAt + body.bytes.size();
  if (!reply.contexts.empty() || body.alignment != 0 || body.restarts.count != 0 || total > most) {
    return false;
  }
  const bool swap = body.order != cdr::kNativeOrder;
  uint8_t* const message = out->Extend(total);
  StoreHeader(MessageType::kReply, body.order, total, message);
  Store(id, swap, message + kIdAt);
  Store(static_cast<uint32_t>(reply.status), swap, message + kStatusAt);
  Store(0, swap, message + kReplyContextsAt);
  CopyFew(message + kReplyBodyAt, body.bytes);
  return true;
}

}  // namespace weir::giop
