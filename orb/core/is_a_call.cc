#include "orb/core/is_a_call.h"

#include "base/strings.h"

namespace weir::orb {
namespace {

IsAAnswer Unknown(const SystemException& e, std::string why) {
  return {IsAAnswer::kUnknown, e, std::move(why)};
}

// The caller's call was not executed, whatever became of the question.
IsAAnswer Unknown(std::string why) {
  return Unknown({ExceptionId::kTransient, WeirMinor::kInterfaceUnknown, Completion::kNo},
                 std::move(why));
}

}  // namespace

IsACall::IsACall(std::string_view key, std::string_view id, Nanos deadline, IsAListener* listener)
    : listener_(listener), key_(key) {
  cdr::Encoder(&arguments_).WriteString(id);
  message_.object_key = key_;
  message_.operation = "_is_a";
  message_.body.bytes = arguments_.view();
  message_.deadline = deadline;
  request = &message_;
  keep_key = true;
  unfiltered = true;
  hurried = true;  // whoever has a call that waits for the answer has others, too
}

void IsACall::Start(Invoker* invoker, const std::shared_ptr<Target>& target, std::string_view key,
                    std::string_view id, Nanos deadline, IsAListener* listener) {
  invoker->Start(target, new IsACall(key, id, deadline, listener));
}

void IsACall::Done() {
  listener_->IsAKnown(Judge());
  delete this;
}

IsAAnswer IsACall::Judge() const {
  if (!status.ok()) {
    const SystemException e = FromStatus(status);
    std::string why(ToStd(status.message()));
    // What the call itself would have met.
    return e.completed == Completion::kNo ? Unknown(e, std::move(why)) : Unknown(std::move(why));
  }
  cdr::Decoder in = reply.body.decoder();
  if (reply.status == ReplyStatus::kNoException) {
    const bool is_a = in.ReadBoolean();
    if (!in.ok()) return Unknown("the answer to _is_a is malformed");
    return {is_a ? IsAAnswer::kYes : IsAAnswer::kNo, {}, ""};
  }
  if (reply.status != ReplyStatus::kSystemException) {
    return Unknown("the answer to _is_a is neither a result nor a system exception");
  }
  const SystemException e = DecodeSystemException(&in);
  switch (e.id) {
    case ExceptionId::kBadOperation:
    case ExceptionId::kNoImplement:
      return {IsAAnswer::kNo, {}, ""};
    case ExceptionId::kObjectNotExist:
      return Unknown({e.id, e.minor, Completion::kNo}, ToString(e));
    case ExceptionId::kTransient:
      if (e.completed == Completion::kNo) return Unknown(e, ToString(e));
      break;
    default:
      break;
  }
  return Unknown(StrCat("_is_a raised ", ToString(e)));
}

}  // namespace weir::orb
