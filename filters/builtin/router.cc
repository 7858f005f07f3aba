#include "filters/builtin/router.h"

#include <utility>
#include <vector>

#include "base/strings.h"
#include "filters/builtin/destination.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

class RouterFilter : public Filter {
 public:
  explicit RouterFilter(Destination to) : to_(std::move(to)) {}

  Verdict Up(int, orb::Call& call) override {
    return to_.IsWhere(call) ? Verdict::kPass : to_.Send(&call);
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

 private:
  const Destination to_;
};

class RouterKind : public FilterKind {
 public:
  std::string_view name() const override { return "router"; }
  std::string_view help() const override {
    return "Sends calls to another object, of the same server or of any other. The filters that "
           "apply to that object's key here apply, and the caller does not learn of it.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    if (!read.ok()) return read.status();
    absl::StatusOr<Destination> to = Destination::Parse(read.Text("to"));
    if (!to.ok()) {
      read.Fail("to", ToStd(to.status().message()));
      return read.status();
    }
    return std::make_unique<RouterFilter>(*std::move(to));
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "route",
       .phase = Phase::kUp,
       .reads = Reads::kHeader,
       .changes = true,
       .help = "sends the call to the other object"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "to",
       .value = "KEY|CORBALOC|IOR",
       .required = true,
       .example = "standby",
       .help = "the other object: its key, with %XX for bytes that are no text, if it is in the "
               "same server; else its reference"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewRouterKind() { return std::make_unique<RouterKind>(); }

}  // namespace weir::filters
