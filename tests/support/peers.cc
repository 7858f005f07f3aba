#include "tests/support/peers.h"

#include <cstdlib>
#include <ostream>
#include <regex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir::testing {
namespace {

using std::chrono::seconds;

Process::Options OptionsFor(const std::string& program, const Args& arguments) {
  Process::Options options;
  options.argv.push_back(program.find('/') == program.npos ? program : RunfilePath(program));
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  // omniORB keeps some memory to the end, which is not ours to report.
  options.env = {{"ASAN_OPTIONS", "detect_leaks=0"}};
  return options;
}

}  // namespace

Server StartOmniServer(const std::string& program, const Args& options) {
  auto process = Process::Start(OptionsFor(program, options));
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return {};
  }
  const auto ior = (*process)->WaitForLine("^IOR:", seconds(30), Process::Stream::kOut);
  const auto ready = (*process)->WaitForLine("^ready", seconds(30), Process::Stream::kOut);
  if (!ior.ok() || !ready.ok()) {
    ADD_FAILURE() << ior.status() << ready.status();
    return {};
  }
  return {*std::move(process), *ior};
}

Args ListenOn(int port) { return {"-ORBendPoint", absl::StrCat("giop:tcp:127.0.0.1:", port)}; }

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "exit code " << outcome.exit_code << "\n--- stdout\n"
             << outcome.out << "--- stderr\n"
             << outcome.err << "---";
}

Outcome RunProgram(const std::string& program, const Args& arguments, Milliseconds timeout) {
  const auto process = Process::Run(OptionsFor(program, arguments), timeout);
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return {.exit_code = -1, .out = "", .err = process.status().ToString()};
  }
  return {(*process)->Wait(Milliseconds(0)).value(), (*process)->out(), (*process)->err()};
}

std::unique_ptr<Process> StartClient(const std::string& program, const Args& arguments) {
  auto process = Process::Start(OptionsFor(program, arguments));
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return nullptr;
  }
  const auto ready = (*process)->WaitForLine("^ready", seconds(30), Process::Stream::kOut);
  if (!ready.ok()) {
    ADD_FAILURE() << ready.status();
    return nullptr;
  }
  return *std::move(process);
}

std::string RunCase(Process* client, const std::string& name, Milliseconds timeout) {
  const absl::Status written = client->WriteLine(name);
  if (!written.ok()) return written.ToString();
  const auto line = client->WaitForLine("^(ok|FAIL) " + name, timeout, Process::Stream::kOut);
  return line.ok() ? *line : line.status().ToString();
}

NameServer::NameServer() {
  // Another process may take the port in between: then try another one.
  for (int tries = 0; tries < 3 && process_ == nullptr; ++tries) {
    port_ = FreePort();
    auto process = Process::Start(
        OptionsFor("omniNames", {"-start", absl::StrCat(port_), "-always", "-datadir", data_.path(),
                                 "-ORBendPoint", absl::StrCat("giop:tcp:127.0.0.1:", port_)}));
    if (!process.ok()) break;
    const auto line = (*process)->WaitForLine("Root context is IOR:", seconds(15));
    if (!line.ok()) continue;
    ior_ = line->substr(line->find("IOR:"));
    process_ = *std::move(process);
  }
  if (process_ == nullptr) ADD_FAILURE() << "omniNames does not start";
}

std::string NameServer::reference() const { return Corbaloc(port_, "NameService"); }

std::string Corbaloc(int port, const std::string& key, const std::string& version) {
  return absl::StrCat("corbaloc::", version, "@127.0.0.1:", port, "/", key);
}

std::string UnixCorbaloc(const std::string& path, const std::string& key) {
  return absl::StrCat("corbaloc:omniunix:", path, ":/", key);
}

int PortOf(const std::string& ior) {
  const Outcome decoded = RunProgram("catior", {ior});
  std::smatch match;
  if (!std::regex_search(decoded.out, match, std::regex("IIOP [0-9.]+ \\S+ ([0-9]+) "))) return 0;
  return atoi(match[1].str().c_str());
}

}  // namespace weir::testing
