// Calls that filters make while they look at a call, or send on to another server, and how deeply
// such calls are nested: so that a filter which calls the object that it filters comes to an end,
// and so do servers that send a call to each other.
//
// A call's depth travels in a service context of Weir's: 0 without one, 1 if a filter has made the
// call while it looked at one of depth 0, or has sent that one to another server, and so on. The
// context is on no other calls. What a servant calls begins anew: it may answer at any time, and on
// any thread.
//
// Thread safety: pure functions; a scope belongs to its thread.

#ifndef WEIR_ORB_CORE_NESTING_H_
#define WEIR_ORB_CORE_NESTING_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orb/core/message.h"

namespace weir::orb {

// Its data is an encapsulation: the octet of the byte order, then the depth as an octet.
inline constexpr uint32_t kNestingContext = 0x57454901;
inline constexpr int kDeepestNesting = 15;  // as far as is told

// Depth of a call with these contexts. What is malformed says nothing.
inline int NestingIn(const std::vector<ServiceContext>& contexts) {
  int nesting = 0;
  for (const ServiceContext& c : contexts) {
    if (c.id != kNestingContext || c.data.size() < 2) continue;
    nesting = std::max(nesting, std::min<int>(static_cast<uint8_t>(c.data[1]), kDeepestNesting));
  }
  return nesting;
}

// REQUIRES: 0 < nesting. Its data lives for ever.
inline ServiceContext NestingContext(int nesting) {
  static constexpr char kData[kDeepestNesting + 1][2] = {
      {0, 0}, {0, 1}, {0, 2},  {0, 3},  {0, 4},  {0, 5},  {0, 6},  {0, 7},
      {0, 8}, {0, 9}, {0, 10}, {0, 11}, {0, 12}, {0, 13}, {0, 14}, {0, 15}};
  return {kNestingContext, std::string_view(kData[std::min(nesting, kDeepestNesting)], 2)};
}

// While it lives, calls that this thread begins are made by a filter and have that depth; 0: by
// nobody.
class FilterScope {
 public:
  // `holds_call`: the call that the filter looks at is there for as long. One that a filter has
  // suspended need not be.
  explicit FilterScope(int nesting, bool holds_call = true)
      : outer_(std::exchange(current_, {nesting, holds_call})) {}
  ~FilterScope() { current_ = outer_; }
  FilterScope(const FilterScope&) = delete;
  FilterScope& operator=(const FilterScope&) = delete;

  static int nesting() { return current_.nesting; }
  static bool holds_call() { return current_.holds_call; }

 private:
  struct State {
    int nesting;
    bool holds_call;
  };
  static inline constinit thread_local State current_ = {0, false};
  const State outer_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_NESTING_H_
