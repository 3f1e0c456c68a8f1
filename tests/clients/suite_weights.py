# SPDX-License-Identifier: Apache-2.0
"""Weights of few bits as ONNX Runtime (MatMulNBits, LPBQ fusions), LiteRT and ExecuTorch give them: a byte per weight whose upper bits may be empty, scales per
block listed output channel by output channel whatever the layout of the weights is."""
import numpy as np

from client_cases import case, equal, main, near, quantized, random, real

ONE = {"stride": [1, 1], "pad_amount": [[0, 0], [0, 0]], "dilation": [1, 1]}


def codes(r, bits, shape):
    return r.integers(-(1 << bits - 1), 1 << bits - 1, shape)


def bytes_of(w, bits):
    """Two's complement in the low bits, nothing above."""
    return (w & (1 << bits) - 1).astype(np.uint8).view(np.int8)


@case(*[(op, bits, zero) for op in ("Conv2d", "MatMul") for bits in (2, 4, 8) for zero in (False, True)])
def float_blocks(g, kind):
    """f32 to f16, a product with weights [1, 1, in, out], and back. Zero points become offsets in steps."""
    op, bits, zero = kind
    r, k, n, block = random("float", kind), 64, 6, 16
    w, scale, x = codes(r, bits, (n, k)), r.uniform(.02, .1, (n, k // block)).astype(np.float32) / 2 ** (bits - 2), r.normal(0, .25, (1, 1, 3, k)).astype(np.float32)
    offset = -codes(r, bits, scale.shape) if zero else np.zeros_like(scale)
    weights = g.const(bytes_of(w, bits).T.reshape(1, 1, k, n), "sq8", bits=bits, block=(1, 1, block, 1), scales=scale.ravel(), offsets=offset.ravel())
    half, product, y = g.native(x.shape, "f16"), g.native((1, 1, 3, n), "f16"), g.output((1, 1, 3, n), "f32")
    g.node("Cast", [g.input(x, "f32")], [half])
    g.node(op, [half, weights], [product], ONE if op == "Conv2d" else {"transpose_in0": (0, "b8"), "transpose_in1": (0, "b8")})
    g.node("Cast", [product], [y])
    real_w = (w + np.repeat(offset, block, 1)) * np.repeat(scale, block, 1)
    near(g.run()[0], x @ real_w.T.astype(np.float64), 0.02)


@case(*[(dtype, rows) for dtype in ("f32", "f16") for rows in ((3,), (1, 4), (2, 1, 3))])
def packed_blocks(g, kind):
    """Two weights in a byte, [out, in] in blocks of the inputs: FullyConnected flattens what is in front of them, Reshape restores it."""
    dtype, rows = kind
    r, k, n, block = random("packed", kind), 64, 6, 32
    w, scale, x = codes(r, 4, (n, k)), r.uniform(.02, .1, (n, k // block)).astype(np.float32), r.normal(0, .25, (*rows, k)).astype(dtype.replace("f", "float"))
    weights = g.const(w, "sq4", block=(1, block), scales=scale.ravel())
    sums, y = g.native((int(np.prod(rows)), n), dtype), g.output((*rows, n), dtype)
    g.node("FullyConnected", [g.input(x, dtype), weights], [sums])
    g.node("Reshape", [sums], [y])
    near(g.run()[0], x.astype(np.float64) @ (w * np.repeat(scale.astype(np.float64), block, 1)).T, 1e-5 if dtype == "f32" else 2e-3)


@case(*[(dtype, shape, axis) for dtype in ("f32", "f16") for shape, axis in (((12, 64), 0), ((3, 5, 32), 0), ((3, 5, 32), 1))])
def table_blocks(g, kind):
    """GatherBlockQuantized: rows of a table with two values in a byte, in blocks of the last dimension, come out as floats. An index is negative, one is outside."""
    dtype, shape, axis = kind
    r, block = random("table", kind), 16
    w, scale = codes(r, 4, shape), r.uniform(.02, .1, (*shape[:-1], shape[-1] // block)).astype(np.float32)
    table, at = g.const(w, "sq4", block=(*[1] * (len(shape) - 1), block), scales=scale.ravel()), np.array([[1, shape[axis] - 1, 0], [-2, 1, shape[axis] + 3]])
    exact = (w * np.repeat(scale, block, -1)).astype(dtype.replace("f", "float"))
    want = np.take(exact, np.where(at < shape[axis], at, 0), axis)
    want[(slice(None),) * axis + (1, 2)] = 0
    y = g.output(want.shape, dtype)
    g.node("Gather", [table, g.input(at, "i32")], [y], {"axis": (axis, "i32")})
    equal(g.run()[0], want)


@case((1, 1), (3, 3))
def blocks(g, kernel):
    """16-bit activations between Reshape nodes; blocks of the input channels, each tap of the kernel with its own."""
    r, k, n, block = random("blocks", kernel), 32, 4, 16
    w, scale = codes(r, 4, (n, k, *kernel)), r.uniform(.005, .02, (n, k // block, *kernel)).astype(np.float32)
    x = r.normal(0, .25, (1, 5, 5, k))
    stored = quantized(x, "uq16", 1e-4, -32768)
    weights = g.const(w.transpose(2, 3, 1, 0).astype(np.int8), "sq8", block=(1, 1, block, 1), scales=scale.ravel())
    size = 6 - kernel[0]
    flat, image, sums, y = (g.input(stored.reshape(1, 25, k), "uq16", scale=1e-4, offset=-32768), g.native((1, 5, 5, k), "uq16", scale=1e-4, offset=-32768),
                            g.native((1, size, size, n), "uq16", scale=1e-3, offset=-32768), g.output((1, size * size, n), "uq16", scale=1e-3, offset=-32768))
    g.node("Reshape", [flat], [image])
    g.node("Conv2d", [image, weights], [sums], ONE)
    g.node("Reshape", [sums], [y])
    want, exact, real_w = np.zeros((size, size, n)), real(stored, 1e-4, -32768)[0], w * np.repeat(scale, block, 1)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            want += exact[i:i + size, j:j + size] @ real_w[:, :, i, j].T
    near(real(g.run()[0], 1e-3, -32768).reshape(size, size, n), want, 2e-3)


@case(*[(op, empty) for op in ("Conv2d", "FullyConnected") for empty in (False, True)])
def expansion(g, kind):
    """LPBQ: block scales of 4 bits expand weights of 4 bits. The upper half of a byte repeats the sign or is empty."""
    op, empty = kind
    r, k, n = random("expansion", kind), 32, 8
    w, scale, factors = codes(r, 4, (n, k)), r.uniform(.001, .004, n).astype(np.float32), r.integers(1, 16, (n, 2))
    bytes_ = bytes_of(w, 4) if empty else w
    x = quantized(r.normal(0, 1, (3, k)), "uq16", 2e-4, -32768)
    bias = r.integers(-1000, 1000, n)
    b = g.const(bias, "sq32", scales=scale * np.float32(2e-4), axis=0)
    if op == "Conv2d":
        weights = g.const(bytes_.T.reshape(1, 1, k, n), "sq8", axis=3, expansion=(scale, factors))
        y = g.output((1, 1, 3, n), "uq16", scale=2e-4, offset=-32768)
        g.node(op, [g.input(x.reshape(1, 1, 3, k), "uq16", scale=2e-4, offset=-32768), weights, b], [y], dict(ONE, group=(1, "u32")))
    else:
        weights = g.const(bytes_, "sq8", axis=0, expansion=(scale, factors))
        y = g.output((3, n), "uq16", scale=2e-4, offset=-32768)
        g.node(op, [g.input(x, "uq16", scale=2e-4, offset=-32768), weights, b], [y])
    exact = real(x, 2e-4, -32768) @ (w * np.repeat(factors, k // 2, 1) * scale[:, None].astype(np.float64)).T + bias * scale * 2e-4
    near(real(g.run()[0], 2e-4, -32768).reshape(3, n), np.clip(exact, -32768 * 2e-4, 32767 * 2e-4), 4e-4)


@case("Conv2d", "FullyConnected", "DepthWiseConv2d")
def channel_offsets(g, op):
    """Unsigned weights per channel with a zero point of their own each."""
    r, n, k = random("offsets", op), 3, 1 if op == "DepthWiseConv2d" else 5
    w, scale, offset = r.integers(0, 256, (n, k)), r.uniform(.005, .02, n).astype(np.float32), np.array([-128, -100, -131])
    x = r.integers(0, 256, (4, n if k == 1 else k))
    stored = g.input(x if op == "FullyConnected" else x.reshape(1, 2, 2, -1), "uq8", scale=.02, offset=-128)
    y = g.output((4, n) if op == "FullyConnected" else (1, 2, 2, n), "uq8", scale=.1, offset=-128)
    if op == "FullyConnected":
        g.node(op, [stored, g.const(w, "uq8", scales=scale, offsets=offset, axis=0)], [y])
    else:
        g.node(op, [stored, g.const(w.T.reshape(1, 1, k, n), "uq8", scales=scale, offsets=offset, axis=3)], [y], ONE)
    real_w, exact = (w + offset[:, None]) * scale[:, None], real(x, .02, -128)
    want = exact * real_w[:, 0] if k == 1 else exact @ real_w.T
    near(real(g.run()[0], .1, -128).reshape(4, n), np.clip(want, -12.8, 12.7), .051)


@case((2, 1), (3, 4))
def transposed_groups(g, kind):
    """The bias of a TransposeConv2d with groups has the scales of its weights, which are those of one group."""
    groups, inner = kind
    r, each = random("groups", kind), 3
    w, scale = r.integers(-127, 128, (2, 2, inner * groups, each)), r.uniform(.005, .01, each).astype(np.float32)
    bias, x = r.integers(-3000, 3000, each * groups), r.integers(0, 256, (1, 3, 3, inner * groups))
    y = g.output((1, 4, 4, each * groups), "uq8", scale=.25, offset=-128)
    g.node("TransposeConv2d", [g.input(x, "uq8", scale=.02, offset=-128), g.const(w, "sq8", scales=scale, axis=3),
                               g.const(bias, "sq32", scales=scale * np.float32(.02), axis=0)], [y],
           {"stride": [1, 1], "pad_amount": [[0, 0], [0, 0]], "output_padding": [0, 0], "group": (groups, "u32")})
    want, exact = np.zeros((4, 4, each * groups)) + np.tile(scale, groups) * bias * .02, real(x, .02, -128)[0]
    for k in range(groups):
        mine = slice(k * inner, (k + 1) * inner)
        for i in range(2):
            for j in range(2):
                want[i:i + 3, j:j + 3, k * each:(k + 1) * each] += exact[..., mine] @ (w[i, j, mine] * scale)
    near(real(g.run()[0], .25, -128)[0], np.clip(want, -32, 31.75), .13)


if __name__ == "__main__":
    main(on_gpu=24)
