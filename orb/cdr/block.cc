#include "orb/cdr/block.h"

#include <new>

namespace weir::cdr {
namespace {

// What one thread keeps for its next allocation: enough for the calls it handles at a time.
struct FreeList {
  static constexpr int kMost = 32;

  ~FreeList() {
    // A block recycled later in this thread's exit goes straight to the heap.
    closed = true;
    while (count > 0) ::operator delete(blocks[--count]);
  }

  void* blocks[kMost];
  int count = 0;
  bool closed = false;
};

thread_local FreeList free_list;

}  // namespace

Block* Block::Allocate(size_t capacity) {
  if (capacity <= kStandardSize) {
    capacity = kStandardSize;
    if (free_list.count > 0) return new (free_list.blocks[--free_list.count]) Block(capacity);
  }
  return new (::operator new(sizeof(Block) + capacity)) Block(capacity);
}

void Block::Recycle(Block* block) {
  const bool standard = block->capacity_ == kStandardSize;
  block->~Block();
  if (standard && !free_list.closed && free_list.count < FreeList::kMost) {
    free_list.blocks[free_list.count++] = block;
  } else {
    ::operator delete(block);
  }
}

}  // namespace weir::cdr
