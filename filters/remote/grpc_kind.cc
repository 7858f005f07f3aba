#include "filters/remote/grpc_kind.h"

#include <string>
#include <utility>
#include <vector>

#include "filters/parameters.h"
#include "filters/remote/grpc_channel.h"
#include "filters/remote/policy.h"
#include "filters/remote/remote_filter.h"
#include "filters/remote/ticker.h"

namespace weir::filters {
namespace {

class GrpcKind : public FilterKind {
 public:
  std::string_view name() const override { return "grpc"; }
  std::string_view help() const override {
    return "Asks a filter in another process, in any language, that serves the gRPC service "
           "weir.filter.v1. The filter tells its methods itself. Calls that wait for it hold no "
           "thread.";
  }
  bool describes_itself() const override { return true; }
  absl::Span<const MethodInfo> methods() const override { return {}; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    ParameterReader read(*this, parameters);
    const RemoteOptions options = ReadRemoteOptions(&read);
    const std::vector<std::string> addresses = ReadAddresses({}, &read);
    if (!read.ok()) return read.status();
    std::vector<RemoteFilter::MakeChannel> make_channels;
    for (const std::string& address : addresses) {
      GrpcChannelOptions channel;
      channel.address = address;
      channel.name = read.Text("name");
      channel.plug = context.plug;
      make_channels.push_back(
          [channel](Channel::Listener* listener) { return NewGrpcChannel(channel, listener); });
    }
    return std::make_unique<RemoteFilter>(options, context, &ticker_, make_channels);
  }

 private:
  const std::vector<ParameterInfo> parameters_ =
      RemoteParameters({.name = "at",
                        .value = "ADDRESS",
                        .required = true,
                        .example = "unix:/run/filter.sock",
                        .help = "where the filter serves weir.filter.v1: unix:PATH or HOST:PORT"});
  mutable Ticker ticker_;
};

}  // namespace

std::unique_ptr<FilterKind> NewGrpcKind() { return std::make_unique<GrpcKind>(); }

}  // namespace weir::filters
