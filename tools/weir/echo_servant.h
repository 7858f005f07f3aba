// The servant of `weir echo`, interface IDL:weir/Echo:1.0:
//
//   module weir {
//     interface Echo {
//       typedef sequence<octet> Octets;
//       long ping(in long value);          // value + 1
//       string repeat(in string text);
//       Octets bounce(in Octets data);
//     };
//   };
//
// Thread safety: safe for concurrent use; it has no state.

#ifndef WEIR_TOOLS_WEIR_ECHO_SERVANT_H_
#define WEIR_TOOLS_WEIR_ECHO_SERVANT_H_

#include "orb/core/servant.h"

namespace weir::tools {

inline constexpr std::string_view kEchoRepositoryId = "IDL:weir/Echo:1.0";

class EchoServant : public orb::Servant {
 public:
  std::string_view repository_id() const override { return kEchoRepositoryId; }
  bool NeverBlocks() const override { return true; }
  void Dispatch(orb::CallRef call) override;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_ECHO_SERVANT_H_
