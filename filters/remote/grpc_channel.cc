#include "filters/remote/grpc_channel.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "filters/remote/grpc_convert.h"
#include "weir/filter/v1/filter.grpc.pb.h"

namespace weir::filters {
namespace {

std::string Hostname() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string Text(const grpc::Status& status) {
  return status.error_message().empty() ? StrCat("gRPC status ", status.error_code())
                                        : status.error_message();
}

class GrpcChannel;

// One stream, from its start to gRPC's last word on it. Operations are started with no lock held.
class Stream : public grpc::ClientBidiReactor<v1::Question, v1::Answer> {
 public:
  explicit Stream(GrpcChannel* channel) : channel_(channel) {}

  void Start(v1::Filter::Stub* stub, v1::Question hello);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  grpc::ClientContext* context() { return &context_; }

 private:
  friend class GrpcChannel;

  GrpcChannel* const channel_;
  grpc::ClientContext context_;
  v1::Answer answer_;
  // With the channel's lock.
  std::deque<v1::Question> queue_;  // the first one is being written
  size_t queued_bytes_ = 0;
  bool open_ = false;  // takes questions: behind the hello, until it has failed
};

class GrpcChannel : public Channel {
 public:
  GrpcChannel(GrpcChannelOptions options, Listener* listener)
      : options_(std::move(options)), listener_(listener), pause_(options_.least_pause) {
    grpc::ChannelArguments arguments;
    const auto set_ms = [&arguments](const char* name, Nanos time) {
      arguments.SetInt(name, static_cast<int>(time / kMillisecond));
    };
    set_ms(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, options_.least_pause);
    set_ms(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, options_.least_pause);
    set_ms(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, options_.most_pause);
    set_ms(GRPC_ARG_KEEPALIVE_TIME_MS, options_.keepalive);
    set_ms(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options_.keepalive_timeout);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as it takes
    arguments.SetMaxReceiveMessageSize(options_.max_answer_bytes);
    arguments.SetMaxSendMessageSize(-1);
    // A connection of its own, not one that the process shares by address.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::Filter::NewStub(
        grpc::CreateCustomChannel(options_.address, grpc::InsecureChannelCredentials(), arguments));
  }

  ~GrpcChannel() override {
    MutexLock lock(&mu_);
    closing_ = true;
    if (describing_) describe_context_->TryCancel();
    if (stream_ != nullptr) stream_->context()->TryCancel();
    while (describing_ || stream_ != nullptr || handling_ != 0) changed_.Wait(&mu_);
  }

  std::string address() const override { return options_.address; }

  bool Ask(const Question& question, absl::FunctionRef<void()> will_ask) override {
    v1::Question message;
    ToProto(question, &message);
    const size_t size = message.ByteSizeLong();
    Stream* stream;
    const v1::Question* first;
    {
      MutexLock lock(&mu_);
      stream = stream_.get();
      if (stream == nullptr || !stream->open_) return false;
      if (stream->queued_bytes_ + size > options_.max_queued_bytes) return false;
      will_ask();
      stream->queued_bytes_ += size;
      stream->queue_.push_back(std::move(message));
      if (stream->queue_.size() > 1) return true;
      first = &stream->queue_.front();
      stream->AddHold();
    }
    stream->StartWrite(first);
    stream->RemoveHold();
    return true;
  }

  void Tick(Nanos now) override {
    {
      MutexLock lock(&mu_);
      if (closing_ || describing_ || stream_ != nullptr || now < next_attempt_) return;
      describing_ = true;
      // If this attempt fails, the next one waits so long.
      next_attempt_ = now + pause_;
      pause_ = std::min(pause_ * 2, options_.most_pause);
      describe_context_ = std::make_unique<grpc::ClientContext>();
      describe_context_->set_deadline(std::chrono::system_clock::now() +
                                      std::chrono::nanoseconds(options_.connect_timeout));
      describe_request_.set_name(options_.name);
      description_.Clear();
    }
    stub_->async()->Describe(describe_context_.get(), &describe_request_, &description_,
                             [this](grpc::Status status) { Described(status); });
  }

 private:
  friend class Stream;

  void Described(const grpc::Status& status) {
    bool start = status.ok();
    if (start) {
      // First of all: once the stream is open it may end at any time.
      listener_->Connected(FromProto(description_));
      MutexLock lock(&mu_);
      start = !closing_;
      if (start) stream_ = std::make_unique<Stream>(this);
    } else {
      listener_->NotConnected(Text(status));
    }
    if (start) {
      v1::Question hello;
      hello.mutable_hello()->set_name(options_.name);
      hello.mutable_hello()->set_plug(options_.plug);
      hello.mutable_hello()->set_node(Hostname());
      stream_->Start(stub_.get(), std::move(hello));
    }
    MutexLock lock(&mu_);
    describing_ = false;
    changed_.SignalAll();
  }

  const GrpcChannelOptions options_;
  Listener* const listener_;
  std::unique_ptr<v1::Filter::Stub> stub_;

  Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool describing_ ABSL_GUARDED_BY(mu_) = false;  // an attempt to connect is under way
  int handling_ ABSL_GUARDED_BY(mu_) = 0;         // answers that the listener is being told
  Nanos next_attempt_ ABSL_GUARDED_BY(mu_) = 0;
  Nanos pause_ ABSL_GUARDED_BY(mu_);
  // From its start until its OnDone.
  std::unique_ptr<Stream> stream_;
  // Of the attempt under way.
  std::unique_ptr<grpc::ClientContext> describe_context_;
  v1::DescribeRequest describe_request_;
  v1::DescribeResponse description_;
};

void Stream::Start(v1::Filter::Stub* stub, v1::Question hello) {
  stub->async()->Judge(&context_, this);
  AddHold();  // until the last answer was read
  const v1::Question* first;
  {
    // Others ask from now on.
    MutexLock lock(&channel_->mu_);
    queued_bytes_ += hello.ByteSizeLong();
    queue_.push_back(std::move(hello));
    first = &queue_.front();
    open_ = true;
  }
  StartRead(&answer_);
  StartWrite(first);
  StartCall();
}

void Stream::OnReadDone(bool ok) {
  if (!ok) {
    {
      MutexLock lock(&channel_->mu_);
      open_ = false;
    }
    // It may be that only the answer was unreadable, and the stream would go on.
    context_.TryCancel();
    RemoveHold();
    return;
  }
  v1::Answer answer;
  answer.Swap(&answer_);
  GrpcChannel* const channel = channel_;
  {
    MutexLock lock(&channel->mu_);
    ++channel->handling_;
    channel->pause_ = channel->options_.least_pause;  // it works
  }
  // The next one may be handled by another thread at the same time; this object may be gone.
  StartRead(&answer_);
  const uint64_t ticket = answer.ticket();
  channel->listener_->Answered(ticket, FromProto(std::move(answer)));
  MutexLock lock(&channel->mu_);
  --channel->handling_;
  channel->changed_.SignalAll();
}

void Stream::OnWriteDone(bool ok) {
  const v1::Question* next;
  {
    MutexLock lock(&channel_->mu_);
    queued_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (!ok || queue_.empty()) return;
    next = &queue_.front();
  }
  StartWrite(next);
}

void Stream::OnDone(const grpc::Status& status) {
  GrpcChannel* const channel = channel_;
  channel->listener_->Disconnected(status.ok() ? "it ended the stream" : Text(status));
  MutexLock lock(&channel->mu_);
  channel->changed_.SignalAll();
  channel->stream_.reset();  // this object
}

}  // namespace

std::unique_ptr<Channel> NewGrpcChannel(GrpcChannelOptions options, Channel::Listener* listener) {
  return std::make_unique<GrpcChannel>(std::move(options), listener);
}

}  // namespace weir::filters
