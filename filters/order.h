// In which order plugs run: one order of all plugs for each phase, whatever they are plugged onto.
// A call meets those that concern it in that order, so no two plugs ever change places from one
// call to another.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_ORDER_H_
#define WEIR_FILTERS_ORDER_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "filters/state.h"

namespace weir::filters {

struct PlugOrder {
  // Indices of the plugs. Requests meet them in this order.
  std::vector<size_t> up;
  // What `up` would be if down priorities were the priorities. Replies meet the plugs in the
  // reverse of this order.
  std::vector<size_t> down;
};

// Of the plugs whose predecessors (Plug::before and after, as far as those are plugged) have all
// had their turn, the next one is that of the lowest priority, then the first plugged. So a
// constraint wins over priorities: the plug that must come later waits. FAILED_PRECONDITION names a
// circle of constraints. REQUIRES: `plugs` are ordered by name.
absl::StatusOr<PlugOrder> OrderPlugs(const std::vector<Plug>& plugs);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_ORDER_H_
