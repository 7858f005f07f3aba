#include "tools/bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"

namespace weir::bench {

absl::StatusOr<std::unique_ptr<Child>> Child::Start(const std::vector<std::string>& argv) {
  std::vector<char*> raw;
  for (const std::string& arg : argv) raw.push_back(const_cast<char*>(arg.c_str()));
  raw.push_back(nullptr);
  return Fork(argv[0], [&raw] {
    // The caller's own node may be listening there.
    unsetenv("WEIR_CONTROL");
    execv(raw[0], raw.data());
    fprintf(stderr, "cannot be executed: %s\n", strerror(errno));
  });
}

absl::StatusOr<std::unique_ptr<Child>> Child::Fork(const std::string& name,
                                                   const std::function<void()>& body) {
  int in[2], out[2];
  const int err = memfd_create("stderr", MFD_CLOEXEC);
  if (err < 0 || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(StrCat("pipes for ", name, ": ", strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    return absl::ResourceExhaustedError(StrCat("fork for ", name, ": ", strerror(errno)));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    // So that each sees the end of its own pipe when the parent closes it.
    close(in[1]);
    close(out[0]);
    body();
    _exit(1);
  }
  close(in[0]);
  close(out[1]);
  return std::unique_ptr<Child>(new Child(pid, name, in[1], out[0], err));
}

Child::Child(pid_t pid, std::string name, int in, int out, int err)
    : pid_(pid), name_(std::move(name)), in_(in), out_(out), err_(err) {}

Child::~Child() {
  close(in_);
  close(out_);
  kill(pid_, SIGTERM);
  constexpr timespec kPause{0, 10 * kMillisecond};
  int tries = 300;
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (--tries == 0) kill(pid_, SIGKILL);
    nanosleep(&kPause, nullptr);
  }
  close(err_);
}

std::string Child::Complaint() const {
  char text[2000];
  const off_t end = lseek(err_, 0, SEEK_END);
  const off_t from = end > off_t{sizeof text} ? end - off_t{sizeof text} : 0;
  const ssize_t n = pread(err_, text, sizeof text, from);
  return n > 0 ? StrCat("; it says: ", std::string_view(text, static_cast<size_t>(n))) : "";
}

absl::StatusOr<std::string> Child::ReadLine(Nanos timeout) {
  const SystemClock clock;
  const Nanos deadline = clock.Now() + timeout;
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    const Nanos left = deadline - clock.Now();
    pollfd readable{out_, POLLIN, 0};
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left / kMillisecond) + 1) == 0) {
      return absl::DeadlineExceededError(StrCat(name_, " (pid ", pid_, ") has written no line for ",
                                                timeout / kSecond, " s", Complaint()));
    }
    char chunk[4096];
    const ssize_t n = read(out_, chunk, sizeof chunk);
    if (n == 0) {
      return absl::UnavailableError(StrCat(name_, " (pid ", pid_, ") has ended", Complaint()));
    }
    if (n > 0) buffer_.append(chunk, static_cast<size_t>(n));
  }
}

absl::StatusOr<std::string> Child::ReadLineWith(std::string_view prefix, Nanos timeout) {
  for (;;) {
    absl::StatusOr<std::string> line = ReadLine(timeout);
    if (!line.ok() || line->compare(0, prefix.size(), prefix) == 0) return line;
  }
}

absl::Status Child::WriteLine(std::string_view line) {
  const std::string text = StrCat(line, "\n");
  if (write(in_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(StrCat(name_, " (pid ", pid_, ") reads no more", Complaint()));
}

}  // namespace weir::bench
