// The words of log lines about calls, as the filters `log` and `message-log` write them.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_BUILTIN_CALL_WORDS_H_
#define WEIR_FILTERS_BUILTIN_CALL_WORDS_H_

#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "filters/log_line.h"
#include "orb/core/call.h"

namespace weir::filters {

// plug=audit call=17 peer=tcp:10.0.0.7:40112 key=NameService operation=resolve
void AddCall(const orb::Call& call, std::string_view plug, LogLine* line);

// status=SYSTEM_EXCEPTION exception=OBJECT_NOT_EXIST minor=2 completed=NO microseconds=184
//
// The time since the first filter saw the request; left out where that is not known, as in a filter
// host, which is asked about the reply alone.
void AddOutcome(const orb::Call& call, const Clock& clock, LogLine* line);

// size=12 order=little body=01000000... with the first `most` octets.
void AddBody(const orb::Body& body, size_t most, LogLine* line);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_CALL_WORDS_H_
