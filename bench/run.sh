#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make bench: runs the benchmarks of a build folder, collects their figures in one file and appends them to a history.
#
#     bench/run.sh BUILD [kernels|elements|models|vtcm|calls|load|profile|queue|where|rpc|gpu|peers …]     all parts unless some are named
#
# BENCH_HISTORY: another file for the history. BENCH_SECONDS: time per row of the networks.
set -eu
build=$(cd "$1" && pwd)
shift
parts=${*:-kernels elements models vtcm calls load profile queue where rpc gpu peers}
here=$(cd "$(dirname "$0")" && pwd)
lib=$build/src/api
out=$build/bench-figures
history=${BENCH_HISTORY:-$build/bench-history.jsonl}
mkdir -p "$out"
rm -f "$out"/*.jsonl

for part in $parts; do
    printf '\n==== %s\n\n' "$part"
    case $part in
    kernels) "$build/bench/bench_kernels" "$out/kernels.jsonl" ;;
    elements) "$build/bench/bench_elements" "$lib" "$out/elements.jsonl" ;;
    models) "$build/bench/bench_models" "$lib" "$out/models.jsonl" --seconds "${BENCH_SECONDS:-0.7}" ;;
    vtcm) "$build/bench/bench_vtcm" "$lib" "$out/vtcm.jsonl" ;;
    calls) "$build/bench/bench_calls" "$lib" "$out/calls.jsonl" ;;
    load) "$build/bench/bench_load" "$lib" "$out/load.jsonl" ;;
    profile) "$build/bench/bench_profile" "$lib" "$out/profile.jsonl" ;;
    queue) "$build/bench/bench_queue" "$lib" "$out/queue.jsonl" ;;
    where) "$build/bench/bench_where" "$lib" "$out/where.jsonl" ;;
    rpc) "$build/bench/bench_rpc" "$lib" "$out/rpc.jsonl" ;;
    gpu) [ ! -x "$build/bench/bench_gpu" ] || "$build/bench/bench_gpu" "$lib" "$out/gpu.jsonl" --seconds "${BENCH_SECONDS:-0.7}" ;;
    peers) "$here/run_peers.sh" "$build" "$out" ;;
    *) echo "bench: there is no part \"$part\"; parts are kernels, elements, models, vtcm, calls, load, profile, queue, where, rpc, gpu and peers" >&2; exit 2 ;;
    esac
done

printf '\n==== summary\n\n'
cat "$out"/*.jsonl >"$build/bench.jsonl"
python3 "$here/report.py" "$build/bench.jsonl"
python3 "$here/history.py" "$build/bench.jsonl" "$history" "$build/bench-history.svg"
printf '\nfigures: %s\nhistory: %s, drawn in %s\n' "$build/bench.jsonl" "$history" "$build/bench-history.svg"
