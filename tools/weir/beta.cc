#include "tools/weir/beta.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "tools/weir/render.h"

namespace weir::tools {

void AddClientOptions(CLI::App* app, CommandContext* context, bool own_timeout) {
  // Not by CLI11's envname: it would let the variable win over the option.
  app->add_option(
         "--control", context->control,
         "Where the node's control plane listens, unix:PATH or HOST:PORT; WEIR_CONTROL if not "
         "given")
      ->type_name("ADDRESS");
  AddTimeoutOption(app, context, own_timeout ? "--control-timeout" : "--control-timeout,--timeout");
  AddOutputOption(app, context);
}

void AddExpectRevisionOption(CLI::App* app, std::optional<uint64_t>* revision) {
  app->add_option_function<uint64_t>(
         "--expect-revision", [revision](uint64_t value) { *revision = value; },
         "Change nothing unless this is the current revision (else exit 4)")
      ->type_name("N");
}

absl::Status Commit(const control::v1::ApplyRequest& request, const std::string& doing,
                    CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, doing);
  if (!client.ok()) return client.status();
  absl::StatusOr<control::v1::ApplyResponse> response = (*client)->Apply(request);
  if (!response.ok()) return response.status();
  context->out << (context->json ? RenderJson(*response, /*pretty=*/true) : RenderApply(*response));
  if (request.has_drain() && !response->drained()) {
    return absl::DeadlineExceededError(
        absl::StrCat(doing, ": revision ", response->revision(),
                     " is committed, but not drained: ", response->drain_message()));
  }
  return absl::OkStatus();
}

}  // namespace weir::tools
