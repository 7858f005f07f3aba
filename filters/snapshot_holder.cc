#include "filters/snapshot_holder.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/thread_index.h"

namespace weir::filters {
struct SnapshotHolder::Node {
  struct alignas(64) Shard {
    std::atomic<int64_t> references{0};  // may be negative: another thread may let go
  };

  explicit Node(std::shared_ptr<const Snapshot> s) : snapshot(std::move(s)) {}

  const std::shared_ptr<const Snapshot> snapshot;
  // References are counted in a place for each thread.
  std::array<Shard, kThreadIndices> shards;
};

SnapshotHolder::Reader::Reader(SnapshotHolder* holder) {
  node_ = holder->current_.load(std::memory_order_acquire);
  for (size_t i = ThreadIndex();; ++i) {
    std::atomic<const void*>& slot = holder->slots_[i % kSlots].node;
    const void* expected = nullptr;
    // Sequentially consistent, like the check below and the writer's exchange and scan: either the
    // writer sees this announcement, or the check sees that the snapshot was replaced.
    if (slot.compare_exchange_strong(expected, node_, std::memory_order_seq_cst,
                                     std::memory_order_relaxed)) {
      slot_ = &slot;
      break;
    }
  }
  for (;;) {
    Node* const now = holder->current_.load(std::memory_order_seq_cst);
    if (now == node_) return;
    node_ = now;
    slot_->store(now, std::memory_order_seq_cst);
  }
}

const Snapshot& SnapshotHolder::Reader::operator*() const { return *node_->snapshot; }

const void* SnapshotHolder::Reader::Hold() {
  const size_t index = ThreadIndex();
  AddToPlace<int64_t>(&node_->shards[index].references, index, 1);
  return node_;
}

const Snapshot& SnapshotHolder::Held(const void* hold) {
  return *static_cast<const Node*>(hold)->snapshot;
}

void SnapshotHolder::Release(const void* hold) {
  Node* const node = static_cast<Node*>(const_cast<void*>(hold));
  const size_t index = ThreadIndex();
  AddToPlace<int64_t>(&node->shards[index].references, index, -1);
}

SnapshotHolder::SnapshotHolder() : current_(new Node(std::make_shared<const Snapshot>())) {}

SnapshotHolder::~SnapshotHolder() {
  Publish(nullptr);
  [[maybe_unused]] const size_t users = Reclaim();
  assert((users == 0 || abandoned_) && "a call outlives the registry");
  delete current_.load(std::memory_order_relaxed);
}

void SnapshotHolder::Publish(std::shared_ptr<const Snapshot> snapshot) {
  auto node = std::make_unique<Node>(std::move(snapshot));
  {
    MutexLock lock(&mu_);
    replaced_.emplace_back(current_.exchange(node.release(), std::memory_order_seq_cst));
  }
  Reclaim();
}

size_t SnapshotHolder::Reclaim() {
  // Filters are destroyed after the lock is gone: they may take their time.
  std::vector<std::unique_ptr<Node>> unused;
  size_t users = 0;
  MutexLock lock(&mu_);
  std::erase_if(replaced_, [&](std::unique_ptr<Node>& node) {
    const size_t n = Users(*node);
    users += n;
    if (n != 0) return false;
    unused.push_back(std::move(node));
    return true;
  });
  return users;
}

std::vector<std::shared_ptr<const Snapshot>> SnapshotHolder::All() {
  std::vector<std::shared_ptr<const Snapshot>> all;
  MutexLock lock(&mu_);
  all.push_back(current_.load(std::memory_order_seq_cst)->snapshot);
  for (const auto& node : replaced_) all.push_back(node->snapshot);
  return all;
}

std::vector<std::shared_ptr<InterfaceMemory>> SnapshotHolder::InterfaceMemories() {
  std::vector<std::shared_ptr<InterfaceMemory>> all;
  const auto add = [&all](const Snapshot& snapshot) {
    std::shared_ptr<InterfaceMemory> memory = snapshot.shared_interface_memory();
    if (memory == nullptr) return;
    if (std::find(all.begin(), all.end(), memory) == all.end()) all.push_back(std::move(memory));
  };
  MutexLock lock(&mu_);
  add(*current_.load(std::memory_order_seq_cst)->snapshot);
  for (const auto& node : replaced_) add(*node->snapshot);
  return all;
}

size_t SnapshotHolder::Users(const Node& node) const {
  size_t announced = 0;
  for (const Slot& slot : slots_) {
    if (slot.node.load(std::memory_order_seq_cst) == &node) ++announced;
  }
  // A reader adds its reference before it clears its slot. So with no slot left, none is added any
  // more: those seen here are at least those left at the end of the loop, and 0 means none.
  int64_t references = 0;
  for (const Node::Shard& shard : node.shards) {
    references += shard.references.load(std::memory_order_acquire);
  }
  return announced + static_cast<size_t>(std::max<int64_t>(references, 0));
}

}  // namespace weir::filters
