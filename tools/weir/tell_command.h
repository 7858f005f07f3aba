// `weir tell PLUG COMMAND`: has a plugged filter do something at once.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_TELL_COMMAND_H_
#define WEIR_TOOLS_WEIR_TELL_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddTellCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_TELL_COMMAND_H_
