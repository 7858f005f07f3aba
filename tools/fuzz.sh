#!/bin/bash
# Runs every fuzz target for a share of the time, each from a copy of its corpus.
#
#   tools/fuzz.sh SECONDS [FOLDER]     SECONDS of all targets together; findings are kept in FOLDER
#                                      (default: fuzz-findings)
#
# Each target is run under the address and undefined behaviour sanitizers of clang.
#
# Exit codes: 0 nothing found; 1 something was found, and is told with how to replay it; 2 usage.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || ! "$1" =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tools/fuzz.sh SECONDS [FOLDER]" >&2
  exit 2
fi
seconds=$1
folder=$(realpath -m "${2:-"$(dirname "${BASH_SOURCE[0]}")/../fuzz-findings"}")

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/setup.sh
. tools/common.sh

# Fuzz targets are the tests with a corpus, tests/fuzz/NAME_fuzz.cc with tests/fuzz/corpus/NAME.
mapfile -t targets < <(bazel query 'kind(cc_test, //tests/fuzz/...)' 2>/dev/null | sort)
if (( ${#targets[@]} == 0 )); then
  echo "fuzz: no fuzz target found under //tests/fuzz" >&2
  exit 1
fi
echo "${bold}== building ${#targets[@]} fuzz targets${plain}"
work=$(mktemp -d /tmp/weir-fuzz-XXXXXX)
trap 'rm -rf "$work"' EXIT
# The linker warns of the sanitizer's own symbols, hundreds of times.
if ! bazel build --config=ci --config=fuzz -- "${targets[@]}" >"$work/build.log" 2>&1; then
  grep -v 'Cannot export local symbol' "$work/build.log" >&2
  exit 1
fi
bin=$(built --config=fuzz)
share=$(( seconds / ${#targets[@]} ))
(( share > 0 )) || share=1
mkdir -p "$folder"

found=0
for target in "${targets[@]}"; do
  name=${target##*:}
  program=$bin/tests/fuzz/$name
  corpus=$work/$name
  mkdir -p "$corpus"
  cp -r "tests/fuzz/corpus/${name%_fuzz}/." "$corpus"
  echo "${bold}== $name: $share s, $(find "$corpus" -type f | wc -l) seeds${plain}"
  # -timeout: an input that takes so many seconds is a finding, too; -rss_limit_mb as well.
  if "$program" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$folder/$name-" "$corpus" >"$work/log" 2>&1; then
    grep -E 'stat::(number_of_executed_units|peak_rss_mb)|^Done' "$work/log" | sed 's/^/   /' || true
  else
    found=$(( found + 1 ))
    cp "$work/log" "$folder/$name.log"
    tail -n 40 "$work/log"
    echo "${bold}FOUND by $name${plain}: what it did is in $folder/$name.log"
    input=$(ls -t "$folder/$name-"* 2>/dev/null | head -n 1)
    echo "   input:   ${input:-(none was written)}"
    echo "   replay:  $program $input"
    echo "   keep it: cp $input tests/fuzz/corpus/${name%_fuzz}/ (then 'bazel test $target' replays it)"
  fi
done

if (( found > 0 )); then
  echo "fuzz: $found of ${#targets[@]} targets found something; see $folder" >&2
  exit 1
fi
rmdir --ignore-fail-on-non-empty "$folder"
echo "fuzz: ${#targets[@]} targets, $share s each, nothing found"
