// Lets calls pass by who their peer is: the up method `check`.
//
// Parameters `deny` and `allow` are lists of ranges, separated by commas: `10.0.0.0/8`, `10.0.0.7`,
// `fd00::/8`, `::1`, `unix` (every peer on a Unix socket), `unix:uid=1000`. A peer in `deny` is
// refused; then, if `allow` is given, every peer that is not in it. One of the two must be given,
// with at most 256 ranges each.
//
// What is not known counts against the peer: one whose address is neither IP nor Unix is refused
// always, and a Unix peer of unknown uid is in every `deny=unix:uid=N` and in no
// `allow=unix:uid=N`.
//
// Of calls that a process makes itself, the peer is the server that the reference names; names of
// hosts are not resolved, and so cannot be read.
//
// Refused calls get NO_PERMISSION or `exception`, with minor code kDenied and completion status NO.
// Counters: `passed`, `refused`, and of those `unreadable`, whose address is neither.

#ifndef WEIR_FILTERS_BUILTIN_ACCESS_H_
#define WEIR_FILTERS_BUILTIN_ACCESS_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewAccessKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_ACCESS_H_
