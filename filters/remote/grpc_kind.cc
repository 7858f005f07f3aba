#include "filters/remote/grpc_kind.h"

#include <string>
#include <utility>

#include "base/strings.h"
#include "filters/remote/grpc_channel.h"
#include "filters/remote/policy.h"
#include "filters/remote/remote_filter.h"
#include "filters/remote/ticker.h"

namespace weir::filters {
namespace {

class GrpcKind : public FilterKind {
 public:
  std::string_view name() const override { return "grpc"; }
  std::string_view help() const override { return help_; }
  bool describes_itself() const override { return true; }
  absl::Span<const MethodInfo> methods() const override { return {}; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    absl::StatusOr<RemoteOptions> options = ParseRemoteOptions(parameters, {"at", "name"});
    if (!options.ok()) return options.status();
    GrpcChannelOptions channel;
    const auto at = parameters.find("at");
    if (at == parameters.end() || at->second.empty()) {
      return absl::InvalidArgumentError(
          "parameter 'at' is missing: where the filter serves weir.filter.v1, as in "
          "at=unix:/run/filter.sock or at=localhost:7000");
    }
    channel.address = at->second;
    const auto name = parameters.find("name");
    if (name != parameters.end()) channel.name = name->second;
    channel.plug = context.plug;
    return std::make_unique<RemoteFilter>(*options, context, &ticker_,
                                          [&channel](Channel::Listener* listener) {
                                            return NewGrpcChannel(std::move(channel), listener);
                                          });
  }

 private:
  const std::string help_ = StrCat(
      "Asks a filter in another process, in any language, that serves the gRPC service "
      "weir.filter.v1. The filter tells its methods itself. Calls that wait for it hold no thread. "
      "at=ADDRESS: where it is, as in unix:/run/filter.sock or localhost:7000. name=NAME: which "
      "filter, where a process has several. ",
      RemoteParametersHelp());
  mutable Ticker ticker_;
};

}  // namespace

std::unique_ptr<FilterKind> NewGrpcKind() { return std::make_unique<GrpcKind>(); }

}  // namespace weir::filters
