// `transform`: makes another message of a message. The up method `transform` gives requests another
// operation, and drops and adds service contexts; the down method `transform_reply` does the latter
// to replies. Bodies stay as they are.
//
// Parameters: `operation` (the new one), `drop-contexts` and `add-contexts`, of `transform`;
// `drop-reply-contexts` and `add-reply-contexts`, of `transform_reply`. A context that is added
// takes the place of those with its id.

#ifndef WEIR_FILTERS_BUILTIN_TRANSFORM_H_
#define WEIR_FILTERS_BUILTIN_TRANSFORM_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewTransformKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_TRANSFORM_H_
