// Unix stream sockets. An address is a path, absolute, shorter than 108 bytes.
//
// A listener replaces the socket file of a dead process, refuses to take a live one's, and removes
// its own when it closes.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_TRANSPORT_UNIX_H_
#define WEIR_ORB_TRANSPORT_UNIX_H_

#include "base/clock.h"
#include "orb/transport/transport.h"

namespace weir::orb {

class UnixTransport : public Transport {
 public:
  // `clock` must outlive the transport. `mode` is the socket file's permissions: who may connect.
  explicit UnixTransport(const Clock* clock, TransportOptions options = {}, mode_t mode = 0666)
      : clock_(clock), options_(options), mode_(mode) {}

  std::string_view name() const override { return "unix"; }
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(std::string_view address) override;
  absl::StatusOr<std::unique_ptr<Stream>> Connect(std::string_view address,
                                                  Nanos deadline) override;

 private:
  const Clock* const clock_;
  const TransportOptions options_;
  const mode_t mode_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_TRANSPORT_UNIX_H_
