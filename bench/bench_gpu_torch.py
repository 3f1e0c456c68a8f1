#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of bench_gpu in PyTorch on an NVIDIA GPU, in the same run; optional, and no part of `make bench` where PyTorch is missing.

    bench_gpu_torch.py FIGURES_OF_BENCH_GPU.jsonl [SECONDS_PER_ROW]

Prints both times and their ratio, and appends lines with "peer":"pytorch". float32 is computed without TF32, as the library does. PyTorch is measured in both memory formats and as a CUDA graph,
and the fastest counts; inputs are on the device, weights are random.
"""

import json
import sys
import time

import torch
import torchvision

NETWORKS = {"resnet50": torchvision.models.resnet50, "mobilenet_v2": torchvision.models.mobilenet_v2}
TYPES = {"f32": torch.float32, "f16": torch.float16}


def best_ms(run, seconds):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    best, begin, runs = float("inf"), time.perf_counter(), 0
    while runs < 3 or time.perf_counter() - begin < seconds:
        t0 = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best, runs = min(best, time.perf_counter() - t0), runs + 1
    return best * 1e3


def as_graph(net, x):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    return graph.replay


def measure(name, kind, batch, seconds):
    times = {}
    for form in (torch.contiguous_format, torch.channels_last):
        net = NETWORKS[name](weights=None).eval().cuda().to(TYPES[kind]).to(memory_format=form)
        x = torch.randn(batch, 3, 224, 224, device="cuda", dtype=TYPES[kind]).to(memory_format=form)
        label = "nchw" if form == torch.contiguous_format else "nhwc"
        times[label] = best_ms(lambda net=net, x=x: net(x), seconds)
        times[label + " graph"] = best_ms(as_graph(net, x), seconds)
    return times


def main(path, seconds=0.5):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    with open(path, encoding="utf-8") as f:
        ours = {(r["name"], r["type"], r["batch"]): r for r in map(json.loads, f) if r["kind"] == "gpu_model"}
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name(0)}, float32 without TF32")
    print(f"{'network':14s} {'type':4s} {'batch':>5s} {'ours ms':>9s} {'PyTorch ms':>11s} {'ours/PyTorch':>13s}  how PyTorch was fastest; all times")
    with open(path, "a", encoding="utf-8") as out, torch.inference_mode():
        for (name, kind, batch), own in ours.items():
            if name not in NETWORKS:
                continue
            times = measure(name, kind, batch, float(seconds))
            how = min(times, key=times.get)
            print(f"{name:14s} {kind:4s} {batch:5d} {own['best_ms']:9.3f} {times[how]:11.3f} {own['best_ms'] / times[how]:13.2f}  {how}; "
                  + ", ".join(f"{k} {v:.3f}" for k, v in times.items()), flush=True)
            out.write(json.dumps({"kind": "gpu_model", "peer": "pytorch", "name": name, "type": kind, "batch": batch, "best_ms": times[how], "how": how,
                                  "ratio": own["best_ms"] / times[how]}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
