# Sourced by the scripts beside it: where things are, how to speak, how to get packages.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
model_name=SmolLM2-135M-Instruct.Q4_1.gguf
model_dir="${XDG_DATA_HOME:-$HOME/.local/share}/tessera/models"
model_path="$model_dir/$model_name"

say() { printf '%s\n' "$*" >&2; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# need_packages NAME...: installs the missing ones with apt, as root or through sudo.
need_packages() {
  local missing=() name
  command -v dpkg-query >/dev/null || fail "this is not a Debian machine (no dpkg-query); install by hand: $*"
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "packages are missing and there is no sudo; as root run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -qq &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    fail "apt could not install the packages above (network, rights or disk?); whole log: $log"
  fi
  rm -f "$log"
}

# need_disk FOLDER MEGABYTES: a clear word before a build fills the disk.
need_disk() {
  local free
  mkdir -p "$1" 2>/dev/null || fail "cannot write to $1"
  free=$(df -Pm "$1" | awk 'NR==2 {print $4}')
  [ "$free" -ge "$2" ] || fail "$1 has $free MB free, $2 MB are needed"
}

build_packages=(g++ cmake ninja-build pkg-config ccache
  qt6-base-dev qt6-svg-dev libqt6sql6-sqlite libqcustomplot-dev libgl-dev libvulkan-dev
  libsentencepiece-dev nlohmann-json3-dev libpcre2-dev libcli11-dev libfmt-dev libspdlog-dev libxxhash-dev
  qt6-wayland qt6-qpa-plugins fonts-inter fonts-jetbrains-mono fonts-noto-core fonts-noto-color-emoji)

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
  (cd "$root" && CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"}) >"$log" 2>&1 ||
    { grep -E -A6 'error:|FAILED' "$log" | head -n 40 >&2; fail "preset $preset did not build; whole log: $log"; }
}
