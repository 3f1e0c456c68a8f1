#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bin/envsetup.sh finds its own tree in every shell, from any directory, also with a space in the path, and only once.
set -eu
source_root=$1
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
root="$top/an sdk"
mkdir -p "$root/bin" "$root/include/QNN"
cp "$source_root/scripts/sdk/envsetup.sh" "$root/bin/"
root=$(cd "$root" && pwd -P)
want="$root|$root|$root/bin/x86_64-linux-clang:/usr/bin:/bin|$root/lib/x86_64-linux-clang:/old"
show='printf "%s|%s|%s|%s" "$QNN_SDK_ROOT" "$QAIRT_SDK_ROOT" "$PATH" "$LD_LIBRARY_PATH"'

failures=0
try() {
    shell=$1 directory=$2 command=$3
    got=$(cd "$directory" && env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH=/old "$shell" -c "$command; $show" 2>&1) || true
    [ "$got" = "$want" ] && return
    echo "FAILED $shell in $directory: $command"
    echo "  got  $got"
    echo "  want $want"
    failures=$((failures + 1))
}

for shell in sh dash bash zsh; do
    command -v "$shell" >/dev/null 2>&1 || { echo "SKIP: no $shell here"; continue; }
    try "$shell" / ". '$root/bin/envsetup.sh'"
    try "$shell" "$root" ". ./bin/envsetup.sh"
    try "$shell" "$root/bin" ". ./envsetup.sh && . ./envsetup.sh"
    try "$shell" "$root" "set -eu; . bin/envsetup.sh"
done

# A copy outside a tree explains itself and leaves the environment alone.
mkdir "$top/loose"
cp "$source_root/scripts/sdk/envsetup.sh" "$top/loose/"
got=$(sh -c ". '$top/loose/envsetup.sh' || echo refused \"\${QNN_SDK_ROOT:-unset}\"" 2>/dev/null)
[ "$got" = "refused unset" ] || { echo "FAILED outside a tree: $got"; failures=$((failures + 1)); }
exit "$failures"
