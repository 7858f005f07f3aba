#include "filters/snapshot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>

#include "base/strings.h"
#include "filters/changes.h"
#include "filters/condition.h"
#include "filters/order.h"
#include "filters/selector.h"

namespace weir::filters {
namespace {

constexpr int kNone = -1;

}  // namespace

int PluggedFilter::MethodIndex(const Mapping& mapping) const {
  return kind->describes_itself()
             ? filter->MethodIndex(mapping.phase, mapping.method).value_or(kNone)
             : *FindMethod(*kind, mapping.phase, mapping.method);
}

std::string PluggedFilter::MethodName(int method) const {
  return kind->describes_itself() ? filter->MethodName(method) : kind->methods()[method].name;
}

struct Snapshot::Resolved {
  // Enabled method by phase, or kNone.
  using Methods = std::array<int, 2>;

  const Plug* plug = nullptr;
  PluggedFilter* plugged = nullptr;
  size_t down_rank = 0;  // its place in PlugOrder::down
  Selector selector;
  size_t rank = 0;  // its place among all, on the way up
  ConditionsOf<OperationPattern> operations;
  const CallConditions* conditions = nullptr;  // null: none that depend on more than the operation
  // What runs for an operation without a mapping of its own, and for those with one. Every mapped
  // operation is here, with '*' already taken into account.
  Methods otherwise = {kNone, kNone};
  std::map<std::string_view, Methods> by_operation;
  // The rows of the plug's counters, by phase: that of '*', and those of mappings of their own.
  using Counters = std::array<StepCounters*, 2>;
  Counters star = {nullptr, nullptr};
  std::map<std::string_view, Counters> counters;

  Resolved(const Plug& p, PluggedFilter* f) : plug(&p), plugged(f) {
    selector = *Selector::Parse(p.selector);
    for (const Mapping& m : p.mappings) {
      if (m.operation == "*" && m.enabled) otherwise[Index(m.phase)] = Method(m);
    }
    // A mapping of its own decides alone for its operation and phase, even when it is disabled: so
    // disabling one operation's mapping takes that operation out of a '*'.
    for (const Mapping& m : p.mappings) {
      if (m.operation == "*") continue;
      by_operation.try_emplace(m.operation, otherwise).first->second[Index(m.phase)] = kNone;
    }
    for (const Mapping& m : p.mappings) {
      if (m.operation != "*" && m.enabled) by_operation[m.operation][Index(m.phase)] = Method(m);
    }
    for (const Mapping& m : p.mappings) {
      if (!m.enabled) continue;
      Counters& row = m.operation == "*" ? star : counters[m.operation];
      row[Index(m.phase)] = &plugged->counters.Find(m.operation);
    }
  }

  static size_t Index(Phase phase) { return phase == Phase::kUp ? 0 : 1; }
  int Method(const Mapping& m) const { return plugged->MethodIndex(m); }

  const Methods& MethodsFor(const OperationClass& asked) const {
    if (!asked.exact) return otherwise;
    const auto it = by_operation.find(asked.text);
    return it == by_operation.end() ? otherwise : it->second;
  }
  // Whether it has a method enabled there, and its conditions on operations hold.
  bool RunsFor(const OperationClass& asked) const {
    return MethodsFor(asked) != Methods{kNone, kNone} &&
           operations.Hold([&](const OperationPattern& pattern) { return pattern.Matches(asked); });
  }
  bool HasOtherwise() const { return otherwise[0] != kNone || otherwise[1] != kNone; }

  // The counters of what MethodsFor says.
  Counters CountersFor(const OperationClass& asked) const {
    if (!asked.exact) return star;
    const auto it = counters.find(asked.text);
    if (it == counters.end()) return star;
    return {it->second[0] != nullptr ? it->second[0] : star[0],
            it->second[1] != nullptr ? it->second[1] : star[1]};
  }

  bool AnythingEnabled() const {
    return std::any_of(plug->mappings.begin(), plug->mappings.end(),
                       [](const Mapping& m) { return m.enabled; });
  }
};

namespace {

// What was set of the order of replies, by target.
class ReplyOrders {
 public:
  explicit ReplyOrders(const std::vector<TargetReplyOrder>& set) {
    std::map<std::string, ReplyOrder> prefixes;
    for (const TargetReplyOrder& target : set) {
      Selector selector = *Selector::Parse(target.selector);
      switch (selector.kind) {
        case Selector::Kind::kKey:
          keys_.emplace(std::move(selector.bytes), target.order);
          break;
        case Selector::Kind::kPrefix:
          prefixes.emplace(std::move(selector.bytes), target.order);
          break;
        case Selector::Kind::kAll:
          all_ = target.order;
          break;
        case Selector::Kind::kInterface:
          break;  // refused by CheckState
      }
    }
    for (const auto& [prefix, order] : prefixes) {
      prefixes_.Add(prefix, order);
      prefix_list_.push_back(prefix);
    }
  }

  ReplyOrder all() const { return all_; }
  ReplyOrder ForPrefix(std::string_view prefix) const {
    const ReplyOrder* const order = prefixes_.Find(prefix);
    return order != nullptr ? *order : all_;
  }
  ReplyOrder ForKey(std::string_view key) const {
    const auto it = keys_.find(key);
    return it != keys_.end() ? it->second : ForPrefix(key);
  }

  const std::map<std::string, ReplyOrder, std::less<>>& keys() const { return keys_; }
  const std::vector<std::string>& prefixes() const { return prefix_list_; }

 private:
  std::map<std::string, ReplyOrder, std::less<>> keys_;
  PrefixMap<ReplyOrder> prefixes_;
  std::vector<std::string> prefix_list_;
  ReplyOrder all_ = ReplyOrder::kReversed;
};

}  // namespace

// What chains are compiled from, kept for those that are compiled later.
struct Snapshot::Parts {
  State state;
  std::vector<std::unique_ptr<Resolved>> plugs;
};

Snapshot::Snapshot(const State& given, Filters filters, std::shared_ptr<InterfaceMemory> interfaces)
    : revision_(given.revision), filters_(std::move(filters)) {
  const auto parts = std::make_shared<Parts>();
  if (interfaces != nullptr) parts->state = given;
  const State& state = interfaces != nullptr ? parts->state : given;
  std::vector<std::unique_ptr<Resolved>>& plugs = parts->plugs;
  const PlugOrder order = *OrderPlugs(state.plugs);
  std::vector<size_t> down_ranks(order.down.size());
  for (size_t rank = 0; rank < order.down.size(); ++rank) down_ranks[order.down[rank]] = rank;
  for (const size_t i : order.up) {
    const Plug& plug = state.plugs[i];
    auto resolved = std::make_unique<Resolved>(plug, filters_.find(plug.name)->second.get());
    if (!resolved->AnythingEnabled()) continue;
    resolved->down_rank = down_ranks[i];
    resolved->rank = plugs.size();
    Conditions conditions = *Conditions::Parse(plug.conditions);
    resolved->operations = std::move(conditions.operations);
    resolved->conditions = Keep(std::move(conditions));
    plugs.push_back(std::move(resolved));
  }
  // First, as plans then keep what they are made from.
  if (interfaces != nullptr) MakeInterfaces(parts, std::move(interfaces));

  // Each list keeps the order of `plugs`. The maps are sorted, so a prefix precedes its extensions.
  std::map<std::string_view, std::vector<const Resolved*>> keys, prefixes;
  std::vector<const Resolved*> everywhere;
  const ReplyOrders reply_orders(state.reply_orders);
  for (const auto& [key, reply_order] : reply_orders.keys()) keys[key];
  for (const std::string& prefix : reply_orders.prefixes()) prefixes[prefix];
  for (const auto& plug : plugs) {
    switch (plug->selector.kind) {
      case Selector::Kind::kKey:
        keys[plug->selector.bytes];
        break;
      case Selector::Kind::kPrefix:
        prefixes[plug->selector.bytes];
        break;
      case Selector::Kind::kInterface:
      case Selector::Kind::kAll:
        break;
    }
  }
  for (const auto& plug : plugs) {
    const Selector& selector = plug->selector;
    if (selector.kind == Selector::Kind::kInterface) continue;
    if (selector.kind == Selector::Kind::kAll) {
      everywhere.push_back(plug.get());
      for (auto& [key, list] : keys) list.push_back(plug.get());
      for (auto& [prefix, list] : prefixes) list.push_back(plug.get());
    } else if (selector.kind == Selector::Kind::kKey) {
      keys[selector.bytes].push_back(plug.get());
    } else {
      for (auto* lists : {&keys, &prefixes}) {
        for (auto it = lists->lower_bound(selector.bytes);
             it != lists->end() && it->first.starts_with(selector.bytes); ++it) {
          it->second.push_back(plug.get());
        }
      }
    }
  }

  // Without plugs, a reply order makes no plan. But each object has one where interfaces may bring
  // some plugs.
  const auto needed = [this](const std::vector<const Resolved*>& list) {
    return !list.empty() || interfaces_ != nullptr;
  };
  if (needed(everywhere)) all_ = MakePlan(everywhere, reply_orders.all());
  for (const auto& [prefix, list] : prefixes) {
    if (needed(list)) by_prefix_.Add(prefix, MakePlan(list, reply_orders.ForPrefix(prefix)));
  }
  for (const auto& [key, list] : keys) {
    if (needed(list)) by_key_.Add(key, MakePlan(list, reply_orders.ForKey(key)));
  }
}

void Snapshot::MakeInterfaces(std::shared_ptr<const Parts> parts,
                              std::shared_ptr<InterfaceMemory> memory) {
  std::vector<std::vector<const Resolved*>> plugs(InterfaceMemory::kMostInterfaces);
  std::set<std::string_view> operations, prefixes;
  for (const auto& plug : parts->plugs) {
    if (plug->selector.kind != Selector::Kind::kInterface) continue;
    plugs[memory->NumberOf(plug->selector.bytes)].push_back(plug.get());
    for (const auto& [operation, methods] : plug->by_operation) operations.insert(operation);
    for (const auto* patterns : {&plug->operations.any, &plug->operations.none}) {
      for (const OperationPattern& p : *patterns) (p.prefix ? prefixes : operations).insert(p.text);
    }
  }
  const auto concerned = [&plugs](const OperationClass& asked) {
    InterfacePlans::Operation result;
    for (size_t number = 0; number < plugs.size(); ++number) {
      for (const Resolved* const plug : plugs[number]) {
        if (!plug->RunsFor(asked)) continue;
        result.interfaces |= uint64_t{1} << number;
        result.plugs.push_back({static_cast<int>(number), plug->plugged, plug->conditions});
        result.conditional = result.conditional || plug->conditions != nullptr;
      }
    }
    return result;
  };
  InterfacePlans::Operation others = concerned({"", false});
  if (others.interfaces == 0 && operations.empty() && prefixes.empty()) return;
  interfaces_ = std::make_unique<InterfacePlans>(
      std::move(memory),
      [this, parts = std::move(parts), plugs](const InterfacePlans::Place& place,
                                              std::string_view operation, uint64_t interfaces) {
        const Plan& plan = *static_cast<const Plan*>(place.plan);
        std::vector<const Resolved*> list = plan.plugs;
        for (; interfaces != 0; interfaces &= interfaces - 1) {
          const auto& more = plugs[std::countr_zero(interfaces)];
          list.insert(list.end(), more.begin(), more.end());
        }
        std::sort(list.begin(), list.end(),
                  [](const Resolved* a, const Resolved* b) { return a->rank < b->rank; });
        return Compile(list, plan.reply_order, {operation, true});
      });
  interfaces_->set_others(std::move(others));
  for (const std::string_view operation : operations) {
    interfaces_->Add(operation, concerned({operation, true}));
  }
  for (const std::string_view prefix : prefixes) {
    interfaces_->AddPrefix(prefix, concerned({prefix, false}));
  }
}

const Snapshot::Plan* Snapshot::MakePlan(const std::vector<const Resolved*>& plugs,
                                         ReplyOrder reply_order) {
  auto plan = std::make_unique<Plan>();
  // The plugs that run for every operation unless something else is said about it. And the
  // operations and prefixes about which mappings or conditions say something, with the plugs that
  // run there only; in the plugs' order.
  std::vector<size_t> always;
  std::map<std::string_view, std::vector<size_t>> exact, prefixes;
  for (const Resolved* plug : plugs) {
    for (const auto& [operation, methods] : plug->by_operation) exact[operation];
    for (const auto* patterns : {&plug->operations.any, &plug->operations.none}) {
      for (const OperationPattern& p : *patterns) (p.prefix ? prefixes : exact)[p.text];
    }
  }
  const auto add = [](size_t i, std::vector<size_t>* list) {
    if (list->empty() || list->back() != i) list->push_back(i);
  };
  for (size_t i = 0; i < plugs.size(); ++i) {
    const Resolved& plug = *plugs[i];
    for (const auto& [operation, methods] : plug.by_operation) add(i, &exact[operation]);
    if (!plug.HasOtherwise()) continue;
    if (plug.operations.any.empty()) always.push_back(i);
    for (const OperationPattern& p : plug.operations.any) {
      if (!p.prefix) {
        add(i, &exact[p.text]);
        continue;
      }
      for (auto* lists : {&exact, &prefixes}) {
        for (auto it = lists->lower_bound(p.text);
             it != lists->end() && it->first.starts_with(p.text); ++it) {
          add(i, &it->second);
        }
      }
    }
  }
  const auto chain_of = [&](const std::vector<size_t>& indices, const OperationClass& operations) {
    std::vector<size_t> both;
    std::set_union(indices.begin(), indices.end(), always.begin(), always.end(),
                   std::back_inserter(both));
    std::vector<const Resolved*> list;
    for (const size_t i : both) list.push_back(plugs[i]);
    return MakeChain(list, reply_order, operations);
  };
  plan->otherwise = chain_of({}, {"", false});
  for (const auto& [prefix, indices] : prefixes) {
    plan->by_operation_prefix.Add(prefix, chain_of(indices, {prefix, false}));
  }
  for (const auto& [operation, indices] : exact) {
    const Chain* chain = chain_of(indices, {operation, true});
    if (chain != plan->otherwise || !prefixes.empty()) plan->by_operation.Add(operation, chain);
  }
  if (interfaces_ != nullptr) {
    plan->plugs = plugs;
    plan->reply_order = reply_order;
  }
  plans_.push_back(std::move(plan));
  return plans_.back().get();
}

const CallConditions* Snapshot::Keep(Conditions conditions) {
  if (conditions.call.empty()) return nullptr;
  return &conditions_.try_emplace(std::move(conditions.canonical_call), std::move(conditions.call))
              .first->second;
}

const Chain* Snapshot::MakeChain(const std::vector<const Resolved*>& plugs, ReplyOrder reply_order,
                                 const OperationClass& operations) {
  std::unique_ptr<const Chain> chain = Compile(plugs, reply_order, operations);
  if (chain == nullptr) return nullptr;
  chains_.push_back(std::move(chain));
  return chains_.back().get();
}

std::unique_ptr<const Chain> Snapshot::Compile(const std::vector<const Resolved*>& plugs,
                                               ReplyOrder reply_order,
                                               const OperationClass& operations) const {
  auto chain = std::make_unique<Chain>();
  chain->revision = revision_;
  std::vector<std::pair<size_t, Step>> down_steps;  // with their ranks
  std::map<const CallConditions*, uint32_t> numbers;
  for (const Resolved* plug : plugs) {
    if (!plug->RunsFor(operations)) continue;
    const auto [up, down] = plug->MethodsFor(operations);
    const auto [up_counters, down_counters] = plug->CountersFor(operations);
    uint32_t condition = Step::kEveryCall;
    if (plug->conditions == nullptr) {
      chain->concerns_every_call = true;
    } else {
      const auto [it, added] = numbers.try_emplace(plug->conditions, chain->conditions.size());
      if (added) chain->conditions.push_back(plug->conditions);
      condition = it->second;
    }
    const auto step = [&](int method, StepCounters* counters) {
      const PluggedFilter& plugged = *plug->plugged;
      Filter* const filter = plugged.filter.get();
      if (!plugged.kind->describes_itself() && plugged.kind->methods()[method].timed) {
        chain->timed = true;
      }
      return Step{.filter = filter,
                  .plugged = plug->plugged,
                  .counters = counters,
                  .method = method,
                  .asynchronous = filter->asynchronous(),
                  .special = filter->asynchronous() || condition != Step::kEveryCall,
                  .position = chain->size,
                  .condition = condition};
    };
    if (up != kNone) chain->up.push_back(step(up, up_counters));
    if (down != kNone) down_steps.emplace_back(plug->down_rank, step(down, down_counters));
    ++chain->size;
  }
  if (chain->size == 0) return nullptr;
  chain->prepares = chain->timed || !chain->conditions.empty();
  std::sort(down_steps.begin(), down_steps.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  if (reply_order == ReplyOrder::kPlugOrder) std::reverse(down_steps.begin(), down_steps.end());
  for (const auto& [rank, step] : down_steps) chain->down.push_back(step);
  return chain;
}

const Snapshot::Plan* Snapshot::FindPlan(std::string_view object_key) const {
  if (const Plan* const* const plan = by_key_.Find(object_key)) return *plan;
  if (!by_prefix_.empty()) {
    if (const Plan* const* const plan = by_prefix_.Find(object_key)) return *plan;
  }
  return all_;
}

const Chain* Snapshot::Find(std::string_view object_key, std::string_view operation) const {
  const Plan* plan = FindPlan(object_key);
  if (plan == nullptr) return nullptr;
  const Chain* const* const chain = plan->Find(operation);
  return chain != nullptr ? *chain : plan->otherwise;
}

const Chain* Snapshot::FindOf(uint64_t interfaces, std::string_view object_key,
                              std::string_view operation, std::unique_ptr<const Chain>* own) const {
  if (interfaces == 0) return Find(object_key, operation);
  const Plan* const plan = FindPlan(object_key);
  const Chain* const* chain = plan != nullptr ? plan->Find(operation) : nullptr;
  return interfaces_->Combined({plan, chain, &interfaces_->Find(operation)}, operation, interfaces,
                               own);
}

}  // namespace weir::filters
