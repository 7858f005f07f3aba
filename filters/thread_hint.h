// A number that differs between threads, mostly: to spread them over slots and counters, so that
// they do not share cache lines. Nothing depends on its being unique.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_THREAD_HINT_H_
#define WEIR_FILTERS_THREAD_HINT_H_

#include <cstddef>
#include <cstdint>

namespace weir::filters {

inline size_t ThreadHint() {
  // Threads' storage lies a whole stack apart; the multiplication spreads such addresses evenly.
  thread_local char anchor;
  return static_cast<size_t>((reinterpret_cast<uintptr_t>(&anchor) * 0x9E3779B97F4A7C15u) >> 48);
}

}  // namespace weir::filters

#endif  // WEIR_FILTERS_THREAD_HINT_H_
