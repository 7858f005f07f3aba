// The filter kind `ref`: a filter that is an object on an ORB, IDL:weir/Filter:1.0 (wire.h).

#ifndef WEIR_FILTERS_REMOTE_REF_KIND_H_
#define WEIR_FILTERS_REMOTE_REF_KIND_H_

#include <memory>

#include "filters/filter.h"
#include "filters/remote/orb_channel.h"

namespace weir::filters {

// Must outlive the filters that it makes; `orb` must outlive it.
std::unique_ptr<FilterKind> NewRefKind(OrbHandle* orb);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_REF_KIND_H_
