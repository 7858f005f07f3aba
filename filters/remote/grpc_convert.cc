#include "filters/remote/grpc_convert.h"

#include <optional>
#include <string>
#include <utility>

namespace weir::filters {
namespace {

void SetBody(const orb::Body& body, v1::Body* out) {
  out->set_data(body.bytes.data(), body.bytes.size());
  out->set_little_endian(body.order == cdr::ByteOrder::kLittle);
  out->set_alignment(body.alignment);
}

void SetContexts(const std::vector<orb::ServiceContext>& contexts, v1::Header* out) {
  for (const orb::ServiceContext& context : contexts) {
    v1::ServiceContext* const c = out->add_contexts();
    c->set_id(context.id);
    c->set_data(context.data.data(), context.data.size());
  }
}

OwnedBody TakeBody(v1::Body body) {
  OwnedBody owned;
  owned.bytes = std::move(*body.mutable_data());
  owned.order = body.little_endian() ? cdr::ByteOrder::kLittle : cdr::ByteOrder::kBig;
  owned.alignment = static_cast<uint8_t>(body.alignment() % 8);
  return owned;
}

// protobuf wants text in UTF-8; anything else would make the message unreadable for Python.
std::string Text(std::string_view bytes) {
  std::string text(bytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

orb::SystemException TakeException(const v1::SystemException& e) {
  const std::optional<orb::ExceptionId> id = orb::ExceptionIdFromName(e.name());
  orb::Completion completed = orb::Completion::kMaybe;
  if (e.completed() == v1::SystemException::COMPLETED_YES) completed = orb::Completion::kYes;
  if (e.completed() == v1::SystemException::COMPLETED_NO) completed = orb::Completion::kNo;
  return {id.value_or(orb::ExceptionId::kUnknown), e.minor(), completed};
}

}  // namespace

void ToProto(const Question& question, v1::Question* out) {
  const bool up = question.phase == Phase::kUp;
  const orb::Request& request = question.call->request();
  const orb::Reply& reply = question.call->reply();
  out->set_ticket(question.ticket);
  out->set_method(std::string(question.method));
  out->set_phase(up ? v1::PHASE_UP : v1::PHASE_DOWN);
  if (question.reads == Reads::kNothing) return;
  v1::Header* const header = out->mutable_header();
  header->set_call_id(question.call->id());
  header->set_object_key(request.object_key.data(), request.object_key.size());
  header->set_operation(Text(request.operation));
  header->set_peer(Text(question.call->peer().address));
  header->set_response_expected(request.response_expected);
  SetContexts(up ? request.contexts : reply.contexts, header);
  if (!up) header->set_status(static_cast<v1::ReplyStatus>(reply.status));
  if (question.reads == Reads::kBody) SetBody(up ? request.body : reply.body, out->mutable_body());
}

Answer FromProto(v1::Answer answer) {
  Answer result;
  switch (answer.verdict_case()) {
    case v1::Answer::kPass: {
      v1::Pass* const pass = answer.mutable_pass();
      if (pass->has_body()) result.body = TakeBody(std::move(*pass->mutable_body()));
      if (!pass->operation().empty()) result.operation = std::move(*pass->mutable_operation());
      if (pass->has_contexts()) {
        result.contexts.emplace();
        for (v1::ServiceContext& c : *pass->mutable_contexts()->mutable_contexts()) {
          result.contexts->emplace_back(c.id(), std::move(*c.mutable_data()));
        }
      }
      return result;
    }
    case v1::Answer::kResult:
      result.kind = Answer::Kind::kResult;
      result.body = TakeBody(std::move(*answer.mutable_result()));
      return result;
    case v1::Answer::kUserException:
      result.kind = Answer::Kind::kUserException;
      result.body = TakeBody(std::move(*answer.mutable_user_exception()));
      return result;
    case v1::Answer::kSystemException:
      result.kind = Answer::Kind::kSystemException;
      result.exception = TakeException(answer.system_exception());
      return result;
    case v1::Answer::kFailure:
      result.kind = Answer::Kind::kFailure;
      result.failure = std::move(*answer.mutable_failure());
      return result;
    case v1::Answer::VERDICT_NOT_SET:
      break;
  }
  result.kind = Answer::Kind::kFailure;
  result.failure = "an answer without a verdict";
  return result;
}

std::vector<MethodInfo> FromProto(const v1::DescribeResponse& description) {
  std::vector<MethodInfo> methods;
  for (const v1::Method& m : description.methods()) {
    if (m.phase() != v1::PHASE_UP && m.phase() != v1::PHASE_DOWN) continue;
    MethodInfo info;
    info.name = m.name();
    info.phase = m.phase() == v1::PHASE_UP ? Phase::kUp : Phase::kDown;
    info.reads = m.reads() == v1::READS_NOTHING  ? Reads::kNothing
                 : m.reads() == v1::READS_HEADER ? Reads::kHeader
                                                 : Reads::kBody;
    info.changes = m.changes();
    info.help = m.help();
    methods.push_back(std::move(info));
  }
  return methods;
}

}  // namespace weir::filters
