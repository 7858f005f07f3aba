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
    const Nanos keepalive = read.Duration("keepalive", kSecond, 3600 * kSecond);
    const Nanos keepalive_timeout = read.Duration("keepalive-timeout", kSecond, 3600 * kSecond);
    if (!read.ok()) return read.status();
    std::vector<RemoteFilter::MakeChannel> make_channels;
    for (const std::string& address : addresses) {
      GrpcChannelOptions channel;
      channel.address = address;
      channel.name = read.Text("name");
      channel.plug = context.plug;
      channel.keepalive = keepalive;
      channel.keepalive_timeout = keepalive_timeout;
      make_channels.push_back(
          [channel](Channel::Listener* listener) { return NewGrpcChannel(channel, listener); });
    }
    return std::make_unique<RemoteFilter>(options, context, &ticker_, make_channels);
  }

 private:
  static std::vector<ParameterInfo> Parameters() {
    std::vector<ParameterInfo> parameters = RemoteParameters(
        {.name = "at",
         .value = "ADDRESS",
         .required = true,
         .example = "unix:/run/filter.sock",
         .help = "where the filter serves weir.filter.v1: unix:PATH or HOST:PORT"});
    parameters.push_back({.name = "keepalive",
                          .value = "TIME",
                          .otherwise = "6m",
                          .help =
                              "after so much silence the filter's host is asked for a sign of "
                              "life (1s to 1h); under 5m the filter's server must permit it, as "
                              "weir filter-host does"});
    parameters.push_back({.name = "keepalive-timeout",
                          .value = "TIME",
                          .otherwise = "20s",
                          .help = "without one in this time it is no longer connected (1s to 1h)"});
    return parameters;
  }

  const std::vector<ParameterInfo> parameters_ = Parameters();
  mutable Ticker ticker_;
};

}  // namespace

std::unique_ptr<FilterKind> NewGrpcKind() { return std::make_unique<GrpcKind>(); }

}  // namespace weir::filters
