// TCP over IPv4 and IPv6. Addresses are HOST:PORT, [IPV6]:PORT, or :PORT (listen: every interface;
// connect: this host). Host names are resolved at each attempt; all their addresses are tried in
// order.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_TRANSPORT_TCP_H_
#define WEIR_ORB_TRANSPORT_TCP_H_

#include "base/clock.h"
#include "orb/transport/transport.h"

namespace weir::orb {

class TcpTransport : public Transport {
 public:
  // `clock` must outlive the transport.
  explicit TcpTransport(const Clock* clock, TransportOptions options = {})
      : clock_(clock), options_(options) {}

  std::string_view name() const override { return "tcp"; }
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(std::string_view address) override;
  absl::StatusOr<std::unique_ptr<Stream>> Connect(std::string_view address,
                                                  Nanos deadline) override;

 private:
  const Clock* const clock_;
  const TransportOptions options_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_TRANSPORT_TCP_H_
