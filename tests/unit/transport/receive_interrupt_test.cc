#include "orb/transport/receive_interrupt.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "orb/transport/socket.h"

namespace weir::orb {
namespace {

class ReceiveInterruptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanInterruptReceives()) GTEST_SKIP() << "not in this build";
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    near_ = UniqueFd(fds[0]);
    far_ = fds[1];
    stream_ =
        std::make_unique<SocketStream>(std::move(near_), "peer", TransportOptions::Supervised());
  }
  void TearDown() override {
    if (far_ >= 0) close(far_);
  }

  // What a receive on another thread ends with, while this one interrupts until it has.
  template <typename Interrupt>
  IoResult ReceiveWhile(const Interrupt& interrupt) {
    std::atomic<bool> over{false};
    IoResult result;
    std::thread thread([&] {
      char buffer[16];
      result = stream_->Receive(buffer, sizeof buffer, Wait::kStay);
      over.store(true);
    });
    while (!over.load()) {
      interrupt();
      usleep(1000);
    }
    thread.join();
    return result;
  }

  UniqueFd near_;
  int far_ = -1;
  std::unique_ptr<SocketStream> stream_;
  ReceiveInterrupter interrupter_;
};

TEST_F(ReceiveInterruptTest, AReceiveThatLastsEndsWithNothing) {
  int looks = 0;
  const IoResult result = ReceiveWhile([&] {
    interrupter_.InterruptLong();
    ++looks;
  });
  EXPECT_EQ(result.kind, IoResult::kWouldBlock);
  EXPECT_GE(looks, 2) << "the first look cannot know how long it has lasted";
}

TEST_F(ReceiveInterruptTest, AllEndAtOnceIfAsked) {
  EXPECT_EQ(ReceiveWhile([&] { interrupter_.InterruptAll(); }).kind, IoResult::kWouldBlock);
}

TEST_F(ReceiveInterruptTest, TheNextReceiveWaitsAgain) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ReceiveWhile([&] { interrupter_.InterruptAll(); }).kind, IoResult::kWouldBlock);
  }
  const IoResult result = ReceiveWhile([&] { (void)!write(far_, "x", 1); });
  EXPECT_EQ(result.kind, IoResult::kBytes);
}

TEST_F(ReceiveInterruptTest, WhatArrivesIsNeverLost) {
  // Bytes and interrupts at the same time: each byte is received, once and in order.
  constexpr int kBytes = 2000;
  std::atomic<bool> over{false};
  std::thread interrupting([&] {
    while (!over.load()) interrupter_.InterruptAll();
  });
  std::thread sending([&] {
    for (int i = 0; i < kBytes; ++i) {
      const char byte = static_cast<char>(i);
      (void)!write(far_, &byte, 1);
      if (i % 50 == 0) usleep(200);
    }
  });
  int received = 0, interrupted = 0;
  while (received < kBytes) {
    char buffer[64];
    const IoResult r = stream_->Receive(buffer, sizeof buffer, Wait::kStay);
    if (r.kind == IoResult::kWouldBlock) {
      ++interrupted;
      continue;
    }
    ASSERT_EQ(r.kind, IoResult::kBytes);
    for (size_t i = 0; i < r.bytes; ++i) ASSERT_EQ(buffer[i], static_cast<char>(received++));
  }
  over.store(true);
  interrupting.join();
  sending.join();
  EXPECT_GT(interrupted, 0);
}

TEST_F(ReceiveInterruptTest, AThreadThatBlocksAllSignalsIsReachedNonetheless) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // the new thread inherits it
  const IoResult result = ReceiveWhile([&] { interrupter_.InterruptAll(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.kind, IoResult::kWouldBlock);
}

TEST_F(ReceiveInterruptTest, OtherSystemCallsOfTheThreadDoNotSeeTheSignal) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  std::atomic<pid_t> id{0};
  ssize_t got = 0;
  int error = 0;
  std::thread thread([&] {
    char buffer[4];
    (void)stream_->Receive(buffer, sizeof buffer, Wait::kNo);
    id.store(gettid());
    got = read(pipe_fds[0], buffer, sizeof buffer);
    error = errno;
  });
  while (id.load() == 0) usleep(100);
  usleep(10'000);
  for (int i = 0; i < 20; ++i) {
    tgkill(getpid(), id.load(), SIGURG);
    usleep(500);
  }
  (void)!write(pipe_fds[1], "ab", 2);
  thread.join();
  EXPECT_EQ(got, 2) << error;
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_F(ReceiveInterruptTest, AThreadThatHasEndedIsNotSignalled) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ReceiveWhile([&] { interrupter_.InterruptAll(); }).kind, IoResult::kWouldBlock);
    interrupter_.InterruptAll();
    interrupter_.InterruptLong();
  }
}

void KeepOwnHandler() {
  signal(SIGURG, [](int) {});
  _exit(CanInterruptReceives() || TransportOptions::Supervised().stay == 0 ? 1 : 0);
}

TEST(ReceiveInterruptDeathTest, AProgramThatUsesTheSignalKeepsIt) {
  // In a process of its own, before anything has asked.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(KeepOwnHandler(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir::orb
