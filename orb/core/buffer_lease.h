// A buffer to encode into, lent by the current thread so that its memory is used again. What grows
// large is given back to the heap. Leases nest: a callback that encodes in turn gets another one.
//
// Thread safety: of the thread that made it.

#ifndef WEIR_ORB_CORE_BUFFER_LEASE_H_
#define WEIR_ORB_CORE_BUFFER_LEASE_H_

#include "orb/cdr/byte_buffer.h"

namespace weir::orb {

// What a thread has to lend: a few objects, to be used again. Constant-initialized, as a
// thread_local is looked at on every call.
template <typename T>
class SpareList {
 public:
  constexpr SpareList() = default;
  ~SpareList() {
    closed_ = true;
    while (count_ > 0) delete items_[--count_];
  }
  T* Take() { return count_ > 0 ? items_[--count_] : new T; }
  void Put(T* item) {
    if (closed_ || count_ == kMost) [[unlikely]] {
      delete item;
    } else {
      items_[count_++] = item;
    }
  }

 private:
  static constexpr int kMost = 8;  // leases seldom nest deeper than two

  T* items_[kMost] = {};
  int count_ = 0;
  bool closed_ = false;  // the thread ends
};

class BufferLease {
 public:
  BufferLease() : buffer_(Spare().Take()) {}
  ~BufferLease() {
    buffer_->Clear();
    buffer_->ShrinkTo(kMostBytes);
    Spare().Put(buffer_);
  }
  BufferLease(const BufferLease&) = delete;
  BufferLease& operator=(const BufferLease&) = delete;

  cdr::ByteBuffer* get() const { return buffer_; }
  cdr::ByteBuffer* operator->() const { return buffer_; }

 private:
  static constexpr size_t kMostBytes = 256 * 1024;
  static SpareList<cdr::ByteBuffer>& Spare() {
    thread_local SpareList<cdr::ByteBuffer> spare;
    return spare;
  }

  cdr::ByteBuffer* const buffer_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_BUFFER_LEASE_H_
