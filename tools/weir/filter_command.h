// weir filter: the kinds of filters that this program has, and what can be set and mapped.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_FILTER_COMMAND_H_
#define WEIR_TOOLS_WEIR_FILTER_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

// `weir filter list` and `weir filter describe KIND`. They ask no node: one of another version may
// have other kinds.
void AddFilterCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_FILTER_COMMAND_H_
