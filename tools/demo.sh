#!/bin/bash
# Weir's main job, on a CORBA server that nobody here wrote: omniNames, the naming service that Debian
# ships, unmodified. Real clients (nameclt) call it through the gateway, and what happens to their
# calls is changed while they run.
#
#   tools/demo.sh
#
# Builds what it needs, uses free ports and a temporary folder, leaves nothing behind.
#
# Exit codes: 0 everything went as told; 1 it did not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

work=$(mktemp -d /tmp/weir-demo-XXXXXX)
names_pid=''
gateway_pid=''
filter_pid=''

stop() {
  local pid
  for pid in $filter_pid $gateway_pid $names_pid; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

title() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }
note() { printf '%s   %s%s\n' "$dim" "$1" "$plain"; }
die() {
  echo "demo: $1" >&2
  [[ -z "${2:-}" ]] || tail -n 20 "$2" >&2
  exit 1
}

# show EXPECTED_EXIT_CODE COMMAND...: prints a command as a person would type it, and what it prints.
show() {
  local expected=$1 code=0
  shift
  printf '%s$ %s%s\n' "$bold" "$(printf '%s ' "$@" | sed -e "s/ \* / '*' /g" -e 's/ $//')" "$plain"
  "$@" >"$work/output" 2>&1 || code=$?
  # A stringified reference is hundreds of hexadecimal digits.
  sed -E -e 's/(IOR:[0-9a-f]{40})[0-9a-f]{40,}/\1.../' -e 's/^/  /' "$work/output"
  if (( code != expected )); then die "that should have ended with exit code $expected, not $code"; fi
}

# The last command was refused by the filter, not for another reason.
refused() { grep -q NO_PERMISSION "$work/output" || die "that should have been NO_PERMISSION"; }

# wait_for WHAT FILE PATTERN PID: until a line of FILE matches.
wait_for() {
  local tries
  for (( tries = 0; tries < 200; tries++ )); do
    grep -q -- "$3" "$2" && return
    kill -0 "$4" 2>/dev/null || die "$1 has ended; it said:" "$2"
    sleep 0.05
  done
  die "$1 is not ready after 10 s; it said:" "$2"
}

# The log lines of calls that were written since the last time.
log_seen=0
show_log() {
  local tries total
  # The line of a call is written after the call's reply.
  for (( tries = 0; tries < 40; tries++ )); do
    total=$(grep -c 'filter=\|plug=' "$work/gateway.log" || true)
    (( total > log_seen )) && break
    sleep 0.05
  done
  (( total > log_seen )) || die "no new line in the gateway's log" "$work/gateway.log"
  sleep 0.1
  grep 'filter=\|plug=' "$work/gateway.log" | tail -n +$(( log_seen + 1 )) | sed 's/^/  /'
  log_seen=$(grep -c 'filter=\|plug=' "$work/gateway.log")
}

title "Building the weir command (minutes the first time, then a second)"
tools/setup.sh
targets=(//tools:weir)
if grep -q '"bench_peers"' tools/BUILD; then targets+=(//tools:bench_peers); fi
if ! bazel build --config=opt --noshow_progress --ui_event_filters=-info,-stdout \
    "${targets[@]}" >"$work/build.log" 2>&1; then
  die "the build failed:" "$work/build.log"
fi
bin=$(built --config=opt)
PATH=$bin/tools/weir:$PATH
show 0 weir --version

title "omniNames: a CORBA server that knows nothing of Weir"
mkdir "$work/names"
for tries in 1 2 3; do
  names_port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  omniNames -start "$names_port" -always -datadir "$work/names" \
    -ORBendPoint "giop:tcp:127.0.0.1:$names_port" >"$work/names.log" 2>&1 &
  names_pid=$!
  for (( i = 0; i < 100; i++ )); do
    grep -q 'Root context is\|Checkpointing' "$work/names.log" && break 2
    kill -0 "$names_pid" 2>/dev/null || break
    sleep 0.05
  done
  # Another program may have taken the port in between.
  kill "$names_pid" 2>/dev/null || true
  wait "$names_pid" 2>/dev/null || true
  names_pid=''
done
[[ -n "$names_pid" ]] || die "omniNames does not start:" "$work/names.log"
note "omniNames listens on port $names_port. A person works with it through nameclt:"
direct() { show "$1" nameclt -ORBInitRef "NameService=corbaloc::1.2@127.0.0.1:$names_port/NameService" "${@:2}"; }
direct 0 bind_new_context plant
direct 0 list

title "The gateway: the same server at another address"
export WEIR_CONTROL=unix:$work/weir.sock
note "\$ export WEIR_CONTROL=$WEIR_CONTROL"
gateway=(weir gateway --listen giop:tcp:127.0.0.1:0 --upstream "corbaloc::1.2@127.0.0.1:$names_port"
  --store "sqlite:$work/weir.db")
printf '%s$ %s &%s\n' "$bold" "${gateway[*]}" "$plain"
"${gateway[@]}" >"$work/gateway.out" 2>"$work/gateway.log" &
gateway_pid=$!
wait_for "the gateway" "$work/gateway.out" '^ready ' "$gateway_pid"
sed 's/^/  /' "$work/gateway.out"
port=$(sed -n 's/^ready giop:tcp:127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/gateway.out")
name_service=corbaloc::1.2@127.0.0.1:$port/NameService
through() { show "$1" nameclt -ORBInitRef "NameService=$name_service" "${@:2}"; }
note "Only the port that nameclt is given has changed:"
through 0 list
through 0 bind pump "corbaloc::1.2@127.0.0.1:$names_port/NameService"
through 0 bind valve "corbaloc::1.2@127.0.0.1:$names_port/NameService"
note "What was bound through the gateway is in the server:"
direct 0 list
show 0 weir ping "$name_service" -n 3

title "Plug the filter \`log\` while it runs"
show 0 weir plug audit --filter log --on key:NameService
show 0 weir map audit '*' --up request --down reply --enable
through 0 list
note "The gateway's log has a line for each request and reply:"
show_log

title "Plug the filter \`deny\` on one operation: unbind"
show 0 weir plug guard --filter deny --on all
show 0 weir map guard unbind --up deny --enable
through 1 unbind pump
refused
note "The client was refused; the server never saw the call. So says the log, in its last line:"
show_log
note "The entry is still there, and every other operation goes on:"
through 0 list

title "Off and on again"
show 0 weir disable guard unbind --up
through 0 unbind pump
show 0 weir enable guard unbind --up
through 1 unbind valve
refused
through 0 list

title "A filter in another process, in Python"
note "examples/python/keep_names.py reads the body of unbind: what begins with \`keep\` must not be unbound."
mkdir "$work/messages"
protoc -I proto --python_out="$work/messages" proto/weir/filter/v1/filter.proto
keep=("$PYTHON" -B examples/python/keep_names.py --listen "unix:$work/keep.sock")
start_filter() {
  : >"$work/keep.out"
  printf '%s$ examples/python/keep_names.py --listen unix:%s/keep.sock &%s\n' "$bold" "$work" "$plain"
  PYTHONPATH=$work/messages "${keep[@]}" >"$work/keep.out" 2>&1 &
  filter_pid=$!
  wait_for "the Python filter" "$work/keep.out" '^ready ' "$filter_pid"
}
# Until the gateway says so in its log.
wait_for_filter() { wait_for "the gateway" "$work/gateway.log" "event=filter_$1 plug=keep" "$gateway_pid"; }
start_filter
show 0 weir disable guard unbind --up
show 0 weir plug keep --filter grpc --set "at=unix:$work/keep.sock" --on key:NameService \
  --timeout 500ms --on-failure closed
wait_for_filter connected
show 0 weir map keep unbind --up check --enable
through 0 bind keep-pump "corbaloc::1.2@127.0.0.1:$names_port/NameService"
through 0 bind spare "corbaloc::1.2@127.0.0.1:$names_port/NameService"
show 0 weir calls --record 5m
note "One call passes, the other bounces, by what their bodies say:"
through 0 unbind spare
through 1 unbind keep-pump
refused
note "The filter said:"
grep refused "$work/keep.out" | sed 's/^/  /'
# explain_last: tells of the last unbind that was recorded.
explain_last() {
  local id
  id=$(weir calls -o json | "$PYTHON" -c '
import json, sys
print([c["call"] for c in json.load(sys.stdin)["calls"] if c["operation"] == "unbind"][-1])')
  show 0 weir explain "$id"
}
note "And what the gateway knows of the call:"
explain_last
printf '%s$ kill -9 %s%s\n' "$bold" "$filter_pid" "$plain"
disown "$filter_pid"  # or the shell would tell of its end
kill -9 "$filter_pid"
filter_pid=''
wait_for_filter disconnected
note "No filter, no verdict: the plug's policy is \`closed\`, so every unbind is refused, and the rest goes on."
through 1 unbind valve
refused
explain_last
through 0 list
show 0 weir list keep
show 0 weir unplug keep --drain
show 0 weir enable guard unbind --up

title "What is plugged, and what it did"
show 0 weir list
show 0 weir status

title "kill -9, and the gateway comes back with its plugs"
printf '%s$ kill -9 %s%s\n' "$bold" "$gateway_pid" "$plain"
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null || true
gateway[3]=giop:tcp:127.0.0.1:$port
: >"$work/gateway.out"  # or its old `ready` line would be found
printf '%s$ %s &%s\n' "$bold" "${gateway[*]}" "$plain"
"${gateway[@]}" >"$work/gateway.out" 2>"$work/gateway.log" &
gateway_pid=$!
wait_for "the gateway" "$work/gateway.out" '^ready ' "$gateway_pid"
sed 's/^/  /' "$work/gateway.out"
note "What was acknowledged is there, so unbind is still refused:"
through 1 unbind valve
refused

title "What it costs"
if weir --help | grep -q '^  bench '; then
  note "Bare ping-pong, Weir and omniORB, interleaved in one run; ratios, since times mean little."
  show 0 weir bench floor
else
  note "This build has no \`weir bench floor\`."
fi

title "Done"
note "omniNames and the gateway are stopped, and their files removed."
