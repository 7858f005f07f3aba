#include "filters/builtin/router.h"

#include <string>
#include <utility>
#include <vector>

#include "filters/escape.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

// Stops keys that no server would take.
constexpr size_t kMostKey = 4096;

class RouterFilter : public Filter {
 public:
  explicit RouterFilter(std::string to) : to_(std::move(to)) {}

  Verdict Up(int, orb::Call& call) override {
    if (call.request().object_key == to_) return Verdict::kPass;  // it is there already
    call.Redirect(to_);
    return Verdict::kRedirect;
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

 private:
  const std::string to_;
};

class RouterKind : public FilterKind {
 public:
  std::string_view name() const override { return "router"; }
  std::string_view help() const override {
    return "Sends calls to another object of the same server. That object's own filters apply, and "
           "the caller does not learn of it.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    if (!read.ok()) return read.status();
    absl::StatusOr<std::string> key = UnescapeKey(read.Text("to"));
    if (!key.ok() || key->empty() || key->size() > kMostKey) {
      read.Fail("to",
                "it must be an object key, with %XX for bytes that are no text, such as "
                "NameService");
      return read.status();
    }
    return std::make_unique<RouterFilter>(*std::move(key));
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
       .value = "KEY",
       .required = true,
       .example = "standby",
       .help = "the other object's key, with %XX for bytes that are no text"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewRouterKind() { return std::make_unique<RouterKind>(); }

}  // namespace weir::filters
