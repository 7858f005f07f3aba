#include "tests/faults/filter_server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "gtest/gtest.h"
#include "weir/filter/v1/filter.grpc.pb.h"

namespace weir::testing {
namespace {

void DescribeUsual(v1::DescribeResponse* response) {
  for (const v1::Phase phase : {v1::PHASE_UP, v1::PHASE_DOWN}) {
    v1::Method* const m = response->add_methods();
    m->set_name(phase == v1::PHASE_UP ? "check" : "look");
    m->set_phase(phase);
    m->set_reads(v1::READS_BODY);
  }
}

// Starts `service`; "" and a failed test if that cannot be.
std::unique_ptr<grpc::Server> Listen(std::string* address, grpc::Service* service) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(*address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    ADD_FAILURE() << "cannot listen on " << *address;
  } else if (!address->starts_with("unix:")) {
    *address = "127.0.0.1:" + std::to_string(port);
  }
  return server;
}

void Stop(grpc::Server* server) {
  if (server != nullptr) server->Shutdown(std::chrono::system_clock::now());
}

}  // namespace

uint64_t NumberIn(const v1::Body& body) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8 && i < body.data().size(); ++i) {
    const uint64_t octet = static_cast<uint8_t>(body.data()[i]);
    number |= octet << 8 * (body.little_endian() ? i : 7 - i);
  }
  return number;
}

v1::Body NumberBody(uint64_t number, bool little_endian) {
  v1::Body body;
  for (int i = 0; i < 8; ++i) {
    body.mutable_data()->push_back(
        static_cast<char>(number >> 8 * (little_endian ? i : 7 - i) & 0xff));
  }
  body.set_little_endian(little_endian);
  return body;
}

v1::Answer PassAnswer(const v1::Question& question) {
  v1::Answer answer;
  answer.set_ticket(question.ticket());
  answer.mutable_pass();
  return answer;
}

v1::Answer Judge(const v1::Question& question) {
  v1::Answer answer = PassAnswer(question);
  const bool up = question.phase() == v1::PHASE_UP;
  // Down, the body is the servant's answer.
  const uint64_t number = NumberIn(question.body()) / (up ? 1 : 8);
  if (number % 4 != 0) return answer;
  if (up) {
    *answer.mutable_result() = NumberBody(number * 8 + kFiltersResult);
  } else {
    answer.mutable_system_exception()->set_name("NO_RESOURCES");
    answer.mutable_system_exception()->set_minor(kFiltersMinor);
  }
  return answer;
}

class FilterServer::Service : public v1::Filter::Service {
 public:
  Service(std::string address, std::shared_ptr<FilterScript> script)
      : script_(std::move(script)), address_(std::move(address)) {
    server_ = Listen(&address_, this);
  }
  ~Service() override {
    stopping_ = true;
    Stop(server_.get());
  }

  grpc::Status Describe(grpc::ServerContext* context, const v1::DescribeRequest*,
                        v1::DescribeResponse* response) override {
    while (script_->describe_hangs && !context->IsCancelled() && !stopping_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (script_->describe) {
      script_->describe(response);
    } else {
      DescribeUsual(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status Judge(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<v1::Answer, v1::Question>* io) override {
    ++streams_;
    if (script_->streams_end) return grpc::Status::OK;
    const auto stream = std::make_shared<Stream>(context, io);
    v1::Question question;
    bool hello = true;
    while (io->Read(&question)) {
      if (std::exchange(hello, false)) {
        if (!question.has_hello()) ADD_FAILURE() << "no hello: " << question.ShortDebugString();
        continue;
      }
      ++questions_;
      if (script_->judge) {
        script_->judge(question, stream);
      } else {
        stream->Send(testing::Judge(question));
      }
      if (stream->ended()) break;
    }
    return stream->Over();
  }

  const std::shared_ptr<FilterScript> script_;
  std::string address_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> questions_{0}, streams_{0};

 private:
  class Stream : public FilterStream {
   public:
    Stream(grpc::ServerContext* context, grpc::ServerReaderWriter<v1::Answer, v1::Question>* io)
        : context_(context), io_(io) {}
    void Send(const v1::Answer& answer) override {
      MutexLock lock(&mu_);
      if (io_ != nullptr) io_->Write(answer);
    }
    void End() override {
      MutexLock lock(&mu_);
      ended_ = true;
      if (io_ != nullptr) context_->TryCancel();
    }
    bool ended() {
      MutexLock lock(&mu_);
      return ended_;
    }
    grpc::Status Over() {
      MutexLock lock(&mu_);
      io_ = nullptr;
      return ended_ ? grpc::Status(grpc::StatusCode::ABORTED, "as the test wants it")
                    : grpc::Status::OK;
    }

   private:
    Mutex mu_;
    grpc::ServerContext* const context_;
    grpc::ServerReaderWriter<v1::Answer, v1::Question>* io_;
    bool ended_ = false;
  };

  std::unique_ptr<grpc::Server> server_;
};

FilterServer::FilterServer(const std::string& address)
    : FilterServer(address, std::make_shared<FilterScript>()) {}
FilterServer::FilterServer(const std::string& address, std::shared_ptr<FilterScript> script)
    : service_(std::make_unique<Service>(address, std::move(script))) {}
FilterServer::~FilterServer() = default;
const std::string& FilterServer::address() const { return service_->address_; }
uint64_t FilterServer::questions() const { return service_->questions_; }
uint64_t FilterServer::streams() const { return service_->streams_; }

class Later::Impl {
 public:
  Impl() : thread_([this] { Run(); }) {}
  ~Impl() {
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      changed_.Signal();
    }
    thread_.join();
  }
  void Do(Nanos delay, std::function<void()> what) {
    MutexLock lock(&mu_);
    todo_.emplace(clock_.Now() + delay, std::move(what));
    changed_.Signal();
  }

 private:
  void Run() {
    MutexLock lock(&mu_);
    while (!stopping_) {
      if (todo_.empty()) {
        changed_.Wait(&mu_);
        continue;
      }
      const Nanos left = todo_.begin()->first - clock_.Now();
      if (left > 0) {
        changed_.WaitFor(&mu_, left);
        continue;
      }
      const std::function<void()> what = std::move(todo_.begin()->second);
      todo_.erase(todo_.begin());
      mu_.Unlock();
      what();
      mu_.Lock();
    }
  }

  SystemClock clock_;
  Mutex mu_;
  CondVar changed_;
  std::multimap<Nanos, std::function<void()>> todo_;
  bool stopping_ = false;
  std::thread thread_;
};

Later::Later() : impl_(std::make_unique<Impl>()) {}
Later::~Later() = default;
void Later::Do(Nanos delay, std::function<void()> what) { impl_->Do(delay, std::move(what)); }

class BrokenProtobufServer::Service
    : public v1::Filter::WithCallbackMethod_Describe<
          v1::Filter::WithRawCallbackMethod_Judge<v1::Filter::Service>> {
 public:
  Service() { server_ = Listen(&address_, this); }
  ~Service() override { Stop(server_.get()); }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest*,
                                     v1::DescribeResponse* response) override {
    DescribeUsual(response);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Judge(
      grpc::CallbackServerContext*) override {
    ++streams_;
    return new Reactor;
  }

  std::string address_ = "127.0.0.1:0";
  std::atomic<uint64_t> streams_{0};

 private:
  // Never ends the stream by itself.
  class Reactor : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    Reactor() { StartRead(&in_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      if (std::exchange(hello_, false)) return StartRead(&in_);
      const grpc::Slice slice("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff no message");
      out_ = grpc::ByteBuffer(&slice, 1);
      StartWrite(&out_);
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      StartRead(&in_);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer in_, out_;
    bool hello_ = true;
  };

  std::unique_ptr<grpc::Server> server_;
};

BrokenProtobufServer::BrokenProtobufServer() : service_(std::make_unique<Service>()) {}
BrokenProtobufServer::~BrokenProtobufServer() = default;
const std::string& BrokenProtobufServer::address() const { return service_->address_; }
uint64_t BrokenProtobufServer::streams() const { return service_->streams_; }

}  // namespace weir::testing
