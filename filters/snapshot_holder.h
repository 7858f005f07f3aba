// Which snapshot is current, and which older ones are still held by calls. Readers take no lock and
// allocate nothing.
//
// How it works: a reader first announces, in a hazard slot, the snapshot that it is about to use,
// and then checks that this is still the current one. From that moment until the slot is cleared
// the writer will not free it. A reader that wants to keep the snapshot for longer adds a reference
// meanwhile; slots are thus held for nanoseconds only. The writer puts a replaced snapshot aside
// and frees it at a later commit, or in Reclaim, once no slot names it and its references are gone.
//
// Slots belong to no thread: a reader claims a free one, beginning at a place derived from its
// thread, so two threads rarely meet and threads may come and go as they like.
//
// Thread safety: safe for concurrent use; the destructor requires that nobody else uses it and that
// no reference is left, but for abandoned ones.

#ifndef WEIR_FILTERS_SNAPSHOT_HOLDER_H_
#define WEIR_FILTERS_SNAPSHOT_HOLDER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "filters/snapshot.h"

namespace weir::filters {

class SnapshotHolder {
  struct Node;

 public:
  SnapshotHolder();
  ~SnapshotHolder();
  SnapshotHolder(const SnapshotHolder&) = delete;
  SnapshotHolder& operator=(const SnapshotHolder&) = delete;

  // The current snapshot, safe to read while this object lives: a few instructions, not a call.
  class Reader {
   public:
    explicit Reader(SnapshotHolder* holder);
    ~Reader() { slot_->store(nullptr, std::memory_order_release); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    const Snapshot& operator*() const;
    const Snapshot* operator->() const { return &**this; }
    // A reference that outlives this object, to be given to Release once, by any thread.
    const void* Hold();

   private:
    std::atomic<const void*>* slot_;
    Node* node_;
  };

  static void Release(const void* hold);
  // What a reference, not yet released, refers to.
  static const Snapshot& Held(const void* hold);

  // Makes `snapshot` current, and frees older ones that nobody uses.
  void Publish(std::shared_ptr<const Snapshot> snapshot);

  // Frees replaced snapshots that nobody uses any more; returns how many calls hold the others.
  size_t Reclaim();

  // Some calls will never give their references back: what they hold goes with this object all the
  // same, and they must not be touched any more.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }

  // The current snapshot and those that are still used.
  std::vector<std::shared_ptr<const Snapshot>> All();
  // What those remember of interfaces. Whoever has it keeps no filter alive.
  std::vector<std::shared_ptr<InterfaceMemory>> InterfaceMemories();

 private:
  friend class Reader;

  // Far more than threads that can be inside those few instructions at one time; were all taken, a
  // reader would try again until one is free.
  static constexpr size_t kSlots = 128;
  struct alignas(64) Slot {
    std::atomic<const void*> node{nullptr};
  };

  // How many use a replaced `node`. Once 0 it stays 0.
  size_t Users(const Node& node) const;

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<Node*> current_;
  std::atomic<bool> abandoned_{false};

  Mutex mu_;
  std::vector<std::unique_ptr<Node>> replaced_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_SNAPSHOT_HOLDER_H_
