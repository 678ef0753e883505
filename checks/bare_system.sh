# A bare Debian on which other checks run commands: bare-root and bundle-root read this file. MIRROR says from where it is fetched, SUITE which.

# needs WHAT TOOL...: ends the check with 3 where a tool is missing that makes WHAT, or root.
needs() {
  local what=$1 tool
  shift
  for tool in debootstrap unshare "$@"; do
    command -v "$tool" >/dev/null || { echo "there is no $what: $tool is not installed"; exit 3; }
  done
  [ "$(id -u)" -eq 0 ] || { echo "debootstrap and chroot need root"; exit 3; }
}

# make_bare: a folder of its own, $folder, with the bare system in $root. Packages that were fetched once are taken from the cache.
make_bare() {
  local cache=${CARGO_TARGET_DIR:-target}/bare-root
  mkdir -p "$cache"
  folder=$(mktemp -d)
  trap 'rm -rf --one-file-system "$folder"' EXIT
  root=$folder/root
  if ! debootstrap --variant=minbase --cache-dir="$(realpath "$cache")" "${SUITE:-stable}" "$root" ${MIRROR:+"$MIRROR"} > "$folder/log" 2>&1; then
    tail -n 20 "$folder/log" >&2
    echo "the bare system cannot be made; is there a network?" >&2
    exit 2
  fi
}

# bare COMMAND...: runs a command on the bare system, with processes and a network of its own, of which nothing leads out.
bare() {
  unshare --mount --net --pid --fork --kill-child chroot "$root" sh -c 'mount -t proc proc /proc && cd / && exec "$@"' sh "$@"
}

# is_bare TOOL...: what must not be there, or a check shows nothing: tools, and a route, of which the table has a line below its head.
is_bare() {
  local tool
  for tool in "$@"; do
    ! bare sh -c "command -v $tool" > /dev/null || { echo "the system is not bare: it has $tool" >&2; exit 2; }
  done
  bare sh -c '[ "$(wc -l < /proc/net/route)" -le 1 ]' || { echo "the system is not bare: it has a network" >&2; exit 2; }
  grep PRETTY_NAME "$root/etc/os-release"
}
