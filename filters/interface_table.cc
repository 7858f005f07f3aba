#include "filters/interface_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>

namespace weir::filters {

// All zero: free.
struct alignas(64) InterfaceTable::Entry {
  std::atomic<uint64_t> version{0};
  std::atomic<uint64_t> low{0}, high{0};  // the object
  std::atomic<uint64_t> epoch{0};
  std::atomic<uint64_t> asked{0}, is{0};
  std::atomic<Nanos> expires{0};
};

InterfaceTable::InterfaceTable(size_t objects)
    : sets_(std::bit_ceil(std::max(objects, kWays)) / kWays), entries_(new Entry[sets_ * kWays]) {}

InterfaceTable::~InterfaceTable() { delete[] entries_; }

InterfaceTable::Entry* InterfaceTable::Set(const SipValue& object) const {
  return entries_ + (object[0] & (sets_ - 1)) * kWays;
}

KnownInterfaces InterfaceTable::Find(const SipValue& object, uint64_t epoch, Nanos now) const {
  const Entry* const set = Set(object);
  for (size_t i = 0; i < kWays; ++i) {
    const Entry& entry = set[i];
    const uint64_t version = entry.version.load(std::memory_order_acquire);
    if (entry.low.load(std::memory_order_acquire) != object[0] ||
        entry.high.load(std::memory_order_acquire) != object[1]) {
      continue;
    }
    KnownInterfaces known;
    const bool valid = entry.epoch.load(std::memory_order_acquire) == epoch &&
                       now < entry.expires.load(std::memory_order_acquire);
    known.asked = entry.asked.load(std::memory_order_acquire);
    known.is = entry.is.load(std::memory_order_acquire);
    if (!valid || version % 2 != 0 || entry.version.load(std::memory_order_relaxed) != version) {
      return {};
    }
    return known;
  }
  return {};
}

void InterfaceTable::Add(const SipValue& object, uint64_t epoch, int number, bool is, Nanos now,
                         Nanos expires) {
  // Nobody else writes, so what is read here is as it was last written.
  constexpr auto kOwn = std::memory_order_relaxed;
  Entry* const set = Set(object);
  Entry* entry = nullptr;
  for (size_t i = 0; i < kWays && entry == nullptr; ++i) {
    if (set[i].low.load(kOwn) == object[0] && set[i].high.load(kOwn) == object[1]) entry = &set[i];
  }
  const bool same =
      entry != nullptr && entry->epoch.load(kOwn) == epoch && now < entry->expires.load(kOwn);
  if (entry == nullptr) {
    // The oldest; a free one has expired at time 0. Of equals, not always the same.
    for (size_t i = 0; i < kWays; ++i) {
      Entry& other = set[(object[1] + i) % kWays];
      if (entry == nullptr || other.expires.load(kOwn) < entry->expires.load(kOwn)) entry = &other;
    }
  }
  const uint64_t bit = uint64_t{1} << number;
  const uint64_t asked = (same ? entry->asked.load(kOwn) : 0) | bit;
  const uint64_t answers = ((same ? entry->is.load(kOwn) : 0) & ~bit) | (is ? bit : 0);
  const uint64_t version = entry->version.load(kOwn);
  constexpr auto kRelease = std::memory_order_release;
  entry->version.store(version + 1, kOwn);
  entry->low.store(object[0], kRelease);
  entry->high.store(object[1], kRelease);
  entry->epoch.store(epoch, kRelease);
  entry->asked.store(asked, kRelease);
  entry->is.store(answers, kRelease);
  if (!same) entry->expires.store(expires, kRelease);
  entry->version.store(version + 2, kRelease);
}

}  // namespace weir::filters
