// Child processes for tests and benches: start, watch the output by line, stop, never leak.
//
// A child is killed and reaped by the destructor, and by the kernel if the thread that started it
// ends first (so start long-lived children on the test's main thread).
//
// Usual use:
//   auto server = Process::Start({.argv = {RunfilePath("tools/weir"), "echo", ...}});
//   auto line = (*server)->WaitForLine("^ready", std::chrono::seconds(10));
//
// Thread safety: a Process is safe for concurrent use, except for its destruction.

#ifndef WEIR_TESTS_SUPPORT_PROCESS_H_
#define WEIR_TESTS_SUPPORT_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace weir::testing {

using Milliseconds = std::chrono::milliseconds;

class Process {
 public:
  struct Options {
    std::vector<std::string> argv;  // argv[0] is a path, or a name on PATH
    // Added to this process's environment; an empty value removes the variable.
    std::vector<std::pair<std::string, std::string>> env;
    std::string working_directory;  // empty: this process's
  };

  enum class Stream { kOut, kErr, kEither };

  // UNAVAILABLE if the program cannot be executed.
  static absl::StatusOr<std::unique_ptr<Process>> Start(Options options);
  // Starts it and waits for it to end; see Wait. Its output is then complete.
  static absl::StatusOr<std::unique_ptr<Process>> Run(Options options, Milliseconds timeout);

  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  // The first line not yet consumed that matches the regular expression `pattern` (ECMAScript,
  // anywhere in the line), without its newline. Consumes that line and those before it. Waits for
  // lines to come. DEADLINE_EXCEEDED or, if the child closed its output, UNAVAILABLE; the message
  // holds the output so far.
  absl::StatusOr<std::string> WaitForLine(const std::string& pattern, Milliseconds timeout,
                                          Stream stream = Stream::kEither);

  // Everything written so far.
  std::string out() const;
  std::string err() const;

  // To the child's standard input. UNAVAILABLE if nobody reads.
  absl::Status WriteLine(std::string_view line);
  void CloseInput();

  void Signal(int number);
  // The exit code, or 128 + the number of the signal that ended it. Idempotent.
  // DEADLINE_EXCEEDED if it still runs.
  absl::StatusOr<int> Wait(Milliseconds timeout);
  // SIGTERM, then SIGKILL when `grace` is over; reaps. Returns as Wait.
  int Stop(Milliseconds grace = Milliseconds(3000));
  // SIGKILL; reaps.
  void Kill();

 private:
  struct Line {
    Stream stream;
    std::string text;
  };

  Process(pid_t pid, int in, int out, int err, std::string name);
  void ReadOutput();
  void Append(Stream stream, std::string_view data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string DescribeLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const pid_t pid_;
  const std::string name_;
  const int out_fd_;
  const int err_fd_;

  mutable Mutex mu_;
  CondVar changed_;
  int in_fd_ ABSL_GUARDED_BY(mu_);
  std::vector<Line> lines_ ABSL_GUARDED_BY(mu_);
  size_t cursor_ ABSL_GUARDED_BY(mu_) = 0;
  std::string partial_[2] ABSL_GUARDED_BY(mu_);
  std::string text_[2] ABSL_GUARDED_BY(mu_);
  bool output_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool reaped_ ABSL_GUARDED_BY(mu_) = false;
  int exit_code_ ABSL_GUARDED_BY(mu_) = -1;

  int stop_pipe_[2];  // wakes the reader when the child is gone but its children hold the pipes
  std::thread reader_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_SUPPORT_PROCESS_H_
