// What a call through a remote filter may come to, for each phase and failure policy; and peers
// that are no filter.
//
// Thread safety: for the test's main thread.

#ifndef WEIR_TESTS_FAULTS_REMOTE_FILTER_CHECKS_H_
#define WEIR_TESTS_FAULTS_REMOTE_FILTER_CHECKS_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "gtest/gtest.h"
#include "tests/faults/filter_server.h"
#include "tests/faults/numbered_calls.h"
#include "tests/support/environment.h"

namespace weir::testing {

// Phase, on-failure, whether the filters are in a gateway.
using PolicyCase = std::tuple<filters::Phase, const char*, bool>;

inline auto AllPolicies() {
  return ::testing::Values(PolicyCase{filters::Phase::kUp, "open", false},
                           PolicyCase{filters::Phase::kUp, "closed", true},
                           PolicyCase{filters::Phase::kUp, "answer=TRANSIENT", false},
                           PolicyCase{filters::Phase::kDown, "open", true},
                           PolicyCase{filters::Phase::kDown, "closed", false},
                           PolicyCase{filters::Phase::kDown, "answer=TRANSIENT", true});
}
std::string PolicyName(const ::testing::TestParamInfo<PolicyCase>& info);

class RemoteFilterTest : public ::testing::TestWithParam<PolicyCase> {
 protected:
  RemoteFilterTest() : node_(std::get<2>(GetParam())) {}

  filters::Phase phase() const { return std::get<0>(GetParam()); }
  bool up() const { return phase() == filters::Phase::kUp; }
  std::string policy() const { return std::get<1>(GetParam()); }

  // Without the breaker, unless `more` says otherwise.
  void Plug(const std::string& address, filters::FilterParameters more);
  void StartCalls();
  // And checks what is to be checked at the end.
  void StopCalls();
  void WaitForSome(const std::atomic<uint64_t>* count, uint64_t least);
  void WaitForMore(const std::atomic<uint64_t>* count, uint64_t more) {
    WaitForSome(count, *count + more);
  }

  const TempDir dir_;
  RemoteNode node_;
  // Calls that got the filter's answer; the servant's; and that were certainly not judged.
  std::atomic<uint64_t> filters_{0}, servants_{0}, policy_{0};

 private:
  void Check(uint64_t number, const NumberedReply& reply);

  std::atomic<uint64_t> unexecuted_{0};
  std::unique_ptr<NumberedCalls> calls_;
};

// A listener of TCP; each connection runs in a thread of its own.
class RawListener {
 public:
  // Given the connection, which it does not own, until it returns.
  using Serve = std::function<void(int fd, int number)>;
  explicit RawListener(Serve serve);
  ~RawListener();
  int port() const { return port_; }
  int connections() const { return connections_; }

  // To a port of 127.0.0.1; -1 if nobody is there.
  static int ConnectTo(int port);
  static void Close(int fd);

 private:
  void Accept();
  const Serve serve_;
  int fd_ = -1, port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Sends what is no HTTP/2 to whoever connects.
class NonsenseListener : public RawListener {
 public:
  NonsenseListener();
};

// Passes bytes on to `address` and back, and cuts the line in the middle of what comes back: each
// connection a few hundred octets later than the one before, so that every place is hit.
class CuttingRelay : public RawListener {
 public:
  explicit CuttingRelay(const std::string& address);
  int cuts() const { return *cuts_; }

 private:
  CuttingRelay(const std::string& address, std::shared_ptr<std::atomic<int>> cuts);
  const std::shared_ptr<std::atomic<int>> cuts_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_FAULTS_REMOTE_FILTER_CHECKS_H_
