// The version of the program.
//
// Thread safety: constants.

#ifndef WEIR_TOOLS_WEIR_VERSION_H_
#define WEIR_TOOLS_WEIR_VERSION_H_

namespace weir::tools {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_VERSION_H_
