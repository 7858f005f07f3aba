#include "filters/remote/ref_kind.h"

#include <string>
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
    // A reference may have commas of its own.
    const std::vector<std::string> references = ReadAddresses({"corbaloc:", "IOR:"}, &read);
    for (size_t i = 0; i < references.size() && read.ok(); ++i) {
      const auto reference = orb::ParseReference(references[i], {});
      if (reference.ok()) continue;
      read.Fail(i == 0 ? "at" : "spare",
                StrCat("it must be a reference: ", reference.status().message()));
    }
    if (!read.ok()) return read.status();
    std::vector<RemoteFilter::MakeChannel> make_channels;
    for (const std::string& reference : references) {
      OrbChannelOptions channel;
      channel.reference = reference;
      channel.name = read.Text("name");
      make_channels.push_back([this, channel](Channel::Listener* listener) {
        return NewOrbChannel(channel, orb_, listener);
      });
    }
    return std::make_unique<RemoteFilter>(options, context, &ticker_, make_channels);
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
