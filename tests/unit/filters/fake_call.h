// A call without a connection: what the dispatcher does around a servant, for tests of filters.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_TESTS_UNIT_FILTERS_FAKE_CALL_H_
#define WEIR_TESTS_UNIT_FILTERS_FAKE_CALL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orb/core/call.h"
#include "orb/core/gate.h"
#include "orb/core/system_exception.h"

namespace weir::filters {

class FakeCall : public orb::Call {
 public:
  explicit FakeCall(std::string key = "key", std::string operation = "op", uint64_t id = 1)
      : Call(&stored_request_), key_(std::move(key)), operation_(std::move(operation)) {
    peer_ = &fixed_peer_;
    id_ = id;
    request_->object_key = key_;
    request_->operation = operation_;
  }

  void set_peer(orb::Peer peer) { fixed_peer_ = std::move(peer); }
  // Who its object is, for filters that are plugged onto interfaces; without, there is none.
  orb::ObjectIdentity object;
  // What that one answers to `_is_a`.
  std::function<bool(std::string_view id)> is_a;
  orb::ObjectIdentity Identity() override { return object; }
  void AskIsA(std::string_view id, Nanos, orb::IsAListener* listener) override {
    const bool yes = is_a(id);
    listener->IsAKnown({yes ? orb::IsAAnswer::kYes : orb::IsAAnswer::kNo, {}, ""});
  }

  void set_code_sets(orb::CodeSets code_sets) { code_sets_ = code_sets; }

  // Up, the servant, down, release, as the core does it. `servant` sets the reply; it is not called
  // for a bounced call.
  template <typename Servant>
  void Run(orb::Gate* gate, const Servant& servant) {
    gate_state_ = orb::GateState();
    reply_.Clear();
    orb::Gate::Outcome outcome = orb::Gate::Outcome::kPass;
    if (gate->active()) outcome = gate->Up(*this);
    reached_servant_ = outcome == orb::Gate::Outcome::kPass;
    if (reached_servant_) servant(*this);
    if (request_->response_expected && gate_state_.chain != nullptr) gate->Down(*this);
    if (gate_state_.hold != nullptr) gate->Release(*this);
  }
  void Run(orb::Gate* gate) {
    Run(gate, [](orb::Call& call) { call.SetResult(); });
  }

  bool reached_servant() const { return reached_servant_; }
  // Where a filter has sent it; empty if nowhere.
  const std::string& redirected_to() const { return redirected_to_; }

  std::optional<orb::SystemException> system_exception() const {
    if (reply_.status != orb::ReplyStatus::kSystemException) return std::nullopt;
    cdr::Decoder in(reply_.body.bytes, reply_.body.order, reply_.body.alignment);
    return orb::DecodeSystemException(&in);
  }

  absl::Status RedirectTo(std::string_view reference) override {
    redirected_to_ = std::string(reference);
    request_->object_key = "elsewhere";
    redirected_ = true;
    return absl::OkStatus();
  }

 private:
  void Complete() override {}
  void Abandon() override {}
  void ResumeUp(bool) override {}
  void ResumeDown() override {}

  orb::Request stored_request_;
  const std::string key_;
  const std::string operation_;
  orb::Peer fixed_peer_{"tcp", "10.0.0.7:40112"};
  bool reached_servant_ = false;
  std::string redirected_to_;
};

}  // namespace weir::filters

#endif  // WEIR_TESTS_UNIT_FILTERS_FAKE_CALL_H_
