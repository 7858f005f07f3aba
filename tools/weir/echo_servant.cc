#include "tools/weir/echo_servant.h"

#include "orb/cdr/decoder.h"

namespace weir::tools {

void EchoServant::Dispatch(orb::CallRef call) {
  const std::string_view operation = call->request().operation;
  const orb::Body& body = call->request().body;
  cdr::Decoder in = body.decoder();
  if (operation == "ping") {
    const uint32_t value = in.ReadULong();  // unsigned: the sum may wrap
    call->NewBody().WriteULong(value + 1);
  } else if (operation == "repeat") {
    call->NewBody().WriteString(in.ReadString());
  } else if (operation == "bounce") {
    call->NewBody().WriteOctetSequence(in.ReadOctetSequence());
  } else {
    return call.SendSystemException(
        {orb::ExceptionId::kBadOperation, orb::WeirMinor::kNone, orb::Completion::kNo});
  }
  if (!in.ok()) {
    return call.SendSystemException(
        {orb::ExceptionId::kMarshal, orb::WeirMinor::kMalformed, orb::Completion::kNo});
  }
  call->SetResult();
  call.Send();
}

}  // namespace weir::tools
