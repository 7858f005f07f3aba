#include "filters/tracer.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/strings.h"
#include "filters/escape.h"
#include "filters/snapshot.h"
#include "orb/core/system_exception.h"

namespace weir::filters {
namespace {

// What the reply says, in words. The text of a user exception comes from the server.
std::string StatusOf(const orb::Reply& reply, size_t text_bytes) {
  cdr::Decoder in = reply.body.decoder();
  switch (reply.status) {
    case orb::ReplyStatus::kNoException:
      return "NO_EXCEPTION";
    case orb::ReplyStatus::kUserException:
      return StrCat("USER_EXCEPTION ", Escape(Cut(in.ReadString(), text_bytes)));
    case orb::ReplyStatus::kSystemException: {
      const orb::SystemException e = orb::DecodeSystemException(&in);
      return absl::StrFormat("SYSTEM_EXCEPTION %s minor 0x%08x",
                             std::string(orb::ExceptionName(e.id)), e.minor);
    }
    case orb::ReplyStatus::kLocationForward:
      return "LOCATION_FORWARD";
    case orb::ReplyStatus::kLocationForwardPerm:
      return "LOCATION_FORWARD_PERM";
    case orb::ReplyStatus::kNeedsAddressingMode:
      return "NEEDS_ADDRESSING_MODE";
  }
  return "UNKNOWN";
}

}  // namespace

struct Tracer::Trace {
  struct Note {
    const PluggedFilter* plugged;
    Phase phase;
    int method;
    StepOutcome outcome;
    Nanos took;
  };

  uint32_t modes;
  Nanos began;       // of the call
  Nanos step_began;  // of the method that runs
  Nanos ended = 0;   // the down phase; 0: not yet
  // If the call is recorded. The request is as it came: filters may change it.
  CallRecord record;
  std::vector<Note> notes;
};

void Tracer::Extend(Mode mode, Nanos lease) {
  const Nanos now = clock_->Now();
  MutexLock lock(&mu_);
  Nanos* const until = Until(mode);
  *until = std::max(*until, now + lease);
  // Looked at closely by the next call, which then knows the end of both.
  next_end_.store(0, std::memory_order_relaxed);
  modes_.fetch_or(mode, std::memory_order_relaxed);
}

void Tracer::Stop(Mode mode) {
  MutexLock lock(&mu_);
  *Until(mode) = 0;
  modes_.fetch_and(~static_cast<uint32_t>(mode), std::memory_order_relaxed);
}

Nanos Tracer::Left(Mode mode) const {
  const Nanos now = clock_->Now();
  MutexLock lock(&mu_);
  return std::max<Nanos>(0, (mode == kTiming ? timing_until_ : recording_until_) - now);
}

uint32_t Tracer::ModesAt(Nanos now) {
  if (now < next_end_.load(std::memory_order_relaxed)) {
    return modes_.load(std::memory_order_relaxed);
  }
  MutexLock lock(&mu_);
  uint32_t modes = 0;
  Nanos next_end = kNoDeadline;
  for (const Mode mode : {kTiming, kRecording}) {
    if (now >= *Until(mode)) continue;
    modes |= mode;
    next_end = std::min(next_end, *Until(mode));
  }
  modes_.store(modes, std::memory_order_relaxed);
  next_end_.store(next_end, std::memory_order_relaxed);
  return modes;
}

void Tracer::Begin(const Chain& chain, orb::Call& call) {
  const Nanos now = clock_->Now();
  const uint32_t modes = ModesAt(now);
  if (modes == 0) return;
  auto trace = std::make_unique<Trace>();
  trace->modes = modes;
  trace->began = now;
  trace->step_began = now;
  if (modes & kRecording) {
    const size_t most = ring_.limits().text_bytes;
    CallRecord& record = trace->record;
    record.call = call.id();
    record.time = clock_->WallTime();
    record.peer = Escape(Cut(StrCat(call.peer().transport, ":", call.peer().address), most));
    record.object_key = EscapeKey(call.request().object_key.substr(0, most));
    if (call.request().object_key.size() > most) record.object_key += "...";
    record.operation = Escape(Cut(call.request().operation, most));
    record.revision = chain.revision;
    trace->notes.reserve(std::min(chain.up.size() + chain.down.size(), ring_.limits().steps));
    // Making the record is not the first filter's time.
    trace->step_began = clock_->Now();
  }
  call.gate_state().trace = trace.release();
}

void Tracer::BeginDown(orb::Call& call) {
  static_cast<Trace*>(call.gate_state().trace)->step_began = clock_->Now();
}

void Tracer::Note(const Step& step, Phase phase, StepOutcome outcome, orb::Call& call) {
  Trace& trace = *static_cast<Trace*>(call.gate_state().trace);
  const Nanos now = clock_->Now();
  const Nanos took = now - std::exchange(trace.step_began, now);
  if (trace.modes & kTiming) step.plugged->TookIn(phase).Add(took);
  if (trace.modes & kRecording) {
    if (trace.notes.size() < ring_.limits().steps) {
      trace.notes.push_back({step.plugged, phase, step.method, outcome, took});
    } else {
      ++trace.record.steps_left_out;
    }
  }
}

void Tracer::NoteReply(orb::Call& call) {
  Trace& trace = *static_cast<Trace*>(call.gate_state().trace);
  if (!(trace.modes & kRecording)) return;
  trace.ended = clock_->Now();
  trace.record.status = StatusOf(call.reply(), ring_.limits().text_bytes);
}

void Tracer::End(orb::Call& call) {
  const std::unique_ptr<Trace> trace(
      static_cast<Trace*>(std::exchange(call.gate_state().trace, nullptr)));
  if (!(trace->modes & kRecording)) return;
  CallRecord& record = trace->record;
  record.took = (trace->ended != 0 ? trace->ended : clock_->Now()) - trace->began;
  if (trace->ended == 0) record.status = "NO_REPLY";
  record.steps.reserve(trace->notes.size());
  for (const Trace::Note& note : trace->notes) {
    record.steps.push_back({note.plugged->plug.name, note.phase,
                            note.plugged->MethodName(note.method), note.outcome, note.took});
  }
  ring_.Add(std::move(record));
}

}  // namespace weir::filters
