// A child process of a benchmark: started with pipes on its stdin and stdout, read by lines, and
// gone at the latest when its owner is. What it writes to stderr is kept, and told if it fails.
//
// Thread safety: none; to be used on the thread that started it, which the child does not outlive.

#ifndef WEIR_TOOLS_BENCH_CHILD_H_
#define WEIR_TOOLS_BENCH_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"

namespace weir::bench {

class Child {
 public:
  // argv[0] is the program's path. UNAVAILABLE if it cannot be executed shows in the first
  // ReadLine.
  static absl::StatusOr<std::unique_ptr<Child>> Start(const std::vector<std::string>& argv);
  // A copy of this process that runs `body` and exits. REQUIRES: no other threads were started.
  static absl::StatusOr<std::unique_ptr<Child>> Fork(const std::string& name,
                                                     const std::function<void()>& body);
  // SIGTERM, and SIGKILL if that does not end it within three seconds.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line of its output. DEADLINE_EXCEEDED, or UNAVAILABLE if it has closed its output;
  // the message holds what it wrote to stderr.
  absl::StatusOr<std::string> ReadLine(Nanos timeout);
  // Skips lines until one begins with `prefix`.
  absl::StatusOr<std::string> ReadLineWith(std::string_view prefix, Nanos timeout);
  absl::Status WriteLine(std::string_view line);

 private:
  Child(pid_t pid, std::string name, int in, int out, int err);
  std::string Complaint() const;

  const pid_t pid_;
  const std::string name_;
  const int in_;
  const int out_;
  const int err_;
  std::string buffer_;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_CHILD_H_
