// Refuses calls that come too fast: the up method `limit`, with token buckets.
//
// Parameters: `rate`, calls a second (0.001 to 1000000, fractions allowed); `burst`, how many may
// come at once after a quiet time (1 to 1000000; unless set, those of one second, at least 1);
// `per`: one bucket for `all` calls that meet the filter, or one for each `peer` or `operation`.
//
// A peer is a host, whatever its ports, or the uid at the other end of a Unix socket; those whose
// address is neither count as one. An operation is a name, on whatever object.
//
// So many buckets are kept at a time as `buckets` says (1 to 65536, 4096 unless set). A bucket that
// has been quiet long enough to be full again makes way. If all are busy, further peers or
// operations share one more bucket. Names of operations come from callers: map `limit` to the
// operations that there are, not to '*', or every invented name has a rate of its own.
//
// Refused calls get TRANSIENT or `exception`, with minor code kDenied and completion status NO.
// Counters: `passed`, `refused`, and of all of those `shared`, which met the bucket that is shared
// for want of room.

#ifndef WEIR_FILTERS_BUILTIN_RATE_LIMIT_H_
#define WEIR_FILTERS_BUILTIN_RATE_LIMIT_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use; lock-free.
std::unique_ptr<FilterKind> NewRateLimitKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_RATE_LIMIT_H_
