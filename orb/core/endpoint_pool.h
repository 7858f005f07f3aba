// The connections to one address. Opened as they are needed, up to a limit, and shared beyond it.
//
// Thread safety: safe for concurrent use. Getting a connection that is open takes no lock that
// another such call could hold up.

#ifndef WEIR_ORB_CORE_ENDPOINT_POOL_H_
#define WEIR_ORB_CORE_ENDPOINT_POOL_H_

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
#include "orb/transport/transport.h"

namespace weir::orb {

class EndpointPool {
 public:
  // All must outlive the pool.
  EndpointPool(const ClientContext* context, Transport* transport, Messaging* messaging,
               std::string address);
  ~EndpointPool();

  // A connection to send a call on. Without affinity: one without calls in flight if possible, else
  // a new one, else the one with the fewest. With affinity: the connection of that number.
  //
  // If it takes connecting, that blocks, until `deadline` or the connect timeout. While another
  // thread is at it, the caller waits; one that gives a `park` does not, but has `park` called (by
  // any thread) when that is settled, and gets an empty Ref.
  //
  // Errors: as Transport::Connect.
  absl::StatusOr<Ref<ClientConnection>> Get(uint64_t affinity, Nanos now, Nanos deadline,
                                            std::function<void()> park);

  // The first connection, if it is open and carries no call; as Get, or null. The usual case in a
  // few instructions.
  Ref<ClientConnection> GetIdle(Nanos now);

  // "tcp:orb.example:2809"
  const std::string& name() const { return name_; }
  void CheckDeadlines(Nanos now);
  void CheckTime(Nanos now);
  // Closes what is idle in good order, and the rest anyhow.
  void Close();
  size_t size() const;

 private:
  std::vector<Ref<ClientConnection>> Connections() const;
  // The index of the connection to use, or none if one must be opened. In `*free`, where.
  std::optional<size_t> Choose(uint64_t affinity, std::optional<size_t>* free) const
      ABSL_SHARED_LOCKS_REQUIRED(lock_);

  const ClientContext* const context_;
  Transport* const transport_;
  Messaging* const messaging_;
  const std::string address_;
  const std::string name_;

  mutable ReaderLock lock_;
  std::vector<Ref<ClientConnection>> slots_ ABSL_GUARDED_BY(lock_);

  Mutex mu_;  // before lock_
  CondVar settled_;
  std::vector<bool> connecting_ ABSL_GUARDED_BY(mu_);
  std::vector<std::function<void()>> parked_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_ENDPOINT_POOL_H_
