// weir calls, weir explain: the last calls that met filters, and what became of one.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_CALLS_COMMAND_H_
#define WEIR_TOOLS_WEIR_CALLS_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddCallsCommand(CLI::App* app, CommandContext* context);
void AddExplainCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_CALLS_COMMAND_H_
