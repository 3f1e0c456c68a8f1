# SPDX-License-Identifier: Apache-2.0
"""LiteRT's Qualcomm builders: operators whose lowering is more than a change of names."""
import numpy as np

from client_cases import case, equal, main, near, random, real


@case
def detection_post_process(g):
    """TFLite_Detection_PostProcess: the background is the last class, boxes suppress each other per class, the best of all classes stay."""
    scores = np.array([[.90, .80, 0], [.75, .72, 0], [.60, .50, 0], [.93, .95, 0], [.50, .40, 0], [.30, .20, 0]])
    anchors = [[.5, .5, 1, 1]] * 3 + [[.5, 10.5, 1, 1]] * 2 + [[.5, 100.5, 1, 1]]
    outs = [g.output((1, 3), "f32"), g.output((1, 3, 4), "f32"), g.output((1, 3), "i32"), g.output((1,), "u32")]
    deltas = np.zeros((1, 6, 4))
    deltas[0, 0] = [10, 0, 5 * np.log(3), 0]  # of TFLite, which has scales of 10, 10, 5, 5; the factors are their reciprocals
    g.node("DetectionOutput", [g.input(scores[None], "f32"), g.input(deltas, "f32"), g.input(anchors, "f32")], outs,
           {"delta_scaling_factors": (np.array([.1, .1, .2, .2]), "f32"), "confidence_threshold": (0, "f32"), "iou_threshold": (.5, "f32"), "nms_type": (1, "u32"),
            "background_class_idx": (2, "u32"), "detection_limit": (3, "i32")})
    score, boxes, classes, count = g.run()
    near(score, [[.95, .93, .90]], 1e-2)
    near(boxes, [[[0, 10, 1, 11], [0, 10, 1, 11], [0, 0, 3, 1]]], 1e-2)
    equal(classes, [[1, 0, 0]])
    equal(count, [3])


@case(*[(rank, norms, time_major) for rank in (2, 3) for norms in (False, True) for time_major in (0, 1)])
def lstm(g, kind):
    """All 25 inputs, absent ones as NULL tensors. A single step gives out[2], a sequence out[0]; layer norms have no qscales."""
    rank, norms, time_major = kind
    r, batch, steps, size, units = random("lstm", kind), 2, 3, 4, 5
    w, u, b, c = ({k: r.normal(0, .5, shape).astype(np.float32) for k in "ifgo"} for shape in ((units, size), (units, units), units, units))
    x, h, cell = (r.normal(0, .5, shape).astype(np.float32) for shape in ((steps if rank == 3 else 1, batch, size), (batch, units), (batch, units)))
    given = x[0] if rank == 2 else x if time_major else x.transpose(1, 0, 2)
    of = lambda d, keys="fgo": [g.const(d[k], "f32") for k in keys]  # noqa: E731
    ins = [g.input(given, "f32")] + of(w) + of(u) + of(b) + [g.input(h, "f32"), g.input(cell, "f32")] + (of(c, "ifgo") if norms else [None] * 4)
    ins += of(w, "i") + of(u, "i") + [None, None, None] + of(b, "i") + [None, None, None]
    shape = (batch, units) if rank == 2 else (steps, batch, units) if time_major else (batch, steps, units)
    outs = [g.output(shape, "f32"), g.native((batch, units), "f32"), g.output((batch, units), "f32")]
    g.node("Lstm", ins, outs, {"direction": (0, "u32"), "cell_clip_threshold": (0, "f32"), "output_clip_threshold": (0, "f32"), "time_major": (time_major, "b8")})

    def gate(k, x):
        s = x @ w[k].T + h @ u[k].T
        s = (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 1e-8) * c[k] if norms else s
        return np.tanh(s + b[k]) if k == "g" else 1 / (1 + np.exp(-(s + b[k])))
    want = []
    for step in x:
        i, f, new, o = (gate(k, step) for k in "ifgo")
        cell = f * cell + i * new
        h = o * np.tanh(cell)
        want.append(h)
    got = g.run()
    near(got[0], want[0] if rank == 2 else np.stack(want, 0 if time_major else 1))
    near(got[1], h)


@case
def embedding_lookup(g):
    """An 8-bit table as 16 bits with its own scale, the indices an input, Convert to the scale of the output."""
    r = random("embedding")
    table, rows, y = r.integers(-127, 128, (6, 4)), g.native((1, 3, 4), "sq16", scale=.01), g.output((1, 3, 4), "sq16", scale=.003)
    g.node("Gather", [g.const(table, "sq16", scale=.01), g.input([[1, 5, 0]], "i32")], [rows], {"axis": (0, "i32")})
    g.node("Convert", [rows], [y])
    near(real(g.run()[0], .003), table[[1, 5, 0]][None] * .01, .0016)


@case(*[(a, b, scale) for a, b in (("sq8", "uq8"), ("uq8", "sq8"), ("sq16", "uq16"), ("uq16", "sq16")) for scale in (.05, 1)])
def quantize_to_the_other_sign(g, kind):
    """Quantize between signed and unsigned numbers that differ by their sign alone is a Cast on HTP: the real value stays."""
    a, b, scale = kind
    half = 128 if a.endswith("8") else 32768
    stored = np.array([-half, 1 - half, -1, 0, 1, 17, half - 1]) + (half if a[0] == "u" else 0)
    offset = {"s": 3, "u": 3 - half}
    y = g.output(stored.shape, b, scale=scale, offset=offset[b[0]])
    g.node("Cast", [g.input(stored, a, scale=scale, offset=offset[a[0]])], [y])
    equal(real(g.run()[0], scale, offset[b[0]]), real(stored, scale, offset[a[0]]))


@case(0, 1)
def rotary_embedding(g, interleaved):
    r = random("rotary", interleaved)
    x, cos, sin = (r.normal(0, 1, s).astype(np.float32) for s in ((1, 2, 3, 8), (1, 3, 4), (1, 3, 4)))
    y = g.output(x.shape, "f32")
    g.node("RotaryEmbedding", [g.input(x, "f32"), g.input(cos, "f32"), g.input(sin, "f32")], [y], {"interleaved": (interleaved, "b8")})
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :4], x[..., 4:])
    pair = (a * cos[:, None] - b * sin[:, None], a * sin[:, None] + b * cos[:, None])
    near(g.run()[0], np.stack(pair, -1).reshape(x.shape) if interleaved else np.concatenate(pair, -1))


@case
def multiply_of_signed_bytes(g):
    """Zero points far from 0 on every side: what a device answered."""
    x = [-100, -50, 0, 50]
    y = g.output((1, 1, 1, 4), "sq8", scale=.06, offset=68)
    g.node("ElementWiseMultiply", [g.input([[[x]]], "sq8", scale=.005, offset=97), g.input([[[x]]], "sq8", scale=.09, offset=-8)], [y])
    equal(g.run()[0].ravel(), [-66, -88, -74, -22])


@case
def floor_mod(g):
    """The sign is that of the divisor."""
    y = g.output((1, 2, 2, 1), "i32")
    g.node("ElementWiseMod", [g.input(np.reshape(v, (1, 2, 2, 1)), "i32") for v in ([10, -9, -11, 7], [2, 2, -3, -4])], [y])
    equal(g.run()[0].ravel(), [0, 1, -2, -1])


@case
def atan2(g):
    """A quotient and an arc tangent, then five times a choice by quadrant; two of them are between constants of one element, and 0 / 0 is among what is not chosen."""
    y = np.array([0, 3 ** .5, 1, -1, 1, -1, 1, -1], np.float32).reshape(1, 2, 2, 2)
    x = np.array([0, 1, 1, 1, -1, -1, 0, 0], np.float32).reshape(y.shape)
    ins, zero, pi, half, minus = [g.input(y, "f32"), g.input(x, "f32")], *(g.const(np.float32([v]), "f32") for v in (0, np.pi, np.pi / 2, -np.pi / 2))

    def step(op, inputs, dtype="f32", operation=None, out=None):
        out = out or g.native(y.shape, dtype)
        g.node(op, inputs, [out], {} if operation is None else {"operation": (operation, "u32")})
        return out
    right, left, between = (step("ElementWise" + op, [ins[1], zero], "b8") for op in ("Greater", "Less", "Equal"))
    above, upper, below = (step("ElementWise" + op, [ins[0], zero], "b8") for op in ("Greater", "GreaterEqual", "Less"))
    angle = step("ElementWiseUnary", [step("ElementWiseBinary", ins, operation=2)], operation=2)
    plus, less = step("ElementWiseBinary", [angle, pi], operation=0), step("ElementWiseBinary", [angle, pi], operation=18)
    t = step("ElementWiseSelect", [step("ElementWiseAnd", [between, below], "b8"), minus, zero])
    t = step("ElementWiseSelect", [step("ElementWiseAnd", [between, above], "b8"), half, t])
    t = step("ElementWiseSelect", [step("ElementWiseAnd", [left, below], "b8"), less, t])
    t = step("ElementWiseSelect", [step("ElementWiseAnd", [left, upper], "b8"), plus, t])
    step("ElementWiseSelect", [right, angle, t], out=g.output(y.shape, "f32"))
    near(g.run()[0], np.arctan2(y, x))


@case
def local_response_norm(g):
    """A radius beyond all channels and no bias: each pixel has the length 1. alpha is not divided by the size of the window."""
    x = [-1.1, .6, .7, 1.2, -.7, .1]
    y = g.output((1, 1, 1, 6), "f32")
    g.node("Lrn", [g.input([[[x]]], "f32")], [y], {"radius": (20, "i32"), "bias": (0, "f32"), "alpha": (1, "f32"), "beta": (.5, "f32")})
    near(g.run()[0].ravel(), np.array(x) / 2)


@case
def hadamard_transform(g):
    """Of ones, in 16 bits: the square root of the length, and zeros."""
    y = g.output((1, 1, 1, 256), "sq16", scale=1)
    g.node("HadamardTransform", [g.input(np.ones((1, 1, 1, 256)), "sq16", scale=1)], [y], {"scale": (1, "f32")})
    equal(g.run()[0].ravel(), [16] + [0] * 255)


@case("BatchToSpace", "SpaceToBatch")
def spatial_transform_nd(g, op):
    """A block of one line."""
    there, here = (2, 2, 1, 1), (1, 2, 2, 1)
    x, shape = (there, here) if op == "BatchToSpace" else (here, there)
    y = g.output(shape, "uq8", scale=1)
    g.node(op, [g.input(np.reshape([1, 2, 3, 4], x), "uq8", scale=1)], [y],
           {"block_size": [1, 2], "crops" if op == "BatchToSpace" else "pad_amount": (np.zeros((2, 2)), "u32")})
    equal(g.run()[0].ravel(), [1, 3, 2, 4])


@case(True, False)
def transpose_conv3d(g, bias):
    """Stride 2, padding on one side: every input pixel writes the filter at its place, in the layout DHWIO."""
    r = random("transpose3d", bias)
    x, w, b = (r.integers(-4, 5, s).astype(np.float32) for s in ((1, 2, 3, 2, 2), (3, 2, 2, 2, 3), 3))
    pads = np.array([[1, 0], [0, 0], [0, 1]])
    want = np.zeros((1, 5, 6, 4, 3), np.float32) + (b if bias else 0)
    for d, h, v in np.ndindex(2, 3, 2):
        want[0, 2 * d:2 * d + 3, 2 * h:2 * h + 2, 2 * v:2 * v + 2] += np.einsum("i,dhwio->dhwo", x[0, d, h, v], w)
    want = want[:, 1:, :, :3]
    y = g.output(want.shape, "f32")
    ins = [g.input(x, "f32"), g.const(w, "f32")] + [g.const(b, "f32")] * bias
    g.node("TransposeConv3d", ins, [y], {"stride": [2, 2, 2], "pad_amount": (pads, "u32"), "dilation": [1, 1, 1]})
    equal(g.run()[0], want)


if __name__ == "__main__":
    main(on_gpu=16)
