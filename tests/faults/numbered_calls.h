// Calls that carry a number, and a node with a remote filter that they go through: every call is
// answered once, in time, with an answer that names it, and the servant counts how often it has
// executed each.
//
// Thread safety: NumberedCalls and RemoteNode are safe for concurrent use after construction.

#ifndef WEIR_TESTS_FAULTS_NUMBERED_CALLS_H_
#define WEIR_TESTS_FAULTS_NUMBERED_CALLS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "filters/registry.h"
#include "filters/remote/orb_channel.h"
#include "orb/core/orb.h"
#include "tests/interop/raw_giop.h"

namespace weir::testing {

// Far more than any call should take; a call that is not answered by then hangs.
inline constexpr int kHangsMs = 20'000;

inline constexpr uint64_t kServantsResult = 2;
inline constexpr char kOops[] = "IDL:weir/Oops:1.0";

// How often each call was executed.
class Executions {
 public:
  void Count(uint64_t number) { executed_.at(number).fetch_add(1); }
  int of(uint64_t number) const { return executed_.at(number).load(); }
  uint64_t total(uint64_t end) const {
    uint64_t sum = 0;
    for (uint64_t n = 0; n < end; ++n) sum += executed_[n].load();
    return sum;
  }

 private:
  static constexpr size_t kMost = 1'000'000;
  std::vector<std::atomic<uint8_t>> executed_ = std::vector<std::atomic<uint8_t>>(kMost);
};

// What a reply to a numbered call says.
struct NumberedReply {
  enum Kind { kServants, kFilters, kUser, kSystem, kStrange } kind = kStrange;
  uint64_t number = 0;  // of the first three
  std::string name;     // of the exception: "NO_PERMISSION"
  uint32_t minor = 0, completed = 0;
  std::vector<RawContext> contexts;
};
NumberedReply ReadNumberedReply(RawReply reply);

// A server with the filter registry in it or, as a gateway, before it. The key is "n"; operation
// `user` raises kOops, `system` raises BAD_PARAM with minor 5, `void` returns nothing, all
// others give the number times 8 and kServantsResult. Replies have the context 0x1234 "servant's".
class RemoteNode {
 public:
  explicit RemoteNode(bool gateway);
  ~RemoteNode();

  int port() const { return port_; }
  Executions& executions() { return executions_; }
  // Told of each call that the servant gets. To be set before the first one.
  void set_on_call(std::function<void(const orb::Call&)> hook) { on_call_ = std::move(hook); }
  orb::Orb& orb();  // the one that has the filters
  filters::Registry& registry() { return *registry_; }
  const Clock& clock() const { return clock_; }

  // Fails the running test if it is refused.
  void Commit(const filters::ChangeSet& changes);
  // Plugs "r" at `address` and maps `check` up or `look` down, or as `method` says, for all
  // operations.
  void Plug(const std::string& address, filters::Phase phase, filters::FilterParameters more,
            const std::string& method = "");
  uint64_t Counter(const std::string& name) const;
  // Waits, and fails the running test if it never comes.
  bool WaitFor(const std::function<bool()>& condition) const;
  bool WaitForCounter(const std::string& name, uint64_t least) const {
    return WaitFor([&] { return Counter(name) >= least; });
  }
  // Ends it early; the destructor does else.
  absl::Status Shutdown(Nanos patience);

 private:
  struct Side;
  SystemClock clock_;
  NullLogger logger_;
  Executions executions_;
  std::function<void(const orb::Call&)> on_call_ = [](const orb::Call&) {};
  filters::OrbHandle handle_;  // of orb(), for filters that are objects
  filters::FilterKinds kinds_;
  std::unique_ptr<filters::Registry> registry_;
  std::unique_ptr<Side> server_, gateway_;
  int port_ = 0;
};

// Clients that call all the time.
class NumberedCalls {
 public:
  // Told of each call and its reply, on the clients' threads.
  using Check = std::function<void(uint64_t number, const NumberedReply&)>;

  // Each client has its own connection and so many calls in flight; every other client is of the
  // other byte order.
  NumberedCalls(RemoteNode* node, int clients, int window, Check check);
  ~NumberedCalls() { Stop(); }

  // Lets the calls in flight be answered, and the clients end. The answers are then complete.
  void Stop();
  uint64_t sent() const { return next_number_; }
  uint64_t answered() const { return answered_; }
  bool failed() const { return failed_; }

 private:
  void Call(Order order, int window);

  RemoteNode* const node_;
  const Check check_;
  std::atomic<uint64_t> next_number_{0}, answered_{0};
  std::atomic<bool> stop_{false}, failed_{false};
  std::vector<std::thread> clients_;
};

RawRequest NumberedRequest(uint32_t id, uint64_t number, Order order = Order::kLittle,
                           const std::string& operation = "call");

}  // namespace weir::testing

#endif  // WEIR_TESTS_FAULTS_NUMBERED_CALLS_H_
