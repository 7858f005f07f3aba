#include "tools/weir/bench_command.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "tools/bench/filtered.h"
#include "tools/bench/floor.h"
#include "tools/bench/groups.h"

namespace weir::tools {
namespace {

// What all benchmarks take.
struct RunFlags {
  bench::InterleaveOptions interleave;
  std::vector<int> cpus;
  bool not_pinned = false;
};

struct FloorFlags {
  RunFlags run;
  std::string omni_peers;
};

// Binds this process, and so the children to come, to certain CPUs; to the first one it may use if
// none is given.
absl::Status Pin(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  if (cpus.empty()) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    int first = 0;
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &allowed)) ++first;
    CPU_SET(first, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("--pin ", absl::StrJoin(cpus, ","), ": ",
                                           strerror(errno),
                                           "; `nproc` and taskset -p $$ tell "
                                           "which CPUs there are"));
}

// Measures pinned, and shows the report.
template <typename Measure>
absl::Status Run(const RunFlags& flags, CommandContext* context, const Measure& measure) {
  if (!flags.not_pinned) {
    if (absl::Status s = Pin(flags.cpus); !s.ok()) return s;
  }
  absl::StatusOr<bench::Report> report = measure();
  if (!report.ok()) return report.status();
  context->out << (context->json ? bench::RenderJson(*report) : bench::RenderTable(*report));
  return absl::OkStatus();
}

void AddRunOptions(CLI::App* command, RunFlags* flags) {
  command
      ->add_option("--batches", flags->interleave.rounds,
                   "Batches of each contender, interleaved with the others'")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--calls", flags->interleave.calls, "Calls in a batch")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", flags->interleave.seed, "Of the order of the batches")
      ->capture_default_str();
  CLI::Option* const pin =
      command
          ->add_option("--pin", flags->cpus,
                       "Run all processes on these CPUs only, e.g. 0 or 0,1 (default: the first)")
          ->delimiter(',')
          ->check(CLI::Range(0, CPU_SETSIZE - 1))
          ->type_name("CPU[,CPU]");
  command
      ->add_flag("--no-pin", flags->not_pinned,
                 "Leave the placement to the kernel: pairs of processes then land on one CPU or on "
                 "two, a matter of chance that outweighs the rest")
      ->excludes(pin);
}

constexpr char kHowToRead[] =
    "Starts all servers itself, on free ports, and ends them. Compare ratios, not times; both "
    "change\nwith the load of the machine, ratios much less. Build with --config=opt.\n";

void AddFloorCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command = app->add_subcommand(
      "floor", "Direct calls, filters and the gateway against a bare ping-pong and omniORB");
  const auto flags = std::make_shared<FloorFlags>();
  AddRunOptions(command, &flags->run);
  command
      ->add_option("--omni-peers", flags->omni_peers,
                   "Folder of omni_echo_server and omni_bench_client, if not beside this program")
      ->type_name("DIR");
  AddOutputOption(command, context);
  AddExamples(command,
              "bazel build --config=opt //tools:weir //tools:bench_peers\n"
              "bazel-bin/tools/weir/weir bench floor\n"
              "weir bench floor --batches 200 --calls 200 -o json",
              kHowToRead);
  command->callback([flags, context] {
    context->status = Run(flags->run, context, [&] {
      return bench::MeasureFloor({flags->run.interleave, flags->omni_peers});
    });
  });
}

void AddFilteredCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command = app->add_subcommand(
      "filtered", "Filters in the server, in another process and in the client; beta messages");
  const auto flags = std::make_shared<RunFlags>();
  AddRunOptions(command, flags.get());
  AddOutputOption(command, context);
  AddExamples(command,
              "weir bench filtered\n"
              "weir bench filtered --batches 20 -o json",
              kHowToRead);
  command->callback([flags, context] {
    context->status =
        Run(*flags, context, [&] { return bench::MeasureFiltered(flags->interleave); });
  });
}

void AddGroupsCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command = app->add_subcommand(
      "groups", "Plugs that come and go among many objects and plugs, while calls go on");
  const auto options = std::make_shared<bench::GroupsOptions>();
  const auto number = [command](const char* name, int* value, const char* help) {
    command->add_option(name, *value, help)->check(CLI::Range(1, 1000000))->capture_default_str();
  };
  number("--objects", &options->objects, "Objects");
  number("--groups", &options->groups, "Plugs, each on a group of objects");
  number("--commits", &options->commits, "Commits of each kind");
  number("--callers", &options->callers, "Threads that call");
  command->add_option("--seed", options->seed, "Of the choice of objects")->capture_default_str();
  AddOutputOption(command, context);
  AddExamples(command,
              "weir bench groups\n"
              "weir bench groups --groups 100 -o json",
              "Everything is in this process. The worst call is what it is on a quiet machine; on "
              "another one it\nis the machine's. Build with --config=opt.\n");
  command->callback([options, context] {
    absl::StatusOr<bench::GroupsReport> report = bench::MeasureGroups(*options);
    context->status = report.status();
    if (!report.ok()) return;
    context->out << (context->json ? bench::RenderJson(*report) : bench::RenderTable(*report));
  });
}

}  // namespace

void AddBenchCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command = app->add_subcommand("bench", "Measure what calls and filters cost");
  command->require_subcommand(1);
  AddFloorCommand(command, context);
  AddFilteredCommand(command, context);
  AddGroupsCommand(command, context);
}

}  // namespace weir::tools
