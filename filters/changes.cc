#include "filters/changes.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "filters/condition.h"
#include "filters/order.h"
#include "filters/selector.h"

namespace weir::filters {
namespace {

constexpr size_t kMaxPlugName = 64;
constexpr size_t kMaxOperation = 255;
// Commits sort all plugs by all constraints.
constexpr size_t kMaxConstraints = 256;

// Text from a message, safe to show in one line.
std::string Quote(std::string_view text) { return StrCat("'", Escape(text.substr(0, 256)), "'"); }

absl::Status CheckPlugName(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxPlugName &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("bad plug name ", Quote(name), ": use 1 to ",
                                           kMaxPlugName,
                                           " letters, digits, '-', '_' or '.', for example audit"));
}

absl::Status CheckOperation(std::string_view operation) {
  const bool good =
      operation == "*" || (!operation.empty() && operation.size() <= kMaxOperation &&
                           std::all_of(operation.begin(), operation.end(), [](unsigned char c) {
                             return absl::ascii_isgraph(c) && c != '*';
                           }));
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("bad operation ", Quote(operation),
                                           ": write its IDL name, for example resolve or ",
                                           "_get_balance, or '*' for all operations"));
}

// For methods that only the filter knows.
absl::Status CheckMethodName(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxPlugName &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("bad method name ", Quote(name)));
}

std::vector<Plug>::iterator FindPlug(State* state, std::string_view name) {
  return std::lower_bound(state->plugs.begin(), state->plugs.end(), name,
                          [](const Plug& plug, std::string_view n) { return plug.name < n; });
}

absl::StatusOr<Plug*> ExistingPlug(State* state, std::string_view name) {
  const auto it = FindPlug(state, name);
  if (it != state->plugs.end() && it->name == name) return &*it;
  return absl::NotFoundError(
      StrCat("no plug is named ", Quote(name), "; 'weir list' shows them, 'weir plug' makes one"));
}

absl::StatusOr<const FilterKind*> ExistingKind(const FilterKinds& kinds, std::string_view name) {
  const FilterKind* kind = kinds.Find(name);
  if (kind != nullptr) return kind;
  return absl::NotFoundError(StrCat(
      "no filter is named ", Quote(name),
      "; there are: ", absl::StrJoin(kinds.All(), ", ", [](std::string* out, const FilterKind* k) {
        StrAppend(out, k->name());
      })));
}

auto MappingOrder(const Mapping& m) { return std::tie(m.operation, m.phase, m.method); }

bool MappingLess(const Mapping& a, const Mapping& b) { return MappingOrder(a) < MappingOrder(b); }

// At most one mapping of a plug, operation and phase is enabled.
void EnableAlone(Plug* plug, const Mapping& chosen) {
  for (Mapping& m : plug->mappings) {
    if (m.operation == chosen.operation && m.phase == chosen.phase) m.enabled = &m == &chosen;
  }
}

void SortOut(std::vector<std::string>* names) {
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
}

// That plug `name` can obey both. Sorts them.
absl::Status CheckConstraints(const std::string& name, std::vector<std::string>* before,
                              std::vector<std::string>* after) {
  for (std::vector<std::string>* const names : {before, after}) {
    if (names->size() > kMaxConstraints) {
      return absl::InvalidArgumentError(StrCat("plug ", Quote(name), " names more than ",
                                               kMaxConstraints,
                                               " plugs that it must come before, or after"));
    }
    for (const std::string& other : *names) {
      if (auto status = CheckPlugName(other); !status.ok()) return status;
      if (other == name) {
        return absl::FailedPreconditionError(StrCat(
            "plug ", Quote(name), " cannot come before or after itself: ", name, " -> ", name));
      }
    }
    SortOut(names);
  }
  for (const std::string& other : *before) {
    if (!std::binary_search(after->begin(), after->end(), other)) continue;
    return absl::FailedPreconditionError(StrCat("plug ", Quote(name),
                                                " cannot come both before and after ", Quote(other),
                                                ": ", name, " -> ", other, " -> ", name));
  }
  return absl::OkStatus();
}

// The plug that `change` asks for, in canonical form; without a sequence.
absl::StatusOr<Plug> MakePlug(const PlugChange& change, const FilterKinds& kinds) {
  if (auto status = CheckPlugName(change.name); !status.ok()) return status;
  if (auto kind = ExistingKind(kinds, change.filter); !kind.ok()) return kind.status();
  auto selector = Selector::Parse(change.selector);
  if (!selector.ok()) return selector.status();
  absl::StatusOr<Conditions> conditions = Conditions::Parse(change.conditions);
  if (!conditions.ok()) return conditions.status();
  Plug plug{.name = change.name,
            .filter = change.filter,
            .parameters = change.parameters,
            .selector = selector->Canonical(),
            .priority = change.priority,
            .down_priority = change.down_priority,
            .before = change.before,
            .after = change.after,
            .conditions = std::move(conditions->canonical),
            .mappings = {}};
  if (plug.down_priority == plug.priority) plug.down_priority.reset();
  if (auto status = CheckConstraints(plug.name, &plug.before, &plug.after); !status.ok()) {
    return status;
  }
  return plug;
}

absl::Status Apply(const PlugChange& change, const FilterKinds& kinds, State* state) {
  absl::StatusOr<Plug> plug = MakePlug(change, kinds);
  if (!plug.ok()) return plug.status();
  const auto it = FindPlug(state, change.name);
  if (it == state->plugs.end() || it->name != change.name) {
    plug->sequence = state->next_sequence++;
    state->plugs.insert(it, *std::move(plug));
    return absl::OkStatus();
  }
  std::string_view differs;
  if (it->filter != plug->filter) {
    differs = "filter";
  } else if (it->selector != plug->selector) {
    differs = "target";
  } else if (it->parameters != plug->parameters) {
    differs = "parameters";
  } else if (it->priority != plug->priority) {
    differs = "priority";
  } else if (it->down_priority != plug->down_priority) {
    differs = "down priority";
  } else if (it->before != plug->before || it->after != plug->after) {
    differs = "place before or after other plugs";
  } else if (it->conditions != plug->conditions) {
    differs = "conditions";
  } else {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      StrCat("plug ", Quote(change.name), " already exists with another ", differs, " (filter ",
             it->filter, " on ", it->selector, ", priority ", it->priority,
             "); unplug it first, or choose another name"));
}

absl::Status Apply(const UnplugChange& change, const FilterKinds&, State* state) {
  if (auto status = CheckPlugName(change.name); !status.ok()) return status;
  const auto it = FindPlug(state, change.name);
  if (it != state->plugs.end() && it->name == change.name) state->plugs.erase(it);
  return absl::OkStatus();
}

// What Map and Unmap have in common.
template <typename AnyMapChange>
absl::StatusOr<Plug*> CheckMapping(const AnyMapChange& change, const FilterKinds& kinds,
                                   State* state) {
  absl::StatusOr<Plug*> plug = ExistingPlug(state, change.plug);
  if (!plug.ok()) return plug;
  if (auto status = CheckOperation(change.operation); !status.ok()) return status;
  auto kind = ExistingKind(kinds, (*plug)->filter);
  if (!kind.ok()) return kind.status();
  auto method = FindMethod(**kind, change.phase, change.method);
  if (!method.ok()) return method.status();
  return plug;
}

absl::Status Apply(const MapChange& change, const FilterKinds& kinds, State* state) {
  absl::StatusOr<Plug*> plug = CheckMapping(change, kinds, state);
  if (!plug.ok()) return plug.status();
  const Mapping mapping{change.operation, change.phase, change.method, false};
  std::vector<Mapping>& mappings = (*plug)->mappings;
  auto it = std::lower_bound(mappings.begin(), mappings.end(), mapping, MappingLess);
  if (it == mappings.end() || MappingOrder(*it) != MappingOrder(mapping)) {
    it = mappings.insert(it, mapping);
  }
  if (change.enable) EnableAlone(*plug, *it);
  return absl::OkStatus();
}

absl::Status Apply(const UnmapChange& change, const FilterKinds& kinds, State* state) {
  absl::StatusOr<Plug*> plug = CheckMapping(change, kinds, state);
  if (!plug.ok()) return plug.status();
  std::erase_if((*plug)->mappings, [&](const Mapping& m) {
    return m.operation == change.operation && m.phase == change.phase && m.method == change.method;
  });
  return absl::OkStatus();
}

// Enables the one of `candidates` (all of one operation) that there is.
absl::Status EnableOnly(Plug* plug, const std::vector<const Mapping*>& candidates) {
  if (candidates.size() == 1) {
    EnableAlone(plug, *candidates[0]);
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(StrCat(
      "plug ", Quote(plug->name), " maps several ", PhaseName(candidates[0]->phase),
      " methods to operation ", Quote(candidates[0]->operation), "; say which one to enable: ",
      absl::StrJoin(candidates, ", ",
                    [](std::string* out, const Mapping* m) { StrAppend(out, m->method); })));
}

absl::Status Apply(const EnableChange& change, const FilterKinds& kinds, State* state) {
  absl::StatusOr<Plug*> found = ExistingPlug(state, change.plug);
  if (!found.ok()) return found.status();
  Plug* const plug = *found;
  if (!change.operation.empty()) {
    if (auto status = CheckOperation(change.operation); !status.ok()) return status;
  }
  if (!change.method.empty()) {
    auto kind = ExistingKind(kinds, plug->filter);
    if (!kind.ok()) return kind.status();
    auto method = FindMethod(**kind, change.phase, change.method);
    if (!method.ok()) return method.status();
  }

  std::vector<const Mapping*> matching;  // in order of operation
  for (Mapping& m : plug->mappings) {
    if (m.phase == change.phase && (change.operation.empty() || m.operation == change.operation) &&
        (change.method.empty() || m.method == change.method)) {
      matching.push_back(&m);
      if (!change.enable) m.enabled = false;
    }
  }
  if (matching.empty()) {
    // To disable all of nothing leaves nothing enabled, as asked; anything else is a slip.
    if (!change.enable && change.operation.empty() && change.method.empty()) {
      return absl::OkStatus();
    }
    return absl::NotFoundError(StrCat(
        "plug ", Quote(plug->name), " does not map ",
        change.method.empty() ? StrCat("any ", PhaseName(change.phase), " method")
                              : StrCat(PhaseName(change.phase), " method ", Quote(change.method)),
        " to ",
        change.operation.empty() ? "an operation" : StrCat("operation ", Quote(change.operation)),
        "; map it first with 'weir map'"));
  }
  if (!change.enable) return absl::OkStatus();

  for (size_t begin = 0; begin < matching.size();) {
    size_t end = begin + 1;
    while (end < matching.size() && matching[end]->operation == matching[begin]->operation) ++end;
    const std::vector<const Mapping*> one(matching.begin() + begin, matching.begin() + end);
    if (auto status = EnableOnly(plug, one); !status.ok()) return status;
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status Apply(const ReplyOrderChange& change, const FilterKinds&, State* state) {
  auto selector = Selector::Parse(change.selector);
  if (!selector.ok()) return selector.status();
  if (selector->kind == Selector::Kind::kInterface) {
    return absl::InvalidArgumentError(
        StrCat("a reply order is for keys: ", Quote(change.selector),
               " names an interface; an object may have several, and its replies one order. Write "
               "for example key:NameService, key:accounts/* or all"));
  }
  const std::string canonical = selector->Canonical();
  std::vector<TargetReplyOrder>& orders = state->reply_orders;
  const auto it = std::lower_bound(
      orders.begin(), orders.end(), canonical,
      [](const TargetReplyOrder& t, std::string_view s) { return t.selector < s; });
  const bool found = it != orders.end() && it->selector == canonical;
  if (!change.order.has_value()) {
    if (found) orders.erase(it);
  } else if (found) {
    it->order = *change.order;
  } else {
    orders.insert(it, {canonical, *change.order});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> FindMethod(const FilterKind& kind, Phase phase, std::string_view method) {
  if (kind.describes_itself()) {
    if (auto status = CheckMethodName(method); !status.ok()) return status;
    return 0;
  }
  std::vector<std::string> names;
  const absl::Span<const MethodInfo> methods = kind.methods();
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i].phase != phase) continue;
    if (methods[i].name == method) return static_cast<int>(i);
    names.push_back(methods[i].name);
  }
  return absl::NotFoundError(StrCat(
      "filter '", kind.name(), "' has no ", PhaseName(phase), " method ", Quote(method), "; its ",
      PhaseName(phase), " methods are: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

absl::StatusOr<State> ApplyChanges(const State& base, const ChangeSet& changes,
                                   const FilterKinds& kinds) {
  State state = base;
  for (size_t i = 0; i < changes.size(); ++i) {
    absl::Status status =
        std::visit([&](const auto& change) { return Apply(change, kinds, &state); }, changes[i]);
    if (status.ok()) continue;
    if (changes.size() == 1) return status;
    return absl::Status(status.code(),
                        StrCat("change ", i + 1, " of ", changes.size(), ": ", status.message()));
  }
  if (state.plugs == base.plugs && state.reply_orders == base.reply_orders) return base;
  if (absl::Status status = OrderPlugs(state.plugs).status(); !status.ok()) return status;
  ++state.revision;
  return state;
}

absl::StatusOr<State> CheckState(const State& state, const FilterKinds& kinds) {
  // Rebuilt through the same rules that beta messages obey, then given its own numbers back.
  State checked;
  std::set<uint64_t> sequences;
  for (const Plug& plug : state.plugs) {
    const auto it = FindPlug(&checked, plug.name);
    if (it != checked.plugs.end() && it->name == plug.name) {
      return absl::InvalidArgumentError(StrCat("the state has two plugs named ", Quote(plug.name)));
    }
    if (!sequences.insert(plug.sequence).second) {
      return absl::InvalidArgumentError(
          StrCat("the state has two plugs with sequence ", plug.sequence));
    }
    absl::Status status =
        Apply(PlugChange{plug.name, plug.filter, plug.parameters, plug.selector, plug.priority,
                         plug.down_priority, plug.before, plug.after, plug.conditions},
              kinds, &checked);
    for (const Mapping& m : plug.mappings) {
      if (!status.ok()) break;
      status =
          Apply(MapChange{plug.name, m.operation, m.method, m.phase, m.enabled}, kinds, &checked);
    }
    if (!status.ok()) return status;
    Plug& made = *FindPlug(&checked, plug.name);
    made.sequence = plug.sequence;
    const auto enabled = [](const Mapping& m) { return m.enabled; };
    if (std::count_if(made.mappings.begin(), made.mappings.end(), enabled) !=
        std::count_if(plug.mappings.begin(), plug.mappings.end(), enabled)) {
      return absl::InvalidArgumentError(
          StrCat("the state enables two methods of one operation and phase, or one twice, in ",
                 "plug ", Quote(plug.name)));
    }
  }
  for (const TargetReplyOrder& target : state.reply_orders) {
    const size_t before = checked.reply_orders.size();
    absl::Status status = Apply(ReplyOrderChange{target.selector, target.order}, kinds, &checked);
    if (!status.ok()) return status;
    if (checked.reply_orders.size() == before) {
      return absl::InvalidArgumentError(
          StrCat("the state has two reply orders of target ", Quote(target.selector)));
    }
  }
  if (absl::Status status = OrderPlugs(checked.plugs).status(); !status.ok()) return status;
  checked.revision = state.revision;
  checked.next_sequence = state.next_sequence;
  if (!sequences.empty()) {
    checked.next_sequence = std::max(checked.next_sequence, *sequences.rbegin() + 1);
  }
  return checked;
}

}  // namespace weir::filters
