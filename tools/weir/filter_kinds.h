// The kinds of filters that this program has.
//
// Thread safety: pure functions.

#ifndef WEIR_TOOLS_WEIR_FILTER_KINDS_H_
#define WEIR_TOOLS_WEIR_FILTER_KINDS_H_

#include "filters/filter.h"
#include "filters/outgoing/orb_handle.h"

namespace weir::tools {

// Adds all of them: what nodes plug, and `weir filter` describes. REQUIRES: `*kinds` is empty.
// `orb` is what filters make calls through; it must outlive the kinds.
void AddFilterKinds(filters::FilterKinds* kinds, filters::OrbHandle* orb);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_FILTER_KINDS_H_
