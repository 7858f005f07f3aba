// The store in one SQLite file; its schema is in STORE.md.
//
// Thread safety: the store is safe for concurrent use.

#ifndef WEIR_CONTROL_SQLITE_STORE_H_
#define WEIR_CONTROL_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "control/store.h"

namespace weir::control {

// Opens or creates `file` and locks it until the store is destroyed. Errors, each naming the file:
//   NOT_FOUND            its folder does not exist
//   PERMISSION_DENIED    it cannot be opened or is read only
//   FAILED_PRECONDITION  it is not a store: no database, another program's, or a newer schema
//   ABORTED              another process, most likely a second node, has it locked
//   RESOURCE_EXHAUSTED   the disk is full
//   UNAVAILABLE          any other failure to read or write
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& file,
                                                       StoreLimits limits = {});

}  // namespace weir::control

#endif  // WEIR_CONTROL_SQLITE_STORE_H_
