#include "tests/support/pass_only.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using std::chrono::seconds;

constexpr char kWeir[] = "tools/weir/weir";

// What it logs is not kept: of the host that is a line for each call and phase.
std::unique_ptr<Process> StartReady(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null", RunfilePath(kWeir)});
  Process::Options options;
  options.argv = std::move(arguments);
  auto process = Process::Start(std::move(options));
  const auto ready = process.ok() ? (*process)->WaitForLine("^ready", seconds(30))
                                  : absl::StatusOr<std::string>(process.status());
  if (ready.ok()) return *std::move(process);
  ADD_FAILURE() << ready.status();
  return nullptr;
}

// What the whole test program shares.
struct Shared {
  TempDir dir;
  std::unique_ptr<Process> host;
  std::vector<PassOnlyPlug> plugs;
  std::string store;
  int copies = 0;

  Shared() {
    const std::string grpc = "unix:" + dir.File("f"), socket = dir.File("o");
    host = StartReady({"filter-host", "--filter", "message-log", "--set", "bytes=0", "--grpc", grpc,
                       "--listen", "giop:unix:" + socket});
    if (host == nullptr) return;
    const std::string object = "corbaloc:omniunix:" + socket + ":/filter";
    plugs = {{"a-here", "count", "", "count", "count"},
             {"b-grpc", "grpc", grpc, "request", "reply"},
             {"c-here", "count", "", "count", "count"},
             {"d-object", "ref", object, "request", "reply"},
             {"e-here", "count", "", "count", "count"}};
  }

  // By a node and the weir command, as anybody would.
  void MakeStore() {
    const std::string file = dir.File("store"), control = "unix:" + dir.File("c");
    const auto node = StartReady({"echo", "--listen", "giop:unix:" + dir.File("e"), "--control",
                                  control, "--store", "sqlite:" + file});
    if (node == nullptr) return;
    for (const PassOnlyPlug& plug : plugs) {
      std::vector<std::string> arguments = {"plug",    plug.name, "--filter",
                                            plug.kind, "--on",    "all"};
      if (!plug.at.empty()) {
        arguments.insert(arguments.end(), {"--set", "at=" + plug.at, "--timeout", "20s"});
      }
      if (!Weir(control, arguments)) return;
      if (!Weir(control, {"map", plug.name, "*", "--up", plug.method_up, "--down", plug.method_down,
                          "--enable"})) {
        return;
      }
    }
    node->Stop();
    store = file;
  }

  static bool Weir(const std::string& control, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), RunfilePath(kWeir));
    arguments.insert(arguments.end(), {"--control", control});
    Process::Options options;
    options.argv = std::move(arguments);
    const auto process = Process::Run(std::move(options), seconds(30));
    if (process.ok() && (*process)->Wait(Milliseconds(0)).value_or(-1) == 0) return true;
    ADD_FAILURE() << process.status() << (process.ok() ? (*process)->err() : "");
    return false;
  }
};

Shared& TheShared() {
  static Shared shared;
  return shared;
}

}  // namespace

bool FilteredRun() { return std::getenv("WEIR_TEST_FILTERED") != nullptr; }

const std::vector<PassOnlyPlug>& PassOnlyPlugs() { return TheShared().plugs; }

std::string PassOnlyStore() {
  Shared& shared = TheShared();
  if (shared.store.empty()) shared.MakeStore();
  const std::string copy = shared.dir.File("store" + std::to_string(++shared.copies));
  std::error_code error;
  std::filesystem::copy_file(shared.store, copy, error);
  EXPECT_FALSE(error) << error.message();
  return copy;
}

void WaitForPassOnly(const Process& node) {
  const auto missing = [&]() -> std::string {
    const std::string log = node.err();
    for (const PassOnlyPlug& plug : PassOnlyPlugs()) {
      if (plug.at.empty()) continue;
      if (log.find("event=filter_connected plug=" + plug.name + " ") == log.npos) return plug.name;
    }
    return "";
  };
  for (int tries = 0; tries < 20'000; ++tries) {
    if (missing().empty()) return;
    std::this_thread::sleep_for(Milliseconds(1));
  }
  ADD_FAILURE() << missing() << " is not connected: " << node.err();
}

}  // namespace weir::testing
