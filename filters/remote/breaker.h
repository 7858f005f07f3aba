// Stops asking a filter that does not answer. After so many timeouts in a row it is open: nothing
// is asked. After a pause it is half open: one question tries, and further ones wait another pause
// for what comes of that. An answer closes it.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_FILTERS_REMOTE_BREAKER_H_
#define WEIR_FILTERS_REMOTE_BREAKER_H_

#include "base/clock.h"

namespace weir::filters {

class Breaker {
 public:
  // `limit` timeouts in a row open it; 0: it never opens.
  Breaker(int limit, Nanos pause) : limit_(limit), pause_(pause) {}

  // Whether a question may be put now, which it then is.
  bool Admits(Nanos now) {
    if (open_until_ == 0) return true;
    if (now < open_until_) return false;
    open_until_ = now + pause_;
    return true;
  }
  // True: this has opened it.
  bool TimedOut(Nanos now) {
    ++timeouts_;
    if (limit_ == 0 || timeouts_ < limit_ || open_until_ != 0) return false;
    open_until_ = now + pause_;
    return true;
  }
  // True: this has closed it.
  bool Answered() {
    const bool was_open = open_until_ != 0;
    Close();
    return was_open;
  }
  void Close() {
    timeouts_ = 0;
    open_until_ = 0;
  }
  int timeouts_in_a_row() const { return timeouts_; }

 private:
  const int limit_;
  const Nanos pause_;
  int timeouts_ = 0;      // in a row
  Nanos open_until_ = 0;  // 0: closed
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_BREAKER_H_
