// The program's log: one line per event on stderr, with time and level, flushed at once.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_TOOLS_WEIR_SPDLOG_LOGGER_H_
#define WEIR_TOOLS_WEIR_SPDLOG_LOGGER_H_

#include <memory>

#include "base/logger.h"

namespace weir::tools {

// Drops lines below `least`.
std::unique_ptr<Logger> NewStderrLogger(LogLevel least = LogLevel::kInfo);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_SPDLOG_LOGGER_H_
