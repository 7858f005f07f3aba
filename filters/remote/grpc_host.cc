#include "filters/remote/grpc_host.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "filters/remote/grpc_convert.h"
#include "weir/filter/v1/filter.grpc.pb.h"

namespace weir::filters {
namespace {

// A plug's stream. Counted by gRPC (until OnDone) and by each question that is not answered.
// Operations are started with no lock held.
class Judgement : public grpc::ServerBidiReactor<v1::Question, v1::Answer>,
                  public std::enable_shared_from_this<Judgement> {
 public:
  explicit Judgement(HostedFilter* filter) : filter_(filter) {}

  // gRPC's part begins.
  void Begin() {
    self_ = shared_from_this();
    StartRead(&question_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        MutexLock lock(&mu_);
        ended_ = true;
      }
      return MaybeFinish();
    }
    if (question_.has_hello()) return StartRead(&question_);
    const uint64_t ticket = question_.ticket();
    ReceivedQuestion question = FromProto(std::move(question_));
    question_.Clear();
    {
      MutexLock lock(&mu_);
      ++unanswered_;
    }
    filter_->Judge(std::move(question), [self = shared_from_this(), ticket](Answer answer) {
      self->Answered(ticket, answer);
    });
    StartRead(&question_);
  }

  void OnWriteDone(bool ok) override {
    const v1::Answer* next = nullptr;
    {
      MutexLock lock(&mu_);
      answers_.pop_front();
      if (!ok) answers_.clear();  // the node has gone
      writing_ = !answers_.empty();
      if (writing_) next = &answers_.front();
    }
    if (next != nullptr) return StartWrite(next);
    MaybeFinish();
  }

  void OnDone() override { self_.reset(); }

 private:
  void Answered(uint64_t ticket, const Answer& answer) {
    v1::Answer message;
    ToProto(answer, &message);
    message.set_ticket(ticket);
    const v1::Answer* next = nullptr;
    {
      MutexLock lock(&mu_);
      --unanswered_;
      answers_.push_back(std::move(message));
      if (!std::exchange(writing_, true)) next = &answers_.front();
    }
    if (next != nullptr) StartWrite(next);
  }

  // Once the node has said all and has all its answers, or has gone.
  void MaybeFinish() {
    {
      MutexLock lock(&mu_);
      if (!ended_ || unanswered_ != 0 || writing_ || finished_) return;
      finished_ = true;
    }
    Finish(grpc::Status::OK);
  }

  HostedFilter* const filter_;
  std::shared_ptr<Judgement> self_;  // gRPC's
  v1::Question question_;

  Mutex mu_;
  std::deque<v1::Answer> answers_ ABSL_GUARDED_BY(mu_);  // the first one is being written
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  int unanswered_ ABSL_GUARDED_BY(mu_) = 0;
};

class Service : public v1::Filter::CallbackService {
 public:
  explicit Service(HostedFilter* filter) : filter_(filter) {}

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest*,
                                     v1::DescribeResponse* response) override {
    ToProto(filter_->Describe(), response);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerBidiReactor<v1::Question, v1::Answer>* Judge(grpc::CallbackServerContext*) override {
    const auto judgement = std::make_shared<Judgement>(filter_);
    judgement->Begin();
    return judgement.get();
  }

 private:
  HostedFilter* const filter_;
};

class Host : public GrpcHost {
 public:
  explicit Host(HostedFilter* filter) : service_(filter) {}
  ~Host() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

  absl::Status Start(const std::string& address) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(-1);
    // Nodes may ask for signs of life as often as they can be told to.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
    server_ = builder.BuildAndStart();
    address_ = address;
    const bool is_unix = address.starts_with("unix:");
    if (server_ == nullptr || (!is_unix && port == 0)) {
      return absl::UnavailableError(
          StrCat("cannot listen on ", address, " for gRPC: is the address in use, or no address?"));
    }
    if (!is_unix) address_ = StrCat(address.substr(0, address.rfind(':') + 1), port);
    return absl::OkStatus();
  }

  std::string address() const override { return address_; }

 private:
  Service service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcHost>> ServeGrpcFilter(const std::string& address,
                                                          HostedFilter* filter) {
  auto host = std::make_unique<Host>(filter);
  if (absl::Status s = host->Start(address); !s.ok()) return s;
  return host;
}

}  // namespace weir::filters
