// The code sets in which a client sends text. It tells them in a service context of a connection's
// first request, and they hold for all that follow (CORBA 3.3 part 2, 7.10.2.5). Whoever forwards
// the calls of many connections over one must therefore tell them again.
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_CORE_CODE_SETS_H_
#define WEIR_ORB_CORE_CODE_SETS_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "orb/cdr/decoder.h"
#include "orb/core/message.h"

namespace weir::orb {

inline constexpr uint32_t kCodeSetsContext = 1;

// 0 for what the client has not told.
struct CodeSets {
  uint32_t for_char = 0;
  uint32_t for_wchar = 0;

  bool told() const { return (for_char | for_wchar) != 0; }
};

inline bool TellsCodeSets(const std::vector<ServiceContext>& contexts) {
  for (const ServiceContext& c : contexts) {
    if (c.id == kCodeSetsContext) return true;
  }
  return false;
}

// What `contexts` tell replaces `*code_sets`; nothing, or what is malformed, leaves them.
inline void ReadCodeSets(const std::vector<ServiceContext>& contexts, CodeSets* code_sets) {
  for (const ServiceContext& c : contexts) {
    if (c.id != kCodeSetsContext) continue;
    cdr::Decoder in = cdr::Decoder::FromEncapsulation(c.data);
    CodeSets read;
    read.for_char = in.ReadULong();
    read.for_wchar = in.ReadULong();
    if (in.ok()) *code_sets = read;
  }
}

// A service context's data, without a heap allocation.
class CodeSetsData {
 public:
  CodeSetsData() = default;
  explicit CodeSetsData(const CodeSets& code_sets) {
    bytes_[0] = static_cast<char>(cdr::kNativeOrder);
    std::memcpy(bytes_ + 4, &code_sets.for_char, 4);
    std::memcpy(bytes_ + 8, &code_sets.for_wchar, 4);
  }
  // Valid while this object lives.
  std::string_view view() const { return {bytes_, sizeof bytes_}; }

 private:
  char bytes_[12] = {};
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_CODE_SETS_H_
