#!/bin/bash
# Builds and runs the tests, and counts them.
#
#   tools/test.sh                                  all tests, then the memory and thread checkers (the
#                                                  memory checker without tests/interop and tests/peers)
#   tools/test.sh //tests/unit/...                 only these (and no checkers)
#   tools/test.sh --test_output=all //tests/interop:gateway_test --test_filter='*Oneway*'
#
# Arguments go to `bazel test`; an option's value is written with '='.
#
# The last line is `N passed, N failed`: the test cases, by what each test program reported. A target
# that does not build, crashes or runs out of time is a failure.
#
# Exit codes: 0 all passed; 1 something failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/setup.sh
. tools/common.sh

options=()
targets=()
for argument in "$@"; do
  if [[ "$argument" == --* ]]; then options+=("$argument"); else targets+=("$argument"); fi
done

results=$(mktemp -d /tmp/weir-test-XXXXXX)
trap 'rm -rf "$results"' EXIT

# run NAME BAZEL_ARGUMENTS...: one `bazel test`; what it did goes to $results/NAME.{json,code}.
run() {
  local name=$1 code=0
  shift
  echo "${bold}== $name: bazel test $*${plain}"
  bazel test --config=ci --keep_going --build_event_json_file="$results/$name.json" "$@" || code=$?
  echo "$code" >"$results/$name.code"
}

if (( ${#targets[@]} > 0 )); then
  run tests "${options[@]}" -- "${targets[@]}"
else
  run tests "${options[@]}" -- //...
  # Tests that are tagged notsan or noasan are left out: omniORB and gRPC are not instrumented.
  run tsan --config=tsan --build_tests_only "${options[@]}" -- //tests/...
  # Compiling omniORB's stubs and clients with the address sanitizer takes minutes and checks
  # little of ours; by hand: tools/test.sh --config=asan //tests/interop/...
  run asan --config=asan --build_tests_only "${options[@]}" -- \
    //tests/... -//tests/interop/... -//tests/peers/...
fi

"$PYTHON" tools/count_tests.py "$results"
