// What every subcommand of the weir command shares: its context, and how it ends.
//
// Each subcommand is a file pair NAME_command.{h,cc} with one function AddNameCommand(CLI::App*,
// CommandContext*), which main calls. Its callback stores the outcome in `context->status`.
//
// Data goes to `out`, everything else to `err`.
//
// Thread safety: none; one command runs, on one thread.

#ifndef WEIR_TOOLS_WEIR_COMMAND_H_
#define WEIR_TOOLS_WEIR_COMMAND_H_

#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace weir::tools {

// Documented in the README and in `weir --help`.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitConflict = 4,
  kExitUnavailable = 5,
  kExitDenied = 6,
};

// INVALID_ARGUMENT 2, NOT_FOUND 3, ABORTED, ALREADY_EXISTS and FAILED_PRECONDITION 4, UNAVAILABLE
// and DEADLINE_EXCEEDED 5, PERMISSION_DENIED and UNAUTHENTICATED 6, other errors 1.
ExitCode ExitCodeFor(const absl::Status& status);

struct CommandContext {
  std::ostream& out;
  std::ostream& err;
  std::string control;  // --control or WEIR_CONTROL: "unix:PATH" or "HOST:PORT"
  bool json = false;    // -o json
  double timeout = 10;  // --timeout: seconds to wait for an answer; above 0
  absl::Status status;  // how the subcommand ended; its message is printed as "weir: ..."
};

// The parts of `app`'s command line that several subcommands share. The values end up in `context`,
// which must outlive `app`.
//
// -o, --output text|json
void AddOutputOption(CLI::App* app, CommandContext* context);
// --timeout SECONDS
void AddTimeoutOption(CLI::App* app, CommandContext* context,
                      const std::string& names = "--timeout");
// Ends the help with `details` if any (whole lines), `examples` (lines without indentation) and the
// exit codes.
void AddExamples(CLI::App* app, std::string_view examples, std::string_view details = "");

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_COMMAND_H_
