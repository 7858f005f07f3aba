#include "tools/bench/echo_client.h"

#include "base/strings.h"
#include "orb/cdr/encoder.h"

namespace weir::bench {
namespace {

class Invocation : public orb::Invocation {
 private:
  void Done() override {}
};

}  // namespace

absl::StatusOr<std::unique_ptr<EchoClient>> EchoClient::New(orb::Orb* orb,
                                                            std::string_view reference) {
  absl::StatusOr<std::shared_ptr<orb::Target>> target = orb->Resolve(reference);
  if (!target.ok()) return target.status();
  return std::unique_ptr<EchoClient>(new EchoClient(orb, *std::move(target)));
}

absl::StatusOr<Nanos> EchoClient::Run(int calls) {
  const Nanos began = clock_.Now();
  for (int i = 0; i < calls; ++i) {
    if (absl::Status s = Ping(i); !s.ok()) return s;
  }
  return clock_.Now() - began;
}

absl::Status EchoClient::Ping(int32_t value) {
  arguments_.Clear();
  cdr::Encoder(&arguments_).WriteLong(value);
  orb::Request request;
  request.operation = "ping";
  request.body.bytes = arguments_.view();
  Invocation call;
  call.request = &request;
  if (absl::Status s = orb_->invoker().Invoke(target_, &call); !s.ok()) return s;
  if (expect_ == Expect::kSystemException) [[unlikely]] {
    if (call.reply.status == orb::ReplyStatus::kSystemException) return absl::OkStatus();
    return Unexpected(call.reply.status);
  }
  if (call.reply.status != orb::ReplyStatus::kNoException) return Unexpected(call.reply.status);
  cdr::Decoder in = call.reply.body.decoder();
  const int32_t result = in.ReadLong();
  if (in.ok() && result == value + 1) [[likely]]
    return absl::OkStatus();
  return absl::DataLossError(StrCat("ping(", value, ") returned ", result));
}

absl::Status EchoClient::Unexpected(orb::ReplyStatus status) const {
  return absl::UnknownError(
      StrCat("ping returned reply status ", static_cast<int>(status),
             expect_ == Expect::kResult ? ", not a result" : ", not a system exception"));
}

}  // namespace weir::bench
