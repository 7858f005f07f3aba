// What application code implements to be called.

#ifndef WEIR_ORB_CORE_SERVANT_H_
#define WEIR_ORB_CORE_SERVANT_H_

#include <string_view>

#include "orb/core/call.h"

namespace weir::orb {

// Thread safety: Dispatch is called by many threads at a time.
class Servant {
 public:
  virtual ~Servant() = default;

  // The most derived interface: "IDL:weir/Echo:1.0". Empty if unknown (a forwarder).
  virtual std::string_view repository_id() const = 0;
  // Whether the object is of interface `id`; answers `_is_a` and has to know all bases.
  virtual bool IsA(std::string_view id) const { return id == repository_id(); }

  // Serves the call: answers it before returning, or moves `call` elsewhere and answers later. May
  // throw; then the caller gets UNKNOWN. Built-in operations (_is_a, _non_existent...) come here
  // only if HandlesBuiltins() says so.
  virtual void Dispatch(CallRef call) = 0;

  // A forwarder passes built-in operations and LocateRequests on like any other call.
  virtual bool HandlesBuiltins() const { return false; }
  // For filters that are plugged onto interfaces. The servant itself is the object; one that stands
  // for many objects elsewhere tells them apart, and has the right one asked.
  virtual ObjectIdentity Identify(std::string_view key) {
    (void)key;
    return {domain_, 0, ""};
  }
  // As Call::AskIsA. Must not wait for anything. May throw before `listener` is told.
  virtual void AskIsA(std::string_view key, std::string_view id, Nanos deadline,
                      IsAListener* listener) {
    (void)key, (void)deadline;
    const bool is_a = IsA(id);
    listener->IsAKnown({is_a ? IsAAnswer::kYes : IsAAnswer::kNo, {}, ""});
  }

  // True if Dispatch never blocks, so that a thread in it does not count as busy.
  virtual bool NeverBlocks() const { return false; }

 protected:
  // Unlike its address, no later servant has it.
  uint64_t domain() const { return domain_; }

 private:
  const uint64_t domain_ = NextObjectDomain();
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_SERVANT_H_
