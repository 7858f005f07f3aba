#include "filters/remote/ref_kind.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "filters/parameters.h"
#include "filters/remote/policy.h"
#include "filters/remote/remote_filter.h"
#include "filters/remote/ticker.h"

namespace weir::filters {
namespace {

class RefKind : public FilterKind {
 public:
  explicit RefKind(OrbHandle* orb) : orb_(orb) {}

  std::string_view name() const override { return "ref"; }
  std::string_view help() const override {
    return "Asks a filter in another process that is an object on an ORB, IDL:weir/Filter:1.0, "
           "such "
           "as `weir filter-host` serves. The filter tells its methods itself. Calls that wait for "
           "it hold no thread.";
  }
  bool describes_itself() const override { return true; }
  absl::Span<const MethodInfo> methods() const override { return {}; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    ParameterReader read(*this, parameters);
    const RemoteOptions options = ReadRemoteOptions(&read);
    if (read.Has("at")) {
      const auto reference = orb::ParseReference(read.Text("at"), {});
      if (!reference.ok()) {
        read.Fail("at", StrCat("it must be a reference: ", reference.status().message()));
      }
    }
    if (!read.ok()) return read.status();
    OrbChannelOptions channel;
    channel.reference = read.Text("at");
    channel.name = read.Text("name");
    channel.call_timeout = std::max(options.up.timeout, options.down.timeout);
    return std::make_unique<RemoteFilter>(
        options, context, &ticker_, [&](Channel::Listener* listener) {
          return NewOrbChannel(std::move(channel), orb_, context.clock, listener);
        });
  }

 private:
  OrbHandle* const orb_;
  const std::vector<ParameterInfo> parameters_ =
      RemoteParameters({.name = "at",
                        .value = "CORBALOC|IOR",
                        .required = true,
                        .example = "corbaloc::1.2@localhost:7001/filter",
                        .help = "the filter's reference, as `weir filter-host` prints it"});
  mutable Ticker ticker_;
};

}  // namespace

std::unique_ptr<FilterKind> NewRefKind(OrbHandle* orb) { return std::make_unique<RefKind>(orb); }

}  // namespace weir::filters
