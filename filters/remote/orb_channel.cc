#include "filters/remote/orb_channel.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "filters/remote/wire.h"
#include "orb/core/nesting.h"

namespace weir::filters {
namespace {

class OrbChannel;

// One call of the filter. Deletes itself when it is over.
class OrbCall : public orb::Invocation {
 public:
  enum class What : uint8_t { kDescribe, kJudge };

  OrbCall(OrbChannel* channel, What what, uint64_t ticket, uint64_t connection)
      : channel_(channel), what_(what), ticket_(ticket), connection_(connection) {}

  void Start(orb::Orb* orb, std::shared_ptr<orb::Target> target, Nanos deadline) {
    target_ = std::move(target);
    message_.operation = what_ == What::kDescribe ? "describe" : "judge";
    message_.body.bytes = arguments.view();
    message_.deadline = deadline;
    hurried = true;  // calls that are judged bring their threads here
    request = &message_;
    orb->invoker().Start(target_, this);
  }

  What what() const { return what_; }
  uint64_t ticket() const { return ticket_; }
  uint64_t connection() const { return connection_; }
  // Why there is no result; OK if there is one.
  absl::Status Result() const {
    if (!status.ok()) return status;
    if (reply.status == orb::ReplyStatus::kNoException) return absl::OkStatus();
    if (reply.status != orb::ReplyStatus::kSystemException) {
      return absl::FailedPreconditionError("it raised a user exception");
    }
    cdr::Decoder in = reply.body.decoder();
    return absl::FailedPreconditionError(
        StrCat("it raised ", ToString(orb::DecodeSystemException(&in))));
  }

  cdr::ByteBuffer arguments;

 private:
  void Done() override;

  OrbChannel* const channel_;
  const What what_;
  const uint64_t ticket_;
  const uint64_t connection_;  // in which life of the channel's it was asked
  std::shared_ptr<orb::Target> target_;
  orb::Request message_;
};

class OrbChannel : public Channel {
 public:
  OrbChannel(OrbChannelOptions options, OrbHandle* orb, Listener* listener)
      : options_(std::move(options)),
        orb_(orb),
        listener_(listener),
        pause_(options_.least_pause) {}

  // What is in flight ends within its timeout.
  ~OrbChannel() override {
    MutexLock lock(&mu_);
    closing_ = true;
    while (calls_ != 0) changed_.Wait(&mu_);
  }

  std::string address() const override { return options_.reference; }

  bool Ask(const Question& question, absl::FunctionRef<void()> will_ask) override {
    std::shared_ptr<orb::Target> target;
    uint64_t connection;
    {
      MutexLock lock(&mu_);
      if (closing_ || !connected_) return false;
      target = target_;
      connection = connection_;
      ++calls_;
    }
    auto* const call = new OrbCall(this, OrbCall::What::kJudge, question.ticket, connection);
    cdr::Encoder out(&call->arguments);
    out.WriteString(options_.name);
    Encode(question, &out);
    // The asker's own timeout comes first: it knows what that means.
    const Nanos deadline = question.deadline + options_.patience;
    // A filter's call, whoever's thread this is; the call that is asked about may soon be gone.
    const orb::FilterScope filter(question.call->gate_state().nesting + 1, /*holds_call=*/false);
    const bool started = orb_->With([&](orb::Orb* orb) {
      will_ask();
      call->Start(orb, std::move(target), deadline);
    });
    if (!started) Drop(call);
    return started;
  }

  void Tick(Nanos now) override {
    {
      MutexLock lock(&mu_);
      if (closing_ || connected_ || describing_ || now < next_attempt_) return;
      // If this attempt fails, the next one waits so long.
      next_attempt_ = now + pause_;
      pause_ = std::min(pause_ * 2, options_.most_pause);
      describing_ = true;
      ++calls_;
    }
    auto* const call = new OrbCall(this, OrbCall::What::kDescribe, 0, 0);
    cdr::Encoder(&call->arguments).WriteString(options_.name);
    absl::Status failed = absl::UnavailableError("this process has no ORB yet, or no more");
    orb_->With([&](orb::Orb* orb) {
      absl::StatusOr<std::shared_ptr<orb::Target>> target = orb->Resolve(options_.reference);
      failed = target.status();
      if (!target.ok()) return;
      {
        MutexLock lock(&mu_);
        target_ = *target;
      }
      // Connecting may take its time, which the caller's other ticks have not.
      orb->reactor().Post([this, call, target = *target, now] {
        const bool started = orb_->With(
            [&](orb::Orb* live) { call->Start(live, target, now + options_.connect_timeout); });
        if (!started) NotDescribed(call, absl::UnavailableError("this process ends"));
      });
    });
    if (!failed.ok()) NotDescribed(call, failed);
  }

  // From a call that is over. Last, as nothing of this may be used afterwards.
  void Done(OrbCall* call) {
    if (call->what() == OrbCall::What::kDescribe) {
      Described(call);
    } else {
      Judged(call);
    }
    Drop(call);
  }

 private:
  void Described(OrbCall* call) {
    absl::Status result = call->Result();
    std::vector<MethodInfo> methods;
    if (result.ok()) {
      cdr::Decoder in = call->reply.body.decoder();
      absl::StatusOr<std::vector<MethodInfo>> decoded = DecodeMethods(&in);
      result = decoded.status();
      if (decoded.ok()) methods = *std::move(decoded);
    }
    if (result.ok()) {
      listener_->Connected(std::move(methods));
    } else {
      listener_->NotConnected(ToStd(result.message()));
    }
    MutexLock lock(&mu_);
    describing_ = false;
    connected_ = result.ok();
    if (connected_) ++connection_;
  }

  void NotDescribed(OrbCall* call, const absl::Status& why) {
    listener_->NotConnected(ToStd(why.message()));
    {
      MutexLock lock(&mu_);
      describing_ = false;
    }
    Drop(call);
  }

  void Judged(OrbCall* call) {
    const absl::Status result = call->Result();
    Answer answer;
    if (result.ok()) {
      cdr::Decoder in = call->reply.body.decoder();
      absl::StatusOr<Answer> decoded = DecodeAnswer(&in);
      if (decoded.ok()) {
        {
          MutexLock lock(&mu_);
          pause_ = options_.least_pause;  // it works
        }
        return listener_->Answered(call->ticket(), *std::move(decoded));
      }
      answer.failure = std::string(ToStd(decoded.status().message()));
    } else {
      if (!call->status.ok()) {
        // The plug's ladder has judged what was not answered in time.
        if (orb::FromStatus(call->status).id == orb::ExceptionId::kTimeout) return;
        // Not there, or gone: to be found again.
        Lost(call->connection(), ToStd(result.message()));
        return listener_->Unanswered(call->ticket());
      }
      answer.failure = std::string(ToStd(result.message()));
    }
    answer.kind = Answer::Kind::kFailure;
    listener_->Answered(call->ticket(), std::move(answer));
  }

  // For all questions that wait, unless the channel has connected again since.
  void Lost(uint64_t connection, std::string_view why) {
    {
      MutexLock lock(&mu_);
      if (!connected_ || connection != connection_) return;
      connected_ = false;
      describing_ = true;  // not before the listener knows
    }
    listener_->Disconnected(why);
    MutexLock lock(&mu_);
    describing_ = false;
  }

  void Drop(OrbCall* call) {
    delete call;
    MutexLock lock(&mu_);
    --calls_;
    changed_.SignalAll();
  }

  const OrbChannelOptions options_;
  OrbHandle* const orb_;
  Listener* const listener_;

  Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool describing_ ABSL_GUARDED_BY(mu_) = false;  // an attempt to connect is under way
  bool connected_ ABSL_GUARDED_BY(mu_) = false;  // it has described itself, and not been lost since
  uint64_t connection_ ABSL_GUARDED_BY(mu_) = 0;  // how often it has
  int calls_ ABSL_GUARDED_BY(mu_) = 0;            // in flight
  Nanos next_attempt_ ABSL_GUARDED_BY(mu_) = 0;
  Nanos pause_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<orb::Target> target_ ABSL_GUARDED_BY(mu_);
};

void OrbCall::Done() { channel_->Done(this); }

}  // namespace

std::unique_ptr<Channel> NewOrbChannel(OrbChannelOptions options, OrbHandle* orb,
                                       Channel::Listener* listener) {
  return std::make_unique<OrbChannel>(std::move(options), orb, listener);
}

}  // namespace weir::filters
