// A gRPC server of weir.filter.v1 that does what a test says, well or badly.
//
// Without a script it judges numbered calls (numbered_calls.h): those whose number is divisible by
// 4 are bounced, or their reply is replaced; all others pass.
//
// Thread safety: safe for concurrent use; scripts run on threads of the server.

#ifndef WEIR_TESTS_FAULTS_FILTER_SERVER_H_
#define WEIR_TESTS_FAULTS_FILTER_SERVER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "weir/filter/v1/filter.pb.h"

namespace weir::testing {

namespace v1 = ::weir::filter::v1;

// One stream of questions, while it lasts and after.
class FilterStream {
 public:
  virtual ~FilterStream() = default;
  // Sends it; does nothing once the stream is over.
  virtual void Send(const v1::Answer& answer) = 0;
  // Ends the stream.
  virtual void End() = 0;
};
using FilterStreamPtr = std::shared_ptr<FilterStream>;

// The ways of numbered calls. The numbers are in question.body.
uint64_t NumberIn(const v1::Body& body);
v1::Body NumberBody(uint64_t number, bool little_endian = true);
v1::Answer Judge(const v1::Question& question);
v1::Answer PassAnswer(const v1::Question& question);
// What the filter answers to calls that it does not pass: of up methods this much more than the
// number times 8, of down methods NO_RESOURCES with this minor code.
inline constexpr uint64_t kFiltersResult = 4;
inline constexpr uint32_t kFiltersMinor = 77;

struct FilterScript {
  // Null: up `check` and down `look`, which read bodies and change nothing.
  std::function<void(v1::DescribeResponse*)> describe;
  // Describe answers only when it is cancelled.
  std::atomic<bool> describe_hangs{false};
  // Every stream is over before it has begun.
  std::atomic<bool> streams_end{false};
  // Null: Judge.
  std::function<void(const v1::Question&, const FilterStreamPtr&)> judge;
};

class FilterServer {
 public:
  // At "unix:PATH" or "127.0.0.1:0". Fails the running test if it cannot listen.
  explicit FilterServer(const std::string& address);
  FilterServer(const std::string& address, std::shared_ptr<FilterScript> script);
  ~FilterServer();

  // To connect to.
  const std::string& address() const;
  uint64_t questions() const;
  uint64_t streams() const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

// Calls something later, in order of time, on one thread. What is left at the end is dropped.
class Later {
 public:
  Later();
  ~Later();
  void Do(Nanos delay, std::function<void()> what);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Describes itself well and answers each question with bytes that are no message.
class BrokenProtobufServer {
 public:
  BrokenProtobufServer();
  ~BrokenProtobufServer();
  const std::string& address() const;
  uint64_t streams() const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_FAULTS_FILTER_SERVER_H_
