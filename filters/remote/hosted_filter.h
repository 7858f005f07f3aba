// The other side of a remote filter, for filters written in C++: runs an in-process filter on
// questions. The filter does not see the difference.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_REMOTE_HOSTED_FILTER_H_
#define WEIR_FILTERS_REMOTE_HOSTED_FILTER_H_

#include <functional>
#include <memory>
#include <vector>

#include "filters/filter.h"
#include "filters/remote/channel.h"
#include "filters/remote/wire.h"

namespace weir::filters {

class HostedFilter {
 public:
  // `kind` must outlive the object, and not be one that describes itself. What its methods read and
  // change is told as the kind declares it.
  // `policy` is declared for each of them.
  HostedFilter(const FilterKind* kind, std::unique_ptr<Filter> filter, DeclaredPolicy policy = {})
      : kind_(kind), filter_(std::move(filter)), policy_(std::move(policy)) {}

  std::vector<MethodInfo> Describe() const;
  // Calls `done` once: at once, or later from whatever thread the filter answers on.
  void Judge(ReceivedQuestion question, std::function<void(Answer)> done);

 private:
  class HostedCall;

  const FilterKind* const kind_;
  const std::unique_ptr<Filter> filter_;
  const DeclaredPolicy policy_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_HOSTED_FILTER_H_
