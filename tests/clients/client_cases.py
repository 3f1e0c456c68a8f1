# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a client's suite: each builds a graph as that client's op builders do and compares with numpy, within the tolerance of the suite.

A case is a function of a graph, marked with @case. All run with both versions of the tensor structures, and again from a context binary; one that fails does not stop
the others.
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


def main():
    library, failed = Library(), 0
    for name, f, args in CASES:
        for version in (1, 2):
            g = Graph(library, version)
            try:
                f(g, *args)
                assert g.runs != 1 or g.reload(), "other results from a context binary"
            except (QnnError, AssertionError) as e:
                failed += 1
                print(f"{name}, tensors of version {version}: {e}")
            g.close()
    print(f"{len(CASES)} cases on {library.name}, {failed} failed")
    sys.exit(bool(failed))
