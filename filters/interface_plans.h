// The part of a snapshot that is about interfaces: for which operations it matters of which
// interfaces an object is, and the chains of objects that are of some.
//
// Such a chain is that of the object's key, with the plugs of its interfaces among the others, in
// the order of all. It is compiled when the first call comes that needs it, and shared by all that
// need the same. There are at most as many as places (a key, prefix or `all` with something plugged
// onto it, and an operation) times sets of interfaces that objects really have; beyond kMost, a
// chain is compiled for one call.
//
// Thread safety: built by one thread; then safe for concurrent use. Finding takes no lock, and
// allocates only to compile.

#ifndef WEIR_FILTERS_INTERFACE_PLANS_H_
#define WEIR_FILTERS_INTERFACE_PLANS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "filters/interface_memory.h"
#include "filters/name_map.h"
#include "filters/prefix_map.h"

namespace weir::filters {

class CallConditions;  // filters/condition.h
struct Chain;          // filters/snapshot.h
struct PluggedFilter;  // filters/snapshot.h

class InterfacePlans {
 public:
  // Chains that are kept. Stops nobody, but bounds what a server with objects of all combinations
  // of interfaces can make this process keep.
  static constexpr size_t kMost = 1024;

  // An operation that something on an interface maps, or all others.
  struct Operation {
    uint64_t interfaces = 0;  // those that matter, by number
    // The plugs on them that have a method enabled.
    struct Plug {
      int number;  // of its interface
      PluggedFilter* plugged;
      const CallConditions* conditions;  // null: none
    };
    std::vector<Plug> plugs;
    bool conditional = false;  // some plug has conditions
  };
  // Where a call is without interfaces: what its object and its operation have in the snapshot. Two
  // calls that differ in neither have the same pointers.
  struct Place {
    const void* plan = nullptr;   // of the key
    const void* chain = nullptr;  // of the operation, within the plan
    const Operation* operation = nullptr;
    bool operator==(const Place&) const = default;
  };
  // The chain of a place for objects of these `interfaces`. `operation` is a call's.
  using Compile = std::function<std::unique_ptr<const Chain>(
      const Place& place, std::string_view operation, uint64_t interfaces)>;

  InterfacePlans(std::shared_ptr<InterfaceMemory> memory, Compile compile);
  ~InterfacePlans();
  // Before use. Of `others`, which has no mapping of its own: set_others.
  void Add(std::string_view name, Operation operation);
  // The operations that begin so and are not added by their names. REQUIRES: as PrefixMap::Add.
  void AddPrefix(std::string_view prefix, Operation operation);
  void set_others(Operation operation) { others_ = std::move(operation); }

  const Operation& Find(std::string_view name) const {
    const Operation* const* found = by_name_.Find(name);
    if (found == nullptr && !by_prefix_.empty()) [[unlikely]]
      found = by_prefix_.Find(name);
    return found != nullptr ? **found : others_;
  }
  // Lives as long as this, or, if it is put in `*own`, as that.
  const Chain* Combined(const Place& place, std::string_view operation, uint64_t interfaces,
                        std::unique_ptr<const Chain>* own) const;
  InterfaceMemory& memory() const { return *memory_; }
  std::shared_ptr<InterfaceMemory> shared_memory() const { return memory_; }

 private:
  struct Kept {
    Place place;
    uint64_t interfaces;
    std::unique_ptr<const Chain> chain;
  };
  static constexpr size_t kSlots = 2 * kMost;

  static size_t SlotOf(const Place& place, uint64_t interfaces);

  const std::shared_ptr<InterfaceMemory> memory_;
  const Compile compile_;
  std::vector<std::unique_ptr<const Operation>> operations_;
  NameMap<const Operation*> by_name_;
  PrefixMap<const Operation*> by_prefix_;
  Operation others_;

  // Open addressing; what is set stays.
  mutable std::vector<std::atomic<const Kept*>> slots_;
  mutable Mutex mu_;
  mutable size_t used_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_INTERFACE_PLANS_H_
