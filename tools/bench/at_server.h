// Calls of an echo server with certain filters plugged in the server.
//
// Thread safety: as Contender.

#ifndef WEIR_TOOLS_BENCH_AT_SERVER_H_
#define WEIR_TOOLS_BENCH_AT_SERVER_H_

#include <memory>
#include <utility>

#include "tools/bench/echo_client.h"
#include "tools/bench/weir_server.h"

namespace weir::bench {

class AtServer : public Contender {
 public:
  // `server` must outlive the contender.
  AtServer(WeirServer* server, Filters filters, std::unique_ptr<EchoClient> client)
      : server_(server), filters_(std::move(filters)), client_(std::move(client)) {}

  absl::StatusOr<Nanos> Run(int calls) override {
    if (absl::Status s = server_->Plug(filters_); !s.ok()) return s;
    return client_->Run(calls);
  }

 private:
  WeirServer* const server_;
  const Filters filters_;
  const std::unique_ptr<EchoClient> client_;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_AT_SERVER_H_
