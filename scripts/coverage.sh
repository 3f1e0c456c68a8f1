#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Line and branch coverage by folder: builds with gcov in a folder of its own, runs tests and reports.
#
#   scripts/coverage.sh [BUILD] [SUITE...]     build-coverage and the suites unit, passes, api and kernels when not named
#
# Random tests run OPENQNN_TEST_SCALE percent of their cases (10 when not set). A session process may write no files: what
# only runs there is counted where tests run sessions in process. TESTS: names of tests, instead of suites.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build-coverage}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- unit passes api kernels

suites=
for suite in "$@"; do
    suites="$suites --suite $suite"
done

# No optimization: a line of the sources is a line of the program then. Threads count without losing any.
[ -f "$build/build.ninja" ] || meson setup "$build" -Db_coverage=true -Doptimization=0 -Dbench=false -Dwerror=false \
    -Dc_args=-fprofile-update=atomic

find "$build" -name '*.gcda' -delete
export OPENQNN_TEST_SCALE="${OPENQNN_TEST_SCALE:-10}"
failed=0
# shellcheck disable=SC2086 # words on purpose
meson test -C "$build" ${TESTS:+--no-rebuild} --logbase coverage --timeout-multiplier 10 ${TESTS:-$suites} || failed=1
python3 scripts/coverage_report.py "$build"
exit $failed
