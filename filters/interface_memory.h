// What is known of the interfaces of objects, and how it comes to be known: an object is asked once
// for each interface that matters, all calls that need the answer wait for it without a thread, and
// it is remembered.
//
// Remembered are yes and no alike, for a time, and as long as the object's identity is the same
// (orb::ObjectIdentity): no longer than the servant lives, or than all connections to its server
// do. A question that fails fails the calls that wait for it, and is asked again for the next one.
//
// Interfaces have numbers here. Snapshots share one memory, so what is known outlives commits; when
// its numbers are used up by interfaces that came and went, the registry begins a new one.
//
// Thread safety: safe for concurrent use. Finding takes no lock and does not allocate.

#ifndef WEIR_FILTERS_INTERFACE_MEMORY_H_
#define WEIR_FILTERS_INTERFACE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/sip_hash.h"
#include "filters/interface_table.h"
#include "orb/core/call.h"
#include "orb/core/object_type.h"

namespace weir::filters {

struct InterfaceLimits {
  // Objects that are remembered, at 64 bytes each, taken when a filter is first plugged onto an
  // interface. Stops a peer that invents keys without end; what it displaces is asked again.
  size_t objects = 256 * 1024;
  // Objects that are asked at a time. Further calls of objects that are not known fail. Stops a
  // peer that invents keys faster than the server answers.
  size_t questions = 4096;
  // How long an object may take to answer.
  Nanos patience = 30 * kSecond;
  // How long an answer holds. Bounds how long a server may have put another object in the place of
  // one that is known, over the same connections, before that is noticed.
  Nanos lifetime = 60 * kSecond;
  // Secret, or peers could make an object pass for another one. control::Node draws one if it is 0.
  SipKey hash_key = {0, 0};
};

class InterfaceMemory : public std::enable_shared_from_this<InterfaceMemory> {
 public:
  // Different interfaces that filters can be plugged onto at a time.
  static constexpr size_t kMostInterfaces = 64;

  // `clock` must outlive the memory.
  InterfaceMemory(const InterfaceLimits& limits, const Clock* clock);

  // Gives numbers to those of `ids` that have none. False, and nothing is done, if there are not
  // enough left.
  bool Number(const std::vector<std::string>& ids);
  // REQUIRES: it has one.
  int NumberOf(std::string_view id) const;
  std::string IdOf(int number) const;

  // What is known now; `now` may be some milliseconds late.
  KnownInterfaces Find(const orb::ObjectIdentity& object, Nanos now) const {
    return table_.Find(Hash(object), object.epoch, now);
  }

  struct Learned {
    bool known = false;
    uint64_t is = 0;     // of those needed
    int unknown = 0;     // if not `known`: the interface that could not be learned
    orb::IsAAnswer why;  // and why
  };
  class Listener {
   public:
    // As orb::IsAListener::IsAKnown.
    virtual void InterfacesLearned(orb::Call& call, const Learned& learned) = 0;

   protected:
    ~Listener() = default;
  };
  // Which of the interfaces `needed` the call's `object` is of; asks for what is not known. Without
  // a result, the call is not to be touched: `listener` is told once, or has been already.
  std::optional<Learned> Learn(orb::Call& call, const orb::ObjectIdentity& object, uint64_t needed,
                               Listener* listener);

  // Fails calls whose deadline has passed.
  void CheckDeadlines(Nanos now);
  // Fails all calls that wait.
  void LetGo();

 private:
  class Question;
  struct Waiter {
    orb::Call* call;
    Listener* listener;
    uint64_t missing;  // answers that it waits for
    Learned learned;   // from the others
    bool failed = false;
    bool asking = false;  // its thread is in Learn, and will look itself
    Nanos deadline;
    bool over() const { return failed || missing == 0; }
  };
  // An object that is being asked.
  struct Asked {
    uint64_t open = 0;  // by which questions
    std::vector<Waiter> waiters;
  };
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;  // hash, epoch

  SipValue Hash(const orb::ObjectIdentity& object) const {
    return SipHash(limits_.hash_key, object.domain, object.key);
  }
  void Answered(const Key& key, int number, const orb::IsAAnswer& answer);
  // Moves to the result, and ends, the waiters that `over` holds for and that nobody looks after.
  template <typename Over>
  std::vector<Waiter> TakeWaiters(const Over& over) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Tell(std::vector<Waiter> waiters);
  static void Fail(Waiter* waiter, int number, const orb::IsAAnswer& why);

  const InterfaceLimits limits_;
  const Clock* const clock_;
  InterfaceTable table_;  // written with mu_ held

  mutable Mutex mu_;
  std::vector<std::string> ids_ ABSL_GUARDED_BY(mu_);  // by number
  std::map<Key, Asked> asked_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_INTERFACE_MEMORY_H_
