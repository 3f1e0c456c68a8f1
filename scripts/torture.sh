#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make torture: builds with the sanitizers, then tests/torture/torture.py with the options given.
set -eu
cd "$(dirname "$0")/.."

build=build-asan-ubsan
scripts/sanitize.sh address,undefined "$build" build
exec python3 tests/torture/torture.py "$build" "$@"
