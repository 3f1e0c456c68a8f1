#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check: every stage runs even when an earlier one failed; the end says what failed and what was skipped, and why.
#
#   release    all tests as users get the libraries, gates included, and a few seconds of the soak
#   sanitize   address + undefined behaviour, fewer random cases
#   torture    the same build: a sample of failing allocations and system calls
#   fuzz       the same build: committed corpora and a bounded number of mutations
#   threads    the thread sanitizer on the tests that use threads
#
# Fuzzing and torture draw anew each day; the seeds are printed. FUZZ_SEED and TORTURE_SEED repeat another day's choice.
set -u
: "${FUZZ_SEED:=$(date -u +%Y%m%d)}" "${TORTURE_SEED:=$(date -u +%Y%m%d)}"
export TORTURE_SEED

# Many tests wait for sessions and timers of their own: two more at once than there are processors keep these busy.
: "${MESON_TESTTHREADS:=$(($(nproc) + 2))}"
export MESON_TESTTHREADS
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
        meson test -C build --no-rebuild --no-suite fuzz --no-suite torture --logbase check-release --timeout-multiplier 2 --print-errorlogs
}

stage release build release
stage sanitize build-asan-ubsan scripts/sanitize.sh address,undefined build-asan-ubsan check-sanitize unit api kernels passes rpc
stage torture build-asan-ubsan scripts/sanitize.sh address,undefined build-asan-ubsan check-torture torture
echo "fuzz and torture: FUZZ_SEED=$FUZZ_SEED TORTURE_SEED=$TORTURE_SEED make check draws the same"
stage fuzz build-asan-ubsan env TEST_ARGS="-seed=$FUZZ_SEED" \
    scripts/sanitize.sh address,undefined build-asan-ubsan check-fuzz fuzz
stage threads build-tsan scripts/sanitize.sh thread build-tsan check-threads threads

echo
# shellcheck disable=SC2086
exec python3 scripts/check_summary.py --failed "$failed" $logs
