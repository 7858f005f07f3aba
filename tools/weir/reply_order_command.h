// weir reply-order: in which order replies meet the plugs of a target.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_REPLY_ORDER_COMMAND_H_
#define WEIR_TOOLS_WEIR_REPLY_ORDER_COMMAND_H_

#include "tools/weir/command.h"

namespace weir::tools {

void AddReplyOrderCommand(CLI::App* app, CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_REPLY_ORDER_COMMAND_H_
