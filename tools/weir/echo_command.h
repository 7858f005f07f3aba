// weir echo: see its --help.

#ifndef WEIR_TOOLS_WEIR_ECHO_COMMAND_H_
#define WEIR_TOOLS_WEIR_ECHO_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddEchoCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_ECHO_COMMAND_H_
