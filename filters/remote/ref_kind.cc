#include "filters/remote/ref_kind.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/strings.h"
#include "filters/remote/policy.h"
#include "filters/remote/remote_filter.h"
#include "filters/remote/ticker.h"

namespace weir::filters {
namespace {

class RefKind : public FilterKind {
 public:
  explicit RefKind(OrbHandle* orb) : orb_(orb) {}

  std::string_view name() const override { return "ref"; }
  std::string_view help() const override { return help_; }
  bool describes_itself() const override { return true; }
  absl::Span<const MethodInfo> methods() const override { return {}; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    absl::StatusOr<RemoteOptions> options = ParseRemoteOptions(parameters, {"at", "name"});
    if (!options.ok()) return options.status();
    OrbChannelOptions channel;
    const auto at = parameters.find("at");
    if (at == parameters.end()) {
      return absl::InvalidArgumentError(
          "parameter 'at' is missing: the filter's reference, a corbaloc or IOR, as `weir "
          "filter-host` prints it");
    }
    if (auto parsed = orb::ParseReference(at->second, {}); !parsed.ok()) {
      return absl::InvalidArgumentError(StrCat("parameter 'at': ", parsed.status().message()));
    }
    channel.reference = at->second;
    const auto name = parameters.find("name");
    if (name != parameters.end()) channel.name = name->second;
    channel.call_timeout = std::max(options->up.timeout, options->down.timeout);
    return std::make_unique<RemoteFilter>(
        *options, context, &ticker_, [&](Channel::Listener* listener) {
          return NewOrbChannel(std::move(channel), orb_, context.clock, listener);
        });
  }

 private:
  const std::string help_ = StrCat(
      "Asks a filter in another process that is an object on an ORB (IDL:weir/Filter:1.0), such as "
      "`weir filter-host` serves. The filter tells its methods itself. Calls that wait for it hold "
      "no thread. at=CORBALOC|IOR: its reference. name=NAME: which filter, where an object has "
      "several. ",
      RemoteParametersHelp());
  OrbHandle* const orb_;
  mutable Ticker ticker_;
};

}  // namespace

std::unique_ptr<FilterKind> NewRefKind(OrbHandle* orb) { return std::make_unique<RefKind>(orb); }

}  // namespace weir::filters
