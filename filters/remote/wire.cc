#include "filters/remote/wire.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr uint32_t kMostMethods = 1000;
constexpr uint32_t kMostContexts = 1000;

void EncodeBody(std::string_view bytes, cdr::ByteOrder order, uint8_t alignment,
                cdr::Encoder* out) {
  out->WriteOctetSequence(bytes);
  out->WriteBoolean(order == cdr::ByteOrder::kLittle);
  out->WriteOctet(alignment);
}

OwnedBody DecodeBody(cdr::Decoder* in) {
  OwnedBody body;
  body.bytes = std::string(in->ReadOctetSequence());
  body.order = in->ReadBoolean() ? cdr::ByteOrder::kLittle : cdr::ByteOrder::kBig;
  body.alignment = in->ReadOctet() % 8;
  return body;
}

std::vector<std::pair<uint32_t, std::string>> DecodeContexts(cdr::Decoder* in) {
  std::vector<std::pair<uint32_t, std::string>> contexts;
  const uint32_t count = in->ReadSequenceLength(8, kMostContexts);
  for (uint32_t i = 0; i < count && in->ok(); ++i) {
    const uint32_t id = in->ReadULong();
    contexts.emplace_back(id, std::string(in->ReadOctetSequence()));
  }
  return contexts;
}

Reads DecodeReads(cdr::Decoder* in) {
  const uint8_t reads = in->ReadOctet();
  if (reads > static_cast<uint8_t>(Reads::kBody)) in->Fail(cdr::DecodeError::kBadValue);
  return static_cast<Reads>(reads);
}

Phase DecodePhase(cdr::Decoder* in) { return in->ReadBoolean() ? Phase::kDown : Phase::kUp; }

absl::Status Check(const cdr::Decoder& in, std::string_view what) {
  if (in.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("malformed ", what, ": ", cdr::DecodeErrorText(in.error())));
}

}  // namespace

void Encode(const Question& question, cdr::Encoder* out) {
  const bool down = question.phase == Phase::kDown;
  const bool header = question.reads != Reads::kNothing;
  const orb::Request& request = question.call->request();
  const orb::Reply& reply = question.call->reply();
  out->WriteString(question.method);
  out->WriteBoolean(down);
  out->WriteOctet(static_cast<uint8_t>(question.reads));
  out->WriteULongLong(header ? question.call->id() : 0);
  out->WriteOctetSequence(header ? request.object_key : "");
  out->WriteString(header ? request.operation : "");
  out->WriteString(header ? std::string_view(question.call->peer().address) : "");
  out->WriteBoolean(header && request.response_expected);
  const auto& contexts = down ? reply.contexts : request.contexts;
  out->WriteULong(header ? static_cast<uint32_t>(contexts.size()) : 0);
  for (size_t i = 0; header && i < contexts.size(); ++i) {
    out->WriteULong(contexts[i].id);
    out->WriteOctetSequence(contexts[i].data);
  }
  out->WriteULong(header && down ? static_cast<uint32_t>(reply.status) : 0);
  if (question.reads == Reads::kBody) {
    const orb::Body& body = down ? reply.body : request.body;
    EncodeBody(body.bytes, body.order, body.alignment, out);
  } else {
    EncodeBody("", cdr::kNativeOrder, 0, out);
  }
}

void Encode(const Answer& answer, cdr::Encoder* out) {
  out->WriteOctet(static_cast<uint8_t>(answer.kind));
  out->WriteBoolean(answer.body.has_value());
  const OwnedBody none;
  const OwnedBody& body = answer.body ? *answer.body : none;
  EncodeBody(body.bytes, body.order, body.alignment, out);
  out->WriteString(answer.operation.value_or(""));
  out->WriteBoolean(answer.contexts.has_value());
  out->WriteULong(answer.contexts ? static_cast<uint32_t>(answer.contexts->size()) : 0);
  if (answer.contexts) {
    for (const auto& [id, data] : *answer.contexts) {
      out->WriteULong(id);
      out->WriteOctetSequence(data);
    }
  }
  out->WriteString(orb::ExceptionName(answer.exception.id));
  out->WriteULong(answer.exception.minor);
  out->WriteOctet(static_cast<uint8_t>(answer.exception.completed));
  out->WriteString(answer.failure);
  out->WriteOctetSequence(answer.redirect);
}

void Encode(const std::vector<MethodInfo>& methods, cdr::Encoder* out) {
  out->WriteULong(static_cast<uint32_t>(methods.size()));
  for (const MethodInfo& m : methods) {
    out->WriteString(m.name);
    out->WriteBoolean(m.phase == Phase::kDown);
    out->WriteOctet(static_cast<uint8_t>(m.reads));
    out->WriteBoolean(m.changes);
    out->WriteString(m.help);
  }
  const auto says = [](const MethodInfo& m) {
    return m.policy.timeout != 0 || !m.policy.on_failure.empty();
  };
  out->WriteULong(static_cast<uint32_t>(std::count_if(methods.begin(), methods.end(), says)));
  for (size_t i = 0; i < methods.size(); ++i) {
    if (!says(methods[i])) continue;
    out->WriteULong(static_cast<uint32_t>(i));
    out->WriteULong(static_cast<uint32_t>(methods[i].policy.timeout / kMillisecond));
    out->WriteString(methods[i].policy.on_failure);
  }
}

absl::StatusOr<ReceivedQuestion> DecodeQuestion(cdr::Decoder* in) {
  ReceivedQuestion q;
  q.method = std::string(in->ReadString());
  q.phase = DecodePhase(in);
  q.reads = DecodeReads(in);
  q.call_id = in->ReadULongLong();
  q.object_key = std::string(in->ReadOctetSequence());
  q.operation = std::string(in->ReadString());
  q.peer = std::string(in->ReadString());
  q.response_expected = in->ReadBoolean();
  q.contexts = DecodeContexts(in);
  const uint32_t status = in->ReadULong();
  if (status > static_cast<uint32_t>(orb::ReplyStatus::kNeedsAddressingMode)) {
    in->Fail(cdr::DecodeError::kBadValue);
  }
  q.status = static_cast<orb::ReplyStatus>(status);
  q.body = DecodeBody(in);
  if (absl::Status s = Check(*in, "question"); !s.ok()) return s;
  return q;
}

absl::StatusOr<Answer> DecodeAnswer(cdr::Decoder* in) {
  Answer answer;
  const uint8_t kind = in->ReadOctet();
  if (kind > static_cast<uint8_t>(Answer::Kind::kRedirectTo)) in->Fail(cdr::DecodeError::kBadValue);
  answer.kind = static_cast<Answer::Kind>(kind);
  const bool has_body = in->ReadBoolean();
  OwnedBody body = DecodeBody(in);
  if (has_body) answer.body = std::move(body);
  const std::string_view operation = in->ReadString();
  if (!operation.empty()) answer.operation = std::string(operation);
  const bool has_contexts = in->ReadBoolean();
  auto contexts = DecodeContexts(in);
  if (has_contexts) answer.contexts = std::move(contexts);
  answer.exception.id =
      orb::ExceptionIdFromName(in->ReadString()).value_or(orb::ExceptionId::kUnknown);
  answer.exception.minor = in->ReadULong();
  const uint8_t completed = in->ReadOctet();
  if (completed > static_cast<uint8_t>(orb::Completion::kMaybe)) {
    in->Fail(cdr::DecodeError::kBadValue);
  }
  answer.exception.completed = static_cast<orb::Completion>(completed);
  answer.failure = std::string(in->ReadString());
  answer.redirect = std::string(in->ReadOctetSequence());
  if (absl::Status s = Check(*in, "answer"); !s.ok()) return s;
  return answer;
}

absl::StatusOr<std::vector<MethodInfo>> DecodeMethods(cdr::Decoder* in) {
  std::vector<MethodInfo> methods;
  const uint32_t count = in->ReadSequenceLength(12, kMostMethods);
  for (uint32_t i = 0; i < count && in->ok(); ++i) {
    MethodInfo m;
    m.name = std::string(in->ReadString());
    m.phase = DecodePhase(in);
    m.reads = DecodeReads(in);
    m.changes = in->ReadBoolean();
    m.help = std::string(in->ReadString());
    methods.push_back(std::move(m));
  }
  const uint32_t policies = in->remaining() == 0 ? 0 : in->ReadSequenceLength(12, kMostMethods);
  for (uint32_t i = 0; i < policies && in->ok(); ++i) {
    const uint32_t method = in->ReadULong();
    const Nanos timeout = in->ReadULong() * kMillisecond;
    std::string on_failure(in->ReadString());
    if (method >= methods.size()) {
      in->Fail(cdr::DecodeError::kBadValue);
    } else {
      methods[method].policy = {timeout, std::move(on_failure)};
    }
  }
  if (absl::Status s = Check(*in, "description"); !s.ok()) return s;
  return methods;
}

}  // namespace weir::filters
