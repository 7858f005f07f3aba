#include "filters/interface_memory.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::filters {
namespace {

orb::IsAAnswer Unknown(orb::ExceptionId id, orb::WeirMinor minor, std::string why) {
  return {orb::IsAAnswer::kUnknown, {id, minor, orb::Completion::kNo}, std::move(why)};
}

}  // namespace

// Deletes itself when it is answered.
class InterfaceMemory::Question final : public orb::IsAListener {
 public:
  Question(std::shared_ptr<InterfaceMemory> memory, Key key, int number)
      : memory_(std::move(memory)), key_(key), number_(number) {}
  void IsAKnown(const orb::IsAAnswer& answer) override {
    memory_->Answered(key_, number_, answer);
    delete this;
  }

 private:
  const std::shared_ptr<InterfaceMemory> memory_;
  const Key key_;
  const int number_;
};

InterfaceMemory::InterfaceMemory(const InterfaceLimits& limits, const Clock* clock)
    : limits_(limits), clock_(clock), table_(limits.objects) {}

bool InterfaceMemory::Number(const std::vector<std::string>& ids) {
  MutexLock lock(&mu_);
  const size_t before = ids_.size();
  for (const std::string& id : ids) {
    if (std::find(ids_.begin(), ids_.end(), id) != ids_.end()) continue;
    if (ids_.size() == kMostInterfaces) {
      ids_.resize(before);
      return false;
    }
    ids_.push_back(id);
  }
  return true;
}

int InterfaceMemory::NumberOf(std::string_view id) const {
  MutexLock lock(&mu_);
  return static_cast<int>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin());
}

std::string InterfaceMemory::IdOf(int number) const {
  MutexLock lock(&mu_);
  return ids_[number];
}

void InterfaceMemory::Fail(Waiter* waiter, int number, const orb::IsAAnswer& why) {
  waiter->failed = true;
  waiter->learned.unknown = number;
  waiter->learned.why = why;
}

std::optional<InterfaceMemory::Learned> InterfaceMemory::Learn(orb::Call& call,
                                                               const orb::ObjectIdentity& object,
                                                               uint64_t needed,
                                                               Listener* listener) {
  const SipValue hash = Hash(object);
  const Key key = {hash[0], hash[1], object.epoch};
  const Nanos now = clock_->Now();
  std::vector<std::pair<int, std::string>> questions;
  {
    MutexLock lock(&mu_);
    // An answer may have come since the call looked.
    const KnownInterfaces known = table_.Find(hash, object.epoch, now);
    Waiter waiter{.call = &call,
                  .listener = listener,
                  .missing = needed & ~known.asked,
                  .learned = {.known = true, .is = known.is & needed, .unknown = 0, .why = {}},
                  .deadline = call.request().deadline};
    if (waiter.missing == 0) return waiter.learned;
    auto it = asked_.find(key);
    if (it == asked_.end()) {
      if (asked_.size() >= limits_.questions) {
        Fail(&waiter, std::countr_zero(waiter.missing),
             Unknown(orb::ExceptionId::kTransient, orb::WeirMinor::kInterfaceUnknown,
                     "too many objects are being asked at a time"));
        waiter.learned.known = false;
        return waiter.learned;
      }
      it = asked_.try_emplace(key).first;
    }
    const uint64_t unasked = waiter.missing & ~it->second.open;
    it->second.open |= unasked;
    waiter.asking = unasked != 0;
    it->second.waiters.push_back(waiter);
    if (unasked == 0) return std::nullopt;
    for (uint64_t left = unasked; left != 0; left &= left - 1) {
      const int number = std::countr_zero(left);
      questions.emplace_back(number, ids_[number]);
    }
  }
  for (const auto& [number, id] : questions) {
    call.AskIsA(id, now + limits_.patience, new Question(shared_from_this(), key, number));
  }
  // Perhaps all is answered. If not, others look after the call from now on.
  MutexLock lock(&mu_);
  const auto it = asked_.find(key);
  std::vector<Waiter>& waiters = it->second.waiters;
  const auto mine = std::find_if(waiters.begin(), waiters.end(),
                                 [&call](const Waiter& w) { return w.call == &call; });
  mine->asking = false;
  if (!mine->over()) return std::nullopt;
  Learned learned = std::move(mine->learned);
  learned.known = !mine->failed;
  waiters.erase(mine);
  if (waiters.empty() && it->second.open == 0) asked_.erase(it);
  return learned;
}

void InterfaceMemory::Answered(const Key& key, int number, const orb::IsAAnswer& answer) {
  const uint64_t bit = uint64_t{1} << number;
  const bool is = answer.kind == orb::IsAAnswer::kYes;
  std::vector<Waiter> over;
  {
    MutexLock lock(&mu_);
    if (answer.kind != orb::IsAAnswer::kUnknown) {
      const Nanos now = clock_->Now();
      const Nanos expires = limits_.lifetime == 0 ? kNoDeadline : now + limits_.lifetime;
      table_.Add({std::get<0>(key), std::get<1>(key)}, std::get<2>(key), number, is, now, expires);
    }
    const auto it = asked_.find(key);
    Asked& asked = it->second;
    asked.open &= ~bit;
    for (Waiter& waiter : asked.waiters) {
      if ((waiter.missing & bit) == 0) continue;
      waiter.missing &= ~bit;
      if (is) waiter.learned.is |= bit;
      if (answer.kind == orb::IsAAnswer::kUnknown && !waiter.failed) Fail(&waiter, number, answer);
    }
    std::erase_if(asked.waiters, [&over](Waiter& waiter) {
      if (waiter.asking || !waiter.over()) return false;
      over.push_back(std::move(waiter));
      return true;
    });
    if (asked.waiters.empty() && asked.open == 0) asked_.erase(it);
  }
  Tell(std::move(over));
}

void InterfaceMemory::Tell(std::vector<Waiter> waiters) {
  for (Waiter& waiter : waiters) {
    waiter.learned.known = !waiter.failed;
    waiter.listener->InterfacesLearned(*waiter.call, waiter.learned);
  }
}

template <typename Over>
std::vector<InterfaceMemory::Waiter> InterfaceMemory::TakeWaiters(const Over& over) {
  std::vector<Waiter> taken;
  for (auto& [key, asked] : asked_) {
    std::erase_if(asked.waiters, [&](Waiter& waiter) {
      if (waiter.asking || !over(waiter)) return false;
      taken.push_back(std::move(waiter));
      return true;
    });
  }
  return taken;
}

void InterfaceMemory::CheckDeadlines(Nanos now) {
  std::vector<Waiter> late;
  {
    MutexLock lock(&mu_);
    late = TakeWaiters([now](const Waiter& waiter) { return waiter.deadline <= now; });
  }
  for (Waiter& waiter : late) {
    Fail(&waiter, std::countr_zero(waiter.missing),
         Unknown(orb::ExceptionId::kTimeout, orb::WeirMinor::kCallTimeout,
                 "the call's deadline passed"));
  }
  Tell(std::move(late));
}

void InterfaceMemory::LetGo() {
  std::vector<Waiter> all;
  {
    MutexLock lock(&mu_);
    all = TakeWaiters([](const Waiter&) { return true; });
  }
  for (Waiter& waiter : all) {
    Fail(&waiter, std::countr_zero(waiter.missing),
         Unknown(orb::ExceptionId::kTransient, orb::WeirMinor::kShuttingDown,
                 "this ORB shuts down"));
  }
  Tell(std::move(all));
}

}  // namespace weir::filters
