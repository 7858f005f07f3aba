// An Incoming to decode into, lent by the current thread so that its memory is used again. Leases
// nest: a callback that decodes in turn gets another one.
//
// Thread safety: of the thread that made it.

#ifndef WEIR_ORB_CORE_INCOMING_LEASE_H_
#define WEIR_ORB_CORE_INCOMING_LEASE_H_

#include <memory>
#include <vector>

#include "orb/core/codec.h"

namespace weir::orb {

class IncomingLease {
 public:
  IncomingLease() {
    std::vector<std::unique_ptr<Incoming>>& spare = Spare();
    if (spare.empty()) {
      incoming_ = std::make_unique<Incoming>();
    } else {
      incoming_ = std::move(spare.back());
      spare.pop_back();
    }
  }
  ~IncomingLease() {
    incoming_->request.Clear();
    incoming_->reply.Clear();
    Spare().push_back(std::move(incoming_));
  }
  IncomingLease(const IncomingLease&) = delete;
  IncomingLease& operator=(const IncomingLease&) = delete;

  Incoming* get() const { return incoming_.get(); }
  Incoming* operator->() const { return incoming_.get(); }

 private:
  static std::vector<std::unique_ptr<Incoming>>& Spare() {
    thread_local std::vector<std::unique_ptr<Incoming>> spare;
    return spare;
  }

  std::unique_ptr<Incoming> incoming_;
};

// The same for buffers to encode into. What grows large is given back to the heap.
class BufferLease {
 public:
  BufferLease() {
    std::vector<cdr::ByteBuffer>& spare = Spare();
    if (spare.empty()) return;
    buffer_ = std::move(spare.back());
    spare.pop_back();
  }
  ~BufferLease() {
    buffer_.Clear();
    buffer_.ShrinkTo(kMostBytes);
    Spare().push_back(std::move(buffer_));
  }
  BufferLease(const BufferLease&) = delete;
  BufferLease& operator=(const BufferLease&) = delete;

  cdr::ByteBuffer* get() { return &buffer_; }
  cdr::ByteBuffer* operator->() { return &buffer_; }

 private:
  static constexpr size_t kMostBytes = 256 * 1024;
  static std::vector<cdr::ByteBuffer>& Spare() {
    thread_local std::vector<cdr::ByteBuffer> spare;
    return spare;
  }

  cdr::ByteBuffer buffer_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_INCOMING_LEASE_H_
