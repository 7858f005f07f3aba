#include "tools/weir/command.h"

#include <CLI/CLI.hpp>

namespace weir::tools {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      return kExitConflict;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitDenied;
    default:
      return kExitFailure;
  }
}

void AddOutputOption(CLI::App* app, CommandContext* context) {
  app->add_option_function<std::string>(
         "-o,--output", [context](const std::string& format) { context->json = format == "json"; },
         "text for people (default), or json for programs")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
}

void AddTimeoutOption(CLI::App* app, CommandContext* context, const std::string& names) {
  app->add_option(names, context->timeout, "Seconds to wait for an answer")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
}

void AddExamples(CLI::App* app, std::string_view examples, std::string_view details) {
  std::string footer(details);
  footer += details.empty() ? "Examples:\n" : "\n\nExamples:\n";
  while (!examples.empty()) {
    const size_t end = examples.find('\n');
    footer.append("  ").append(examples.substr(0, end)).append("\n");
    examples = end == std::string_view::npos ? "" : examples.substr(end + 1);
  }
  footer +=
      "\nExit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 conflict,\n"
      "            5 unavailable or timeout, 6 denied";
  app->footer(footer);
}

}  // namespace weir::tools
