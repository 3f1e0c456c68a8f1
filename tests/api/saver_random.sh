#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Any calls in any order, recorded; the recording compiles, and repeating it on a backend ends by itself, whatever the calls were.
#
#     saver_random.sh TEST_RANDOM_CALLS COMPILER INCLUDE_FOLDER
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$(realpath "$1")
cd "$folder"
OPENQNN_TEST_LIB=libQnnSaver.so "$program" 1000
[ $# -gt 1 ] || { echo "SKIP: no compiler for recordings in this build"; exit 77; }
"$2" -std=c99 -Wall -Wextra -Werror -I "$3" saver_output/saver_output.c -o saver_output/replay -ldl -lpthread
for library in libQnnCpu.so libQnnHtp.so; do
    status=0
    OPENQNN_SESSION=inproc saver_output/replay "$OPENQNN_LIB_DIR/$library" . > results 2> messages || status=$?
    [ $status -le 1 ] || { echo "$library: the replay ended with $status"; tail -n 5 results messages; exit 1; }
    tail -n 1 results | grep -q 'calls failed$'
    echo "$library: $(grep -c ' Qnn' results) calls repeated, $(tail -n 1 results)"
done
