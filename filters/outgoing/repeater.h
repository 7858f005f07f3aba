// `repeater`: repeats requests to other objects, for shadowing a server with its next version or
// for keeping a stand-by up to date. The up method `repeat` sends a copy of each request, as it is
// when it comes there, to each of the objects, and passes it. What they answer changes nothing for
// the caller, and is counted.
//
// Parameters: `to` (references, with spaces between; up to 16), `timeout` (of a copy), `most`
// (copies in flight; further ones are left out, and so are those beyond 64 MiB of bodies).
//
// Copies are calls that this process makes, and are filtered as such. Those of one caller's
// connection keep their order, but for what had to wait until there was a connection to the object.
// A copy for this very process, or one that is repeated back to it, comes by its filters again,
// until it is nested too deep (orb/core/nesting.h).
//
// Counters: `sent`, `answered` (results and user exceptions), `failed` (system exceptions, and no
// answer), `left_out`, `in_flight`.

#ifndef WEIR_FILTERS_OUTGOING_REPEATER_H_
#define WEIR_FILTERS_OUTGOING_REPEATER_H_

#include <memory>

#include "filters/filter.h"
#include "filters/outgoing/orb_handle.h"

namespace weir::filters {

// `orb` is what copies are sent through; it must outlive the kind and its filters.
//
// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewRepeaterKind(OrbHandle* orb);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_OUTGOING_REPEATER_H_
