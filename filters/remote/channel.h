// The way to a filter in another process: what it says of itself, what it is asked, what it
// answers. Free of any protocol.

#ifndef WEIR_FILTERS_REMOTE_CHANNEL_H_
#define WEIR_FILTERS_REMOTE_CHANNEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/clock.h"
#include "filters/filter.h"
#include "orb/core/call.h"
#include "orb/core/system_exception.h"

namespace weir::filters {

// As orb::Body, with bytes of its own.
struct OwnedBody {
  std::string bytes;
  cdr::ByteOrder order = cdr::kNativeOrder;
  uint8_t alignment = 0;
};

struct Answer {
  enum class Kind : uint8_t {
    kPass,
    kResult,
    kUserException,
    kSystemException,
    kFailure,
    kRedirect,
    kRedirectTo,
  };

  Kind kind = Kind::kPass;
  // kPass: in place of the call's, if set. kResult and kUserException: the reply's.
  std::optional<OwnedBody> body;
  std::optional<std::string> operation;
  std::optional<std::vector<std::pair<uint32_t, std::string>>> contexts;
  orb::SystemException exception;
  // exception.completed is not said: it is what the phase knows of the servant.
  bool completed_unset = false;
  std::string failure;  // English, for the log
  // Up only. kRedirect: the object key to go to; kRedirectTo: a reference.
  std::string redirect;
};

// One question that is being put. Views are valid during Channel::Ask only.
struct Question {
  uint64_t ticket = 0;
  std::string_view method;
  Phase phase = Phase::kUp;
  Reads reads = Reads::kHeader;
  const orb::Call* call = nullptr;
  Nanos deadline = kNoDeadline;  // when the asker stops waiting
};

// Thread safety: safe for concurrent use.
class Channel {
 public:
  // Told what happens, on threads of the channel, with no lock held.
  class Listener {
   public:
    virtual void Connected(std::vector<MethodInfo> methods) = 0;
    virtual void Answered(uint64_t ticket, Answer answer) = 0;
    // This one question will not be answered.
    virtual void Unanswered(uint64_t ticket) = 0;
    // Whatever was asked and not answered will not be. `why` is English, for the log.
    virtual void Disconnected(std::string_view why) = 0;
    // An attempt to connect has failed.
    virtual void NotConnected(std::string_view why) = 0;

   protected:
    ~Listener() = default;
  };

  // After this, the listener is told nothing any more.
  virtual ~Channel() = default;

  // Puts the question. `will_ask` is called when that is certain, before anybody can answer, and
  // must not call the channel; the question's call may be gone once it returns. False: not
  // connected, or too much is queued, and nothing was called.
  virtual bool Ask(const Question& question, absl::FunctionRef<void()> will_ask) = 0;
  // To be called every few milliseconds: connects if there is no connection and the pause after the
  // last attempt is over. Does not wait.
  virtual void Tick(Nanos now) = 0;
  // How log lines name the other side.
  virtual std::string address() const = 0;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_CHANNEL_H_
