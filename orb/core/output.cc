#include "orb/core/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace weir::orb {

Output::~Output() {
  MutexLock lock(&mu_);
  CloseWriteFd();
}

Output::Result Output::Write(std::string_view message) {
  if (failed_.load(std::memory_order_relaxed) || ending_.load(std::memory_order_relaxed)) {
    return Result::kUnsent;
  }
  if (!TryAcquire()) {
    {
      MutexLock lock(&mu_);
      if (!Enqueue(message)) return Result::kUnsent;
    }
    // The sender may have looked at the queue just before: then it is for us to send.
    if (TryAcquire()) ReleaseAfterFlush();
    return Result::kSent;
  }
  if (queued_.load()) {
    bool enqueued;
    {
      MutexLock lock(&mu_);
      enqueued = Enqueue(message);
    }
    ReleaseAfterFlush();
    return enqueued ? Result::kSent : Result::kUnsent;
  }

  const IoResult r = stream_->Send(message);
  if (r.kind == IoResult::kBytes && r.bytes == message.size()) [[likely]] {
    sending_.store(false);
    if (queued_.load() && TryAcquire()) ReleaseAfterFlush();
    return Result::kSent;
  }
  MutexLock lock(&mu_);
  if (r.kind == IoResult::kError) {
    Fail();
    return Result::kUnsent;
  }
  const size_t sent = r.kind == IoResult::kBytes ? r.bytes : 0;
  if (!EnqueueRest(message.substr(sent))) return sent == 0 ? Result::kUnsent : Result::kFailed;
  WaitWritable();
  return Result::kSent;
}

void Output::End(std::string_view last) {
  if (!last.empty()) Write(last);
  {
    MutexLock lock(&mu_);
    if (failed_.load() || ending_.load()) return;
    ending_.store(true);
    queued_.store(true);  // so that whoever holds the flag flushes once more
  }
  if (TryAcquire()) ReleaseAfterFlush();
}

bool Output::HasRoomFor(std::string_view bytes) {
  if (failed_.load()) return false;
  if (queue_.size() - queue_begin_ + bytes.size() <= max_queued_) return true;
  // The peer has stopped reading and there is no place for more: the connection is of no use.
  Fail();
  return false;
}

bool Output::Enqueue(std::string_view bytes) {
  if (ending_.load() || !HasRoomFor(bytes)) return false;
  // A peer that reads slowly, but always something, never lets the queue run empty: what it has
  // read goes as soon as that is the larger part.
  if (queue_begin_ > queue_.size() / 2) {
    const size_t left = queue_.size() - queue_begin_;
    std::memmove(queue_.data(), queue_.data() + queue_begin_, left);
    queue_.Truncate(left);
    queue_begin_ = 0;
  }
  queue_.Append(bytes);
  queued_.store(true);
  return true;
}

bool Output::EnqueueRest(std::string_view bytes) {
  if (!HasRoomFor(bytes)) return false;
  const std::string behind(queue_.view().substr(queue_begin_));
  queue_.Clear();
  queue_begin_ = 0;
  queue_.Append(bytes);
  queue_.Append(behind);
  queued_.store(true);
  return true;
}

void Output::Fail() {
  failed_.store(true);
  stream_->Shutdown();  // its reader finds out and closes
}

bool Output::Flush() {
  while (queue_begin_ < queue_.size()) {
    const IoResult r = stream_->Send(queue_.view().substr(queue_begin_));
    if (r.kind == IoResult::kWouldBlock) return false;
    if (r.kind != IoResult::kBytes) {
      Fail();
      return false;
    }
    queue_begin_ += r.bytes;
    if (blocked_since_.load() != 0) blocked_since_.store(clock_->Now());
  }
  queue_.Clear();
  queue_.ShrinkTo(64 * 1024);
  queue_begin_ = 0;
  queued_.store(false);
  if (ending_.load() && !ended_.exchange(true)) stream_->ShutdownSend();
  return true;
}

void Output::ReleaseAfterFlush() {
  do {
    MutexLock lock(&mu_);
    if (!Flush()) {
      if (!failed_.load()) WaitWritable();
      return;  // the flag stays taken: by the flush handler, or for good
    }
    sending_.store(false);
  } while (queued_.load() && TryAcquire());
}

void Output::WaitWritable() {
  write_fd_ = fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0);
  if (write_fd_ < 0) return Fail();
  blocked_since_.store(clock_->Now());
  // The event may come at once, but finds the lock taken.
  if (reactor_->AddForWrite(write_fd_, this)) return hooks_.keep_alive();
  blocked_since_.store(0);
  close(write_fd_);
  write_fd_ = -1;
  Fail();
}

void Output::CloseWriteFd() {
  if (write_fd_ < 0) return;
  reactor_->Remove(write_fd_);
  close(write_fd_);
  write_fd_ = -1;
}

void Output::OnReady() {
  {
    MutexLock lock(&mu_);
    if (!failed_.load() && !Flush() && !failed_.load()) {
      reactor_->ArmForWrite(write_fd_, this);
      return;
    }
    CloseWriteFd();
    blocked_since_.store(0);
    if (!failed_.load()) sending_.store(false);
  }
  if (!failed_.load() && queued_.load() && TryAcquire()) ReleaseAfterFlush();
  hooks_.drained();  // after a failure too: the reader must find out
  hooks_.let_go();
}

}  // namespace weir::orb
