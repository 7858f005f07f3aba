# What the scripts of this folder share. Sourced, with the workspace as the working folder.

# Bazel wants to know whose cache it uses; a build machine may not say.
export USER="${USER:-$(id -un)}"
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"

# Debian's, whatever else comes first in PATH: its modules belong to it.
PYTHON=/usr/bin/python3

bold=''
dim=''
plain=''
if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
  bold=$'\e[1m'
  dim=$'\e[2m'
  plain=$'\e[0m'
fi

# built CONFIG...: the folder of what `bazel build CONFIG...` has built.
built() {
  bazel info "$@" bazel-bin 2>/dev/null
}
