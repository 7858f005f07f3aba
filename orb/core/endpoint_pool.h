// The connections to one address. Opened as they are needed, up to a limit, and shared beyond it.
//
// Thread safety: safe for concurrent use. Getting a connection that is open takes no lock that
// another such call could hold up.

#ifndef WEIR_ORB_CORE_ENDPOINT_POOL_H_
#define WEIR_ORB_CORE_ENDPOINT_POOL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/reader_lock.h"
#include "base/ref.h"
#include "orb/core/client_connection.h"
#include "orb/core/codec.h"
#include "orb/core/object_type.h"
#include "orb/transport/transport.h"

namespace weir::orb {

class EndpointPool : public std::enable_shared_from_this<EndpointPool> {
 public:
  // All must outlive the pool.
  EndpointPool(const ClientContext* context, Transport* transport, Messaging* messaging,
               std::string address);
  ~EndpointPool();

  // A connection to send a call on. Without affinity: one without calls in flight if possible, else
  // a new one, else the one with the fewest. With affinity: the connection of that number.
  //
  // If it takes connecting, that blocks, until `deadline` or the connect timeout. While another
  // thread is at it, the caller takes a connection that is open; if there is none it waits and
  // shares that attempt's outcome. One that gives a `park` does not wait, but has `park` called (by
  // any thread) with that outcome, and gets an empty Ref. One that is `hurried` besides does not
  // even connect: a thread of the reactor does.
  //
  // Errors: as Transport::Connect.
  using Park = std::function<void(const absl::Status& outcome)>;
  absl::StatusOr<Ref<ClientConnection>> Get(uint64_t affinity, Nanos now, Nanos deadline, Park park,
                                            bool hurried = false);

  // The first connection, if it is open and carries no call; as Get, or null. The usual case in a
  // few instructions.
  Ref<ClientConnection> GetIdle(Nanos now);

  // "tcp:orb.example:2809"
  const std::string& name() const { return name_; }
  // For ObjectIdentity.
  uint64_t domain() const { return domain_; }
  // How many connections have ended, those included that the peer has closed while they rested.
  // Looks at these again every few milliseconds at most.
  uint64_t Ends(Nanos now);
  // By the reactor's supervisor only.
  void CheckDeadlines(Nanos now);
  void CheckTime(Nanos now);
  // Closes what is idle in good order, and the rest anyhow. Nothing is opened any more.
  void Close();
  // The same, and lets go of all connections: what they refer to goes, and targets may stay.
  void End();
  size_t size() const;

 private:
  std::vector<Ref<ClientConnection>> Connections() const;
  struct Choice {
    Ref<ClientConnection> open;  // the best one that is open, if any
    std::optional<size_t> free;  // where a better one should be opened
  };
  Choice Choose(uint64_t affinity) const;
  // Opens a connection for slot `i`, whose `connecting` the caller has set.
  absl::StatusOr<Ref<ClientConnection>> Open(size_t i, Nanos now, Nanos deadline);

  const ClientContext* const context_;
  Transport* const transport_;
  Messaging* const messaging_;
  const std::string address_;
  const std::string name_;
  const uint64_t domain_ = NextObjectDomain();
  const std::shared_ptr<std::atomic<uint64_t>> ends_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::atomic<Nanos> looked_{0};  // for Ends

  mutable ReaderLock lock_;
  std::vector<Ref<ClientConnection>> slots_ ABSL_GUARDED_BY(lock_);

  // The supervisor's, which looks so often that it must not allocate each time.
  std::vector<Ref<ClientConnection>> checked_;

  Mutex mu_;  // before lock_
  CondVar settled_;
  struct Attempt {
    bool connecting = false;
    uint64_t settled = 0;  // how many attempts have been
    absl::Status outcome;  // of the last one
    std::vector<Park> parked;
  };
  std::vector<Attempt> attempts_ ABSL_GUARDED_BY(mu_);  // of each slot
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_ENDPOINT_POOL_H_
