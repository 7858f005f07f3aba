#include "tests/control/harness.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/environment.h"

namespace weir::testing {
namespace {

constexpr Milliseconds kPatience = std::chrono::seconds(60);

Process::Options NodeOptions(const std::string& control, const std::string& store) {
  return {.argv = {RunfilePath("tests/control/control_node"), control, store}};
}

}  // namespace

ControlNode StartControlNode(const std::string& control, const std::string& store) {
  ControlNode node;
  auto process = Process::Start(NodeOptions(control, store));
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return node;
  }
  auto line = (*process)->WaitForLine("^ready ", kPatience, Process::Stream::kOut);
  if (!line.ok()) {
    ADD_FAILURE() << line.status();
    return node;
  }
  node.address = line->substr(6);
  node.process = *std::move(process);
  return node;
}

std::unique_ptr<Process> RunControlNode(const std::string& control, const std::string& store) {
  auto process = Process::Run(NodeOptions(control, store), kPatience);
  EXPECT_TRUE(process.ok()) << process.status();
  return process.ok() ? *std::move(process) : nullptr;
}

Ran WeirUnder(const std::vector<std::string>& prefix, const std::string& control,
              const std::vector<std::string>& arguments) {
  Process::Options options;
  options.argv = prefix;
  options.argv.push_back(WeirPath());
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.env = {{"WEIR_CONTROL", control}};
  auto process = Process::Run(std::move(options), kPatience);
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return {};
  }
  return {(*process)->Wait(kPatience).value_or(-1), (*process)->out(), (*process)->err()};
}

Ran Weir(const std::string& control, const std::vector<std::string>& arguments) {
  return WeirUnder({}, control, arguments);
}

std::string WeirPath() { return RunfilePath("tools/weir/weir"); }

}  // namespace weir::testing
