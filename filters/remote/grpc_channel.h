// A channel to a gRPC server of weir.filter.v1: one stream, connected again whenever it ends.
//
// Thread safety: as Channel.

#ifndef WEIR_FILTERS_REMOTE_GRPC_CHANNEL_H_
#define WEIR_FILTERS_REMOTE_GRPC_CHANNEL_H_

#include <memory>
#include <string>

#include "filters/remote/channel.h"

namespace weir::filters {

struct GrpcChannelOptions {
  std::string address;  // as gRPC takes it: "unix:/run/f.sock", "localhost:7000"
  std::string name;     // of the filter, where a server has several
  std::string plug;
  // The pause after a failed attempt, doubled up to the second.
  Nanos least_pause = 50 * kMillisecond;
  Nanos most_pause = 2 * kSecond;
  Nanos connect_timeout = 2 * kSecond;
  // After so much silence the other side is asked for a sign of life, for which it has so much
  // time. Otherwise nobody would notice that its host is gone before there are questions. Servers
  // that do not permit it more often than every 5 minutes, as gRPC's do by default, end the
  // connection.
  Nanos keepalive = 360 * kSecond;
  Nanos keepalive_timeout = 20 * kSecond;
  // Questions that are queued while the other side does not take them; more are not put. Stops a
  // process that hangs from filling our memory.
  size_t max_queued_bytes = 64 * 1024 * 1024;
  // Of one answer.
  int max_answer_bytes = 64 * 1024 * 1024;
};

// `listener` must outlive the channel.
std::unique_ptr<Channel> NewGrpcChannel(GrpcChannelOptions options, Channel::Listener* listener);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_GRPC_CHANNEL_H_
