# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX Runtime's QNN provider as its op builders lower them, where one ONNX node is several QNN nodes or has optional tensors and types of its own."""
import numpy as np

from client_cases import case, equal, main, near, quantized, random, real


@case(*[(packed, rotary) for packed in (False, True) for rotary in (False, True)])
def group_query_attention(g, kind):
    """A step of decoding: the cache has room for all positions, absent inputs are there as NULL tensors, total_sequence_length is a scalar of rank 0."""
    packed, rotary = kind
    r, batch, tokens, heads, kv, size, room, past = random("gqa", kind), 1, 2, 4, 2, 8, 9, 5
    q, k, v = (r.normal(0, 1, (batch, tokens, n * size)).astype(np.float32) for n in (heads, kv, kv))
    old = [r.normal(0, 1, (batch, kv, room, size)).astype(np.float32) for _ in range(2)]
    angles = r.uniform(-3, 3, (room, size // 2))
    cos, sin, positions = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32), np.array([[3, 7]])
    query = g.input(np.concatenate([q, k, v], -1), "f32") if packed else g.input(q, "f32")
    ins = [query, g.input([past + tokens - 1], "i32"), g.const(np.int32(past + tokens), "i32")]
    ins += [None, None] if packed else [g.input(k, "f32"), g.input(v, "f32")]
    ins += [g.input(a, "f32") for a in old]
    ins += [g.const(cos, "f32"), g.const(sin, "f32"), g.const(positions, "i64")] if rotary else [None, None, None]
    outs = [g.output((batch, tokens, heads * size), "f32")] + [g.output((batch, kv, room, size), "f32") for _ in range(2)]
    g.node("GroupQueryAttention", ins, outs, {"num_heads": (heads, "u32"), "kv_num_heads": (kv, "u32"), "do_rotary": (int(rotary), "u32"), "scale": (size ** -.5, "f32")})
    got = g.run()

    def per_head(x):
        x = x.reshape(batch, tokens, -1, size).transpose(0, 2, 1, 3).astype(np.float64)
        if rotary:
            a, b, c, s = x[..., :size // 2], x[..., size // 2:], cos[positions[0]], sin[positions[0]]
            x = np.concatenate([a * c - b * s, a * s + b * c], -1)
        return x
    keys, values = old[0].astype(np.float64), old[1].astype(np.float64)
    keys[:, :, past:past + tokens] = per_head(k)
    values[:, :, past:past + tokens] = v.reshape(batch, tokens, kv, size).transpose(0, 2, 1, 3)
    want = np.zeros((batch, tokens, heads, size))
    for h in range(heads):
        for t in range(tokens):
            n = past + t + 1
            score = keys[0, h // 2, :n] @ per_head(q)[0, h, t] * size ** -.5
            p = np.exp(score - score.max())
            want[0, t, h] = p @ values[0, h // 2, :n] / p.sum()
    near(got[0], want.reshape(got[0].shape))
    near(got[1], keys)
    near(got[2], values)


@case("f32", "uq8")
def non_max_suppression(g, dtype):
    """The valid count goes to a tensor nobody reads; the indices are cast to 64 bits for the graph's output."""
    boxes = np.array([[[0, 0, 1, 1], [0, .1, 1, 1.1], [0, -.1, 1, .9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]])
    scores = np.array([[[.9, .75, .6, .95, .5, .3]]])
    if dtype == "f32":
        ins = [g.input(boxes, "f32"), g.input(scores, "f32")]
    else:
        ins = [g.input(quantized(boxes, "uq8", .4, -1), "uq8", scale=.4, offset=-1), g.input(quantized(scores, "uq8", 1 / 255, 0), "uq8", scale=1 / 255, offset=0)]
    found, count, y = g.native((3, 3), "i32"), g.native((1,), "u32"), g.output((3, 3), "i64")
    g.node("NonMaxSuppression", ins, [found, count],
           {"iou_threshold": (.5, "f32"), "score_threshold": (0, "f32"), "max_boxes_selected": (3, "u32"), "center_point_box": (0, "u32")})
    g.node("Cast", [found], [y])
    equal(g.run()[0], [[0, 0, 3], [0, 0, 0], [0, 0, 5]])


@case("f16", "uq8", "b8")
def non_zero(g, dtype):
    """As many rows as the input has elements, those behind the last one found are -1; transposed and cast for ONNX."""
    x = np.array([[0, 1, 0], [2, 0, 3]])
    y, rows, turned = g.output((2, 6), "i64"), g.native((6, 2), "i32"), g.native((2, 6), "i32")
    if dtype == "f16":
        a = g.native((2, 3), "f16")
        g.node("Cast", [g.input(x, "f32")], [a])
    else:
        a = g.input(x + 7, "uq8", scale=.5, offset=-7) if dtype == "uq8" else g.input(x != 0, "b8")
    g.node("NonZero", [a], [rows])
    g.node("Transpose", [rows], [turned], {"perm": [1, 0]})
    g.node("Cast", [turned], [y])
    equal(g.run()[0], [[0, 1, 1, -1, -1, -1], [1, 0, 2, -1, -1, -1]])


@case("RandomUniformLike", "RandomNormalLike")
def random_like(g, op):
    """On HTP the numbers are made in 8 bits and dequantized; the shape is a constant, the seed too. The graph has no inputs."""
    scale, offset = (1 / 255, 0) if op == "RandomUniformLike" else (6 / 255, -128)
    params = {"low": (0, "f32"), "high": (1, "f32")} if op == "RandomUniformLike" else {"mean": (0, "f32"), "scale": (1, "f32")}
    small, y = g.native((4, 8, 16), "uq8", scale=scale, offset=offset), g.output((4, 8, 16), "f32")
    g.node(op, [g.const([4, 8, 16], "u32"), g.const([5], "f32")], [small], params)
    g.node("Dequantize", [small], [y])
    x = g.run()[0]
    assert x.min() >= offset * scale and x.max() <= (255 + offset) * scale, f"from {x.min()} to {x.max()}"
    mean, deviation = (.5, 12 ** -.5) if op == "RandomUniformLike" else (0, 1)
    near([x.mean(), x.std()], [mean, deviation], .15)


@case
def bernoulli(g):
    """A comparison of random numbers with probabilities, cast from truth values."""
    p = np.array([0, 1, 0, 1], np.float32)
    small, drawn, less, y = g.native((4,), "uq8", scale=1 / 255, offset=0), g.native((4,), "f32"), g.native((4,), "b8"), g.output((4,), "f32")
    prob = g.input(p, "f32")
    g.node("RandomUniformLike", [g.const([4], "u32")], [small], {"low": (0, "f32"), "high": (1, "f32")})
    g.node("Dequantize", [small], [drawn])
    g.node("ElementWiseLess", [drawn, prob], [less])
    g.node("Cast", [less], [y])
    assert set(g.run()[0][[0, 2]]) == {0}


@case("i32", "i64")
def constant_range(g, dtype):
    """Range: constants through a Cast or an identity Transpose, and no input at all."""
    y = g.output((4,), dtype)
    if dtype == "i64":
        g.node("Cast", [g.const([3, 5, 7, 9], "i32")], [y])
    else:
        g.node("Transpose", [g.const([3, 5, 7, 9], "i32")], [y], {"perm": [0]})
    equal(g.run()[0], [3, 5, 7, 9])


@case
def integer_mod(g):
    """Mod: a - b * floor(a / b) in f32, the second operand broadcast."""
    a, b = g.input([[5, -7], [9, 2]], "i32"), g.input([3, -4], "i32")
    fa, fb, y = g.native((2, 2), "f32"), g.native((2,), "f32"), g.output((2, 2), "i32")
    d, f, m, s = (g.native((2, 2), "f32") for _ in range(4))
    for op, ins, out in (("Cast", [a], fa), ("Cast", [b], fb), ("ElementWiseDivide", [fa, fb], d), ("ElementWiseFloor", [d], f), ("ElementWiseMultiply", [fb, f], m),
                         ("ElementWiseSubtract", [fa, m], s), ("Cast", [s], y)):
        g.node(op, ins, [out])
    equal(g.run()[0], np.mod([[5, -7], [9, 2]], [3, -4]))


@case
def buffer_in_halves(g):
    """Buffer takes and gives f16 between Casts; the reset input is a truth value."""
    frames = [np.arange(6, dtype=np.float32).reshape(1, 2, 3) + 10 * i for i in range(3)]
    half, window, y = g.native((1, 2, 3), "f16"), g.native((1, 4, 3), "f16"), g.output((1, 4, 3), "f32")
    x, reset = g.input(frames[0], "f32"), g.input([0], "b8")
    g.node("Cast", [x], [half])
    g.node("Buffer", [half, reset], [window], {"buffer_size": (4, "u32"), "buffer_dim": (1, "u32"), "stride": (2, "u32"), "mode": (1, "u32"), "buffer_padding": (0, "u32")})
    g.node("Cast", [window], [y])
    g.run()
    for i in (1, 2):
        x.array[:] = frames[i]
        got = g.execute()[0]
    equal(got, np.concatenate(frames[1:], 1))


@case("uq16", "sq16")
def half_bridges(g, dtype):
    """Dequantize to f16 and Quantize from it, around operators that need floats."""
    r = random("bridges", dtype)
    zero = -32768 if dtype == "uq16" else 0
    x = quantized(r.normal(0, 2, (1, 40)), dtype, 2e-4, zero)
    half, y = g.native((1, 40), "f16"), g.output((1, 40), dtype, scale=2e-4, offset=zero)
    g.node("Dequantize", [g.input(x, dtype, scale=2e-4, offset=zero)], [half])
    g.node("Quantize", [half], [y])
    near(real(g.run()[0], 2e-4, zero), real(x, 2e-4, zero), 5e-3)


@case(("f32", 1), ("f16", 1), ("f32", 0), ("uq8", 1))
def one_hot(g, kind):
    """Values of half floats come as floats in a scalar that is called FLOAT_16, the ABI having no member for them."""
    dtype, axis = kind
    encoding = {"scale": .1, "offset": -10} if dtype == "uq8" else {}
    y = g.output((3, 4) if axis else (4, 3), dtype, **encoding)
    scalar = "f16" if dtype == "f16" else "f32"
    g.node("OneHot", [g.input([1, 3, 0], "i32")], [y], {"depth": (4, "u32"), "on_value": (2.5, scalar), "off_value": (-1, scalar), "axis": (axis, "u32")})
    got, want = g.run()[0], np.where(np.arange(4) == [[1], [3], [0]], 2.5, -1)
    near(real(got, .1, -10) if dtype == "uq8" else got, want if axis else want.T)


@case(*[(after, reverse) for after in (0, 1) for reverse in (0, 1)])
def gru(g, kind):
    """Weights cut from the ONNX tensors by StridedSlice, so not constant; the initial state and the last one have rank 3."""
    after, reverse = kind
    r, steps, batch, size, units = random("gru", kind), 3, 2, 4, 5
    x, w, u, b, first = (r.normal(0, 1, s).astype(np.float32) for s in ((steps, batch, size), (3, units, size), (3, units, units), (6, units), (1, batch, units)))

    def part(a, i):
        to = g.native(a.shape[1:], "f32")
        g.node("StridedSlice", [g.input(a, "f32")], [to], {"ranges": (np.array([[i, i + 1, 1]] + [[0, d, 1] for d in a.shape[1:]]), "i32"), "begin_mask": (0, "u32"),
                                                           "end_mask": (0, "u32"), "shrink_axes": (1, "u32"), "new_axes_mask": (0, "u32")})
        return to
    ins = [g.input(x, "f32")] + [part(a, i) for a in (w, u) for i in range(3)] + [g.const(row, "f32") for row in b] + [g.input(first, "f32")]
    g.node("Gru", ins, [g.output((steps, batch, units), "f32"), g.output((1, batch, units), "f32")],
           {"direction": (reverse, "u32"), "linear_before_reset": (after, "u32"), "time_major": (1, "b8")})
    h, want = first[0].astype(np.float64), np.zeros((steps, batch, units))
    for t in range(steps)[::-1 if reverse else 1]:
        z, reset = (1 / (1 + np.exp(-(x[t] @ w[i].T + h @ u[i].T + b[i] + b[i + 3]))) for i in range(2))
        new = np.tanh(x[t] @ w[2].T + b[2] + (reset * (h @ u[2].T + b[5]) if after else (reset * h) @ u[2].T + b[5]))
        want[t] = h = (1 - z) * new + z * h
    got = g.run()
    near(got[0], want)
    near(got[1][0], h)


@case
def matmul_integer(g):
    """MatMulInteger: weights with a scale and a zero point per column are dequantized in the graph, the product is float."""
    r = random("integer")
    w, scale, offset, x = r.integers(0, 256, (5, 3)), np.array([.1, .2, .3], np.float32), np.array([-128, -100, -3]), r.normal(0, 1, (2, 5)).astype(np.float32)
    weights, y = g.native((5, 3), "f32"), g.output((2, 3), "f32")
    g.node("Dequantize", [g.const(w, "uq8", scales=scale, offsets=offset, axis=1)], [weights])
    g.node("MatMul", [g.input(x, "f32"), weights], [y])
    near(g.run()[0], x @ ((w + offset) * scale), 1e-3)


def per_axis(r, shape, axis, bits):
    """Signed weights with a scale per element of an axis: what is stored, the scales, and the real weights."""
    scale = r.uniform(.0002, .002, shape[axis]).astype(np.float32)
    stored = r.integers(-(1 << bits - 1), 1 << bits - 1, shape)
    return stored, scale, stored * scale.astype(np.float64).reshape([-1 if i == axis else 1 for i in range(len(shape))])


@case(*[(shape, weights, axis, bits) for shape, weights, axis in (((2, 3), (2, 3), 0), ((2, 3, 3), (1, 3), 1), ((3,), (1, 3), 1),
                                                                 ((2, 2, 3, 40), (5, 40), 1), ((7, 33), (18, 33), 1)) for bits in (8, 4)])
def matmul_per_channel(g, kind):
    """MatMulOp_QDQ with weights that have a scale per channel. A rank 1 initializer has its axis along the sum, and becomes [1, k] with
    axis 1; one of rank 2 is turned, so its columns are axis 0. The result of more than two dimensions is reshaped."""
    shape, weights, axis, bits = kind
    r = random("per channel", kind)
    stored, scale, w = per_axis(r, weights, axis, bits)
    x = r.uniform(-.1, .1, shape).astype(np.float32)
    x_scale, rows, reach = .2 / 65535, int(np.prod(shape[:-1])), np.abs(w).sum(1).max() * .1
    y_scale, encoding = 2 * reach / 65535, {"scales": scale, "offsets": np.zeros(len(scale)), "axis": axis}
    if bits == 4:
        encoding["bits"] = 4
    quantized_x, y, out = g.native(shape, "uq16", scale=x_scale, offset=-32768), g.native((rows, weights[0]), "uq16", scale=y_scale, offset=-32768), g.output((*shape[:-1], weights[0]), "f32")
    g.node("Quantize", [g.input(x, "f32")], [quantized_x])
    rank_2 = quantized_x
    if len(shape) == 1:
        rank_2 = g.native((1, *shape), "uq16", scale=x_scale, offset=-32768)
        g.node("Reshape", [quantized_x], [rank_2])
    g.node("FullyConnected", [rank_2, g.const(stored, "sq8", **encoding)], [y])
    last = y
    if len(shape) != 2:
        last = g.native((*shape[:-1], weights[0]), "uq16", scale=y_scale, offset=-32768)
        g.node("Reshape", [y], [last])
    g.node("Dequantize", [last], [out])
    near(g.run()[0], x.astype(np.float64) @ w.T, y_scale * .51 + x_scale * .51 * np.abs(w).sum(1).max())


@case(*[(types, turned) for types in (("uq8", "sq8"), ("uq16", "sq8"), ("uq16", "sq16"), ("sq8", "uq8")) for turned in (0, 1)])
def matmul_scale_per_term(g, kind):
    """MatMul with one scale per row of the weights, which is a factor of the terms of every sum; and a bias with a scale of its own."""
    (x_type, w_type), turned = kind
    r, rows, depth, columns = random("term", kind), 5, 37, 18
    scale, offset = r.uniform(.002, .02, depth).astype(np.float32), r.integers(-9, 9, depth) - (128 if w_type == "uq8" else 0)
    stored = r.integers(*(0, 256) if w_type == "uq8" else (-128, 128), (depth, columns))
    if w_type == "sq16":
        offset[:] = 0
    w = (stored + offset[:, None]) * scale.astype(np.float64)[:, None]
    low = {"uq8": 0, "sq8": -128, "uq16": 0}[x_type]
    x, bias, zero = r.integers(low, 256 + low, (rows, depth)), r.integers(-1000, 1000, columns), -low - 128
    real_x = (x + zero) * .01
    want = real_x @ w + bias * .001
    y_scale = np.abs(want).max() / (127 if "8" in x_type else 32767)
    y_zero = {"uq8": -128, "sq8": 0, "uq16": -32768}[x_type]
    y = g.output((rows, columns), x_type, scale=y_scale, offset=y_zero)
    g.node("MatMul", [g.input(x, x_type, scale=.01, offset=zero), g.const(stored.T if turned else stored, w_type, scales=scale, offsets=offset, axis=turned),
                      g.const(bias, "sq32", scale=.001)], [y], {"transpose_in0": (0, "b8"), "transpose_in1": (turned, "b8")})
    near(real(g.run()[0], y_scale, y_zero), want, y_scale * .501)


if __name__ == "__main__":
    main(on_gpu=18)
