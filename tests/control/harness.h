// Starts control_node, the node without an ORB, and the weir command against it.
//
// Thread safety: to be called from the test's main thread; see process.h.

#ifndef WEIR_TESTS_CONTROL_HARNESS_H_
#define WEIR_TESTS_CONTROL_HARNESS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace weir::testing {

struct ControlNode {
  std::unique_ptr<Process> process;  // null: it did not come up, and the test has failed
  std::string address;               // where it really listens
};

// Waits until it is ready.
ControlNode StartControlNode(const std::string& control, const std::string& store);

// Runs control_node to its end: for starts that must fail.
std::unique_ptr<Process> RunControlNode(const std::string& control, const std::string& store);

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs the weir command to its end. `control` becomes WEIR_CONTROL; empty for none.
Ran Weir(const std::string& control, const std::vector<std::string>& arguments);
// As Weir, with words before the command: {"setpriv", ...}.
Ran WeirUnder(const std::vector<std::string>& prefix, const std::string& control,
              const std::vector<std::string>& arguments);
// The path of the weir command.
std::string WeirPath();

}  // namespace weir::testing

#endif  // WEIR_TESTS_CONTROL_HARNESS_H_
