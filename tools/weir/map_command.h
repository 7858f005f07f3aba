// weir map, weir unmap.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_MAP_COMMAND_H_
#define WEIR_TOOLS_WEIR_MAP_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddMapCommand(CLI::App* app, CommandContext* context);
void AddUnmapCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_MAP_COMMAND_H_
