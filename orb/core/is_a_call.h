// `_is_a`, asked of a remote object on behalf of a gate. No gate sees it.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_IS_A_CALL_H_
#define WEIR_ORB_CORE_IS_A_CALL_H_

#include <memory>
#include <string>
#include <string_view>

#include "orb/core/invocation.h"
#include "orb/core/invoker.h"
#include "orb/core/object_type.h"
#include "orb/core/target.h"

namespace weir::orb {

// Deletes itself when it is over.
class IsACall : public Invocation {
 public:
  // Asks the object of `key` at `target`, until `deadline`; `listener` is told once, perhaps before
  // this returns. BAD_OPERATION and NO_IMPLEMENT mean no: the object knows of no interfaces.
  static void Start(Invoker* invoker, const std::shared_ptr<Target>& target, std::string_view key,
                    std::string_view id, Nanos deadline, IsAListener* listener);

 private:
  IsACall(std::string_view key, std::string_view id, Nanos deadline, IsAListener* listener);
  void Done() override;
  IsAAnswer Judge() const;

  IsAListener* const listener_;
  const std::string key_;
  cdr::ByteBuffer arguments_;
  Request message_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_IS_A_CALL_H_
