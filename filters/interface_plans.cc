#include "filters/interface_plans.h"

#include "filters/snapshot.h"

namespace weir::filters {

InterfacePlans::InterfacePlans(std::shared_ptr<InterfaceMemory> memory, Compile compile)
    : memory_(std::move(memory)), compile_(std::move(compile)), slots_(kSlots) {}

InterfacePlans::~InterfacePlans() {
  for (const auto& slot : slots_) delete slot.load(std::memory_order_relaxed);
}

void InterfacePlans::Add(std::string_view name, Operation operation) {
  operations_.push_back(std::make_unique<const Operation>(std::move(operation)));
  by_name_.Add(name, operations_.back().get());
}

void InterfacePlans::AddPrefix(std::string_view prefix, Operation operation) {
  operations_.push_back(std::make_unique<const Operation>(std::move(operation)));
  by_prefix_.Add(prefix, operations_.back().get());
}

size_t InterfacePlans::SlotOf(const Place& place, uint64_t interfaces) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = interfaces;
  for (const void* const p : {place.plan, place.chain, static_cast<const void*>(place.operation)}) {
    hash = (hash ^ reinterpret_cast<uintptr_t>(p)) * kOdd;
    hash ^= hash >> 32;
  }
  return hash % kSlots;
}

const Chain* InterfacePlans::Combined(const Place& place, std::string_view operation,
                                      uint64_t interfaces,
                                      std::unique_ptr<const Chain>* own) const {
  const auto find = [&](size_t* slot) -> const Kept* {
    for (*slot = SlotOf(place, interfaces);; *slot = (*slot + 1) % kSlots) {
      const Kept* const kept = slots_[*slot].load(std::memory_order_acquire);
      if (kept == nullptr || (kept->place == place && kept->interfaces == interfaces)) return kept;
    }
  };
  size_t slot = 0;
  if (const Kept* const kept = find(&slot)) return kept->chain.get();
  std::unique_ptr<const Chain> chain = compile_(place, operation, interfaces);
  MutexLock lock(&mu_);
  if (const Kept* const kept = find(&slot)) return kept->chain.get();
  if (used_ == kMost) {
    *own = std::move(chain);
    return own->get();
  }
  ++used_;
  const auto* const kept = new Kept{place, interfaces, std::move(chain)};
  slots_[slot].store(kept, std::memory_order_release);
  return kept->chain.get();
}

}  // namespace weir::filters
