// What the subcommands that talk to a control plane share.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_BETA_H_
#define WEIR_TOOLS_WEIR_BETA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tools/weir/command.h"
#include "tools/weir/control_client.h"
#include "weir/control/v1/control.pb.h"

namespace weir::tools {

// --control, --control-timeout (also as --timeout, unless the command has one of its own) and
// --output.
void AddClientOptions(CLI::App* app, CommandContext* context, bool own_timeout = false);

// --expect-revision. `*revision` must outlive `app`.
void AddExpectRevisionOption(CLI::App* app, std::optional<uint64_t>* revision);

// Sends `request` and prints the outcome. `doing` is for errors: "plug audit".
absl::Status Commit(const control::v1::ApplyRequest& request, const std::string& doing,
                    CommandContext* context);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_BETA_H_
