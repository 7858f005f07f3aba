#include "orb/core/output.h"

#include <fcntl.h>
#include <unistd.h>

namespace weir::orb {

Output::~Output() {
  MutexLock lock(&mu_);
  CloseWriteFd();
}

Output::Result Output::Write(std::string_view message) {
  if (failed_.load(std::memory_order_relaxed)) return Result::kUnsent;
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
    {
      MutexLock lock(&mu_);
      if (!Enqueue(message)) {
        sending_.store(false);
        return Result::kUnsent;
      }
    }
    ReleaseAfterFlush();
    return Result::kSent;
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
  if (!Enqueue(message.substr(sent))) return sent == 0 ? Result::kUnsent : Result::kFailed;
  WaitWritable();
  return Result::kSent;
}

bool Output::Enqueue(std::string_view bytes) {
  if (failed_.load()) return false;
  if (queue_.size() - queue_begin_ + bytes.size() > max_queued_) {
    // The peer has stopped reading and there is no place for more: the connection is of no use.
    Fail();
    return false;
  }
  queue_.Append(bytes);
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
  if (blocked_since_.load() == 0) blocked_since_.store(clock_->Now());
  if (write_fd_ >= 0) {
    reactor_->ArmForWrite(write_fd_, this);
    return;
  }
  write_fd_ = fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0);
  if (write_fd_ < 0) return Fail();
  hooks_.keep_alive();
  reactor_->AddForWrite(write_fd_, this);
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
