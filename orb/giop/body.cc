#include "orb/giop/body.h"

#include "absl/strings/str_format.h"

namespace weir::giop {

absl::Status AlignmentError(GiopMinor minor, const orb::Body& body, orb::Completion completed) {
  return orb::ToStatus(
      {orb::ExceptionId::kMarshal, orb::WeirMinor::kAlignment, completed},
      absl::StrFormat("a body of %d bytes at alignment %d%s cannot be sent in GIOP 1.%d; use the "
                      "version that it came in",
                      body.bytes.size(), body.alignment,
                      body.restarts.count != 0 ? ", in GIOP 1.1 fragments," : "",
                      static_cast<int>(minor)));
}

}  // namespace weir::giop
