// weir list, weir watch, weir status: what a node is and has plugged.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_LIST_COMMAND_H_
#define WEIR_TOOLS_WEIR_LIST_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddListCommand(CLI::App* app, CommandContext* context);
void AddWatchCommand(CLI::App* app, CommandContext* context);
void AddStatusCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_LIST_COMMAND_H_
