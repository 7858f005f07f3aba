#include "filters/remote/hosted_filter.h"

#include <exception>
#include <utility>

#include "base/strings.h"
#include "filters/changes.h"
#include "orb/core/nesting.h"

namespace weir::filters {

// A call that is somebody else's, as far as it was sent here. Deletes itself with its answer.
class HostedFilter::HostedCall : public orb::Call, private Suspension::Resumer {
 public:
  HostedCall(ReceivedQuestion question, std::function<void(Answer)> done)
      : Call(&own_request_), question_(std::move(question)), done_(std::move(done)) {
    own_peer_.address = question_.peer;
    peer_ = &own_peer_;
    id_ = question_.call_id;
    request_->object_key = question_.object_key;
    request_->operation = question_.operation;
    request_->response_expected = question_.response_expected;
    const bool up = question_.phase == Phase::kUp;
    orb::Body& body = up ? request_->body : reply_.body;
    body.bytes = question_.body.bytes;
    body.order = question_.body.order;
    body.alignment = question_.body.alignment;
    reply_.status = question_.status;
    auto& contexts = up ? request_->contexts : reply_.contexts;
    for (const auto& [id, data] : question_.contexts) contexts.push_back({id, data});
  }

  // Whoever asked goes there.
  absl::Status RedirectTo(std::string_view reference) override {
    redirect_to_ = std::string(reference);
    return absl::OkStatus();
  }

  void Run(Filter* filter, int method) {
    const bool up = question_.phase == Phase::kUp;
    const orb::FilterScope filters(question_.nesting, /*holds_call=*/false);
    if (filter->asynchronous()) {
      Suspension suspension(this, this);
      try {
        up ? filter->StartUp(method, std::move(suspension))
           : filter->StartDown(method, std::move(suspension));
      } catch (...) {
        // The suspension went with the exception, and has answered.
      }
      return;
    }
    try {
      const Verdict verdict = up ? filter->Up(method, *this) : filter->Down(method, *this);
      Resume(*this, verdict);
    } catch (const std::exception& e) {
      ResumeFailed(*this, e.what());
    } catch (...) {
      ResumeFailed(*this, "not a std::exception");
    }
  }

 private:
  void Complete() override {}
  void Abandon() override {}
  void ResumeUp(bool) override {}
  void ResumeDown() override {}

  void Resume(orb::Call&, Verdict verdict) override {
    const bool up = question_.phase == Phase::kUp;
    if (verdict == Verdict::kRedirect) {
      // Down, the node refuses it, and counts that.
      Answer answer;
      answer.kind = redirect_to_.empty() ? Answer::Kind::kRedirect : Answer::Kind::kRedirectTo;
      answer.redirect =
          redirect_to_.empty() ? std::string(request_->object_key) : std::move(redirect_to_);
      return End(std::move(answer));
    }
    if (up && verdict == Verdict::kPass) return End(Passed(request_->body, request_->contexts));
    if (!up && verdict == Verdict::kPass && reply_.status == question_.status) {
      return End(Passed(reply_.body, reply_.contexts));
    }
    End(Replied());
  }
  void ResumeFailed(orb::Call&, std::string_view what) override {
    Answer answer;
    answer.kind = Answer::Kind::kFailure;
    answer.failure = std::string(what);
    End(std::move(answer));
  }
  void End(Answer answer) {
    done_(std::move(answer));
    delete this;
  }

  static OwnedBody Own(const orb::Body& body) {
    return {std::string(body.bytes), body.order, body.alignment};
  }

  Answer Passed(const orb::Body& body, const std::vector<orb::ServiceContext>& contexts) const {
    Answer answer;
    if (body.bytes.data() != question_.body.bytes.data() ||
        body.bytes.size() != question_.body.bytes.size()) {
      answer.body = Own(body);
    }
    if (request_->operation != question_.operation) {
      answer.operation = std::string(request_->operation);
    }
    bool same = contexts.size() == question_.contexts.size();
    for (size_t i = 0; same && i < contexts.size(); ++i) {
      same = contexts[i].id == question_.contexts[i].first &&
             contexts[i].data == question_.contexts[i].second;
    }
    if (!same) {
      answer.contexts.emplace();
      for (const orb::ServiceContext& c : contexts) {
        answer.contexts->emplace_back(c.id, std::string(c.data));
      }
    }
    return answer;
  }

  Answer Replied() const {
    Answer answer;
    switch (reply_.status) {
      case orb::ReplyStatus::kNoException:
        answer.kind = Answer::Kind::kResult;
        answer.body = Own(reply_.body);
        return answer;
      case orb::ReplyStatus::kUserException:
        answer.kind = Answer::Kind::kUserException;
        answer.body = Own(reply_.body);
        return answer;
      case orb::ReplyStatus::kSystemException: {
        cdr::Decoder in = reply_.body.decoder();
        answer.kind = Answer::Kind::kSystemException;
        answer.exception = orb::DecodeSystemException(&in);
        return answer;
      }
      default:
        answer.kind = Answer::Kind::kFailure;
        answer.failure = StrCat("the filter made a reply of status ",
                                static_cast<int>(reply_.status), ", which cannot be sent");
        return answer;
    }
  }

  const ReceivedQuestion question_;
  const std::function<void(Answer)> done_;
  orb::Request own_request_;
  orb::Peer own_peer_;
  std::string redirect_to_;
};

std::vector<MethodInfo> HostedFilter::Describe() const {
  std::vector<MethodInfo> methods(kind_->methods().begin(), kind_->methods().end());
  for (MethodInfo& m : methods) m.policy = policy_;
  return methods;
}

void HostedFilter::Judge(ReceivedQuestion question, std::function<void(Answer)> done) {
  const absl::StatusOr<int> method = FindMethod(*kind_, question.phase, question.method);
  if (!method.ok()) {
    Answer answer;
    answer.kind = Answer::Kind::kFailure;
    answer.failure = std::string(method.status().message());
    return done(std::move(answer));
  }
  auto* const call = new HostedCall(std::move(question), std::move(done));
  call->Run(filter_.get(), *method);
}

}  // namespace weir::filters
