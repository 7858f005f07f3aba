#include "filters/remote/apply_answer.h"

#include <utility>

#include "filters/fixed_reply.h"

namespace weir::filters {
namespace {

orb::Body Keep(OwnedBody body, orb::Call* call) {
  orb::Body kept;
  kept.bytes = call->Keep(std::move(body.bytes));
  kept.order = body.order;
  kept.alignment = body.alignment;
  return kept;
}

// In place of the bytes only: the old block still holds the header's views.
void Replace(OwnedBody body, orb::Call* call, orb::Body* target) {
  orb::Body kept = Keep(std::move(body), call);
  kept.block = std::move(target->block);
  *target = std::move(kept);
}

void SetContexts(const std::vector<std::pair<uint32_t, std::string>>& contexts, orb::Call* call,
                 std::vector<orb::ServiceContext>* target) {
  target->clear();
  for (const auto& [id, data] : contexts) target->push_back({id, call->Keep(data)});
}

void SetReply(orb::ReplyStatus status, OwnedBody body, orb::Call* call) {
  call->reply().Clear();
  call->reply().status = status;
  call->reply().body = Keep(std::move(body), call);
}

}  // namespace

absl::StatusOr<Verdict> ApplyAnswer(Answer answer, Phase phase, bool may_change, orb::Call* call,
                                    bool* refused) {
  const bool up = phase == Phase::kUp;
  switch (answer.kind) {
    case Answer::Kind::kPass: {
      if (!answer.body && !answer.operation && !answer.contexts) return Verdict::kPass;
      if (!may_change || (answer.operation && !up)) {
        *refused = true;
        return Verdict::kPass;
      }
      if (answer.body) {
        Replace(*std::move(answer.body), call, up ? &call->request().body : &call->reply().body);
      }
      if (answer.operation) {
        call->request().operation = call->Keep(*std::move(answer.operation));
      }
      if (answer.contexts) {
        SetContexts(*answer.contexts, call,
                    up ? &call->request().contexts : &call->reply().contexts);
      }
      return Verdict::kPass;
    }
    case Answer::Kind::kResult:
      // A result in place of the servant's is a change; in place of the servant, a bounce.
      if (!up && !may_change) {
        *refused = true;
        return Verdict::kPass;
      }
      SetReply(orb::ReplyStatus::kNoException, answer.body ? *std::move(answer.body) : OwnedBody(),
               call);
      return up ? Verdict::kBounce : Verdict::kPass;
    case Answer::Kind::kUserException:
      SetReply(orb::ReplyStatus::kUserException,
               answer.body ? *std::move(answer.body) : OwnedBody(), call);
      break;
    case Answer::Kind::kRedirect:
      if (!up) {
        *refused = true;
        return Verdict::kPass;
      }
      call->Redirect(std::move(answer.redirect));
      return Verdict::kRedirect;
    case Answer::Kind::kRedirectTo:
      if (!up) {
        *refused = true;
        return Verdict::kPass;
      }
      if (const absl::Status s = call->RedirectTo(answer.redirect); !s.ok()) return s;
      return Verdict::kRedirect;
    case Answer::Kind::kSystemException:
    case Answer::Kind::kFailure:
      if (answer.completed_unset) {
        answer.exception.completed = up ? orb::Completion::kNo : CompletionInPlaceOf(call->reply());
      }
      call->SetSystemException(answer.exception);
      break;
  }
  return up ? Verdict::kBounce : Verdict::kRaise;
}

}  // namespace weir::filters
