// Calls weir/Echo::ping by the Weir ORB as a stub would: encodes the argument, invokes, decodes the
// result.
//
// Thread safety: none; used by one thread.

#ifndef WEIR_TOOLS_BENCH_ECHO_CLIENT_H_
#define WEIR_TOOLS_BENCH_ECHO_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/core/orb.h"
#include "tools/bench/contender.h"

namespace weir::bench {

class EchoClient : public Contender {
 public:
  enum class Expect {
    kResult,           // ping(value) is value + 1
    kSystemException,  // a filter answers in the servant's place
  };

  // `orb` must outlive the client, and be started.
  static absl::StatusOr<std::unique_ptr<EchoClient>> New(orb::Orb* orb, std::string_view reference);

  void set_expect(Expect expect) { expect_ = expect; }
  absl::StatusOr<Nanos> Run(int calls) override;
  // One call. An error if the answer is not the expected one.
  absl::Status Ping(int32_t value);

 private:
  EchoClient(orb::Orb* orb, std::shared_ptr<orb::Target> target)
      : orb_(orb), target_(std::move(target)) {}
  absl::Status Unexpected(orb::ReplyStatus status) const;

  const SystemClock clock_;
  orb::Orb* const orb_;
  const std::shared_ptr<orb::Target> target_;
  Expect expect_ = Expect::kResult;
  cdr::ByteBuffer arguments_;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_ECHO_CLIENT_H_
