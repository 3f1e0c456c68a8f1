#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds with sanitizers in a folder of its own and runs tests there.
#
#   scripts/sanitize.sh SANITIZERS BUILD_DIR LOG_NAME SUITE...     address | undefined | thread | address,undefined
#   scripts/sanitize.sh SANITIZERS BUILD_DIR build                 builds and runs nothing
#
# Random tests run OPENQNN_TEST_SCALE percent of their cases (10 when not set): instrumented code is slow. TIMEOUT_FACTOR
# multiplies the time a test may take (10 when not set, 0: no limit); TEST_ARGS are added to each test's arguments.
set -eu
sanitizers=$1 build=$2 log=$3
shift 3

suites=
for suite in "$@"; do
    suites="$suites --suite $suite"
done

# Warnings are errors in the ordinary build only: instrumentation makes gcc see uninitialised values that are none.
[ -f "$build/build.ninja" ] || meson setup "$build" -Db_sanitize="$sanitizers" -Db_lundef=false -Doptimization=1 -Ddebug=true \
    -Dwerror=false

if [ "$log" = build ]; then
    exec ninja -C "$build"
fi

# A failed allocation must reach our code as NULL. LeakSanitizer is part of the address sanitizer.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS:-}"
export OPENQNN_TEST_SCALE="${OPENQNN_TEST_SCALE:-10}"

# The thread sanitizer's shadow does not fit every randomized address layout; run without randomization where we may.
wrapper=
if [ "$sanitizers" = thread ] && setarch -R true 2>/dev/null; then
    wrapper='setarch -R'
fi
# shellcheck disable=SC2086 # words on purpose
exec $wrapper meson test -C "$build" --logbase "$log" --timeout-multiplier "${TIMEOUT_FACTOR:-10}" --print-errorlogs \
    ${TEST_ARGS:+"--test-args=$TEST_ARGS"} $suites
