// Tests of the shipped filters, plugged into a registry as people plug them.
//
// Thread safety: none; a test's own thread.

#ifndef WEIR_TESTS_UNIT_FILTERS_BUILTIN_FIXTURE_H_
#define WEIR_TESTS_UNIT_FILTERS_BUILTIN_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "filters/builtin/builtin.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {

class BuiltinTest : public RegistryTest {
 protected:
  BuiltinTest() { AddBuiltinFilters(&kinds_); }

  // Plugs `filter` onto everything, as plug "p".
  absl::Status TryPlug(const std::string& filter, FilterParameters parameters) {
    return Try({PlugChange{"p", filter, std::move(parameters), "all", 0}});
  }
  // Plugs it, and leads every operation to those of its methods that are given.
  void Plug(const std::string& filter, FilterParameters parameters, const std::string& up,
            const std::string& down = "") {
    const absl::Status status = TryPlug(filter, std::move(parameters));
    ASSERT_TRUE(status.ok()) << status.ToString();
    if (!up.empty()) Commit({MapUp("p", "*", up)});
    if (!down.empty()) Commit({MapDown("p", "*", down)});
  }
  // "resolve.requests" -> value, of plug "p".
  std::map<std::string, uint64_t> Counters() {
    std::map<std::string, uint64_t> values;
    for (const FilterCounter& c : registry_.Counters("p")) {
      values[c.operation + "." + c.name] = c.value;
    }
    return values;
  }
  void Call(const std::string& operation) { FakeCall("k", operation).Run(registry_.gate()); }
};

}  // namespace weir::filters

#endif  // WEIR_TESTS_UNIT_FILTERS_BUILTIN_FIXTURE_H_
