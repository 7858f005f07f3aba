// How a gate learns of which interfaces the object of a call is.
//
// Thread safety: values; listeners as they say.

#ifndef WEIR_ORB_CORE_OBJECT_TYPE_H_
#define WEIR_ORB_CORE_OBJECT_TYPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "orb/core/system_exception.h"

namespace weir::orb {

// Whose answers may be remembered together. Objects of one `domain` and `key` are the same one as
// long as `epoch` is: it changes when another may have taken the object's place.
struct ObjectIdentity {
  uint64_t domain = 0;  // a servant, or an address that calls go to; 0: there is no such object
  uint64_t epoch = 0;
  std::string_view key;  // empty if the domain is one object
};

// A number that no other servant and no other address of this process has; not 0.
uint64_t NextObjectDomain();

struct IsAAnswer {
  enum Kind : uint8_t { kYes, kNo, kUnknown };

  Kind kind = kUnknown;
  // Of kUnknown: what a call gets that cannot go on without knowing, COMPLETED_NO; and why, for the
  // log.
  SystemException exception;
  std::string why;
};

// Whoever asked.
class IsAListener {
 public:
  // Called once, by any thread, which holds no lock that a filter, a servant or a connection could
  // want.
  virtual void IsAKnown(const IsAAnswer& answer) = 0;

 protected:
  ~IsAListener() = default;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_OBJECT_TYPE_H_
