// The operations that every CORBA object has (CORBA 3.3 part 2, 9.4.2.1 and part 1, 8.3): answered
// by the ORB on behalf of servants.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_CORE_BUILTIN_OPERATIONS_H_
#define WEIR_ORB_CORE_BUILTIN_OPERATIONS_H_

#include <string_view>

#include "orb/core/call.h"
#include "orb/core/servant.h"

namespace weir::orb {

// Answers `call` if its operation is `_is_a`, `_non_existent` (or `_not_existent`, as GIOP 1.0
// spelt it),
// `_repository_id`, `_interface` or `_component`. Returns false, and does nothing, if it is another
// one.
bool ServeBuiltin(const Servant& servant, Call* call);

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_BUILTIN_OPERATIONS_H_
