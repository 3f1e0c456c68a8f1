#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the SDK in two folders with different names and compares every installed byte.
#
#   scripts/reproducible.sh [WORK]     WORK: a folder for both copies; otherwise a temporary one, removed at the end
#
# TARGETS: only these files of the build folder are built and compared, for example src/api/libcdsprpc.so; much faster.
#
# The second build does not use ccache: what the first one stored would make both equal.
set -eu
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
    mkdir -p "$1"
    work=$(cd "$1" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
first=$work/one/openqnn
second=$work/the-second-of-both/source/openqnn

# Copies the files of the tree, also those that are not committed yet, and installs what is built from them.
build()
{
    rm -rf "$1"
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard | xargs -0 -r tar -cf - | tar -xf - -C "$1"
    meson setup "$1/build" "$1" --prefix /usr -Dtests=false -Dbench=false >"$1.log"
    # shellcheck disable=SC2086 # words on purpose
    ninja -C "$1/build" ${TARGETS:-} >>"$1.log"
    [ -z "${TARGETS:-}" ] || return 0
    DESTDIR=$1.installed meson install -C "$1/build" --quiet --no-rebuild >>"$1.log"
}

build "$first"
(export CCACHE_DISABLE=1 && build "$second")

if [ -n "${TARGETS:-}" ]; then
    for target in $TARGETS; do
        cmp "$first/build/$target" "$second/build/$target"
    done
    echo "reproducible: byte-identical in two builds: $TARGETS"
    exit 0
fi

files=$(find "$first.installed" -type f | wc -l)
if [ "$files" -lt 50 ]; then
    echo "reproducible: only $files files were installed; see $first.log" >&2
    exit 1
fi
if ! diff -r "$first.installed" "$second.installed"; then
    echo "reproducible: the files above differ between two builds of the same sources" >&2
    exit 1
fi
echo "reproducible: $files installed files are byte-identical in two builds"
