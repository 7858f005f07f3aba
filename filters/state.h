// The registry's state as plain data, and the beta messages that change it. Stores keep it, the
// control service converts it, the registry compiles it.
//
// Thread safety: values.

#ifndef WEIR_FILTERS_STATE_H_
#define WEIR_FILTERS_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "filters/filter.h"

namespace weir::filters {

// Target operation -> one filter method. A new mapping starts disabled.
struct Mapping {
  std::string
      operation;  // "*" is every operation that the plug maps no other method to in this phase
  Phase phase = Phase::kUp;
  std::string method;
  bool enabled = false;

  bool operator==(const Mapping&) const = default;
};

// A filter attached to a target.
struct Plug {
  std::string name;
  std::string filter;  // its kind
  FilterParameters parameters;
  std::string selector;  // canonical: "key:NAME", "key:PREFIX*", "interface:ID", "all"
  // Up methods run in ascending priority, ties in plug order; down methods in the reverse of that.
  // See order.h for what the following three change in it.
  int32_t priority = 0;
  uint64_t sequence = 0;  // plug order; given by the registry
  // Takes the place of the priority in the down phase; not set if it is the same.
  std::optional<int32_t> down_priority = {};
  // Names of plugs, which need not exist, that requests meet later or earlier than this one;
  // sorted.
  std::vector<std::string> before = {}, after = {};
  // Which of the selector's calls concern the plug; canonical (condition.h). For the others it is
  // as if it were not plugged.
  std::vector<std::string> conditions = {};
  std::vector<Mapping> mappings;

  bool operator==(const Plug&) const = default;
};

// In which order replies meet plugs.
enum class ReplyOrder : uint8_t {
  kReversed,
  kPlugOrder,  // as requests do
};

// Of the targets that match an object key, the most specific one decides: the key, then the longest
// prefix, then `all`. A key without any is kReversed.
struct TargetReplyOrder {
  std::string selector;  // canonical
  ReplyOrder order = ReplyOrder::kReversed;

  bool operator==(const TargetReplyOrder&) const = default;
};

struct State {
  uint64_t revision = 0;  // 0: nothing was ever committed
  uint64_t next_sequence = 1;
  std::vector<Plug> plugs;                          // by name
  std::vector<TargetReplyOrder> reply_orders = {};  // by selector

  bool operator==(const State&) const = default;
};

// The beta messages. All are idempotent: what is so already stays so and is no error.
struct PlugChange {
  std::string name, filter;
  FilterParameters parameters;
  std::string selector;
  int32_t priority = 0;
  std::optional<int32_t> down_priority = {};
  std::vector<std::string> before = {}, after = {};
  std::vector<std::string> conditions = {};
};
struct UnplugChange {
  std::string name;
};
struct MapChange {
  std::string plug, operation, method;
  Phase phase = Phase::kUp;
  bool enable = false;
};
struct UnmapChange {
  std::string plug, operation, method;
  Phase phase = Phase::kUp;
};
// Enables or disables mappings of a plug. Empty operation: all operations. Empty method: the only
// one mapped there (enable: an error if there are several; disable: all of them).
struct EnableChange {
  std::string plug, operation, method;
  Phase phase = Phase::kUp;
  bool enable = true;
};
// Sets the reply order of a target, or forgets what was set for it: wider targets then decide.
struct ReplyOrderChange {
  std::string selector;
  std::optional<ReplyOrder> order;
};

using Change =
    std::variant<PlugChange, UnplugChange, MapChange, UnmapChange, EnableChange, ReplyOrderChange>;
// Committed together, as one revision, or not at all.
using ChangeSet = std::vector<Change>;

}  // namespace weir::filters

#endif  // WEIR_FILTERS_STATE_H_
