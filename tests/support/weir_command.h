// Runs the weir command as its users do.
//
// Each function fails the running test if the command does not come up.
//
// Thread safety: to be called from the test's main thread; see process.h.

#ifndef WEIR_TESTS_SUPPORT_WEIR_COMMAND_H_
#define WEIR_TESTS_SUPPORT_WEIR_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/support/pass_only.h"
#include "tests/support/peers.h"
#include "tests/support/process.h"

namespace weir::testing {

// A running `weir echo` or `weir gateway`, ready to serve.
struct WeirNode {
  std::unique_ptr<Process> process;
  int port = 0;     // the first TCP address that it says it listens on
  std::string ior;  // what echo prints; empty for a gateway

  explicit operator bool() const { return process != nullptr; }
};

// `weir ARGUMENTS`, once it has printed "ready". `filtered`: with filters that pass every call.
WeirNode StartWeir(const Args& arguments, bool filtered = FilteredRun());

// `weir ARGUMENTS` to its end.
Outcome RunWeir(const Args& arguments);

}  // namespace weir::testing

#endif  // WEIR_TESTS_SUPPORT_WEIR_COMMAND_H_
