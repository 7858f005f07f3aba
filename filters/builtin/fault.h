// Injects faults: the up method `fail` answers some requests with a system exception before the
// servant sees them, the down method `fail_reply` replaces some replies by one after it.
//
// Which calls fail is decided by a generator that counts: the nth request that meets the filter
// fails or does not, depending on `seed` and n alone, and so does the nth reply. The same calls in
// the same order fail again at the next run; calls of several threads come in an order of their
// own.
//
// Parameters: `probability` (0 to 1), `seed`, `exception` (TRANSIENT unless set), `completed` (no,
// yes or maybe; unless set, what is true: no for `fail`; for `fail_reply` yes, or maybe if the
// reply was no result and no user exception). The minor code is kDenied.
//
// Counters: `requests` and `replies` seen, `failed_requests` and `failed_replies` of them.

#ifndef WEIR_FILTERS_BUILTIN_FAULT_H_
#define WEIR_FILTERS_BUILTIN_FAULT_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewFaultKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_FAULT_H_
