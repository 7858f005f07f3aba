// weir gateway: see its --help.

#ifndef WEIR_TOOLS_WEIR_GATEWAY_COMMAND_H_
#define WEIR_TOOLS_WEIR_GATEWAY_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddGatewayCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_GATEWAY_COMMAND_H_
