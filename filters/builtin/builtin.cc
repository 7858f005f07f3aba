#include "filters/builtin/builtin.h"

#include "filters/builtin/access.h"
#include "filters/builtin/balancer.h"
#include "filters/builtin/cache.h"
#include "filters/builtin/count.h"
#include "filters/builtin/delay.h"
#include "filters/builtin/deny.h"
#include "filters/builtin/fault.h"
#include "filters/builtin/log.h"
#include "filters/builtin/message_log.h"
#include "filters/builtin/rate_limit.h"
#include "filters/builtin/replace.h"
#include "filters/builtin/router.h"
#include "filters/builtin/transform.h"

namespace weir::filters {

void AddBuiltinFilters(FilterKinds* kinds) {
  kinds->Add(NewAccessKind());
  kinds->Add(NewBalancerKind());
  kinds->Add(NewCacheKind());
  kinds->Add(NewCountKind());
  kinds->Add(NewDelayKind());
  kinds->Add(NewDenyKind());
  kinds->Add(NewFaultKind());
  kinds->Add(NewLogKind());
  kinds->Add(NewMessageLogKind());
  kinds->Add(NewRateLimitKind());
  kinds->Add(NewReplaceKind());
  kinds->Add(NewRouterKind());
  kinds->Add(NewTransformKind());
}

}  // namespace weir::filters
