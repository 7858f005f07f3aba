#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

extern char** environ;

namespace weir::testing {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> Environment(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string pair = *entry;
    const size_t equals = pair.find('=');
    if (equals != pair.npos) all[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  for (const auto& [name, value] : changes) {
    if (value.empty()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  }
  std::vector<std::string> result;
  for (const auto& [name, value] : all) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

absl::Status Failed(const std::string& what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Start(Options options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("no program given");
  // A child that does not read its input must not end the test.
  signal(SIGPIPE, SIG_IGN);

  int in[2], out[2], err[2], failure[2];
  for (int* p : {in, out, err, failure}) {
    if (pipe2(p, O_CLOEXEC) != 0) return Failed("pipe2", errno);
  }
  std::vector<std::string> environment = Environment(options.env);
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> envp = Pointers(environment);
  const pid_t parent = getpid();

  const pid_t pid = fork();
  if (pid < 0) return Failed("fork", errno);
  if (pid == 0) {
    // Only async-signal-safe calls from here on: the parent may have threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    int error = 0;
    if (!options.working_directory.empty() && chdir(options.working_directory.c_str()) != 0) {
      error = errno;
    } else {
      execvpe(argv[0], argv.data(), envp.data());
      error = errno;
    }
    [[maybe_unused]] const ssize_t n = write(failure[1], &error, sizeof(error));
    _exit(127);
  }
  for (int fd : {in[0], out[1], err[1], failure[1]}) close(fd);
  int error = 0;
  const ssize_t got = read(failure[0], &error, sizeof(error));
  close(failure[0]);
  std::unique_ptr<Process> process(
      new Process(pid, in[1], out[0], err[0], absl::StrJoin(options.argv, " ")));
  if (got == sizeof(error)) return Failed(absl::StrCat("cannot run ", options.argv[0]), error);
  return process;
}

absl::StatusOr<std::unique_ptr<Process>> Process::Run(Options options, Milliseconds timeout) {
  auto process = Start(std::move(options));
  if (!process.ok()) return process.status();
  (*process)->CloseInput();
  const absl::StatusOr<int> code = (*process)->Wait(timeout);
  if (!code.ok()) return code.status();
  return process;
}

Process::Process(pid_t pid, int in, int out, int err, std::string name)
    : pid_(pid), name_(std::move(name)), out_fd_(out), err_fd_(err), in_fd_(in) {
  if (pipe2(stop_pipe_, O_CLOEXEC) != 0) stop_pipe_[0] = stop_pipe_[1] = -1;
  reader_ = std::thread([this] { ReadOutput(); });
}

Process::~Process() {
  Kill();
  if (reader_.joinable()) reader_.join();
  CloseInput();
  for (int fd : {out_fd_, err_fd_, stop_pipe_[0], stop_pipe_[1]}) close(fd);
}

void Process::ReadOutput() {
  bool open[2] = {true, true};
  bool stopping = false;
  char buffer[16384];
  while (open[0] || open[1]) {
    pollfd fds[3] = {{open[0] ? out_fd_ : -1, POLLIN, 0},
                     {open[1] ? err_fd_ : -1, POLLIN, 0},
                     {stopping ? -1 : stop_pipe_[0], POLLIN, 0}};
    const int ready = poll(fds, 3, stopping ? 0 : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    if (fds[2].revents != 0) stopping = true;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      const ssize_t n = read(fds[i].fd, buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        open[i] = false;
        continue;
      }
      MutexLock lock(&mu_);
      Append(i == 0 ? Stream::kOut : Stream::kErr, std::string_view(buffer, n));
      changed_.SignalAll();
    }
  }
  MutexLock lock(&mu_);
  for (int i = 0; i < 2; ++i) {
    if (!partial_[i].empty()) {
      lines_.push_back({i == 0 ? Stream::kOut : Stream::kErr, std::move(partial_[i])});
    }
  }
  output_closed_ = true;
  changed_.SignalAll();
}

void Process::Append(Stream stream, std::string_view data) {
  const int i = stream == Stream::kOut ? 0 : 1;
  text_[i].append(data);
  std::string& partial = partial_[i];
  for (size_t end; (end = data.find('\n')) != data.npos; data.remove_prefix(end + 1)) {
    partial.append(data.substr(0, end));
    lines_.push_back({stream, std::move(partial)});
    partial.clear();
  }
  partial.append(data);
}

std::string Process::DescribeLocked() const {
  return absl::StrCat(name_, "\n--- stdout\n", text_[0], "--- stderr\n", text_[1], "---");
}

absl::StatusOr<std::string> Process::WaitForLine(const std::string& pattern, Milliseconds timeout,
                                                 Stream stream) {
  const std::regex expression(pattern);
  const Clock::time_point deadline = Clock::now() + timeout;
  MutexLock lock(&mu_);
  size_t next = cursor_;
  for (;;) {
    for (; next < lines_.size(); ++next) {
      const Line& line = lines_[next];
      if (stream != Stream::kEither && line.stream != stream) continue;
      if (!std::regex_search(line.text, expression)) continue;
      cursor_ = next + 1;
      return line.text;
    }
    if (output_closed_) {
      return absl::UnavailableError(
          absl::StrCat("ended without a line like \"", pattern, "\": ", DescribeLocked()));
    }
    const auto left = deadline - Clock::now();
    if (left <= Clock::duration::zero()) {
      return absl::DeadlineExceededError(absl::StrCat("no line like \"", pattern, "\" within ",
                                                      timeout.count(), " ms: ", DescribeLocked()));
    }
    changed_.WaitFor(&mu_, std::chrono::nanoseconds(left).count());
  }
}

std::string Process::out() const {
  MutexLock lock(&mu_);
  return text_[0];
}

std::string Process::err() const {
  MutexLock lock(&mu_);
  return text_[1];
}

absl::Status Process::WriteLine(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  MutexLock lock(&mu_);
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(in_fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed(absl::StrCat("writing to ", name_), errno);
    done += n;
  }
  return absl::OkStatus();
}

void Process::CloseInput() {
  MutexLock lock(&mu_);
  if (in_fd_ >= 0) close(in_fd_);
  in_fd_ = -1;
}

void Process::Signal(int number) {
  MutexLock lock(&mu_);
  if (!reaped_) kill(pid_, number);
}

absl::StatusOr<int> Process::Wait(Milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  for (;;) {
    {
      MutexLock lock(&mu_);
      if (!reaped_) {
        int status = 0;
        const pid_t got = waitpid(pid_, &status, WNOHANG);
        if (got == pid_) {
          reaped_ = true;
          exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
          [[maybe_unused]] const ssize_t n = write(stop_pipe_[1], "x", 1);
        }
      }
      if (reaped_) {
        while (!output_closed_) changed_.Wait(&mu_);
        return exit_code_;
      }
      if (Clock::now() >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat("still runs after ", timeout.count(), " ms: ", DescribeLocked()));
      }
    }
    std::this_thread::sleep_for(Milliseconds(2));
  }
}

int Process::Stop(Milliseconds grace) {
  Signal(SIGTERM);
  const absl::StatusOr<int> code = Wait(grace);
  if (code.ok()) return *code;
  Kill();
  return Wait(Milliseconds(0)).value_or(128 + SIGKILL);
}

void Process::Kill() {
  Signal(SIGKILL);
  // Nothing can make a killed child last, so this wait ends.
  Wait(std::chrono::hours(1)).IgnoreError();
}

}  // namespace weir::testing
