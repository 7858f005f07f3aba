// weir ping: see its --help.

#ifndef WEIR_TOOLS_WEIR_PING_COMMAND_H_
#define WEIR_TOOLS_WEIR_PING_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddPingCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_PING_COMMAND_H_
