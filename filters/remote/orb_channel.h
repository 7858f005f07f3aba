// A channel to a filter that is an object (IDL:weir/Filter:1.0, see wire.h), called over whatever
// endpoint its reference offers.
//
// Thread safety: as Channel.

#ifndef WEIR_FILTERS_REMOTE_ORB_CHANNEL_H_
#define WEIR_FILTERS_REMOTE_ORB_CHANNEL_H_

#include <memory>
#include <string>

#include "filters/outgoing/orb_handle.h"
#include "filters/remote/channel.h"

namespace weir::filters {

struct OrbChannelOptions {
  std::string reference;  // CORBALOC|IOR
  std::string name;       // of the filter, where an object has several
  // The pause after a failed attempt, doubled up to the second.
  Nanos least_pause = 50 * kMillisecond;
  Nanos most_pause = 2 * kSecond;
  Nanos connect_timeout = 2 * kSecond;
  // How much longer than the asker a question waits for its answer, so that late ones are counted.
  Nanos patience = 200 * kMillisecond;
};

// All pointers must outlive the channel.
std::unique_ptr<Channel> NewOrbChannel(OrbChannelOptions options, OrbHandle* orb,
                                       Channel::Listener* listener);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_ORB_CHANNEL_H_
