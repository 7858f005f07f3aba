// weir plug, weir unplug.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_PLUG_COMMAND_H_
#define WEIR_TOOLS_WEIR_PLUG_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddPlugCommand(CLI::App* app, CommandContext* context);
void AddUnplugCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_PLUG_COMMAND_H_
