// Resumes suspended calls, on threads of its own.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_TESTS_FAULTS_RESUMER_H_
#define WEIR_TESTS_FAULTS_RESUMER_H_

#include <array>
#include <deque>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "filters/suspension.h"

namespace weir::testing {

class Resumer {
 public:
  Resumer() {
    for (std::thread& t : threads_) t = std::thread([this] { Work(); });
  }
  ~Resumer() {
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      changed_.SignalAll();
    }
    for (std::thread& t : threads_) t.join();
  }
  void Later(filters::Suspension call, filters::Verdict verdict) {
    MutexLock lock(&mu_);
    calls_.emplace_back(std::move(call), verdict);
    changed_.Signal();
  }

 private:
  void Work() {
    for (;;) {
      std::pair<filters::Suspension, filters::Verdict> next;
      {
        MutexLock lock(&mu_);
        while (calls_.empty() && !stopping_) changed_.Wait(&mu_);
        if (calls_.empty()) return;
        next = std::move(calls_.front());
        calls_.pop_front();
      }
      next.first.Resume(next.second);
    }
  }

  Mutex mu_;
  CondVar changed_;
  std::deque<std::pair<filters::Suspension, filters::Verdict>> calls_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::array<std::thread, 2> threads_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_FAULTS_RESUMER_H_
