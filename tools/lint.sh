#!/bin/bash
# Checks what a compiler does not: formatting, and clang's warnings with its thread safety analysis.
#
#   tools/lint.sh           all of it; changes nothing
#   tools/lint.sh --fix     formats the tree in place
#
# Exit codes: 0 clean; 1 not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/setup.sh
. tools/common.sh

mapfile -t sources < <(find base bazel control examples filters orb proto tests tools -name '*.h' -o -name '*.cc')
if [[ "${1:-}" == --fix ]]; then
  clang-format -i "${sources[@]}"
  exit
fi
code=0
clang-format --dry-run --Werror "${sources[@]}" || code=1
bazel build --config=ci --config=clang -- //... || code=1
exit "$code"
