#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of scripts/packages.txt that are missing. Silent, and without a call of apt, when all are there.
#
#   scripts/setup.sh [GROUP]     GROUP is the first column of packages.txt, "build" when not given
#
# OPENQNN_NO_SETUP=1 skips it, for machines where packages come from elsewhere.
set -eu

[ "${OPENQNN_NO_SETUP:-0}" = 0 ] || exit 0
group=${1:-build}
list=$(dirname "$0")/packages.txt
export DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*" >&2; }

# Without dpkg we cannot ask what is installed; look for the programs that nothing works without, and name the rest.
if ! command -v dpkg-query >/dev/null 2>&1; then
    for program in gcc g++ meson ninja python3; do
        command -v "$program" >/dev/null 2>&1 && continue
        say "setup: $program is missing and this is not a Debian system; please install the equivalents of:"
        awk '$1 == "build" { print "    " $2 }' "$list" >&2
        exit 1
    done
    exit 0
fi

wanted=$(awk -v group="$group" '$1 == group { print $2 }' "$list")
[ -n "$wanted" ] || { say "setup: no package group \"$group\" in $list"; exit 1; }

# shellcheck disable=SC2086 # the lists are words on purpose, here and below
installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $wanted 2>/dev/null | awk '$2 == "installed" { print $1 }') || true
missing=
for package in $wanted; do
    printf '%s\n' "$installed" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

say "setup: installing missing Debian packages:"
for package in $missing; do
    awk -v group="$group" -v package="$package" '$1 == group && $2 == package {
        why = $0; sub(/^[^ ]+ +[^ ]+ +/, "", why); printf "    %-16s %s\n", package, why }' "$list" >&2
done

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null 2>&1; then
        say "setup: this needs root, and sudo is not installed; as root, run: apt-get install --no-install-recommends$missing"
        exit 1
    fi
fi

# sudo drops the environment, so the variable is set behind it.
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >&2; }
install() { apt install -y --no-install-recommends $missing; }

# The package lists are fetched only when apt does not know a package yet, or when what it knows is too old to download.
if apt-get -qq --simulate install --no-install-recommends $missing >/dev/null 2>&1 && install; then
    exit 0
fi
say "setup: refreshing the package lists"
apt update
install
