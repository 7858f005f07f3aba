// weir bench: see its --help.

#ifndef WEIR_TOOLS_WEIR_BENCH_COMMAND_H_
#define WEIR_TOOLS_WEIR_BENCH_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddBenchCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_BENCH_COMMAND_H_
