// The remote filter's part that asks about calls before they come.

#include <utility>

#include "filters/remote/remote_filter.h"
#include "filters/remote/replica.h"
#include "filters/step_outcome.h"

namespace weir::filters {

void RemoteFilter::AskAhead(int method, const orb::Call& call) {
  if (!options_.ahead) return;
  {
    MutexLock lock(&mu_);
    if (ahead_.contains({call.id(), method})) return;
  }
  const Nanos now = clock_->Now();
  Waiting waiting = NewWaiting(Phase::kUp, method, call.id(), now);
  Count refused;
  TryAsk(&waiting, call, now, &refused);  // if not now, then when the call comes
}

void RemoteFilter::Forget(int method, const orb::Call& call) {
  if (!options_.ahead) return;
  MutexLock lock(&mu_);
  const auto it = ahead_.find({call.id(), method});
  if (it == ahead_.end()) return;
  TakeOut(it->second);
  Add(kForgotten);
}

bool RemoteFilter::OnlyLooks(int method) const {
  MutexLock lock(&mu_);
  bool there = false;
  for (const auto& replica : replicas_) {
    const Offer& offer = replica->offers[method];
    if (offer.changes) return false;
    there = there || offer.there;
  }
  return there;
}

bool RemoteFilter::TakeAhead(Phase phase, int method, Suspension* call) {
  Waiting waiting;
  {
    MutexLock lock(&mu_);
    const auto it = ahead_.find({(*call)->id(), method});
    if (it == ahead_.end()) return false;
    const auto question = waiting_.find(it->second);
    if (!question->second.answer.has_value() && !question->second.late) {
      // It waits from now on, as any other.
      question->second.call = std::move(*call);
      ahead_.erase(it);
      return true;
    }
    waiting = TakeOut(it->second);
  }
  waiting.phase = phase;
  waiting.call = std::move(*call);
  if (waiting.late) {
    TakePolicy(kTimedOut, StepOutcome::kTimedOut, std::move(waiting));
  } else {
    Answer answer = *std::move(waiting.answer);
    Apply(std::move(waiting), std::move(answer));
  }
  return true;
}

}  // namespace weir::filters
