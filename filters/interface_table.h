// Of which interfaces objects are: a table of fixed size, that calls read without a lock and that
// never allocates. What is in it may be displaced at any time, and is then asked again.
//
// Objects are told apart by a keyed hash of 128 bits, so entries need no keys, and have one cache
// line each. An entry has a place in one of the sets of kWays; in a full set the oldest entry goes.
//
// How reading works: a writer makes the entry's version odd, writes, and makes it even; a reader
// that finds it odd, or changed at the end, has found nothing. All that is read acquires and all
// that is written releases, so that who sees a word of a writer's also sees the version before it.
//
// Thread safety: any number of readers, one writer at a time.

#ifndef WEIR_FILTERS_INTERFACE_TABLE_H_
#define WEIR_FILTERS_INTERFACE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/sip_hash.h"

namespace weir::filters {

// Sets of interfaces, by the bits of their numbers.
struct KnownInterfaces {
  uint64_t asked = 0;  // what is known
  uint64_t is = 0;     // the answers; within `asked`
};

class InterfaceTable {
 public:
  static constexpr size_t kWays = 8;

  // Room for `objects`, rounded up to a power of two of at least kWays.
  explicit InterfaceTable(size_t objects);
  ~InterfaceTable();
  InterfaceTable(const InterfaceTable&) = delete;
  InterfaceTable& operator=(const InterfaceTable&) = delete;

  // What is known of the object, as long as its epoch is the same and until its entry expires.
  KnownInterfaces Find(const SipValue& object, uint64_t epoch, Nanos now) const;

  // Adds one answer. What the object's entry holds of another epoch, or beyond its time, goes.
  void Add(const SipValue& object, uint64_t epoch, int number, bool is, Nanos now, Nanos expires);

 private:
  struct Entry;

  Entry* Set(const SipValue& object) const;

  const size_t sets_;
  Entry* const entries_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_INTERFACE_TABLE_H_
