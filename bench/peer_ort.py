#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of the benchmarks in ONNX Runtime, run by the interpreter that has it.

    peer_ort.py BENCH_ONNX FIGURES.jsonl [SECONDS] [NETWORK …]
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

MIN_RUNS, MAX_RUNS = 5, 1000
BATCHES_OF_FIVE = ("mobilenet_v2", "resnet50")


def session(path, threads):
    o = ort.SessionOptions()
    o.intra_op_num_threads = threads
    o.inter_op_num_threads = 1
    o.log_severity_level = 3
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def best(s, seconds):
    """Best, median and best of this thread's own milliseconds; the input is bound once, so that no copy is timed."""
    rng = np.random.default_rng(1)
    binding = s.io_binding()
    for i in s.get_inputs():
        binding.bind_cpu_input(i.name, rng.uniform(-2, 2, i.shape).astype(np.float32))
    for o in s.get_outputs():
        binding.bind_output(o.name, "cpu")
    s.run_with_iobinding(binding)
    took, own = [], math.inf
    while len(took) < MAX_RUNS and (len(took) < MIN_RUNS or sum(took) < seconds):
        start, own_start = time.perf_counter(), time.thread_time()
        s.run_with_iobinding(binding)
        own = min(own, time.thread_time() - own_start)
        took.append(time.perf_counter() - start)
    took.sort()
    return 1000 * took[0], 1000 * took[len(took) // 2], 1000 * own


def bench(tool, net, kind, batch, seconds, out):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.onnx")
        if subprocess.run([tool, net, kind, str(batch), path], check=False).returncode:
            return
        for threads in (1, 2):
            low, middle, own = (v / batch for v in best(session(path, threads), seconds))
            own = own if threads == 1 else low
            peer = "onnxruntime-" + ort.__version__
            print(f"{net:16s} {kind:6s} {threads:2d} {batch:2d} {low:9.3f} {middle:9.3f} {own:9.3f}", flush=True)
            out.write(json.dumps({"kind": "model", "peer": peer, "name": net, "type": kind, "threads": threads, "batch": batch,
                                  "best_ms": round(low, 4), "median_ms": round(middle, 4), "own_ms": round(own, 4)}) + "\n")


def main():
    tool, figures = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.7
    names = sys.argv[4:] or subprocess.run([tool], capture_output=True, text=True, check=True).stdout.split()
    print(f"ONNX Runtime {ort.__version__}\n\n{'network':16s} {'type':6s} th ba   best ms    median       own")
    with open(figures, "w", encoding="utf-8") as out:
        for net in names:
            for kind in ("int8", "f32"):
                for batch in (1, 5) if net in BATCHES_OF_FIVE else (1,):
                    bench(tool, net, kind, batch, seconds, out)


if __name__ == "__main__":
    main()
