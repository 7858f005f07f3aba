// What the parts of the gate share: what it keeps of a call that is redirected, or that has more
// than a call has room for.
//
// Thread safety: none; of the call's owner.

#ifndef WEIR_FILTERS_GATE_EXTRAS_H_
#define WEIR_FILTERS_GATE_EXTRAS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "filters/condition.h"
#include "filters/snapshot.h"
#include "orb/core/call.h"

namespace weir::filters {

// Of an object without filters.
inline const Chain kNoFilters;

struct RedirectedFrom {
  const Chain* chain;
  uint32_t passed;
  uint64_t unmet;
  std::vector<uint64_t> more_unmet;
};
// GateState::redirects.
using Redirects = std::vector<RedirectedFrom>;
// GateState::own.
struct Own {
  std::vector<std::unique_ptr<const Chain>> chains;
  std::vector<uint64_t> unmet;  // beyond the 64 of GateState::unmet
};

inline Own& OwnOf(orb::GateState* state) {
  if (state->own == nullptr) state->own = new Own;
  return *static_cast<Own*>(state->own);
}

[[gnu::noinline]] inline void FreeExtras(orb::GateState* state) {
  delete static_cast<Redirects*>(std::exchange(state->redirects, nullptr));
  delete static_cast<Own*>(std::exchange(state->own, nullptr));
}

// Conditions in one word.
inline constexpr uint32_t kBits = 64;

// Asks conditions of one call.
class Asked {
 public:
  explicit Asked(const orb::Call& call) : call_(call) {}

  bool Hold(const CallConditions& conditions) {
    if (conditions.need_peer() && !peer_known_) {
      peer_ = PeerOf(call_);
      peer_known_ = true;
    }
    return conditions.Hold(peer_, call_.request());
  }

 private:
  const orb::Call& call_;
  PeerAddress peer_;
  bool peer_known_ = false;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_GATE_EXTRAS_H_
