// Calls functions every few milliseconds, on one thread that exists while there are any: for the
// timeouts of remote filters.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_REMOTE_TICKER_H_
#define WEIR_FILTERS_REMOTE_TICKER_H_

#include <functional>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace weir::filters {

class Ticker {
 public:
  explicit Ticker(Nanos period = 5 * kMillisecond) : period_(period) {}
  // REQUIRES: everything was removed.
  ~Ticker();

  int Add(std::function<void()> tick);
  // After this, the function is not called any more. Not to be called from within a tick.
  void Remove(int id);

 private:
  void Run();

  const Nanos period_;
  Mutex mu_;
  CondVar changed_;
  std::map<int, std::function<void()>> ticks_ ABSL_GUARDED_BY(mu_);
  int next_id_ ABSL_GUARDED_BY(mu_) = 1;
  int running_ ABSL_GUARDED_BY(mu_) = 0;  // the id of the tick that runs
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // started by the first Add
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_TICKER_H_
