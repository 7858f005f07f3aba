// A system exception that a filter answers with, encoded once: a refused call copies nothing and
// allocates nothing.
//
// Thread safety: immutable.

#ifndef WEIR_FILTERS_BUILTIN_FIXED_EXCEPTION_H_
#define WEIR_FILTERS_BUILTIN_FIXED_EXCEPTION_H_

#include <array>
#include <cstddef>

#include "filters/fixed_reply.h"  // CompletionInPlaceOf
#include "orb/cdr/encoder.h"
#include "orb/core/call.h"
#include "orb/core/system_exception.h"

namespace weir::filters {

class FixedException {
 public:
  explicit FixedException(orb::ExceptionId id, orb::WeirMinor minor = orb::WeirMinor::kDenied) {
    for (const orb::Completion completed :
         {orb::Completion::kYes, orb::Completion::kNo, orb::Completion::kMaybe}) {
      cdr::Encoder out(&encoded_[static_cast<size_t>(completed)]);
      orb::Encode({id, minor, completed}, &out);
    }
  }

  // Makes it the reply of `call`. REQUIRES: this object lives until the call is over, as what
  // belongs to a filter does.
  void Set(orb::Completion completed, orb::Call* call) const {
    call->SetBorrowedBody(orb::ReplyStatus::kSystemException,
                          encoded_[static_cast<size_t>(completed)].view());
  }

 private:
  std::array<cdr::ByteBuffer, 3> encoded_;  // by completion status
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_FIXED_EXCEPTION_H_
