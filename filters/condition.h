// Conditions of a plug: which of the calls that its selector chooses concern it. As people write
// them:
//
//   peer=RANGE           the peer's address: 10.0.0.0/8, 10.0.0.7, fd00::/8, ::1, unix
//   identity=uid:N       the peer's user, and
//   identity=pid:N       its process, as its transport attests them (a Unix socket)
//   operation=NAME       the operation
//   operation=PREFIX*    an operation that begins so
//   context=ID           a service context with that number: 0x41434d45
//   context=ID:HEX       and exactly these octets: 0x41434d45:00ff17
//   context=ID:HEX*      and octets that begin so
//
// With `!=` in place of `=`, it must not be so. Conditions of different kinds must all hold. Of one
// kind, any of those with `=` suffices, and each of those with `!=` must hold. What is not known of
// a call, such as the user behind a TCP connection, equals nothing.
//
// Thread safety: values; immutable once made.

#ifndef WEIR_FILTERS_CONDITION_H_
#define WEIR_FILTERS_CONDITION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "filters/peer_address.h"
#include "orb/core/call.h"

namespace weir::filters {

// The conditions of one kind.
template <typename T>
struct ConditionsOf {
  std::vector<T> any;   // those with `=`
  std::vector<T> none;  // those with `!=`

  bool empty() const { return any.empty() && none.empty(); }
  template <typename Matches>
  bool Hold(const Matches& matches) const {
    for (const T& value : none) {
      if (matches(value)) return false;
    }
    if (any.empty()) return true;
    for (const T& value : any) {
      if (matches(value)) return true;
    }
    return false;
  }
};

// Operations that conditions do not tell apart.
struct OperationClass {
  std::string_view text;
  bool exact = true;  // the operation `text`; else those that begin so and are not named otherwise
};

struct OperationPattern {
  std::string text;
  bool prefix = false;

  // REQUIRES: the class's operations are all matched or none is.
  bool Matches(const OperationClass& operations) const {
    return prefix ? operations.text.starts_with(text) : operations.exact && operations.text == text;
  }
};

// What can only be decided when a call comes.
class CallConditions {
 public:
  bool empty() const { return peers_.empty() && identities_.empty() && contexts_.empty(); }
  // Whether Hold looks at the peer.
  bool need_peer() const { return !peers_.empty() || !identities_.empty(); }
  // `peer` is PeerOf the call if need_peer(). Allocates nothing.
  bool Hold(const PeerAddress& peer, const orb::Request& request) const;

 private:
  friend class ConditionParser;
  struct Identity {
    enum class Kind : uint8_t { kUid, kPid };
    Kind kind = Kind::kUid;
    uint32_t number = 0;
  };
  struct Context {
    uint32_t id = 0;
    std::string octets;
    bool prefix = true;  // of the context's octets; else these are all
  };

  ConditionsOf<PeerRange> peers_;
  ConditionsOf<Identity> identities_;
  ConditionsOf<Context> contexts_;
};

struct Conditions {
  // Each call is compared with each condition, and each with up to 64 service contexts.
  static constexpr size_t kMost = 256;

  // INVALID_ARGUMENT says what is wrong with which of them.
  static absl::StatusOr<Conditions> Parse(const std::vector<std::string>& conditions);

  // The one spelling that equal conditions share, sorted; Parse reads it back.
  std::vector<std::string> canonical;

  // Decided when a snapshot is compiled.
  ConditionsOf<OperationPattern> operations;
  CallConditions call;
  // The part of `canonical` that `call` comes from.
  std::vector<std::string> canonical_call;
};

// The peer as conditions see it. Whom a client calls is known by its address only.
PeerAddress PeerOf(const orb::Call& call);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_CONDITION_H_
