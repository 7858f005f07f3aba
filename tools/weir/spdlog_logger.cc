#include "tools/weir/spdlog_logger.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace weir::tools {
namespace {

spdlog::level::level_enum Level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

class SpdlogLogger : public Logger {
 public:
  explicit SpdlogLogger(LogLevel least)
      : logger_("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(Level(least));
    logger_.set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    logger_.flush_on(spdlog::level::trace);
  }

  void Log(LogLevel level, std::string_view line) override {
    // The line is text, not a format.
    logger_.log(Level(level), spdlog::string_view_t(line.data(), line.size()));
  }

 private:
  spdlog::logger logger_;
};

}  // namespace

std::unique_ptr<Logger> NewStderrLogger(LogLevel least) {
  return std::make_unique<SpdlogLogger>(least);
}

}  // namespace weir::tools
