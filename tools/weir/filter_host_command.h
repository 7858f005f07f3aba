// `weir filter-host`: an in-process filter in a process of its own, for nodes to ask.

#ifndef WEIR_TOOLS_WEIR_FILTER_HOST_COMMAND_H_
#define WEIR_TOOLS_WEIR_FILTER_HOST_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddFilterHostCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_FILTER_HOST_COMMAND_H_
