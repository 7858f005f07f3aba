// What a thread owes to others when a filter on it makes a blocking call. Filters should not block;
// one that does must not hold up what its call needs to end: the threads of the server that it is
// in, the input of the connection whose call it looks at, or the replies that its thread reads.
//
// Thread safety: all of it belongs to the current thread.

#ifndef WEIR_ORB_CORE_FILTER_UPCALL_H_
#define WEIR_ORB_CORE_FILTER_UPCALL_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "orb/core/call.h"
#include "orb/core/reactor.h"

namespace weir::orb {

// The dispatcher runs the up filters of `call`, on a thread that was lent for it.
class FilterUpcall {
 public:
  FilterUpcall(Call* call, Reactor* reactor)
      : call_(call), reactor_(reactor), outer_(std::exchange(current_, this)) {}
  ~FilterUpcall() { current_ = outer_; }
  FilterUpcall(const FilterUpcall&) = delete;
  FilterUpcall& operator=(const FilterUpcall&) = delete;

  // What Call::BeginUpcall gave, if a filter has blocked.
  uint32_t upcall() const { return upcall_; }

  // A filter blocks on this thread while this object lives.
  class Blocking {
   public:
    // `holds_call`: the dispatcher's call is still there.
    explicit Blocking(bool holds_call) : outer_(std::exchange(current_, nullptr)) {
      if (outer_ == nullptr || !holds_call) return;
      blocking_.emplace(outer_->reactor_);
      if (outer_->upcall_ == 0) outer_->upcall_ = outer_->call_->BeginUpcall();
    }
    ~Blocking() { current_ = outer_; }
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;

   private:
    FilterUpcall* const outer_;
    std::optional<Reactor::Blocking> blocking_;
  };

 private:
  static inline constinit thread_local FilterUpcall* current_ = nullptr;

  Call* const call_;
  Reactor* const reactor_;
  uint32_t upcall_ = 0;
  FilterUpcall* const outer_;
};

// This thread reads the replies of a connection, to all that wait for some.
class ReadingReplies {
 public:
  ReadingReplies() { ++depth_; }
  ~ReadingReplies() { --depth_; }
  ReadingReplies(const ReadingReplies&) = delete;
  ReadingReplies& operator=(const ReadingReplies&) = delete;

  static bool OnThisThread() { return depth_ != 0; }

 private:
  static inline constinit thread_local int depth_ = 0;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_FILTER_UPCALL_H_
