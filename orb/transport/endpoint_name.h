// Endpoints as users write them, in omniORB's way: MESSAGING:TRANSPORT:ADDRESS[?publish=ADDRESS].
//
//   giop:tcp:127.0.0.1:2809
//   giop:tcp::2809                                   every interface
//   giop:tcp:0.0.0.0:2810?publish=orb.example:2810   references say orb.example
//   giop:unix:/run/weir/echo.sock
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_TRANSPORT_ENDPOINT_NAME_H_
#define WEIR_ORB_TRANSPORT_ENDPOINT_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::orb {

struct EndpointName {
  std::string messaging;  // "giop"
  std::string transport;  // "tcp", "unix"
  // In the transport's own syntax; never empty.
  std::string address;
  // What references carry instead of `address`, in the same syntax. Empty: what is really bound.
  std::string publish;

  bool operator==(const EndpointName&) const = default;
};

// Splits; whether the two layers exist, and what the address means, is checked by the registries of
// messaging protocols and transports. An address cannot contain '?'.
// Errors: INVALID_ARGUMENT, one line that says what is wrong and shows what is right.
absl::StatusOr<EndpointName> ParseEndpointName(std::string_view text);

// The inverse of ParseEndpointName.
std::string ToString(const EndpointName& name);

}  // namespace weir::orb

#endif  // WEIR_ORB_TRANSPORT_ENDPOINT_NAME_H_
