# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a client's suite: each builds a graph as that client's op builders do and compares with numpy, within the tolerance of the suite.

A case is a function of a graph, marked with @case. All run with both versions of the tensor structures, or those of the client, and again from a context binary, and with constants that get their values by an update; one that fails does not stop
the others. libQnnGpu.so has floats only: there as many cases as the suite says must run, and the others be refused by validation.
"""
import inspect
import sys
import zlib

import numpy as np

from qnn_calls import Graph, Library, QnnError

CASES = []


def case(*args):
    """@case alone, or @case(a, b, …): once for each of these, given as the second argument."""
    if len(args) == 1 and inspect.isfunction(args[0]):
        CASES.append((args[0].__name__, args[0], ()))
        return args[0]

    def several(f):
        CASES.extend((f"{f.__name__}({a})", f, (a,)) for a in args)
        return f
    return several


def random(*key):
    """Numbers that depend on the key only."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def near(got, want, tolerance=1e-5):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    off = np.abs(got - want)
    assert np.isfinite(got).all() and off.max() <= tolerance, f"off by {off.max():.6g}, {tolerance:.6g} are allowed: {got.ravel()[:8]} for {want.ravel()[:8]}"


def equal(got, want):
    near(got, want, 0)


def quantized(real, dtype, scale, offset):
    """Stored integers of real numbers: real = scale * (integer + offset)."""
    lo, hi = {"uq8": (0, 255), "sq8": (-128, 127), "uq16": (0, 65535), "sq16": (-32768, 32767)}[dtype]
    return np.clip(np.rint(np.asarray(real, np.float64) / scale) - offset, lo, hi)


def real(stored, scale, offset=0):
    return (stored.astype(np.float64) + offset) * scale


def main(on_gpu=0, half=False, versions=(1, 2)):
    """half: graphs are made with the precision FLOAT16. versions: of the tensor structures."""
    library, failed, refused = Library(), 0, 0
    gpu = "Gpu" in library.name
    ways = [(v, False) for v in versions] + [(versions[-1], True)]
    for name, f, args in CASES:
        for version, updates in ways:
            g = Graph(library, version, half, updates)
            try:
                f(g, *args)
                assert g.runs != 1 or g.reload(), "other results from a context binary"
            except (QnnError, AssertionError) as e:
                if gpu and str(e).startswith("validate"):
                    refused += 1
                    continue
                failed += 1
                print(f"{name}, tensors of version {version}{', updates' if updates else ''}: {e}")
            finally:
                g.close()
    if gpu and len(ways) * (len(CASES) - on_gpu) != refused:
        failed += 1
        print(f"{refused / len(ways):g} cases were refused, not {len(CASES) - on_gpu}")
    print(f"{len(CASES)} cases on {library.name}, {failed} failed" + (f", {refused // len(ways)} refused" if gpu else ""))
    sys.exit(bool(failed))
