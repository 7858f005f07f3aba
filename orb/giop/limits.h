// What one peer may cost. Every field is a parameter of giop::Giop; each comment names the attack
// that the limit stops.
//
// Thread safety: Limits is a value; PartialBudget is safe for concurrent use.

#ifndef WEIR_ORB_GIOP_LIMITS_H_
#define WEIR_ORB_GIOP_LIMITS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::giop {

struct Limits {
  // Bytes of one message, its 12-byte header and the data of all fragments included; sent and
  // received. Stops: a peer that announces, or trickles in, gigabytes.
  size_t max_message_size = 8 * 1024 * 1024;
  // Pieces of one message. Stops: endless empty fragments that keep a message open for ever.
  uint32_t max_fragments = 8192;
  // Messages of one connection that have begun to arrive in fragments. GIOP 1.2 interleaves them.
  // Stops: ten thousand first fragments and never a second.
  uint32_t max_partial_messages = 16;
  // Bytes held for incomplete messages by all connections of one Giop together. Stops: many
  // connections that each stay just below their own limits.
  size_t max_partial_bytes = 256 * 1024 * 1024;
  // Service contexts of one message. Stops: a million empty contexts in one small message, each of
  // which costs more memory here than on the wire.
  uint32_t max_service_contexts = 64;
  // Bytes of an object key. Stops: huge keys as keys of maps, caches and log lines.
  uint32_t max_key_size = 64 * 1024;
  // Bytes of an operation name. Stops: the same with operations.
  uint32_t max_operation_size = 1024;

  // Not a defence: GIOP 1.2 requests and replies above this many bytes are sent in fragments of at
  // most so many (rounded down to a multiple of 8, at least 64). 0: never.
  size_t fragment_size = 0;
};

// Bytes that all connections together hold for incomplete messages.
class PartialBudget {
 public:
  explicit PartialBudget(size_t most) : most_(most) {}

  // Takes `n` bytes, or none and returns false.
  bool Take(size_t n) {
    size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (n > most_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + n, std::memory_order_relaxed));
    return true;
  }
  void Give(size_t n) { used_.fetch_sub(n, std::memory_order_relaxed); }
  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const size_t most_;
  std::atomic<size_t> used_{0};
};

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_LIMITS_H_
