#include "orb/core/pending_table.h"

#include <algorithm>
#include <bit>

namespace weir::orb {

PendingTable::PendingTable(size_t limit) : limit_(std::min<size_t>(limit, kSlots)) {}

PendingTable::~PendingTable() {
  for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load();
}

PendingTable::Chunk* PendingTable::GetChunk(uint32_t index) {
  Chunk* chunk = chunks_[index].load(std::memory_order_acquire);
  if (chunk != nullptr) [[likely]]
    return chunk;
  Chunk* const fresh = new Chunk;
  if (chunks_[index].compare_exchange_strong(chunk, fresh)) return fresh;
  delete fresh;
  return chunk;
}

std::optional<uint32_t> PendingTable::Reserve(Invocation* call, Nanos deadline) {
  if (count_.fetch_add(1) >= limit_) {
    count_.fetch_sub(1);
    return std::nullopt;
  }
  // (A seal makes the count larger than any limit.) The count admits no more than there are slots,
  // so a free one exists; others may be quicker to take it.
  for (;;) {
    for (uint32_t c = 0; c < kSlots / kChunk; ++c) {
      Chunk* const chunk = GetChunk(c);
      uint64_t used = chunk->used.load(std::memory_order_relaxed);
      while (~used != 0) {
        const int bit = std::countr_one(used);
        if (!chunk->used.compare_exchange_weak(used, used | (uint64_t{1} << bit),
                                               std::memory_order_seq_cst)) {
          continue;
        }
        Slot& slot = chunk->slots[bit];
        // 16 bits that are never all zero, so that no id is 0.
        slot.generation = slot.generation < 0xffff ? slot.generation + 1 : 1;
        slot.call = call;
        slot.cancelled.store(0, std::memory_order_relaxed);
        slot.deadline.store(deadline, std::memory_order_relaxed);
        return (slot.generation << kSlotBits | (c * kChunk + bit)) << 1;
      }
    }
  }
}

PendingTable::Slot& PendingTable::SlotOf(uint32_t id) {
  const uint32_t index = (id >> 1) % kSlots;
  return chunks_[index / kChunk].load(std::memory_order_acquire)->slots[index % kChunk];
}

void PendingTable::Free(uint32_t id) {
  const uint32_t index = (id >> 1) % kSlots;
  chunks_[index / kChunk]
      .load(std::memory_order_acquire)
      ->used.fetch_and(~(uint64_t{1} << (index % kChunk)), std::memory_order_release);
  count_.fetch_sub(1);
}

bool PendingTable::SealIfEmpty() {
  uint64_t none = 0;
  return count_.compare_exchange_strong(none, kSealed) || none == kSealed;
}

void PendingTable::Publish(uint32_t id) { SlotOf(id).id.store(id); }

void PendingTable::Unreserve(uint32_t id) { Free(id); }

Invocation* PendingTable::Take(uint32_t id) {
  const uint32_t index = (id >> 1) % kSlots;
  Chunk* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  if (chunk == nullptr || id == 0) return nullptr;
  Slot& slot = chunk->slots[index % kChunk];
  uint32_t expected = id;
  if (!slot.id.compare_exchange_strong(expected, 0)) return nullptr;
  Invocation* const call = slot.call;
  Free(id);
  return call;
}

bool PendingTable::Waiting(uint32_t id) const {
  const uint32_t index = (id >> 1) % kSlots;
  const Chunk* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  return chunk != nullptr && chunk->slots[index % kChunk].id.load(std::memory_order_acquire) == id;
}

// Sequentially consistent, as Publish and Take are: one who took too early has left its note before
// the sender looks.
void PendingTable::NoteCancelled(uint32_t id) {
  const uint32_t index = (id >> 1) % kSlots;
  Chunk* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  if (chunk != nullptr) chunk->slots[index % kChunk].cancelled.store(id);
}

bool PendingTable::NotedCancelled(uint32_t id) const {
  const uint32_t index = (id >> 1) % kSlots;
  const Chunk* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  return chunk != nullptr && chunk->slots[index % kChunk].cancelled.load() == id;
}

void PendingTable::ForEach(const std::function<void(uint32_t, Nanos)>& visit) const {
  for (const std::atomic<Chunk*>& c : chunks_) {
    const Chunk* const chunk = c.load(std::memory_order_acquire);
    if (chunk == nullptr) return;  // chunks are added in order
    if (chunk->used.load() == 0) continue;
    for (const Slot& slot : chunk->slots) {
      const uint32_t id = slot.id.load(std::memory_order_acquire);
      const Nanos deadline = slot.deadline.load(std::memory_order_acquire);
      // The deadline is this id's only if the slot has not changed hands between the two reads.
      if (id != 0 && slot.id.load(std::memory_order_relaxed) == id) visit(id, deadline);
    }
  }
}

}  // namespace weir::orb
