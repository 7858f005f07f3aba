// Makes the ORB of a weir process: options of the command line, transports, messaging protocols.
//
// This is the place where a new transport or messaging protocol is registered.
//
// Thread safety: none; used by main before and after the ORB runs.

#ifndef WEIR_TOOLS_WEIR_ORB_SETUP_H_
#define WEIR_TOOLS_WEIR_ORB_SETUP_H_

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/logger.h"
#include "orb/core/gate.h"
#include "orb/core/orb.h"
#include "orb/giop/limits.h"

namespace CLI {
class App;
}

namespace weir::tools {

// Everything about the ORB that a user can set, with the defaults.
struct OrbSettings {
  orb::OrbOptions orb;
  giop::Limits giop;
};

// --max-connections, --idle-timeout, --message-timeout, --max-message-size, --fragment-size,
// --max-threads.
void AddServerOptions(CLI::App* app, OrbSettings* settings);

// An ORB with GIOP over TCP and Unix sockets, not started.
std::unique_ptr<orb::Orb> NewOrb(OrbSettings settings, const Clock* clock, Logger* logger,
                                 orb::Gate* gate);

// Adds an option for a time span such as "200ms", "30s", "2m"; "0" is 0.
void AddDurationOption(CLI::App* app, const std::string& name, Nanos* value,
                       const std::string& help);

// Raises the limit of open descriptors as far as the system allows.
void RaiseDescriptorLimit();

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_ORB_SETUP_H_
