# SPDX-License-Identifier: Apache-2.0
"""The operators that llama.cpp's QNN backends take over, with the shapes and the tolerance of its test of backend operators. Graphs are those of one operator; no node is validated
before it is added, and a graph runs again and again."""
import numpy as np

from client_cases import case, main, random

SHAPES = ((3, 4, 5, 10), (10,))


def alike(got, want, limit=5e-4):
    """The test's measure: the squares of what is off, in relation to those of the result."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    off = ((got - want) ** 2).sum() / (want ** 2).sum()
    assert off <= limit, f"off by {off:.3g}, {limit:g} is allowed"


BINARY = {"ElementWiseAdd": np.add, "ElementWiseSubtract": np.subtract, "ElementWiseMultiply": np.multiply, "ElementWiseDivide": np.divide}
UNARY = {"ElementWiseSquareRoot": np.sqrt, "ElementWiseLog": np.log, "Gelu": lambda x: .5 * x * (1 + np.tanh((2 / np.pi) ** .5 * (x + .044715 * x ** 3)))}


@case(*[(op, shape, t) for op in BINARY for shape in SHAPES for t in ("f32", "f16")])
def elementwise(g, kind):
    op, shape, dtype = kind
    r = random(kind)
    a, b = r.uniform(-1, 1, shape).astype(np.float32), r.uniform(.9, 1.1, shape).astype(np.float32)
    g.node(op, [g.input(a, dtype), g.input(b, dtype)], [g.output(shape, dtype)])
    g.run()
    for _ in range(3):
        alike(g.execute()[0], BINARY[op](a.astype(np.float64), b), 1e-6 if dtype == "f16" else 1e-12)


@case(*[(op, shape, t) for op in UNARY for shape in SHAPES for t in ("f32", "f16")])
def unary(g, kind):
    op, shape, dtype = kind
    x = random(kind).uniform(.5, 2, shape).astype(np.float32)
    g.node(op, [g.input(x, dtype)], [g.output(shape, dtype)])
    alike(g.run()[0], UNARY[op](x.astype(np.float64)), 1e-6 if dtype == "f16" else 1e-7)


def product(a, b, repeats=(1, 1)):
    """[.., n, k] by [.., m, k]: each matrix of the first serves several of the second."""
    a = np.repeat(np.repeat(a.astype(np.float64), repeats[0], 0), repeats[1], 1) if a.ndim == 4 else a.astype(np.float64)
    return b.astype(np.float64) @ a.swapaxes(-1, -2)


@case(*[(m, batch, repeats, t) for m in (1, 9) for batch, repeats in (((1, 1), (1, 1)), ((10, 1), (1, 1)), ((2, 3), (1, 2)), ((1, 2), (2, 2))) for t in ("f32", "f16")])
def mul_mat(g, kind):
    """Half floats are converted; batches are repeated by Gather with a signed axis and constant unsigned indices, one dimension after the other."""
    m, batch, repeats, dtype = kind
    r, n, k = random(kind), 16, 64
    a, b = r.uniform(-1, 1, (*batch, n, k)).astype(np.float32), r.uniform(-1, 1, (*(x * y for x, y in zip(batch, repeats)), m, k)).astype(np.float32)
    a = a.astype(np.float16).astype(np.float32) if dtype == "f16" else a
    at, shape = g.input(a, dtype), list(a.shape)
    if dtype == "f16":
        single = g.native(shape, "f32")
        g.node("Convert", [at], [single], name=b"convert_src0")
        at = single
    if repeats != (1, 1):
        for axis in (1, 0):
            shape[axis] = b.shape[axis]
            to = g.native(shape, "f32")
            g.node("Gather", [at, g.const(np.arange(b.shape[axis]) // repeats[axis], "u32")], [to], {"axis": (axis, "i32")})
            at = to
    g.node("MatMul", [g.input(b, "f32"), at], [g.output((*b.shape[:2], m, n), "f32")], {"transpose_in1": (1, "b8")})
    alike(g.run()[0], product(a, b, repeats), 1e-7)


@case(*[(m, rank) for m in (1, 7) for rank in (2, 3)])
def mul_mat_of_both(g, kind):
    """Without conversion, as on a GPU: single precision by half precision."""
    m, rank = kind
    r, n, k = random(kind), 16, 64
    a, b = r.uniform(-1, 1, (1,) * (rank - 2) + (n, k)).astype(np.float16), r.uniform(-1, 1, (1,) * (rank - 2) + (m, k)).astype(np.float32)
    g.node("MatMul", [g.input(b, "f32"), g.input(a, "f16")], [g.output((*b.shape[:-1], n), "f32")], {"transpose_in1": (1, "b8")})
    alike(g.run()[0], product(a, b))


@case
def mul_mat_of_four(g):
    """The other backend's way: batches are joined by Reshape and repeated by Tile, and the product is transposed by a node."""
    r, n, m, k = random("four"), 6, 5, 32
    a, b = r.uniform(-1, 1, (1, 2, n, k)).astype(np.float32), r.uniform(-1, 1, (1, 4, m, k)).astype(np.float32)
    joined, tiled, turned = g.native((2, n, k), "f32"), g.native((4, n, k), "f32"), g.native((4, k, n), "f32")
    rows, out = g.native((4, m, k), "f32"), g.native((4, m, n), "f32")
    g.node("Reshape", [g.input(a, "f32")], [joined])
    g.node("Tile", [joined], [tiled], {"multiples": [2, 1, 1]})
    g.node("Transpose", [tiled], [turned], {"perm": [0, 2, 1]})
    g.node("Reshape", [g.input(b, "f32")], [rows])
    g.node("MatMul", [rows, turned], [out])
    g.node("Reshape", [out], [g.output((1, 4, m, n), "f32")])
    alike(g.run()[0], product(np.tile(a, (1, 2, 1, 1)), b), 1e-7)


@case(1, 2)
def rms_norm(g, inputs):
    """Without factors, and with no epsilon."""
    x = random("rms").uniform(-1, 1, (3, 4, 5, 64)).astype(np.float32)
    g.node("RmsNorm", [g.input(x, "f32")] + [g.const(np.ones(64), "f32")] * (inputs - 1), [g.output(x.shape, "f32")], {"axes": [3]})
    alike(g.run()[0], x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6), 1e-7)


if __name__ == "__main__":
    main(on_gpu=47, versions=(1,))
