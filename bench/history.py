#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Appends the figures of a run to a history and draws it: a chart per network, a line per type, milliseconds of one thread over runs.

    history.py FIGURES.jsonl HISTORY.jsonl DRAWING.svg
"""

import datetime
import html
import json
import math
import os
import subprocess
import sys

WIDTH, HEIGHT, MARGIN, COLUMNS = 360, 200, 44, 3
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5fbf", "#c77d0a", "#444444")


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def commit():
    folder = os.path.dirname(os.path.abspath(__file__))
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def entry(figures):
    """What is kept of a run: peaks, and networks by "peer lib network type threads batch"."""
    kept = {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": commit(), "peaks": {}, "ms": {}}
    for f in figures:
        if f.get("kind") == "peak":
            kept["peaks"][f["name"]] = f["one"]
        elif f.get("kind") == "model":
            key = (f.get("peer", "openqnn"), f.get("lib", "-"), f["name"], f["type"], str(f["threads"]), str(f["batch"]))
            kept["ms"][" ".join(key)] = f.get("own_ms", f["best_ms"])
    return kept


def charts(history):
    """network -> line -> [(run, ms)]; one thread, batch 1, our CPU library and the peers."""
    found = {}
    for run, e in enumerate(history):
        for key, ms in e["ms"].items():
            peer, lib, net, kind, threads, batch = key.split()
            if threads == "1" and batch == "1" and lib in ("cpu", "-"):
                line = kind if peer == "openqnn" else f"{peer} {kind}"
                found.setdefault(net, {}).setdefault(line, []).append((run, ms))
    return found


def chart(net, lines, runs, left, top):
    """One picture; the axis is logarithmic, since types differ by factors."""
    values = [ms for points in lines.values() for _, ms in points]
    low, high = math.log(min(values)) - 0.1, math.log(max(values)) + 0.1
    x = lambda run: left + MARGIN + run * (WIDTH - 2 * MARGIN - 60) / max(1, runs - 1)                      # noqa: E731
    y = lambda ms: top + HEIGHT - 24 - (math.log(ms) - low) * (HEIGHT - 60) / (high - low)                 # noqa: E731
    out = [f'<text x="{left + MARGIN}" y="{top + 16}" font-weight="bold">{html.escape(net)}</text>']
    for ms in (min(values), max(values)):
        out.append(f'<text x="{left + MARGIN - 6}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:.3g}</text>')
    for i, (line, points) in enumerate(sorted(lines.items())):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{x(run):.1f},{y(ms):.1f}" for run, ms in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out += [f'<circle cx="{x(run):.1f}" cy="{y(ms):.1f}" r="2" fill="{colour}"/>' for run, ms in points]
        out.append(f'<text x="{x(points[-1][0]) + 6:.1f}" y="{y(points[-1][1]) + 4:.1f}" fill="{colour}">{html.escape(line)}</text>')
    return out


def draw(history):
    found = charts(history)
    rows = (len(found) + COLUMNS - 1) // COLUMNS
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH}" height="{rows * HEIGHT + 24}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="8" y="14">ms per inference, one thread, best of each of {len(history)} runs; latest: {html.escape(history[-1]["commit"])}</text>']
    for i, (net, lines) in enumerate(sorted(found.items())):
        out += chart(net, lines, len(history), i % COLUMNS * WIDTH, 20 + i // COLUMNS * HEIGHT)
    return "\n".join(out + ["</svg>", ""])


def main():
    figures, history, drawing = sys.argv[1:]
    new = entry(read(figures))
    if not new["ms"]:
        print("no networks in this run: the history stays as it is")
        return
    with open(history, "a", encoding="utf-8") as f:
        f.write(json.dumps(new, sort_keys=True) + "\n")
    with open(drawing, "w", encoding="utf-8") as f:
        f.write(draw(read(history)))


if __name__ == "__main__":
    main()
