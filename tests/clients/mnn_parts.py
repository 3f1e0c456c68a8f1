# SPDX-License-Identifier: Apache-2.0
"""What the suites of MNN's executions share: normal precision has f16 between Casts, high precision f32; the graph's precision is FLOAT16 in both."""
import numpy as np

from client_cases import near, random

BOTH = ("f32", "f16")
F64 = np.float64


def given(g, array, dtype):
    """An input of the model: f32 for the client, cast where the graph computes in halves."""
    x = g.input(array, "f32")
    if dtype == "f32":
        return x
    half = g.native(np.shape(array), "f16")
    g.node("Cast", [x], [half])
    return half


def result(g, shape, dtype):
    """The tensor that a node writes, and what runs the graph."""
    y = g.output(shape, "f32")
    if dtype == "f32":
        return y, lambda: g.run()[0]
    half = g.native(shape, "f16")

    def run():
        g.node("Cast", [half], [y])
        return g.run()[0]
    return half, run


def close(got, want):
    """Within what the suite allows a backend of low precision."""
    near(got, want, .01 * max(1, np.abs(want).max()))


def normal(*key, shape):
    return random(*key).normal(0, 1, shape).astype(np.float32)
