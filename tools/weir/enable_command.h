// weir enable, weir disable.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_ENABLE_COMMAND_H_
#define WEIR_TOOLS_WEIR_ENABLE_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddEnableCommand(CLI::App* app, CommandContext* context);
void AddDisableCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_ENABLE_COMMAND_H_
