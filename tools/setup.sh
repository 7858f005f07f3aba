#!/bin/bash
# Installs what Weir needs to be built, tested and shown: the Debian packages of tools/packages.txt.
#
# Does nothing, and needs neither root nor a network, when all of them are there. Installs nothing
# else, and downloads from nowhere but the machine's Debian mirrors.
#
# Exit codes: 0 all is there; 1 it is not, and the message says why.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages.txt"

say() { echo "setup: $*" >&2; }

if [[ ! -r /etc/os-release ]] || ! (. /etc/os-release && [[ "$ID:${VERSION_ID:-}" == debian:12 ]]); then
  name=$( (. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-unknown}") || echo "unknown")
  say "Weir is built on Debian 12 (bookworm); this machine is: $name."
  say "Run it in a Debian 12 container or virtual machine: docker run -it -v \"\$PWD:/weir\" debian:12"
  say "What it needs there is listed in $list."
  exit 1
fi

mapfile -t packages < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

# The packages that are not installed, one a line.
missing() {
  comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) \
           <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
             sed -n 's/^installed //p' | sort -u)
}

mapfile -t wanted < <(missing)
if (( ${#wanted[@]} == 0 )); then
  exit 0
fi

as_root=()
if [[ "$(id -u)" != 0 ]]; then
  if ! command -v sudo >/dev/null; then
    say "these packages are missing, and installing them needs root or sudo: ${wanted[*]}"
    say "As root: apt-get install ${wanted[*]}"
    exit 1
  fi
  # Without a terminal nobody can type a password.
  if [[ -t 0 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
    -o Acquire::Retries=3 "$@" </dev/null
}

log=$(mktemp /tmp/weir-setup-XXXXXX.log)
say "installing ${#wanted[@]} Debian packages: ${wanted[*]}"
if ! { apt update && apt install --no-install-recommends "${wanted[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  say "apt-get could not install them; its whole output is in $log"
  exit 1
fi

mapfile -t wanted < <(missing)
if (( ${#wanted[@]} != 0 )); then
  say "apt-get ended well, but these are still missing: ${wanted[*]}; its output is in $log"
  exit 1
fi
rm -f "$log"
say "done"
