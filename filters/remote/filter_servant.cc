#include "filters/remote/filter_servant.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "orb/core/nesting.h"

namespace weir::filters {

void FilterServant::Dispatch(orb::CallRef call) {
  const std::string_view operation = call->request().operation;
  cdr::Decoder in = call->request().body.decoder();
  const bool describe = operation == "describe";
  if (!describe && operation != "judge") {
    return call.SendSystemException(
        {orb::ExceptionId::kBadOperation, orb::OmgMinor(2), orb::Completion::kNo});
  }
  in.ReadString();  // the name
  if (describe && in.ok()) {
    cdr::Encoder out = call->NewBody();
    Encode(filter_->Describe(), &out);
    call->SetResult();
    return call.Send();
  }
  absl::StatusOr<ReceivedQuestion> question = DecodeQuestion(&in);
  if (!question.ok()) {
    return call.SendSystemException(
        {orb::ExceptionId::kMarshal, orb::WeirMinor::kMalformed, orb::Completion::kNo});
  }
  question->nesting = std::max(1, orb::NestingIn(call->request().contexts));
  // A std::function must be copyable.
  auto held = std::make_shared<orb::CallRef>(std::move(call));
  filter_->Judge(*std::move(question), [held](Answer answer) {
    cdr::Encoder out = (*held)->NewBody();
    Encode(answer, &out);
    (*held)->SetResult();
    held->Send();
  });
}

}  // namespace weir::filters
