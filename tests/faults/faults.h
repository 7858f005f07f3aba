// What the fault tests share: real `weir` processes, their memory and threads as the kernel counts
// them, and an upstream that writes down everything that a gateway sends it.
//
// Thread safety: functions are to be called from the test's main thread; a RecordingUpstream runs
// its own threads and is safe for concurrent use.

#ifndef WEIR_TESTS_FAULTS_FAULTS_H_
#define WEIR_TESTS_FAULTS_FAULTS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "tests/interop/raw_giop.h"
#include "tests/support/process.h"

namespace weir::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

using Args = std::vector<std::string>;

struct Weir {
  std::unique_ptr<Process> process;
  int port = 0;
};

// `weir COMMAND --listen giop:tcp:127.0.0.1:0 ...`, once it is ready. `descriptors` is its limit of
// open ones; 0: as it comes. Fails the running test and returns no process if it does not come up.
Weir StartWeir(const std::string& command, const Args& more = {}, int descriptors = 0);
inline Weir StartEcho(const Args& more = {}) { return StartWeir("echo", more); }
Weir StartGateway(int upstream_port, Args more = {});

// Of /proc/PID/status: "VmRSS" (KiB), "Threads". 0 if there is no such process.
int64_t ProcStatus(pid_t pid, std::string_view field);

// A call of weir/Echo: ping(value) on `key`.
RawRequest Ping(uint32_t id, uint32_t value, std::string key = "echo");
// Sends it and checks the answer.
bool PingWorks(RawConnection* connection, uint32_t id);
// The same on a new connection.
bool PingWorksAt(int port);

// The exception in a SYSTEM_EXCEPTION reply: "IDL:omg.org/CORBA/MARSHAL:1.0 minor completed".
struct RawException {
  std::string id;  // "MARSHAL"; empty if the reply is none
  uint32_t minor = 0;
  uint32_t completed = 0;
};
RawException ExceptionOf(RawReply reply);

inline constexpr uint32_t kYes = 0, kNo = 1, kMaybe = 2;  // completion_status

// A server that checks and records what it is sent: each message must be GIOP to the letter.
class RecordingUpstream {
 public:
  struct Peer {
    int fd;
    int number;  // of the connection, from 0
    bool Send(std::string_view bytes) const;
    // Closes so that the other side gets a reset in place of an end.
    void Reset() const;
  };
  // Is given each whole message, on the connection's thread. False: close the connection.
  using Handler = std::function<bool(const RawMessage&, const Peer&)>;

  explicit RecordingUpstream(Handler handler);
  ~RecordingUpstream();

  // Answers as weir/Echo in any version.
  static Handler Echo();

  int port() const { return port_; }
  int connections() const { return connections_; }
  // What was malformed, in English.
  std::vector<std::string> violations() const;
  // "KEY OPERATION" of each request, in the order of arrival.
  std::vector<std::string> requests() const;
  size_t count(std::string_view request) const;

 private:
  void Accept();
  void Serve(Peer peer);
  std::string Check(const RawMessage& message);

  const Handler handler_;
  int fd_ = -1;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable Mutex mu_;
  std::vector<std::string> violations_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mu_);
  std::vector<int> open_ ABSL_GUARDED_BY(mu_);
  std::thread acceptor_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_FAULTS_FAULTS_H_
