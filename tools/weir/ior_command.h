// `weir ior`: decodes a reference and shows all that is in it.

#ifndef WEIR_TOOLS_WEIR_IOR_COMMAND_H_
#define WEIR_TOOLS_WEIR_IOR_COMMAND_H_

#include "tools/weir/command.h"

namespace CLI {
class App;
}

namespace weir::tools {

// `context` must outlive the app.
void AddIorCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_IOR_COMMAND_H_
