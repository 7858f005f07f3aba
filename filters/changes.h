// What beta messages do to the registry's state: the rules of plug, map and enable, on plain data.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_CHANGES_H_
#define WEIR_FILTERS_CHANGES_H_

#include "absl/status/statusor.h"
#include "filters/filter.h"
#include "filters/state.h"

namespace weir::filters {

// `base` after all of `changes`, in their order. Its revision is one higher if any plug, mapping
// or reply order differs; otherwise `base` itself comes back. Errors as Registry::Prepare, apart
// from those that only making a filter can find (bad parameters).
absl::StatusOr<State> ApplyChanges(const State& base, const ChangeSet& changes,
                                   const FilterKinds& kinds);

// A state from outside, checked by the same rules and put into canonical form: sorted, selectors
// spelled canonically, next_sequence above every sequence in use.
absl::StatusOr<State> CheckState(const State& state, const FilterKinds& kinds);

// The index of `kind`'s method of that name and phase. NOT_FOUND lists the methods that there are.
// For kinds whose filters describe themselves it only says that the name could be one.
absl::StatusOr<int> FindMethod(const FilterKind& kind, Phase phase, std::string_view method);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_CHANGES_H_
