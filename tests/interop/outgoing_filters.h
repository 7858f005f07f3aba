// The filters of pass_only.h around the calls that a test's own Orb makes.
//
// Thread safety: for the test's main thread.

#ifndef WEIR_TESTS_INTEROP_OUTGOING_FILTERS_H_
#define WEIR_TESTS_INTEROP_OUTGOING_FILTERS_H_

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/logger.h"
#include "filters/filter.h"
#include "filters/registry.h"
#include "filters/remote/orb_channel.h"
#include "orb/core/orb.h"

namespace weir::testing {

class OutgoingFilters {
 public:
  // Null unless `wanted`. Plugged and connected; fails the running test if it does not come to
  // that. `clock` must outlive it. It must outlive the Orb that it is given to.
  static std::unique_ptr<OutgoingFilters> New(const Clock* clock, bool wanted);
  ~OutgoingFilters();

  // For Orb::FilterOutgoing.
  orb::Gate* gate() { return registry_.gate(); }
  // How often the methods of all plugs were called, at least: of the plug with the fewest.
  uint64_t least_calls() const;

 private:
  explicit OutgoingFilters(const Clock* clock);
  void Plug();
  uint64_t Counter(const std::string& plug, const std::string& name) const;

  const Clock* const clock_;
  NullLogger logger_;
  orb::Orb asking_;  // what filters that are objects are called through
  filters::OrbHandle handle_;
  filters::FilterKinds kinds_;
  filters::Registry registry_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_INTEROP_OUTGOING_FILTERS_H_
