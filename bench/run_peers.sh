#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The networks of the benchmarks in other runtimes, as far as they are installed (bench/peers.sh): run_peers.sh BUILD OUT_FOLDER
# A peer that fails, or that the CPU does not please, is named and left out.
set -eu
build=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)

if [ -x "$build/peers/bin/python" ]; then
    "$build/peers/bin/python" "$here/peer_ort.py" "$build/bench/bench_onnx" "$out/peer-ort.jsonl" "${BENCH_SECONDS:-0.7}" ||
        echo "ONNX Runtime ended with status $?"
else
    echo 'ONNX Runtime: not installed (bench/peers.sh)'
fi

if [ -x "$build/bench/peer_dnnl" ]; then
    for threads in 1 2; do
        echo
        OMP_NUM_THREADS=$threads "$build/bench/peer_dnnl" "$out/peer-dnnl-$threads.jsonl" || echo "oneDNN with $threads threads ended with status $?"
    done
else
    echo 'oneDNN 2: not installed when the build was configured (bench/peers.sh)'
fi
