#include "filters/remote/grpc_convert.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "orb/core/nesting.h"

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
  out->set_nesting(question.call->gate_state().nesting + 1);
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
      result.completed_unset = !answer.system_exception().has_completed();
      return result;
    case v1::Answer::kRedirect:
      result.kind = Answer::Kind::kRedirect;
      result.redirect = std::move(*answer.mutable_redirect());
      return result;
    case v1::Answer::kRedirectTo:
      result.kind = Answer::Kind::kRedirectTo;
      result.redirect = std::move(*answer.mutable_redirect_to());
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
    info.policy = {m.default_policy().timeout_ms() * kMillisecond, m.default_policy().on_failure()};
    methods.push_back(std::move(info));
  }
  return methods;
}

ReceivedQuestion FromProto(v1::Question question) {
  ReceivedQuestion q;
  q.method = std::move(*question.mutable_method());
  q.phase = question.phase() == v1::PHASE_DOWN ? Phase::kDown : Phase::kUp;
  v1::Header* const header = question.mutable_header();
  q.call_id = header->call_id();
  q.object_key = std::move(*header->mutable_object_key());
  q.operation = std::move(*header->mutable_operation());
  q.peer = std::move(*header->mutable_peer());
  q.response_expected = header->response_expected();
  q.status = static_cast<orb::ReplyStatus>(header->status());
  for (v1::ServiceContext& c : *header->mutable_contexts()) {
    q.contexts.emplace_back(c.id(), std::move(*c.mutable_data()));
  }
  if (question.has_body()) q.body = TakeBody(std::move(*question.mutable_body()));
  q.nesting = static_cast<int>(std::clamp<uint32_t>(question.nesting(), 1, orb::kDeepestNesting));
  return q;
}

void ToProto(const Answer& answer, v1::Answer* out) {
  const auto set_body = [&answer](v1::Body* body) {
    if (!answer.body) return;
    body->set_data(answer.body->bytes);
    body->set_little_endian(answer.body->order == cdr::ByteOrder::kLittle);
    body->set_alignment(answer.body->alignment);
  };
  switch (answer.kind) {
    case Answer::Kind::kPass: {
      v1::Pass* const pass = out->mutable_pass();
      if (answer.body) set_body(pass->mutable_body());
      if (answer.operation) pass->set_operation(*answer.operation);
      if (answer.contexts) {
        v1::Pass::Contexts* const contexts = pass->mutable_contexts();
        for (const auto& [id, data] : *answer.contexts) {
          v1::ServiceContext* const c = contexts->add_contexts();
          c->set_id(id);
          c->set_data(data);
        }
      }
      return;
    }
    case Answer::Kind::kResult:
      return set_body(out->mutable_result());
    case Answer::Kind::kUserException:
      return set_body(out->mutable_user_exception());
    case Answer::Kind::kSystemException: {
      v1::SystemException* const e = out->mutable_system_exception();
      e->set_name(std::string(orb::ExceptionName(answer.exception.id)));
      e->set_minor(answer.exception.minor);
      e->set_completed(static_cast<v1::SystemException::Completed>(answer.exception.completed));
      return;
    }
    case Answer::Kind::kRedirect:
      out->set_redirect(answer.redirect);
      return;
    case Answer::Kind::kRedirectTo:
      out->set_redirect_to(answer.redirect);
      return;
    case Answer::Kind::kFailure:
      out->set_failure(answer.failure);
      return;
  }
}

void ToProto(const std::vector<MethodInfo>& methods, v1::DescribeResponse* out) {
  for (const MethodInfo& info : methods) {
    v1::Method* const m = out->add_methods();
    m->set_name(info.name);
    m->set_phase(info.phase == Phase::kUp ? v1::PHASE_UP : v1::PHASE_DOWN);
    m->set_reads(info.reads == Reads::kNothing  ? v1::READS_NOTHING
                 : info.reads == Reads::kHeader ? v1::READS_HEADER
                                                : v1::READS_BODY);
    m->set_changes(info.changes);
    m->set_help(info.help);
    if (info.policy.timeout == 0 && info.policy.on_failure.empty()) continue;
    m->mutable_default_policy()->set_timeout_ms(
        static_cast<uint32_t>(info.policy.timeout / kMillisecond));
    m->mutable_default_policy()->set_on_failure(info.policy.on_failure);
  }
}

}  // namespace weir::filters
