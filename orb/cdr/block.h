// A reference-counted run of bytes that messages are received into. A decoded request or reply
// points into its block and holds a reference, so that its body is neither copied nor moved.
//
// Blocks of the standard size are kept in a small per-thread list when their last reference goes,
// so that steady traffic allocates nothing.
//
// Thread safety: references may be copied and dropped by any thread. Bytes below a view that has
// been handed out are not written again while more than one reference exists.

#ifndef WEIR_ORB_CDR_BLOCK_H_
#define WEIR_ORB_CDR_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weir::cdr {

class Block {
 public:
  static constexpr size_t kStandardSize = 16 * 1024;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  // Bytes that fit.
  size_t capacity() const { return capacity_; }

 private:
  friend class BlockRef;
  explicit Block(size_t capacity) : capacity_(capacity) {}
  static Block* Allocate(size_t capacity);
  static void Recycle(Block* block);

  std::atomic<uint32_t> refs_{1};
  const size_t capacity_;
};

class BlockRef {
 public:
  BlockRef() = default;
  // A block with one reference and room for at least `capacity` bytes.
  static BlockRef Allocate(size_t capacity = Block::kStandardSize) {
    return BlockRef(Block::Allocate(capacity));
  }

  BlockRef(const BlockRef& other) : block_(other.block_) {
    if (block_ != nullptr) block_->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() { reset(); }

  void reset() {
    Block* const block = std::exchange(block_, nullptr);
    if (block == nullptr) return;
    // The only reference left is ours: no one else can touch the count.
    if (block->refs_.load(std::memory_order_acquire) == 1 ||
        block->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Block::Recycle(block);
    }
  }
  // No other reference exists, so the bytes may be overwritten.
  bool unique() const { return block_->refs_.load(std::memory_order_acquire) == 1; }

  explicit operator bool() const { return block_ != nullptr; }
  Block* get() const { return block_; }
  Block* operator->() const { return block_; }

 private:
  explicit BlockRef(Block* block) : block_(block) {}
  Block* block_ = nullptr;
};

}  // namespace weir::cdr

#endif  // WEIR_ORB_CDR_BLOCK_H_
