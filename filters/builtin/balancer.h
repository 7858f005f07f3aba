// `balancer`: spreads calls over several objects. The up method `balance` sends each call to one of
// them; the down method `watch` sees which of them could not be reached, and has those passed over
// for a while.
//
// Parameters: `to` (keys and references, with spaces between; up to 256), `by` (round-robin; or
// peer: calls of one host, or of one user of a Unix socket, go to the same object as long as it can
// be reached), `aside` (for how long an object is passed over).
//
// An object counts as not reached if this ORB says so: TRANSIENT, COMM_FAILURE or TIMEOUT with one
// of its own minor codes for connections and deadlines. If all of them are passed over, none is.
//
// Counters: `sent` to each, `put_aside`.

#ifndef WEIR_FILTERS_BUILTIN_BALANCER_H_
#define WEIR_FILTERS_BUILTIN_BALANCER_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewBalancerKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_BALANCER_H_
