#!/bin/sh
# Counts what one direct call costs in user space: instructions (callgrind) and heap allocations
# (memcheck), of client and server, of Weir and of omniORB, for `ping` over TCP.
#
#   tools/count.sh [--keep DIR] [CALLS]        CALLS: 2000 unless given
#
# Each program runs twice, for CALLS and for 2 * CALLS calls, and what counts is the difference:
# start, connection, first use of each table and end are in both, and so cancel out.
#
# Only one side at a time runs under valgrind, so the peer's answer comes at once, and a receive
# with a short timeout never runs into it while valgrind is slow. What is left of chance is the
# threads that wake by time (the ORBs' supervisors): a handful of instructions per call. Waiting
# itself is done by the kernel and costs nothing here.
#
# With --keep DIR the callgrind files of the longer runs stay there as SIDE.callgrind; then e.g.
#   callgrind_annotate --inclusive=yes DIR/weir-server.callgrind
set -eu
cd "$(dirname "$0")/.."

keep=
if [ "${1:-}" = --keep ]; then
  mkdir -p "$2"
  keep=$(cd "$2" && pwd)
  shift 2
fi
calls=${1:-2000}
command -v valgrind > /dev/null || { echo "count.sh: valgrind is missing; tools/setup.sh installs it" >&2; exit 1; }

bazel build --config=opt --noshow_progress //tools:weir //tools/bench:ping_driver //tests/peers:omni_echo_server \
    //tests/peers:omni_bench_client >&2
bin=$(bazel info --config=opt bazel-bin 2> /dev/null)
tmp=$(mktemp -d /tmp/weir-count-XXXXXX)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

# under TOOL LOG COMMAND...: runs it under a tool of valgrind whose report goes to LOG; "none": bare.
under() {
  tool=$1 log=$2
  shift 2
  case $tool in
    none) exec "$@" ;;
    callgrind) exec valgrind --tool=callgrind --callgrind-out-file="$log.callgrind" --log-file="$log" "$@" ;;
    heap) exec valgrind --leak-check=no --undef-value-errors=no --log-file="$log" "$@" ;;
  esac
}

# start_server ORB TOOL LOG: sets $server and $reference.
start_server() {
  : > "$tmp/server.out"
  if [ "$1" = weir ]; then
    under "$2" "$3" "$bin/tools/weir/weir" echo --listen giop:tcp:127.0.0.1:0 \
        > "$tmp/server.out" 2> "$tmp/server.err" &
  else
    under "$2" "$3" "$bin/tests/peers/omni_echo_server" > "$tmp/server.out" 2> "$tmp/server.err" &
  fi
  server=$!
  tries=0
  until grep -q '^ready' "$tmp/server.out"; do
    tries=$((tries + 1))
    if [ $tries -gt 600 ] || ! kill -0 "$server" 2> /dev/null; then
      echo "count.sh: the $1 server did not come up:" >&2
      cat "$tmp/server.err" >&2
      exit 1
    fi
    sleep 0.1
  done
  reference=$(grep '^IOR:' "$tmp/server.out")
}

stop_server() {
  kill "$server"
  wait "$server" || true
  server=
}

# run_client ORB TOOL LOG N
run_client() {
  if [ "$1" = weir ]; then
    (under "$2" "$3" "$bin/tools/bench/ping_driver" "$reference" "$4")
  else
    echo "$4" | (under "$2" "$3" "$bin/tests/peers/omni_bench_client" "$reference") > /dev/null
  fi
}

# What the report says: instructions, or allocations.
figure() {
  if [ "$1" = callgrind ]; then
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$2"
  else
    sed -n 's/.*total heap usage: \([0-9,]*\) allocs.*/\1/p' "$2" | tr -d ,
  fi
}

# measure ORB SIDE TOOL: the figure per call, with two decimals.
measure() {
  for n in "$calls" $((calls * 2)); do
    log=$tmp/$1-$2-$3-$n
    if [ "$2" = server ]; then
      start_server "$1" "$3" "$log"
      run_client "$1" none - "$n"
      stop_server
    else
      start_server "$1" none -
      run_client "$1" "$3" "$log" "$n"
      stop_server
    fi
  done
  if [ -n "$keep" ] && [ "$3" = callgrind ]; then cp "$log.callgrind" "$keep/$1-$2.callgrind"; fi
  few=$(figure "$3" "$tmp/$1-$2-$3-$calls")
  many=$(figure "$3" "$log")
  awk -v a="$few" -v b="$many" -v n="$calls" 'BEGIN { printf "%.2f", (b - a) / n }'
}

echo "Per direct call of ping over TCP, in user space, from $calls and $((calls * 2)) calls:"
printf '%-28s %12s %12s %12s\n' "" client server both
for tool in callgrind heap; do
  [ $tool = callgrind ] && what=instructions || what=allocations
  for orb in weir omniORB; do
    client=$(measure $orb client $tool)
    server_side=$(measure $orb server $tool)
    both=$(awk -v a="$client" -v b="$server_side" 'BEGIN { printf "%.2f", a + b }')
    printf '%-28s %12s %12s %12s\n' "$what, $orb" "$client" "$server_side" "$both"
    [ $orb = weir ] && weir=$both
  done
  if [ $tool = callgrind ]; then
    awk -v a="$weir" -v b="$both" 'BEGIN {
      printf "%-28s %12s %12s %12.3f   (budget: 0.5)\n", "instructions, ratio", "", "", a / b }'
  else
    echo "(budget: 0 allocations on each side)"
  fi
done
