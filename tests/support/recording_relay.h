// Stands before a TCP server, passes octets on both ways, and writes them down.
//
// Thread safety: runs its own threads; the functions are for one thread.

#ifndef WEIR_TESTS_SUPPORT_RECORDING_RELAY_H_
#define WEIR_TESTS_SUPPORT_RECORDING_RELAY_H_

#include <atomic>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace weir::testing {

class RecordingRelay {
 public:
  // What one connection has carried.
  struct Connection {
    std::string requests;  // from the client
    std::string replies;   // to the client
  };

  // Listens on a free port of 127.0.0.1.
  RecordingRelay();
  ~RecordingRelay();

  int port() const { return port_; }
  // Of 127.0.0.1; for connections from now on.
  void set_target(int port) { target_ = port; }

  // Ends all connections and returns what they have carried, in the order in which they were made.
  std::vector<Connection> Take();

 private:
  struct Line {
    int client = -1, server = -1;
    Connection carried;
    std::thread up, down;
  };

  void Accept();
  static void Pump(int from, int to, std::string* record);

  int fd_ = -1;
  int port_ = 0;
  std::atomic<int> target_{0};
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  std::list<Line> lines_ ABSL_GUARDED_BY(mu_);
  std::thread acceptor_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_SUPPORT_RECORDING_RELAY_H_
