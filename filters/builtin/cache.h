// Keeps replies and answers equal requests with them: the down method `store` keeps, the up method
// `lookup` answers in the servant's place. Map both to the same operations, and only to such whose
// result depends on nothing but object, operation and arguments, for as long as `ttl`.
//
// Requests are equal if object key, operation, body octets and byte order are, and the code sets of
// their connections. What else a request carries is ignored: service contexts (identities,
// transactions) and the principal. So everybody who may call gets the answer that somebody got;
// plug what refuses callers with a lower priority, so that it runs before.
//
// Kept are NO_EXCEPTION replies to two-way requests, if the reply has no service contexts and
// neither body came in GIOP 1.1 fragments; requests only if their body starts at alignment 0, as in
// every GIOP 1.2 message. An answer is a copy: nothing that is evicted is missed by a call.
//
// Parameters: `ttl` (1ms to 24h); `max_entries` (1 to 1000000); `max_bytes` (1024 to 2^30), of
// requests and replies and 256 octets for each; a reply that takes more than a sixteenth of it may
// not be kept. Beyond the limits what was asked for least recently goes.
//
// Calls that a filter has redirected are neither kept nor answered: their key is no longer what was
// asked. In a `weir filter-host` the cache cannot know.
//
// Command: `forget` (`key`, `operation`: only results of these). What was asked before is not kept
// afterwards, either, but in a `weir filter-host`, which has no commands.
//
// Counters: `hits`, `misses`, `stored`, `evicted` (for want of room), `entries` and `bytes` now.

#ifndef WEIR_FILTERS_BUILTIN_CACHE_H_
#define WEIR_FILTERS_BUILTIN_CACHE_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Thread safety: the filters are safe for concurrent use.
std::unique_ptr<FilterKind> NewCacheKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_CACHE_H_
