// Where events go: one line per event, without a trailing newline.
//
// Thread safety: implementations are safe for concurrent use.

#ifndef WEIR_BASE_LOGGER_H_
#define WEIR_BASE_LOGGER_H_

#include <string_view>

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

class Logger {
 public:
  virtual ~Logger() = default;
  virtual void Log(LogLevel level, std::string_view line) = 0;
};

// Drops every line.
class NullLogger : public Logger {
 public:
  void Log(LogLevel, std::string_view) override {}
};

}  // namespace weir

#endif  // WEIR_BASE_LOGGER_H_
