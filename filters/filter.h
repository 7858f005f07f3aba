// What a filter implements, and what it sees of a call.
//
// A filter is a named object with *up methods*, which see requests, and *down methods*, which see
// replies. In-process filters run inline on the thread that carries the call: they must not block,
// and allocate nothing when they pass a call. A filter that has to wait for something, as one in
// another process does, suspends the call instead.

#ifndef WEIR_FILTERS_FILTER_H_
#define WEIR_FILTERS_FILTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/logger.h"
#include "filters/suspension.h"
#include "orb/core/call.h"

namespace weir::filters {

enum class Phase : uint8_t { kUp, kDown };

// "up", "down"
std::string_view PhaseName(Phase phase);

// What a filter method reads of a call, so that no more than that is ever sent to a remote one.
enum class Reads : uint8_t { kNothing, kHeader, kBody };

// What calls get that a filter in another process does not answer, as it declares it itself; its
// plug may say otherwise.
struct DeclaredPolicy {
  Nanos timeout = 0;       // 0: not said
  std::string on_failure;  // as plugs write it: "open"; empty: not said
};

// One filter method, as a filter declares it.
struct MethodInfo {
  std::string name;  // "count"
  Phase phase = Phase::kUp;
  Reads reads = Reads::kHeader;
  bool changes = false;  // may change what it passes
  bool timed = false;    // needs call.gate_state().began; without, the clock is not read
  std::string help;      // one line
  DeclaredPolicy policy;
};

// Counters that a filter offers to `weir list`: rows of (operation, name, value).
struct FilterCounter {
  std::string operation;
  std::string name;
  uint64_t value = 0;
};

// `--set KEY=VALUE` of a plug.
using FilterParameters = std::map<std::string, std::string>;

// One parameter, as a kind declares it: what is told to people, and what a plug may set.
struct ParameterInfo {
  std::string name;       // "operations"
  std::string value;      // what stands behind its '=', for people: "N", "NAME"
  std::string otherwise;  // the value of a plug that does not set it; empty if there is none
  bool required = false;  // a plug must set it
  std::string example;    // a value to show in an example; empty if examples go without it
  std::string help;       // one line
};

// Something that people can have a filter do at once, beside the beta messages that change state.
struct CommandInfo {
  std::string name;  // "forget"
  std::vector<ParameterInfo> parameters;
  std::string help;  // one line
};

// An exception that a method throws is a failure: the caller gets NO_PERMISSION (kFilterFailed), as
// a filter that guards something must not be passed because it is broken.
//
// Thread safety: Up, Down and Counters are called by many threads at a time.
class Filter {
 public:
  virtual ~Filter() = default;

  // The call on its way up. `method` is the index of an up method among the kind's methods().
  virtual Verdict Up(int method, orb::Call& call) = 0;
  // The reply on its way down; call.reply() is set, call.request() still readable.
  virtual Verdict Down(int method, orb::Call& call) = 0;

  // Whether the filter may answer later. It is then given suspended calls, by the following two and
  // not the above. Constant.
  virtual bool asynchronous() const { return false; }
  virtual void StartUp(int method, Suspension call) { call.Resume(Up(method, *call)); }
  virtual void StartDown(int method, Suspension call) { call.Resume(Down(method, *call)); }

  // Of asynchronous filters, while filters before it have the call: the method will be given it,
  // unless one of these ends it first. None of them changes it meanwhile. Forget says that it will
  // not. The call is to be read only, and not after this returns.
  virtual void AskAhead(int method, const orb::Call& call) {
    (void)method;
    (void)call;
  }
  virtual void Forget(int method, const orb::Call& call) {
    (void)method;
    (void)call;
  }
  // Whether the up method changes nothing of the calls that it passes, whatever it answers.
  virtual bool OnlyLooks(int method) const {
    (void)method;
    return false;
  }

  // The node ends: fails all calls that wait, before it returns. For asynchronous filters. Calls
  // that are neither let go nor answered within OrbOptions::let_go are abandoned: the filter may
  // still look at them, but nothing comes of it.
  virtual void LetGo() {}

  // Of filters whose kind describes_itself(): a number for the method, by which it is then called.
  // NOT_FOUND if it is known that there is none; while that is not known, there may be. A number
  // stays valid.
  virtual absl::StatusOr<int> MethodIndex(Phase phase, std::string_view name);
  virtual std::string MethodName(int method) const;

  virtual std::vector<FilterCounter> Counters() const { return {}; }

  // Does what the command says, one of the kind's commands() with parameters that it has, and
  // returns a line that tells what was done. By any thread, while calls run.
  virtual absl::StatusOr<std::string> Tell(std::string_view command,
                                           const FilterParameters& parameters);
};

// What `main` gives to each new filter.
struct FilterContext {
  const Clock* clock = nullptr;
  Logger* logger = nullptr;
  std::string plug;  // its name
};

// A kind of filter that can be plugged: "count", "log", "deny".
//
// Thread safety: immutable; New may be called by several threads at a time.
class FilterKind {
 public:
  virtual ~FilterKind() = default;

  virtual std::string_view name() const = 0;
  // A paragraph. Its first sentence says what the kind is for.
  virtual std::string_view help() const = 0;
  // Each filter of the kind has methods of its own, which it tells itself, perhaps later:
  // Filter::MethodIndex. methods() is then empty.
  virtual bool describes_itself() const { return false; }
  // All its methods; a method's index is its number in Up and Down.
  virtual absl::Span<const MethodInfo> methods() const = 0;
  // All its parameters; nothing else can be set.
  virtual absl::Span<const ParameterInfo> parameters() const { return {}; }
  // What its filters can be told.
  virtual absl::Span<const CommandInfo> commands() const { return {}; }
  // Validates `parameters` and makes a filter. This is where a bad plug fails, never at a call:
  // INVALID_ARGUMENT names the parameter.
  virtual absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                                      const FilterContext& context) const = 0;
};

// The kinds that this process knows. `main` fills it and passes it on.
//
// Thread safety: Add is for one thread, before the others use it.
class FilterKinds {
 public:
  // REQUIRES: no kind of that name yet.
  void Add(std::unique_ptr<FilterKind> kind);
  // Null if unknown.
  const FilterKind* Find(std::string_view name) const;
  std::vector<const FilterKind*> All() const;

 private:
  std::map<std::string, std::unique_ptr<FilterKind>, std::less<>> kinds_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_FILTER_H_
