// A fixture for tests of what calls meet: its filters note who ran, and do what the test says.
//
// Thread safety: none; the test's thread makes the calls.

#ifndef WEIR_TESTS_UNIT_FILTERS_CALL_FIXTURE_H_
#define WEIR_TESTS_UNIT_FILTERS_CALL_FIXTURE_H_

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {

class CallTest : public RegistryTest {
 protected:
  CallTest() {
    probe_->up = [this](const std::string& plug, std::string_view method, orb::Call&) {
      seen_.push_back(plug + "^" + std::string(method));
      if (plug == thrower_) throw std::runtime_error("secret\nforged=line");
      return plug == bouncer_ ? Verdict::kBounce : Verdict::kPass;
    };
    probe_->down = [this](const std::string& plug, std::string_view method, orb::Call& call) {
      seen_.push_back(plug + "v" + std::string(method));
      if (plug == thrower_) throw 17;
      if (plug != raiser_) return Verdict::kPass;
      call.SetSystemException({orb::ExceptionId::kBadParam, 5, orb::Completion::kYes});
      return Verdict::kRaise;
    };
  }

  // Plugs both ways, for every operation.
  void PlugBoth(const std::string& name, const std::string& selector, int priority = 0) {
    Commit({PlugOn(name, selector, priority), MapUp(name, "*", "a"), MapDown(name, "*", "a")});
  }
  // What the filters of a call see of it: "p^a" for the up method `a` of plug `p`, "pva" down.
  std::vector<std::string> See(FakeCall* call) {
    seen_.clear();
    call->Run(registry_.gate());
    return seen_;
  }
  std::vector<std::string> See(const std::string& key, const std::string& operation = "op") {
    FakeCall call(key, operation);
    return See(&call);
  }

  std::vector<std::string> seen_;
  std::string bouncer_, raiser_, thrower_;
};

}  // namespace weir::filters

#endif  // WEIR_TESTS_UNIT_FILTERS_CALL_FIXTURE_H_
