#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check: every stage runs even when an earlier one failed; the end says what failed and what was skipped, and why.
#
#   release    all tests as users get the libraries, gates included
#   sanitize   address + undefined behaviour, fewer random cases
#   fuzz       the same build: committed corpora and a bounded number of mutations
#   threads    the thread sanitizer on the tests that use threads
set -u
cd "$(dirname "$0")/.."

logs=
failed=
stage() {
    name=$1 build=$2
    shift 2
    echo
    echo "== $name"
    rm -f "$build/meson-logs/check-$name.json"
    "$@" || failed="$failed $name"
    logs="$logs $name=$build/meson-logs/check-$name.json"
}

release() {
    { [ -f build/build.ninja ] || meson setup build; } && ninja -C build &&
        meson test -C build --no-rebuild --no-suite fuzz --logbase check-release --timeout-multiplier 2 --print-errorlogs
}

stage release build release
stage sanitize build-asan-ubsan scripts/sanitize.sh address,undefined build-asan-ubsan check-sanitize unit api kernels passes rpc
stage fuzz build-asan-ubsan scripts/sanitize.sh address,undefined build-asan-ubsan check-fuzz fuzz
stage threads build-tsan scripts/sanitize.sh thread build-tsan check-threads threads

echo
# shellcheck disable=SC2086
exec python3 scripts/check_summary.py --failed "$failed" $logs
