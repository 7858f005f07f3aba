// `delay`: makes some calls take longer: the up method `hold` keeps requests for a time, the down
// method `hold_reply` replies. Calls that are kept hold no thread.
//
// Parameters: `time`, `jitter` (up to so much more, evenly spread), `probability` (0 to 1, of calls
// that are kept), `seed`, `most` (calls kept at a time; further ones pass at once).
//
// Which calls are kept, and for how long, depends on the seed and on their number, as with `fault`.
//
// Counters: `kept`, `passed_at_once` because there were too many, `keeping` now.

#ifndef WEIR_FILTERS_BUILTIN_DELAY_H_
#define WEIR_FILTERS_BUILTIN_DELAY_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewDelayKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_DELAY_H_
