#include "tests/support/weir_command.h"

#include <cstdlib>
#include <regex>

#include "gtest/gtest.h"

namespace weir::testing {
namespace {

constexpr char kWeir[] = "tools/weir/weir";

// The first match's first group in `text`, or "".
std::string Find(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

// The same node with filters that pass every call.
Args WithPassOnly(Args arguments) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--store")
      arguments.erase(arguments.begin() + i, arguments.begin() + i + 2);
  }
  arguments.insert(arguments.end(), {"--store", "sqlite:" + PassOnlyStore()});
  return arguments;
}

}  // namespace

WeirNode StartWeir(const Args& arguments, bool filtered) {
  const Args& all = filtered ? WithPassOnly(arguments) : arguments;
  Process::Options options;
  options.argv.push_back(RunfilePath(kWeir));
  options.argv.insert(options.argv.end(), all.begin(), all.end());
  auto process = Process::Start(std::move(options));
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return {};
  }
  const auto ready = (*process)->WaitForLine("^ready", std::chrono::seconds(30));
  if (!ready.ok()) {
    ADD_FAILURE() << ready.status();
    return {};
  }
  if (filtered) WaitForPassOnly(**process);
  WeirNode node;
  node.port = atoi(Find(*ready, "giop:tcp:[^ ]*:([0-9]+)").c_str());
  node.ior = Find((*process)->out(), "(IOR:[0-9a-fA-F]+)");
  node.process = *std::move(process);
  return node;
}

Outcome RunWeir(const Args& arguments) { return RunProgram(kWeir, arguments); }

}  // namespace weir::testing
