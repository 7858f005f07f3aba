// Logs calls as `log` does, and what their messages carry: the up method `request`, the down method
// `reply`. Each line ends with the body's size, byte order and first octets in hexadecimal:
//
//   event=request plug=audit call=17 peer=tcp:10.0.0.7:40112 key=NameService operation=resolve
//       size=28 order=little body=0100000005000000...
//   event=reply ... status=NO_EXCEPTION microseconds=184 size=4 order=little body=01000000
//
// (each on one line). Parameter `bytes`: how many octets. Bodies may hold passwords: a log of them
// is to be kept like one.

#ifndef WEIR_FILTERS_BUILTIN_MESSAGE_LOG_H_
#define WEIR_FILTERS_BUILTIN_MESSAGE_LOG_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewMessageLogKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_MESSAGE_LOG_H_
