// The receiving half of a connection: a block that bytes arrive in, and where the unread ones are.
//
// The block belongs to the input alone while nothing has been handed out; a decoded message that is
// kept holds the block, and the input goes on in another one. An input that is empty gives its
// block back, so that an idle connection holds none. Room grows with what has really arrived, never
// with what a header announces.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_ORB_CORE_INPUT_H_
#define WEIR_ORB_CORE_INPUT_H_

#include <algorithm>
#include <cstring>
#include <string_view>

#include "orb/cdr/block.h"
#include "orb/transport/transport.h"

namespace weir::orb {

class Input {
 public:
  // All that was received and not consumed.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(block_ ? block_->data() : nullptr) + begin_,
            end_ - begin_};
  }
  bool empty() const { return begin_ == end_; }
  const cdr::BlockRef& block() const { return block_; }
  void Consume(size_t n) { begin_ += n; }
  void Discard() { begin_ = end_; }

  // Receives once, as much as there is room for.
  IoResult Receive(Stream* stream, Wait wait) {
    MakeRoom();
    const IoResult r = stream->Receive(block_->data() + end_, block_->capacity() - end_, wait);
    if (r.kind == IoResult::kBytes) end_ += r.bytes;
    return r;
  }
  // The last Receive has filled the block, so more is probably waiting.
  bool full() const { return block_ && end_ == block_->capacity(); }

  // Gives the block back if nothing is in it.
  void Relax() {
    if (!empty()) return;
    block_.reset();
    begin_ = end_ = 0;
  }

 private:
  void MakeRoom() {
    if (!block_) {
      block_ = cdr::BlockRef::Allocate();
      begin_ = end_ = 0;
      return;
    }
    if (empty() && block_.unique()) {
      begin_ = end_ = 0;
      return;
    }
    // Enough left behind the unread bytes: nothing to move. The bytes of messages that others hold
    // lie before.
    if (block_->capacity() - end_ >= kLittle) return;
    const size_t unread = end_ - begin_;
    // A block that is more than half full of one unfinished message doubles.
    const size_t want =
        unread * 2 > block_->capacity() ? block_->capacity() * 2 : cdr::Block::kStandardSize;
    cdr::BlockRef next = want <= block_->capacity() && block_.unique()
                             ? block_
                             : cdr::BlockRef::Allocate(std::max(want, unread * 2));
    if (unread > 0) std::memmove(next->data(), block_->data() + begin_, unread);
    block_ = std::move(next);
    begin_ = 0;
    end_ = unread;
  }

  static constexpr size_t kLittle = 512;

  cdr::BlockRef block_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_INPUT_H_
