#include "filters/builtin/deny.h"

#include <optional>
#include <string>

#include "base/strings.h"
#include "filters/builtin/parameters.h"
#include "orb/cdr/encoder.h"
#include "orb/core/system_exception.h"

namespace weir::filters {
namespace {

using orb::ExceptionId;

class DenyFilter : public Filter {
 public:
  explicit DenyFilter(ExceptionId id) {
    cdr::Encoder out(&exception_);
    orb::Encode({id, orb::WeirMinor::kDenied, orb::Completion::kNo}, &out);
  }

  Verdict Up(int, orb::Call& call) override {
    call.SetBorrowedBody(orb::ReplyStatus::kSystemException, exception_.view());
    return Verdict::kBounce;
  }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

 private:
  cdr::ByteBuffer exception_;  // encoded
};

class DenyKind : public FilterKind {
 public:
  std::string_view name() const override { return "deny"; }
  std::string_view help() const override {
    return "Refuses calls: the servant never sees them. The caller gets NO_PERMISSION, or the "
           "system exception named by --set exception=NAME.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    if (auto status = CheckKeys(parameters, name(), {"exception"}); !status.ok()) return status;
    const auto it = parameters.find("exception");
    if (it == parameters.end()) return std::make_unique<DenyFilter>(ExceptionId::kNoPermission);
    const std::optional<ExceptionId> id = orb::ExceptionIdFromName(it->second);
    if (id.has_value()) return std::make_unique<DenyFilter>(*id);
    std::string names;
    for (int i = 0; i < orb::kExceptionCount; ++i) {
      StrAppend(&names, i == 0 ? "" : ", ", orb::ExceptionName(static_cast<ExceptionId>(i)));
    }
    return absl::InvalidArgumentError(
        StrCat("parameter 'exception' is '", Escape(it->second),
               "', which is no system exception; there are: ", names));
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "deny",
       .phase = Phase::kUp,
       .reads = Reads::kNothing,
       .help = "answers with the system exception"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewDenyKind() { return std::make_unique<DenyKind>(); }

}  // namespace weir::filters
