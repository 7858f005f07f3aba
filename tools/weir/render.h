// The control plane's answers as text for people and JSON for programs.
//
// JSON is Protocol Buffers' own mapping of the messages in control.proto, with the fields' names as
// they stand there and no field left out: so 64-bit numbers are strings ("revision": "12").
//
// In text, what might come from strangers (names of operations) has its control characters escaped.
//
// Thread safety: pure functions.

#ifndef WEIR_TOOLS_WEIR_RENDER_H_
#define WEIR_TOOLS_WEIR_RENDER_H_

#include <string>

#include "weir/control/v1/control.pb.h"

namespace weir::tools {

// With a trailing newline; on one line unless `pretty`.
std::string RenderJson(const google::protobuf::Message& message, bool pretty);

// "up", "down".
std::string PhaseName(control::v1::Phase phase);

// Text, with a trailing newline.
std::string RenderApply(const control::v1::ApplyResponse& response);
std::string RenderList(const control::v1::ListResponse& response);
std::string RenderStatus(const control::v1::GetStatusResponse& response);
// One line for each change; the table of RenderList for a state.
std::string RenderEvent(const control::v1::WatchResponse& event);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_RENDER_H_
