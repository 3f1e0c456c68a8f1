# SPDX-License-Identifier: Apache-2.0
"""MNN's QNN executions: all but those with weights or windows, each as the nodes it adds."""
import numpy as np

from client_cases import case, equal, main, random
from mnn_parts import BOTH, F64, close, given, normal, result

UNARY = {"ElementWiseAbs": np.abs, "ElementWiseExp": np.exp, "ElementWiseSin": np.sin, "ElementWiseCos": np.cos, "Tanh": np.tanh, "ElementWiseFloor": np.floor,
         "ElementWiseSign": np.sign, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "ElementWiseNeg": np.negative, "HardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
         "ElementWiseSquareRoot": np.sqrt, "ElementWiseRsqrt": lambda x: x ** -.5, "ElementWiseLog": np.log, "ElementWiseAsin": np.arcsin,
         "Gelu": lambda x: .5 * x * (1 + np.tanh((2 / np.pi) ** .5 * (x + .044715 * x ** 3)))}


@case(*[(op, t) for op in UNARY for t in BOTH])
def unary(g, kind):
    op, dtype = kind
    x = random("unary", kind).uniform(-1, 1, (1, 5, 7, 3)).astype(np.float32)
    x = np.abs(x) + .1 if op in ("ElementWiseSquareRoot", "ElementWiseRsqrt", "ElementWiseLog") else x
    y, run = result(g, x.shape, dtype)
    g.node(op, [given(g, x, dtype)], [y])
    close(run(), UNARY[op](x.astype(F64)))


@case(*BOTH)
def silu_and_square(g, dtype):
    """Silu is two nodes that are called the same wherever they are; a square takes one tensor twice."""
    x, (y, run) = normal("silu", shape=(2, 3, 4)), result(g, (2, 3, 4), dtype)
    at = given(g, x, dtype)
    for _ in range(2):
        stage, to, squared = (g.native(x.shape, dtype) for _ in range(3))
        g.node("Sigmoid", [at], [stage], name=b"Sigmoid__")
        g.node("ElementWiseMultiply", [at, stage], [to], name=b"ElementWiseMultiply__")
        at = to
    g.node("ElementWiseMultiply", [at, at], [squared])
    g.node("Relu", [squared], [y])
    want = x.astype(F64)
    for _ in range(2):
        want = want / (1 + np.exp(-want))
    close(run(), want ** 2)


BINARY = {"ElementWiseAdd": np.add, "ElementWiseSubtract": np.subtract, "ElementWiseMultiply": np.multiply, "ElementWiseDivide": np.divide, "ElementWisePower": np.power,
          "ElementWiseMinimum": np.minimum, "ElementWiseMaximum": np.maximum, "ElementWiseFloorDiv": np.floor_divide, "ElementWiseFmod": np.fmod}
COMPARE = {"ElementWiseGreater": np.greater, "ElementWiseGreaterEqual": np.greater_equal, "ElementWiseLess": np.less, "ElementWiseLessEqual": np.less_equal,
           "ElementWiseEqual": np.equal, "ElementWiseNotEqual": np.not_equal}


@case(*[(op, how) for op in BINARY for how in ("same", "scalar", "turned")])
def binary(g, kind):
    """A scalar is reshaped to ones and tiled; an operand in another layout is reshaped to the full rank and transposed."""
    op, how = kind
    r = random("binary", kind)
    a = r.uniform(1, 4, (1, 4, 5, 3)).astype(np.float32)
    b = r.uniform(1.1, 3, {"same": a.shape, "scalar": (1,), "turned": (3, 4, 5)}[how]).astype(np.float32)
    y, at = g.output(a.shape, "f32"), g.input(b, "f32")
    if how == "scalar":
        ones, full = g.native((1, 1, 1, 1), "f32"), g.native(a.shape, "f32")
        g.node("Reshape", [at], [ones])
        g.node("Tile", [ones], [full], {"multiples": list(a.shape)})
        at = full
    elif how == "turned":
        ranked, full = g.native((1, 3, 4, 5), "f32"), g.native(a.shape, "f32")
        g.node("Reshape", [at], [ranked])
        g.node("Transpose", [ranked], [full], {"perm": [0, 2, 3, 1]})
        at, b = full, b.transpose(1, 2, 0)
    g.node(op, [g.input(a, "f32"), at], [y])
    close(g.run()[0], BINARY[op](a.astype(F64), b))


@case(*COMPARE)
def comparison(g, op):
    """Truth values are 32-bit integers."""
    a, b = np.array([1, 2, 3, 4], np.float32), np.array([4, 2, 1, 4], np.float32)
    y = g.output((4,), "i32")
    g.node(op, [g.input(a, "f32"), g.input(b, "f32")], [y])
    equal(g.run()[0], COMPARE[op](a, b))


@case("ElementWiseOr", "ElementWiseMod", "ElementWiseAdd", "ElementWiseMultiply")
def integers(g, op):
    a, b = np.array([0, 7, 0, 9]), np.array([0, 4, 3, 5]) if op == "ElementWiseOr" else np.array([2, 4, 3, 5])
    y = g.output((4,), "i32")
    g.node(op, [g.input(a, "i32"), g.input(b, "i32")], [y])
    want = {"ElementWiseOr": lambda: (a != 0) | (b != 0), "ElementWiseMod": lambda: a % b, "ElementWiseAdd": lambda: a + b, "ElementWiseMultiply": lambda: a * b}
    equal(g.run()[0], want[op]())


@case(*[(op, t) for op in ("leaky", "Relu", "ReluMinMax", "Elu") for t in BOTH])
def activation(g, kind):
    """A leaky Relu is a Prelu with one slope for all channels."""
    op, dtype = kind
    x, (y, run) = normal("activation", kind, shape=(1, 4, 5, 3)), result(g, (1, 4, 5, 3), dtype)
    params = {"ReluMinMax": {"min_value": (0, "f32"), "max_value": (1.5, "f32")}, "Elu": {"alpha": (.7, "f32")}}.get(op)
    g.node("Prelu" if op == "leaky" else op, [given(g, x, dtype)] + ([g.const([.2], dtype)] if op == "leaky" else []), [y], params)
    x = x.astype(F64)
    close(run(), {"leaky": np.where(x < 0, .2 * x, x), "Relu": np.maximum(x, 0), "ReluMinMax": np.clip(x, 0, 1.5), "Elu": np.where(x < 0, .7 * (np.exp(x) - 1), x)}[op])


@case(*[(op, axis) for op in ("Argmax", "Argmin") for axis in (0, 2, 3)])
def argmax(g, kind):
    op, axis = kind
    x = normal("arg", kind, shape=(2, 3, 4, 5))
    want = (np.argmax if op == "Argmax" else np.argmin)(x, axis)
    y = g.output(want.shape, "i32")
    g.node(op, [g.input(x, "f32")], [y], {"axis": (axis, "u32")})
    equal(g.run()[0], want)


@case(*[(op, turned, t) for op in ("LayerNorm", "RmsNorm") for turned in (False, True) for t in BOTH])
def norm(g, kind):
    """Always with gamma and beta, along the last dimension; another one is swapped with it before and after."""
    op, turned, dtype = kind
    x, r = normal("norm", kind, shape=(2, 6, 5)), random("norm", kind, 1)
    n, perm = (6, [0, 2, 1]) if turned else (5, [0, 1, 2])
    gamma, beta = (r.normal(0, 1, n).astype(np.float32) for _ in range(2))
    (y, run), at = result(g, x.shape, dtype), given(g, x, dtype)
    to = y
    if turned:
        swapped, to = g.native((2, 5, 6), dtype), g.native((2, 5, 6), dtype)
        g.node("Transpose", [at], [swapped], {"perm": perm})
        at = swapped
    g.node(op, [at, g.const(gamma, dtype), g.const(beta, dtype)], [to], {"epsilon": (1e-5, "f32"), "axes": [2]})
    if turned:
        g.node("Transpose", [to], [y], {"perm": perm})
    v = x.astype(F64).transpose(perm)
    v = v - v.mean(-1, keepdims=True) if op == "LayerNorm" else v
    close(run(), (v / np.sqrt((v ** 2).mean(-1, keepdims=True) + 1e-5) * gamma + beta).transpose(perm))


@case(*[(op, t) for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd") for t in BOTH])
def reduction(g, kind):
    op, dtype = kind
    x = random("reduce", kind).uniform(.5, 1.5, (2, 3, 4, 2)).astype(np.float32)
    y, run = result(g, (2, 4), dtype)
    g.node(op, [given(g, x, dtype)], [y], {"axes": [1, 3], "keep_dims": (0, "b8")})
    close(run(), getattr(np, op[6:].lower())(x.astype(F64), (1, 3)))


@case(*BOTH)
def attention(g, dtype):
    """The scale is a tensor as large as the query, Softmax has no axis, heads are joined by a Reshape to rank 3."""
    batch, heads, size, n = 1, 2, 8, 5
    q, k, v = (normal("attention", i, shape=(batch, heads, size, n)) for i in range(3))
    scaled = g.native(q.shape, dtype)
    scores, weights = (g.native((batch, heads, n, n), dtype) for _ in range(2))
    mixed, turned = g.native((batch, heads, n, size), dtype), g.native(q.shape, dtype)
    y, run = result(g, (batch, heads * size, n), dtype)
    g.node("ElementWiseMultiply", [given(g, q, dtype), g.const(np.full(q.shape, size ** -.5), dtype)], [scaled])
    g.node("MatMul", [scaled, given(g, k, dtype)], [scores], {"transpose_in0": (1, "b8"), "transpose_in1": (0, "b8")})
    g.node("Softmax", [scores], [weights])
    g.node("MatMul", [weights, given(g, v, dtype)], [mixed], {"transpose_in0": (0, "b8"), "transpose_in1": (1, "b8")})
    g.node("Transpose", [mixed], [turned], {"perm": [0, 1, 3, 2]})
    g.node("Reshape", [turned], [y])
    s = np.exp(np.einsum("bhdq,bhdk->bhqk", q.astype(F64), k) * size ** -.5)
    close(run(), np.einsum("bhqk,bhdk->bhdq", s / s.sum(-1, keepdims=True), v).reshape(batch, heads * size, n))


@case(*[(a, b) for a in (0, 1) for b in (0, 1)])
def matmul(g, kind):
    """Rank 3: the product goes to a tensor of its own and is transposed for the client's layout."""
    turn_a, turn_b = kind
    a, b = normal("matmul", kind, shape=(2, 3, 4)), normal("matmul", kind, 1, shape=(2, 4, 5))
    stage, y = g.native((2, 3, 5), "f32"), g.output((2, 5, 3), "f32")
    ins = [g.input(x.transpose(0, 2, 1) if turn else x, "f32") for x, turn in ((a, turn_a), (b, turn_b))]
    g.node("MatMul", ins, [stage], {"transpose_in0": (turn_a, "b8"), "transpose_in1": (turn_b, "b8")})
    g.node("Transpose", [stage], [y], {"perm": [0, 2, 1]})
    close(g.run()[0], (a.astype(F64) @ b).transpose(0, 2, 1))


@case("masks", "plain")
def slices(g, kind):
    """A Slice is as many StridedSlices as it has outputs, which have ranges only."""
    x = normal("slice", shape=(2, 6, 5))
    at = g.input(x, "f32")
    if kind == "plain":
        outs = [g.output((2, 2, 5), "f32") for _ in range(3)]
        for i, y in enumerate(outs):
            g.node("StridedSlice", [at], [y], {"ranges": (np.array([[0, 2, 1], [2 * i, 2 * i + 2, 1], [0, 5, 1]]), "i32")})
        close(np.concatenate(g.run(), 1), x)
        return
    y = g.output((6, 2), "f32")
    g.node("StridedSlice", [at], [y], {"ranges": (np.array([[1, 2, 1], [3, 4, 1], [1, 5, 2]]), "i32"), "begin_mask": (2, "u32"), "end_mask": (2, "u32"), "shrink_axes": (1, "u32"),
                                       "new_axes_mask": (0, "u32")})
    close(g.run()[0], x[1, :, 1:5:2])


@case(0, 1, 2)
def gather(g, axis):
    """The axis is a signed number; an index of rank 0 has rank 1 here, and a Reshape drops its dimension."""
    x = normal("gather", shape=(3, 4, 5))
    stage = g.native([1 if i == axis else d for i, d in enumerate(x.shape)], "f32")
    y, several = g.output([d for i, d in enumerate(x.shape) if i != axis], "f32"), g.output([2 if i == axis else d for i, d in enumerate(x.shape)], "f32")
    at = g.input(x, "f32")
    g.node("Gather", [at, g.const([2], "i32")], [stage], {"axis": (axis, "i32")})
    g.node("Reshape", [stage], [y])
    g.node("Gather", [at, g.const([2, 0], "i32")], [several], {"axis": (axis, "i32")})
    one, two = g.run()
    close(one, x.take(2, axis))
    close(two, x.take([2, 0], axis))


@case
def gather_elements(g):
    x, i = normal("elements", shape=(3, 4)), random("elements", 1).integers(0, 4, (3, 2))
    y = g.output((3, 2), "f32")
    g.node("GatherElements", [g.input(x, "f32"), g.input(i, "i32")], [y], {"axis": (1, "u32")})
    close(g.run()[0], np.take_along_axis(x, i, 1))


@case(0, 1)
def top_k(g, largest):
    """All of the last dimension, sorted."""
    x = random("topk").permutation(20).reshape(2, 10).astype(np.float32)
    g.node("TopK", [g.input(x, "f32")], [g.output((2, 10), "f32"), g.output((2, 10), "i32")], {"k": (10, "u32"), "largest": (largest, "b8")})
    values, indices = g.run()
    order = np.argsort(-x if largest else x)
    equal(indices, order)
    equal(values, np.take_along_axis(x, order, 1))


@case
def pad_concat_tile(g):
    """Pad without a value, parameters in another order than in the definition."""
    x = normal("pad", shape=(1, 2, 3, 2))
    padded, joined, y = g.native((1, 4, 4, 2), "f32"), g.native((1, 4, 4, 4), "f32"), g.output((1, 8, 4, 4), "f32")
    g.node("Pad", [g.input(x, "f32")], [padded], {"scheme": (0, "u32"), "pad_amount": [[0, 0], [1, 1], [0, 1], [0, 0]]})
    g.node("Concat", [padded, padded], [joined], {"axis": (3, "u32")})
    g.node("Tile", [joined], [y], {"multiples": [1, 2, 1, 1]})
    p = np.pad(x, [(0, 0), (1, 1), (0, 1), (0, 0)])
    close(g.run()[0], np.tile(np.concatenate([p, p], 3), (1, 2, 1, 1)))


@case
def pack_unpack(g):
    a, b = normal("pack", 0, shape=(2, 3)), normal("pack", 1, shape=(2, 3))
    packed = g.native((2, 2, 3), "f32")
    g.node("Pack", [g.input(a, "f32"), g.input(b, "f32")], [packed], {"axis": (1, "u32")})
    g.node("UnPack", [packed], [g.output((2, 3), "f32") for _ in range(2)], {"axis": (1, "u32")})
    for got, want in zip(g.run(), (a, b)):
        close(got, want)


@case(*[(op, mode, size) for op in ("ResizeBilinear", "ResizeNearestNeighbor") for mode in ("corners", "half", "none") for size in (8, 3)])
def interp(g, kind):
    """antialias is said even where it is not wanted."""
    op, mode, size = kind
    x = normal("interp", kind, shape=(1, 4, 4, 2))
    y = g.output((1, size, size, 2), "f32")
    params = {"align_corners": (mode == "corners", "b8"), "half_pixel_centers": (mode == "half", "b8")}
    g.node(op, [g.input(x, "f32")], [y], {**params, "antialias": (0, "b8")} if op == "ResizeBilinear" else params)
    i = np.arange(size)
    at = i * 3 / (size - 1) if mode == "corners" else (i + .5) * 4 / size - .5 if mode == "half" else i * 4 / size
    if op == "ResizeNearestNeighbor":
        near_at = np.rint(at + 1e-6) if mode == "corners" else np.floor(at + .5 if mode == "half" else at)
        weights = np.eye(4)[np.clip(near_at, 0, 3).astype(int)]
    else:
        at = np.clip(at, 0, 3)
        lo = np.minimum(np.floor(at).astype(int), 2)
        weights = np.eye(4)[lo] * (1 - (at - lo))[:, None] + np.eye(4)[lo + 1] * (at - lo)[:, None]
    close(g.run()[0], np.einsum("ih,jw,nhwc->nijc", weights, weights, x))


@case
def interp_cubic(g):
    x = normal("cubic", shape=(1, 4, 4, 2))
    y = g.output((1, 8, 8, 2), "f32")
    g.node("Resize", [g.input(x, "f32")], [y], {"interpolation_mode": (2, "u32"), "transformation_mode": (0, "u32"), "exclude_outside": (0, "u32"), "cubic_coeff": (-.75, "f32")})
    weights, a = np.zeros((8, 4)), -.75
    for i in range(8):
        at = (i + .5) / 2 - .5
        for k in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            d = abs(at - k)
            weights[i, min(max(k, 0), 3)] += (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1 if d <= 1 else a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
    close(g.run()[0], np.einsum("ih,jw,nhwc->nijc", weights, weights, x))


@case
def im2col(g):
    """To rank 3, then reshaped to the rows that the client wants."""
    x = normal("im2col", shape=(1, 4, 5, 2))
    stage, y = g.native((1, 18, 20), "f32"), g.output((20, 18), "f32")
    g.node("Im2Col", [g.input(x, "f32")], [stage], {"kernel_size": [3, 3], "stride": [1, 1], "pad_amount": [[1, 1], [1, 1]], "dilation": [1, 1]})
    g.node("Reshape", [stage], [y])
    p = np.pad(x[0], [(1, 1), (1, 1), (0, 0)])
    want = [[p[h + i, w + j, c] for h in range(4) for w in range(5)] for c in range(2) for i in range(3) for j in range(3)]
    close(g.run()[0], np.reshape(want, (20, 18)))


if __name__ == "__main__":
    main(half=True, versions=(1,))
