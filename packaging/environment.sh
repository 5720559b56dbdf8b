# Sourced by the scripts beside it: where things are, how to speak, how to get packages.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
model_name=SmolLM2-135M-Instruct.Q4_1.gguf
data_home=${XDG_DATA_HOME:-${HOME:?is not set}/.local/share}
model_dir="$data_home/tessera/models"
model_path="$model_dir/$model_name"

say() { printf '%s\n' "$*" >&2; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

build_packages=(g++ cmake ninja-build pkg-config ccache
  qt6-base-dev qt6-svg-dev libqt6sql6-sqlite libqcustomplot-dev libgl-dev libvulkan-dev
  libsentencepiece-dev nlohmann-json3-dev libpcre2-dev libcli11-dev libfmt-dev libspdlog-dev libxxhash-dev
  qt6-wayland qt6-qpa-plugins fonts-inter fonts-jetbrains-mono fonts-noto-core fonts-noto-color-emoji)

# What fetch-model needs: nothing once the model is there.
fetch_packages=()
[ -e "$model_path" ] || fetch_packages=(python3 python3-pip)

# need_packages NAME...: installs the missing ones with apt, as root or through sudo.
need_packages() {
  local missing=() name as_root=() log
  command -v dpkg-query >/dev/null || fail "this is not a Debian machine (no dpkg-query); install by hand: $*"
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "packages are missing and there is no sudo; as root run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  log=$(mktemp) || fail "cannot write to ${TMPDIR:-/tmp}"
  if ! { "${as_root[@]}" apt-get update -qq &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    explain_apt "$log"
  fi
  rm -f "$log"
}

# explain_apt LOG: ends with the likely cause first; apt says the same of every package it cannot fetch.
explain_apt() {
  local cause="see below"
  if grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Network is unreachable|Connection timed out' "$1"; then
    cause="no network: its servers cannot be reached"
  elif grep -qE 'No space left|enough free space' "$1"; then cause="the disk is full"
  elif grep -qE 'Unable to locate package|has no installation candidate' "$1"; then cause="this Debian does not offer them all (Debian 12 does)"
  elif grep -qE 'Could not get lock|is another process using it' "$1"; then cause="another program is installing packages; try again later"
  elif grep -qE 'a password is required|not in the sudoers|terminal is required' "$1"; then cause="sudo did not let us"
  fi
  grep -E '^(E:|W:|sudo:|dpkg:)' "$1" | tail -n 3 >&2 || true
  fail "apt could not install the packages above: $cause; whole log: $1"
}

# need_disk FOLDER MEGABYTES: a clear word before a build fills the disk.
need_disk() {
  local free
  mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || fail "cannot write to $1"
  free=$(df -Pm "$1" | awk 'NR==2 {print $4}')
  [ "$free" -ge "$2" ] || fail "$1 has $free MB free, $2 MB are needed"
}

# The compiler cache keeps its files in the home folder; beside the build where that cannot be written.
if [ -z "${CCACHE_DIR:-}" ] && ! { mkdir -p "$HOME/.cache/ccache" && [ -w "$HOME/.cache/ccache" ]; } 2>/dev/null; then
  export CCACHE_DIR="$root/build/ccache"
fi
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

# configure PRESET [cmake flags...], build PRESET [targets...]
configure() {
  local preset=$1 log; shift
  log="$root/build/$preset-configure.log"
  mkdir -p "$root/build"
  (cd "$root" && cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@") >"$log" 2>&1 ||
    { tail -n 25 "$log" >&2; fail "cmake could not configure preset $preset; whole log: $log"; }
}
build() {
  local preset=$1 log; shift
  log="$root/build/$preset-build.log"
  (cd "$root" && cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"}) >"$log" 2>&1 ||
    { grep -E -A6 'error:|FAILED|No space left' "$log" | head -n 40 >&2; fail "preset $preset did not build; whole log: $log"; }
}
