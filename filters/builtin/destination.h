// Where a filter sends calls: an object of this server, by its key, or one of any server, by its
// reference.
//
// Thread safety: immutable.

#ifndef WEIR_FILTERS_BUILTIN_DESTINATION_H_
#define WEIR_FILTERS_BUILTIN_DESTINATION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "filters/filter.h"

namespace weir::filters {

class Destination {
 public:
  // "corbaloc:...", "IOR:...", or a key, with %XX for bytes that are no text. INVALID_ARGUMENT says
  // what is wrong with it.
  static absl::StatusOr<Destination> Parse(std::string_view text);

  // An up filter's verdict: the call goes there. It is answered instead if this ORB has no way to
  // any address of the reference.
  Verdict Send(orb::Call* call) const;
  // Whether the call is for that object of this server already.
  bool IsWhere(const orb::Call& call) const {
    return !elsewhere_ && call.elsewhere() == nullptr && call.request().object_key == to_;
  }
  // Whether Send has sent the call there, and nobody has sent it on.
  bool WasSent(const orb::Call& call) const {
    return elsewhere_ == (call.elsewhere() != nullptr) && call.request().object_key == key_;
  }

  // It is a reference.
  bool elsewhere() const { return elsewhere_; }
  // As people write it.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string to_;   // a key or a reference
  std::string key_;  // of the object
  bool elsewhere_ = false;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_DESTINATION_H_
