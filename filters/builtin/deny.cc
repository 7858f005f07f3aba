#include "filters/builtin/deny.h"

#include "filters/builtin/fixed_exception.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

class DenyFilter : public Filter {
 public:
  explicit DenyFilter(orb::ExceptionId id) : exception_(id) {}

  Verdict Up(int, orb::Call& call) override {
    exception_.Set(orb::Completion::kNo, &call);
    return Verdict::kBounce;
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

 private:
  const FixedException exception_;
};

class DenyKind : public FilterKind {
 public:
  std::string_view name() const override { return "deny"; }
  std::string_view help() const override {
    return "Refuses calls with a system exception. The servant never sees them.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    const orb::ExceptionId exception = read.Exception("exception");
    if (!read.ok()) return read.status();
    return std::make_unique<DenyFilter>(exception);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "deny",
       .phase = Phase::kUp,
       .reads = Reads::kNothing,
       .help = "answers with the system exception"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "exception",
       .value = "NAME",
       .otherwise = "NO_PERMISSION",
       .help = "the system exception that the caller gets"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewDenyKind() { return std::make_unique<DenyKind>(); }

}  // namespace weir::filters
