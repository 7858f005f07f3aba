// Answers with a fixed reply: the up method `replace` in the servant's place, the down method
// `replace_reply` in place of the reply that the servant gave.
//
// One of three parameters says what that is. `result`: the body of a NO_EXCEPTION reply as CDR in
// hexadecimal (filters/fixed_reply.h), aligned from position 0; empty for an operation without a
// result. `user`: a user exception, by its repository id or as a body. `exception`: the name of a
// system exception, with the minor code kDenied and the completion status that is true.
//
// Nothing checks that a result fits the operation: callers that expect another type get MARSHAL, or
// nonsense.

#ifndef WEIR_FILTERS_BUILTIN_REPLACE_H_
#define WEIR_FILTERS_BUILTIN_REPLACE_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewReplaceKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_REPLACE_H_
