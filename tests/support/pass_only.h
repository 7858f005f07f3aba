// Filters that pass every call, plugged before, between and behind each other, in this process's
// kind of all places: in the node, behind gRPC, and as an object. What they let through must be
// what comes without them, so tests that say nothing of filters run once more with these, in
// targets named *_filtered, which set WEIR_TEST_FILTERED.
//
// Thread safety: to be called from the test's main thread; see process.h.

#ifndef WEIR_TESTS_SUPPORT_PASS_ONLY_H_
#define WEIR_TESTS_SUPPORT_PASS_ONLY_H_

#include <string>
#include <vector>

#include "tests/support/process.h"

namespace weir::testing {

// The environment asks for filters everywhere.
bool FilteredRun();

// One plug. All methods of the filter are mapped to all operations, and whatever the filter in
// another process does not judge is refused: so no call gets past one unseen.
struct PassOnlyPlug {
  std::string name;
  std::string kind;  // "count", "grpc", "ref"
  std::string at;    // of the latter two
  std::string method_up, method_down;
};
// From the outermost to the innermost. Starts the process of the remote ones, `weir filter-host`,
// which ends with this one. Empty if that fails, and the running test has failed.
const std::vector<PassOnlyPlug>& PassOnlyPlugs();

// A new file for `--store sqlite:FILE` that holds them.
std::string PassOnlyStore();
// Waits until a node that was started with it is connected to its remote filters. Fails the running
// test if it does not come to that.
void WaitForPassOnly(const Process& node);

}  // namespace weir::testing

#endif  // WEIR_TESTS_SUPPORT_PASS_ONLY_H_
