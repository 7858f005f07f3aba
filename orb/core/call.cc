#include "orb/core/call.h"

namespace weir::orb {

uint64_t NextObjectDomain() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

uint64_t NextCallId() {
  static std::atomic<uint64_t> next_thread{1};
  constinit thread_local uint64_t base = 0, used = 0;
  if (base == 0) [[unlikely]]
    base = next_thread.fetch_add(1, std::memory_order_relaxed) << 40;
  return base | ++used;
}

}  // namespace weir::orb
