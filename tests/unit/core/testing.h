// What the tests of the ORB's core share: an ORB over real sockets, a servant made of functions,
// calls that can be waited for, and a server that is no ORB and says what a test wants it to say.
//
// Thread safety: as noted; test code calls from several threads.

#ifndef WEIR_TESTS_UNIT_CORE_TESTING_H_
#define WEIR_TESTS_UNIT_CORE_TESTING_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "orb/core/forwarder.h"
#include "orb/core/orb.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "orb/transport/unix.h"
#include "tests/support/environment.h"

namespace weir::orb {

inline SystemClock& TheClock() {
  static SystemClock clock;
  return clock;
}
inline Nanos In(Nanos time) { return TheClock().Now() + time; }

// Long enough for anything that is to happen at all, on a loaded machine under a sanitizer.
inline constexpr Nanos kPatience = 20 * kSecond;

// True as soon as `condition` is; false if it never is.
inline bool Eventually(const std::function<bool()>& condition) {
  for (const Nanos end = In(kPatience); TheClock().Now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

// Keeps every line.
class KeptLog : public Logger {
 public:
  void Log(LogLevel, std::string_view line) override {
    MutexLock lock(&mu_);
    lines_ += std::string(line) + "\n";
  }
  std::string lines() const {
    MutexLock lock(&mu_);
    return lines_;
  }

 private:
  mutable Mutex mu_;
  std::string lines_ ABSL_GUARDED_BY(mu_);
};

// Runs a function for each operation; `ping` (value + 1) is there from the start.
class FunctionServant : public Servant {
 public:
  using Function = std::function<void(CallRef)>;

  FunctionServant() {
    On("ping", [](CallRef call) { AnswerPlusOne(std::move(call)); });
  }
  // Before the servant is used.
  FunctionServant& On(std::string operation, Function function) {
    functions_[std::move(operation)] = std::move(function);
    return *this;
  }
  static int32_t Argument(const Call& call) { return call.request().body.decoder().ReadLong(); }
  static void AnswerPlusOne(CallRef call) {
    const int32_t value = Argument(*call);
    call->NewBody().WriteLong(value + 1);
    call->SetResult();
    call.Send();
  }

  std::string_view repository_id() const override { return "IDL:weir/Test:1.0"; }
  void Dispatch(CallRef call) override {
    const auto it = functions_.find(call->request().operation);
    if (it == functions_.end()) {
      call.SendSystemException({ExceptionId::kBadOperation, OmgMinor(2), Completion::kNo});
      return;
    }
    it->second(std::move(call));
  }

 private:
  std::map<std::string, Function, std::less<>> functions_;
};

// Calls that were not answered yet, for servants that answer later.
class Held {
 public:
  FunctionServant::Function Hold() {
    return [this](CallRef call) {
      MutexLock lock(&mu_);
      calls_.push_back(std::move(call));
    };
  }
  size_t size() const {
    MutexLock lock(&mu_);
    return calls_.size();
  }
  std::vector<CallRef> Take() {
    MutexLock lock(&mu_);
    return std::exchange(calls_, {});
  }

 private:
  mutable Mutex mu_;
  std::vector<CallRef> calls_ ABSL_GUARDED_BY(mu_);
};

// A call of `operation` with one long as its argument, and a long as its result.
class TestCall : public Invocation {
 public:
  explicit TestCall(std::string_view operation, int32_t argument = 0,
                    Nanos deadline = kNoDeadline) {
    cdr::Encoder(&body_).WriteLong(argument);
    message.operation = operation;
    message.body.bytes = body_.view();
    message.deadline = deadline;
    request = &message;
  }

  // The asynchronous call is over.
  bool WaitDone() {
    MutexLock lock(&mu_);
    for (const Nanos end = In(kPatience); done_ == 0 && TheClock().Now() < end;) {
      changed_.WaitFor(&mu_, 100 * kMillisecond);
    }
    return done_ > 0;
  }
  int done() const {
    MutexLock lock(&mu_);
    return done_;
  }
  int32_t result() const { return reply.body.decoder().ReadLong(); }
  // Of a SYSTEM_EXCEPTION reply, or of a call without a reply.
  SystemException exception() const {
    if (!status.ok()) return FromStatus(status);
    cdr::Decoder in = reply.body.decoder();
    return DecodeSystemException(&in);
  }
  std::string error() const { return std::string(ToStd(status.message())); }

  Request message;
  std::function<void()> on_done;

 private:
  void Done() override {
    if (on_done) on_done();
    MutexLock lock(&mu_);
    ++done_;
    changed_.SignalAll();
  }

  cdr::ByteBuffer body_;
  mutable Mutex mu_;
  CondVar changed_;
  int done_ ABSL_GUARDED_BY(mu_) = 0;
};

inline Reference ReferenceTo(std::vector<Endpoint> endpoints, std::string_view key = "test") {
  Reference reference;
  reference.object_key = key;
  reference.endpoints = std::move(endpoints);
  return reference;
}

// An ORB with GIOP, TCP and Unix sockets, started, with a FunctionServant at the key "test".
class TestOrb {
 public:
  explicit TestOrb(OrbOptions options = {}, Gate* gate = nullptr, Gate* outgoing = nullptr)
      : orb_(options, &TheClock(), &log, gate) {
    orb_.FilterOutgoing(outgoing);
    orb_.AddMessaging(std::make_unique<giop::Giop>());
    orb_.AddTransport(std::make_unique<TcpTransport>(&TheClock(), TransportOptions::Supervised()));
    orb_.AddTransport(std::make_unique<UnixTransport>(&TheClock(), TransportOptions::Supervised()));
    EXPECT_TRUE(orb_.Start().ok());
    EXPECT_TRUE(orb_.adapter().Activate("test", servant).ok());
  }

  // Serves it, and returns what clients use.
  Endpoint Listen(std::string_view transport = "tcp", std::string_view address = "127.0.0.1:0") {
    auto listening = orb_.Listen(StrCat("giop:", transport, ":", address));
    EXPECT_TRUE(listening.ok()) << listening.status();
    if (!listening.ok()) return {};
    return {listening->transport, listening->address};
  }
  std::shared_ptr<Target> To(std::vector<Endpoint> endpoints, std::string_view key = "test") {
    return *orb_.invoker().NewTarget(ReferenceTo(std::move(endpoints), key));
  }
  absl::Status Invoke(const std::shared_ptr<Target>& target, TestCall* call) {
    return orb_.invoker().Invoke(target, call);
  }
  // ping(value), or -1 if that fails.
  int32_t Ping(const std::shared_ptr<Target>& target, int32_t value, Nanos deadline = kNoDeadline) {
    TestCall call("ping", value, deadline);
    const absl::Status status = Invoke(target, &call);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() && call.reply.status == ReplyStatus::kNoException ? call.result() : -1;
  }

  Orb& operator*() { return orb_; }
  Orb* operator->() { return &orb_; }

  KeptLog log;
  const std::shared_ptr<FunctionServant> servant = std::make_shared<FunctionServant>();

 private:
  Orb orb_;
};

// A listener that speaks GIOP as far as a test tells it to: for each connection that it accepts,
// one after the other, it runs the next of its scripts on its own thread, and then closes it. The
// destructor ends the connection under the script that is running.
class FakeServer {
 public:
  class Connection {
   public:
    explicit Connection(std::unique_ptr<Stream> stream)
        : stream_(std::move(stream)), codec_(giop::Giop().NewCodec(Role::kServer)) {}

    // The next message; kClose at the end of the stream.
    Incoming Next() {
      for (;;) {
        Incoming in;
        if (block_) {
          const std::string_view bytes(reinterpret_cast<const char*>(block_->data()) + begin_,
                                       end_ - begin_);
          begin_ += codec_->Decode(block_, bytes, &in);
          if (in.kind != Incoming::Kind::kNeedMore) return in;
        } else {
          block_ = cdr::BlockRef::Allocate(1 << 20);
        }
        const IoResult r =
            stream_->Receive(block_->data() + end_, block_->capacity() - end_, Wait::kStay);
        if (r.kind == IoResult::kWouldBlock) continue;
        if (r.kind != IoResult::kBytes) {
          in.kind = Incoming::Kind::kClose;
          return in;
        }
        end_ += r.bytes;
      }
    }
    void Send(std::string_view bytes) { stream_->Send(bytes); }
    void Reply(uint32_t id, const orb::Reply& reply) {
      cdr::ByteBuffer out;
      EXPECT_TRUE(codec_->EncodeReply(id, GiopMinor::k2, reply, &out).ok());
      Send(out.view());
    }
    void ReplyLong(uint32_t id, int32_t value) {
      cdr::ByteBuffer body;
      cdr::Encoder(&body).WriteLong(value);
      orb::Reply reply;
      reply.body.bytes = body.view();
      Reply(id, reply);
    }
    void SendClose() {
      cdr::ByteBuffer out;
      codec_->EncodeClose(&out);
      Send(out.view());
    }

   private:
    const std::unique_ptr<Stream> stream_;
    const std::unique_ptr<Codec> codec_;
    cdr::BlockRef block_;
    size_t begin_ = 0;
    size_t end_ = 0;
  };
  using Script = std::function<void(Connection&)>;

  explicit FakeServer(std::vector<Script> scripts)
      : transport_(&TheClock()), acceptor_(*transport_.Listen("127.0.0.1:0")) {
    thread_ = std::thread([this, todo = std::move(scripts)] {
      for (const Script& script : todo) {
        std::unique_ptr<Stream> stream;
        while (stream == nullptr && !stop_.load()) {
          stream = *acceptor_->Accept();
          if (stream == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (stream == nullptr) return;
        {
          MutexLock lock(&mu_);
          current_ = stream.get();
          if (stop_.load()) current_->Shutdown();
        }
        Connection connection(std::move(stream));
        script(connection);
        MutexLock lock(&mu_);
        current_ = nullptr;
      }
    });
  }
  ~FakeServer() {
    stop_.store(true);
    {
      MutexLock lock(&mu_);
      if (current_ != nullptr) current_->Shutdown();
    }
    thread_.join();
  }

  Endpoint endpoint() const { return {"tcp", acceptor_->address()}; }

 private:
  TcpTransport transport_;
  const std::unique_ptr<Acceptor> acceptor_;
  std::atomic<bool> stop_{false};
  Mutex mu_;
  Stream* current_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::thread thread_;
};

}  // namespace weir::orb

#endif  // WEIR_TESTS_UNIT_CORE_TESTING_H_
