#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The summary of a run: this library against the peers, and the kernels that are farthest from their peak.

    report.py FIGURES.jsonl
"""

import json
import os
import sys

WEAK, SHOWN = 0.8, 20


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def ratios(figures):
    """Networks that a peer ran too, with the same type, threads and batch."""
    models = [f for f in figures if f.get("kind") == "model"]
    ours = {(f["name"], f["type"], f["threads"], f["batch"]): f for f in models if f.get("peer") == "openqnn" and f.get("lib") == "cpu"}
    lines = []
    for f in models:
        key = (f["name"], f["type"], f["threads"], f["batch"])
        if f.get("peer") == "openqnn":
            continue
        for kind in dict.fromkeys((f["type"], "a16w8" if f["type"] == "int8" else "f16")):
            own = ours.get((f["name"], kind, *key[2:]))
            if own:
                lines.append(f"{f['name']:16s} {kind:6s} {f['threads']:2d} {f['batch']:2d} {own['own_ms']:10.3f} "
                             f"{f['peer'] + ' ' + f['type']:24s} {f['own_ms']:10.3f} {f['own_ms'] / own['own_ms']:8.2f}x")
    if lines:
        print(f"{'network':16s} {'type':6s} {'th':>2s} {'ba':>2s} {'ours ms':>10s} {'peer':24s} {'its ms':>10s} {'faster':>9s}   (own time with one thread)")
        print("\n".join(lines))
    else:
        print("no peers in this run: bench/peers.sh installs ONNX Runtime and oneDNN for comparison")


def scaling(figures):
    models = {(f["name"], f["type"], f["threads"]): f["best_ms"] for f in figures
              if f.get("kind") == "model" and f.get("lib") == "cpu" and f["batch"] == 1}
    lines = [f"{net:16s} {kind:6s} {ms / models[net, kind, 2]:6.2f}x" for (net, kind, threads), ms in models.items()
             if threads == 1 and (net, kind, 2) in models]
    if lines:
        print("\ntwo threads against one:")
        print("\n".join(lines))


def weak(figures):
    kernels = sorted((f for f in figures if f.get("kind") == "kernel" and f["peak"] > 0), key=lambda f: f["gops"] / f["peak"])
    low = [f for f in kernels if f["gops"] < WEAK * f["peak"]]
    if not kernels:
        return
    print(f"\nproducts below {WEAK:.0%} of their peak: {len(low)} of {len(kernels)}; the lowest of each instruction set:")
    for isa in dict.fromkeys(f["isa"] for f in low):
        for f in [f for f in low if f["isa"] == isa][:SHOWN]:
            print(f"{f['isa']:8s} {f['variant']:28s} {f['name']:30s} {f['type']:12s} {f['gops']:9.1f} GOPS {100 * f['gops'] / f['peak']:5.1f} %")


def busy():
    """Other work on the machine, which wall times of several threads cannot leave out."""
    load, cores = os.getloadavg()[1], len(os.sched_getaffinity(0))
    if load > cores + 1:
        print(f"\nThe machine was busy: {load:.1f} threads wanted {cores} cores. Rows of one thread are made of the thread's own time; those of two threads, of sessions\n"
              "and of several clients say little.")


def main():
    figures = read(sys.argv[1])
    ratios(figures)
    scaling(figures)
    weak(figures)
    busy()


if __name__ == "__main__":
    main()
