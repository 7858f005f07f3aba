// The calls that wait for a reply on one connection, by request id. Lock-free: whoever completes a
// call (the reader, a timeout, a cancellation) takes it out of its slot with one compare-and-swap,
// so exactly one of them does.
//
// A request id is even (CORBA 3.3 part 2, 9.8.1: the initiator's ids) and names a slot and the
// slot's generation, so that a late reply does not meet the slot's next call. Slots come in chunks
// that are added as they are needed and stay.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_PENDING_TABLE_H_
#define WEIR_ORB_CORE_PENDING_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"

namespace weir::orb {

class Invocation;

class PendingTable {
 public:
  // At most `limit` calls at a time, up to 32768.
  explicit PendingTable(size_t limit);
  ~PendingTable();

  // A new request id for `call`, or nothing if the table is full. The call does not wait yet:
  // nobody can take it.
  std::optional<uint32_t> Reserve(Invocation* call, Nanos deadline);
  // The call waits from now on; the one who takes it owns it. REQUIRES: `id` comes from Reserve.
  void Publish(uint32_t id);
  // Gives up an id that was never published.
  void Unreserve(uint32_t id);
  // The call that waits for `id`, no longer waiting; null if there is none (any more).
  Invocation* Take(uint32_t id);
  bool Waiting(uint32_t id) const;
  // A call may be cancelled between Reserve and its request's way out, when a cancellation would
  // be too early. A note of that is left, which the sender then finds.
  void NoteCancelled(uint32_t id);
  bool NotedCancelled(uint32_t id) const;
  // Lets no call in any more, if there is none now; returns whether there is none.
  bool SealIfEmpty();
  bool sealed() const { return (count_.load() & kSealed) != 0; }
  // Calls `visit` with each waiting id and its deadline, in no order. Ids may come and go
  // meanwhile.
  void ForEach(const std::function<void(uint32_t id, Nanos deadline)>& visit) const;

  bool empty() const { return count_.load() == 0; }  // and not sealed
  size_t size() const { return count_.load() & (kSealed - 1); }

 private:
  static constexpr int kSlotBits = 15;
  static constexpr uint32_t kSlots = 1u << kSlotBits;
  static constexpr uint32_t kChunk = 64;
  static constexpr uint64_t kSealed = uint64_t{1} << 63;

  struct Slot {
    // The id that waits here, or 0 (never an id that is given out) if none does.
    std::atomic<uint32_t> id{0};
    std::atomic<uint32_t> cancelled{0};  // an id
    std::atomic<Nanos> deadline{kNoDeadline};
    Invocation* call = nullptr;  // written before `id`, read by the one who has swapped it out
    uint32_t generation = 0;     // of the slot's owner, between taking its bit and freeing it
  };
  struct Chunk {
    std::atomic<uint64_t> used{0};  // a bit for each slot
    Slot slots[kChunk];
  };

  Chunk* GetChunk(uint32_t index);
  Slot& SlotOf(uint32_t id);
  void Free(uint32_t id);

  const size_t limit_;
  std::atomic<uint64_t> count_{0};  // calls, and kSealed
  std::atomic<Chunk*> chunks_[kSlots / kChunk] = {};
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_PENDING_TABLE_H_
