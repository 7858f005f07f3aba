#include "orb/core/output.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "orb/transport/socket.h"
#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

// A socket of which the test says how much the next Send takes, and what happens during it.
class HookedStream : public SocketStream {
 public:
  explicit HookedStream(UniqueFd fd) : SocketStream(std::move(fd), "peer", TransportOptions()) {}
  IoResult Send(std::string_view bytes) override {
    if (const auto hook = std::exchange(hook_, nullptr)) {
      const IoResult r = SocketStream::Send(bytes.substr(0, most_));
      hook();
      return r;
    }
    return SocketStream::Send(bytes);
  }
  void HookNext(size_t most, std::function<void()> hook) {
    most_ = most;
    hook_ = std::move(hook);
  }

 private:
  size_t most_ = 0;
  std::function<void()> hook_;
};

class OutputTest : public ::testing::Test {
 protected:
  OutputTest() : reactor_(ReactorOptions(), &TheClock()) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    stream_ = std::make_unique<HookedStream>(UniqueFd(fds[0]));
    peer_ = std::make_unique<SocketStream>(UniqueFd(fds[1]), "us", TransportOptions());
    EXPECT_TRUE(reactor_.Start().ok());
  }
  ~OutputTest() override {
    stream_->Shutdown();
    EXPECT_TRUE(Eventually([&] { return holds_.load() == 0; })) << "the flush handler was not left";
    reactor_.Stop();
  }

  void MakeOutput(size_t max_queued = 64 << 20) {
    output_ = std::make_unique<Output>(
        stream_.get(), &reactor_, &TheClock(), max_queued,
        Output::Hooks{[this] { ++holds_; }, [this] { --holds_; }, [this] { ++drained_; }});
  }
  // Up to `size` bytes, or to the end of the stream.
  std::string Read(size_t size) {
    std::string all;
    while (all.size() < size) {
      char buffer[5000];
      const IoResult r =
          peer_->Receive(buffer, std::min(sizeof buffer, size - all.size()), Wait::kStay);
      if (r.kind == IoResult::kWouldBlock) continue;
      if (r.kind != IoResult::kBytes) break;
      all.append(buffer, r.bytes);
    }
    return all;
  }
  // Writes until the socket takes no more.
  std::string Fill() {
    std::string all;
    while (!output_->congested()) {
      const std::string message(10'000, static_cast<char>('a' + all.size() / 10'000 % 26));
      EXPECT_EQ(output_->Write(message), Output::Result::kSent);
      all += message;
    }
    return all;
  }

  Reactor reactor_;
  std::unique_ptr<HookedStream> stream_;
  std::unique_ptr<SocketStream> peer_;
  std::atomic<int> holds_{0};
  std::atomic<int> drained_{0};
  std::unique_ptr<Output> output_;
};

TEST_F(OutputTest, AMessageCutShortIsFinishedBeforeWhatOthersQueuedMeanwhile) {
  MakeOutput();
  stream_->HookNext(4, [this] {
    std::thread([this] { EXPECT_EQ(output_->Write("second"), Output::Result::kSent); }).join();
  });
  EXPECT_EQ(output_->Write("the first"), Output::Result::kSent);
  EXPECT_EQ(Read(15), "the firstsecond");
}

TEST_F(OutputTest, AMessageQueuedWhileAnotherIsSentFollowsIt) {
  MakeOutput();
  stream_->HookNext(100, [this] { std::thread([this] { output_->Write("second"); }).join(); });
  EXPECT_EQ(output_->Write("first"), Output::Result::kSent);
  EXPECT_EQ(Read(11), "firstsecond");
}

TEST_F(OutputTest, ManyWritersAndASlowReaderGetEveryMessageInOnePieceAndInOrder) {
  MakeOutput();
  constexpr int kWriters = 4, kMessages = 400;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([this, w] {
      for (int m = 0; m < kMessages; ++m) {
        const size_t filler = m % 7 == 0 ? 30'000 : m % 50;
        std::string message = StrCat(w, ".", m, ".", filler, ":");
        message.append(filler, static_cast<char>('A' + w));
        EXPECT_EQ(output_->Write(message), Output::Result::kSent);
      }
    });
  }
  std::vector<int> next(kWriters);
  for (int n = 0; n < kWriters * kMessages; ++n) {
    std::string head;
    while (head.empty() || head.back() != ':') {
      const std::string c = Read(1);
      ASSERT_FALSE(c.empty());
      head += c;
      ASSERT_LT(head.size(), 40u) << head;
    }
    int w = -1, m = -1, filler = -1;
    ASSERT_EQ(sscanf(head.c_str(), "%d.%d.%d:", &w, &m, &filler), 3) << head;
    ASSERT_TRUE(w >= 0 && w < kWriters) << head;
    ASSERT_EQ(m, next[w]++) << head;
    ASSERT_EQ(Read(filler), std::string(filler, static_cast<char>('A' + w)));
    if (n % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (std::thread& t : writers) t.join();
  EXPECT_TRUE(Eventually([&] { return !output_->congested(); }));
}

TEST_F(OutputTest, AReaderThatIsSlowGetsAllThatWasQueuedAndTheQueueDrains) {
  MakeOutput();
  const std::string all = Fill() + "the end";
  EXPECT_EQ(output_->Write("the end"), Output::Result::kSent);
  EXPECT_EQ(Read(all.size()), all);
  EXPECT_TRUE(Eventually([&] { return !output_->congested() && drained_ > 0 && holds_ == 0; }));
  EXPECT_EQ(output_->Write("more"), Output::Result::kSent);
  EXPECT_EQ(Read(4), "more");
}

TEST_F(OutputTest, APeerThatReadsNothingIsCutOffAtTheLimit) {
  MakeOutput(/*max_queued=*/100'000);
  Fill();
  int more = 0;
  while (output_->Write(std::string(10'000, 'x')) == Output::Result::kSent) ++more;
  EXPECT_LE(more, 10);
  EXPECT_TRUE(output_->failed());
  EXPECT_EQ(output_->Write("x"), Output::Result::kUnsent);
  EXPECT_TRUE(Eventually([&] { return holds_ == 0; }));
}

TEST_F(OutputTest, APeerThatHasGoneLeavesTheMessageUnsent) {
  MakeOutput();
  peer_.reset();
  EXPECT_EQ(output_->Write("x"), Output::Result::kUnsent);
  EXPECT_TRUE(output_->failed());
}

TEST_F(OutputTest, APeerThatGoesWhileMuchIsQueuedEndsTheFlush) {
  MakeOutput();
  Fill();
  peer_.reset();
  EXPECT_TRUE(Eventually([&] { return output_->failed() && holds_ == 0; }));
}

TEST_F(OutputTest, TheEndComesAfterAllThatIsQueued) {
  MakeOutput();
  const std::string all = Fill() + "last";
  output_->End("last");
  EXPECT_EQ(output_->Write("too late"), Output::Result::kUnsent);
  EXPECT_EQ(Read(all.size() + 100), all);
  EXPECT_TRUE(Eventually([&] { return holds_ == 0; }));
}

TEST_F(OutputTest, TheEndComesAtOnceIfNothingIsQueued) {
  MakeOutput();
  EXPECT_EQ(output_->Write("first"), Output::Result::kSent);
  output_->End("last");
  output_->End("and never twice");
  EXPECT_EQ(Read(100), "firstlast");
}

TEST_F(OutputTest, TheEndWaitsForAMessageThatIsJustBeingSent) {
  MakeOutput();
  stream_->HookNext(3, [this] { std::thread([this] { output_->End("last"); }).join(); });
  EXPECT_EQ(output_->Write("first"), Output::Result::kSent);
  EXPECT_EQ(Read(100), "firstlast");
}

}  // namespace
}  // namespace weir::orb
