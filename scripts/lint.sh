#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static analysis. Each finding is an error; what is none is suppressed in its line, with the reason.
#
#   scripts/lint.sh BUILD cppcheck|analyzer|tidy [FOLDER...]     all folders of src and tools unless some are named
#
#   cppcheck   a second or two a folder
#   analyzer   gcc -fanalyzer on what BUILD compiles
#   tidy       clang-tidy with the checks of .clang-tidy
#
# JOBS: how many at a time, as many as there are cores when not set.
set -eu
cd "$(dirname "$0")/.."
build=$1 what=$2
shift 2
[ $# -gt 0 ] || set -- src tools
jobs=${JOBS:-$(nproc)}

case $what in
cppcheck)
    # Kernels are arithmetic on intrinsics, of which cppcheck has no model and which take it minutes a file.
    # readdir of glibc is safe where each thread has a folder of its own. Jansson's loops are told in words that cppcheck knows.
    exec cppcheck --quiet -j "$jobs" --enable=warning,portability,performance --inline-suppr --std=c11 --error-exitcode=1 \
        --suppress=readdirCalled '-Djson_object_foreach(object,key,value)=while ((key = json_key(object)) && (value = json_of(object)))' \
        '-Djson_array_foreach(array,index,value)=while ((index = json_turn(array)) < 9 && (value = json_array_get(array, index)))' \
        -D_GNU_SOURCE -Isrc -Iinclude -Iinclude/QNN -Itools -isrc/kernels --library=posix "$@"
    ;;
analyzer) exec python3 scripts/lint_files.py "$build" "$jobs" analyzer "$@" ;;
tidy) exec python3 scripts/lint_files.py "$build" "$jobs" tidy "$@" ;;
*)
    echo "lint: there is no analyser \"$what\"; there are cppcheck, analyzer and tidy" >&2
    exit 2
    ;;
esac
