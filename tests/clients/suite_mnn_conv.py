# SPDX-License-Identifier: Apache-2.0
"""MNN's QNN executions with weights and windows: floats as f16 or f32, integers symmetric in 8 bits, and the ways between them."""
import numpy as np

from client_cases import case, main, near, quantized, random, real
from mnn_parts import BOTH, F64, close, given, normal, result


def windows(x, size, stride, pad, dilation=(1, 1), fill=0.):
    """Each output position's window: n, h, w, kh, kw, c."""
    (top, bottom), (left, right) = pad
    x = np.pad(x.astype(F64), [(0, 0), (top, bottom), (left, right), (0, 0)], constant_values=fill)
    h, w = ((x.shape[1 + i] - dilation[i] * (size[i] - 1) - 1) // stride[i] + 1 for i in range(2))
    return np.stack([np.stack([x[:, i * dilation[0]:i * dilation[0] + (h - 1) * stride[0] + 1:stride[0], j * dilation[1]:j * dilation[1] + (w - 1) * stride[1] + 1:stride[1]]
                               for j in range(size[1])], 3) for i in range(size[0])], 3)


def conv2d(x, w, bias, stride, pad, dilation=(1, 1), group=1):
    parts, per = windows(x, w.shape[:2], stride, pad, dilation), x.shape[3] // group
    out = [np.einsum("nhwijc,ijco->nhwo", parts[..., i * per:(i + 1) * per], k) for i, k in enumerate(np.split(w.astype(F64), group, 3))]
    return np.concatenate(out, 3) + bias


def conv_params(stride, pad, dilation, group=None):
    params = {"stride": list(stride), "pad_amount": [list(p) for p in pad], "dilation": list(dilation)}
    return params if group is None else {**params, "group": (group, "u32")}


RELU = {"": lambda x: x, "Relu": lambda x: np.maximum(x, 0), "Relu6": lambda x: np.clip(x, 0, 6), "ReluMinMax": lambda x: np.clip(x, 0, 6)}


@case(*[(act, group, stride, t) for act in ("", "Relu", "Relu6") for group, stride in ((1, 1), (2, 2)) for t in BOTH])
def convolution(g, kind):
    """The activation is a node of its own behind a tensor of its own."""
    act, group, stride, dtype = kind
    x, w, bias = normal(kind, shape=(1, 7, 9, 4)), normal(kind, 1, shape=(3, 3, 4 // group, 6)), normal(kind, 2, shape=6)
    how = ((stride, stride), ((1, 1), (0, 1)), (1, 1))
    want = RELU[act](conv2d(x, w, bias, *how, group))
    y, run = result(g, want.shape, dtype)
    to = g.native(want.shape, dtype) if act else y
    g.node("Conv2d", [given(g, x, dtype), g.const(w, dtype), g.const(bias, dtype)], [to], conv_params(*how, group))
    if act:
        g.node(act, [to], [y])
    close(run(), want)


@case(*BOTH)
def batch_as_image(g, dtype):
    """A product of many rows by 1x1 weights: the batch becomes the image, as square as its number allows."""
    x, w, bias = normal("rows", shape=(12, 1, 1, 8)), normal("rows", 1, shape=(1, 1, 8, 5)), normal("rows", 2, shape=5)
    image, out = g.native((1, 3, 4, 8), dtype), g.native((1, 3, 4, 5), dtype)
    y, run = result(g, (12, 1, 1, 5), dtype)
    g.node("Reshape", [given(g, x, dtype)], [image])
    g.node("Conv2d", [image, g.const(w, dtype), g.const(bias, dtype)], [out], conv_params((1, 1), ((0, 0), (0, 0)), (1, 1), 1))
    g.node("Reshape", [out], [y])
    close(run(), conv2d(x, w, bias, (1, 1), ((0, 0), (0, 0))))


@case(*[(act, t) for act in ("", "Relu", "ReluMinMax") for t in BOTH])
def depthwise(g, kind):
    act, dtype = kind
    x, w, bias = normal("depthwise", kind, shape=(1, 6, 6, 4)), normal("depthwise", kind, 1, shape=(3, 3, 1, 4)), normal("depthwise", kind, 2, shape=4)
    how = ((2, 1), ((1, 1), (2, 2)), (1, 2))
    want = RELU[act](conv2d(x, w, bias, *how, 4))
    y, run = result(g, want.shape, dtype)
    to = g.native(want.shape, dtype) if act else y
    g.node("DepthWiseConv2d", [given(g, x, dtype), g.const(w, dtype), g.const(bias, dtype)], [to], conv_params(*how))
    if act:
        g.node(act, [to], [y], {"min_value": (0, "f32"), "max_value": (6, "f32")} if act == "ReluMinMax" else None)
    close(run(), want)


def deconv(x, w, bias, stride, pad, more, group=1):
    """w: kh, kw, input channels, output channels per group."""
    n, h, width, c = x.shape
    kh, kw, _, o = w.shape
    full = np.zeros((n, (h - 1) * stride + kh + more, (width - 1) * stride + kw + more, o * group))
    for k in range(group):
        of = slice(k * c // group, (k + 1) * c // group)
        for i in range(h):
            for j in range(width):
                full[:, i * stride:i * stride + kh, j * stride:j * stride + kw, k * o:(k + 1) * o] += np.einsum("nc,ijco->nijo", x[:, i, j, of].astype(F64), w[:, :, of])
    return full[:, pad:full.shape[1] - pad, pad:full.shape[2] - pad] + bias


@case(*[(group, more, t) for group, more in ((1, 0), (1, 1), (2, 0)) for t in BOTH])
def deconvolution(g, kind):
    """output_padding is said only where there is some."""
    group, more, dtype = kind
    x, w, bias = normal("deconv", kind, shape=(1, 4, 5, 4)), normal("deconv", kind, 1, shape=(3, 3, 4, 6 // group)), normal("deconv", kind, 2, shape=6)
    want = deconv(x, w, bias, 2, 1, more, group)
    y, run = result(g, want.shape, dtype)
    params = {"stride": [2, 2], "pad_amount": [[1, 1], [1, 1]], "group": (group, "u32"), **({"output_padding": [more, more]} if more else {})}
    g.node("TransposeConv2d", [given(g, x, dtype), g.const(w, dtype), g.const(bias, dtype)], [y], params)
    close(run(), want)


def symmetric(array, axis=None):
    """8-bit integers and their scale, or scales along an axis."""
    most = np.abs(array).max() if axis is None else np.abs(array).max(tuple(i for i in range(array.ndim) if i != axis))
    scale = np.asarray(most / 127, np.float32)
    return np.rint(array / scale.reshape([-1 if i == axis else 1 for i in range(array.ndim)]) if axis is not None else array / scale), scale


@case("", "Relu", "Relu6")
def convolution_of_integers(g, act):
    """Scales per channel on weights and bias; tensors between nodes have the output's encoding."""
    x, w, bias = normal("integers", shape=(1, 6, 6, 4)), normal("integers", 1, shape=(3, 3, 4, 5)), normal("integers", 2, shape=5)
    (qx, sx), (qw, sw) = symmetric(x), symmetric(w, 3)
    how = ((1, 1), ((1, 1), (1, 1)), (1, 1))
    want = RELU[act](conv2d(qx * sx, qw * sw, bias, *how))
    step = np.abs(want).max() / 127
    y = g.output(want.shape, "sq8", scale=step)
    to = g.native(want.shape, "sq8", scale=step) if act else y
    g.node("Conv2d", [g.input(qx, "sq8", scale=sx), g.const(qw, "sq8", scales=sw, axis=3), g.const(np.trunc(bias / (sx * sw)), "sq32", scales=sx * sw, axis=0)], [to],
           conv_params(*how, 1))
    if act:
        g.node(act, [to], [y])
    near(real(g.run()[0], step), want, 1.01 * step)


@case
def deconvolution_of_integers(g):
    x, w, bias = normal("deconv8", shape=(1, 4, 4, 3)), normal("deconv8", 1, shape=(3, 3, 3, 5)), normal("deconv8", 2, shape=5)
    (qx, sx), (qw, sw) = symmetric(x), symmetric(w, 3)
    want = deconv(qx * sx, qw * sw, bias, 2, 1, 0)
    step = np.abs(want).max() / 127
    y = g.output(want.shape, "sq8", scale=step)
    g.node("TransposeConv2d", [g.input(qx, "sq8", scale=sx), g.const(qw, "sq8", scales=sw, axis=3), g.const(np.rint(bias / (sx * sw)), "sq32", scales=sx * sw, axis=0)], [y],
           {"output_padding": [0, 0], "pad_amount": [[1, 1], [1, 1]], "stride": [2, 2], "group": (1, "u32")})
    near(real(g.run()[0], step), want, 1.01 * step)


@case(*[(bits, n, t) for bits in (4, 8) for n in (7, 12) for t in BOTH])
def integer_weights_for_floats(g, kind):
    """A product of floats by integers: weights have their output channels last, and axis 0 in the encoding, with as many scales as there are output channels."""
    bits, n, dtype = kind
    x, bias, r = normal("fp-int", kind, shape=(1, 2, 3, 12)), normal("fp-int", kind, 1, shape=n), random("fp-int", kind, 2)
    w, scales = r.integers(-(1 << bits - 1), 1 << bits - 1, (12, n)), r.uniform(.01, .1, n).astype(np.float32)
    rows, out = g.native((6, 12), dtype), g.native((6, n), dtype)
    y, run = result(g, (1, 2, 3, n), dtype)
    g.node("Reshape", [given(g, x, dtype)], [rows])
    g.node("MatMul", [rows, g.const(w, "sq8", scales=scales, axis=0, **({"bits": 4} if bits == 4 else {})), g.const(bias, dtype)], [out])
    g.node("Reshape", [out], [y])
    close(run(), x.astype(F64) @ (w * scales) + bias)


@case("", "Relu")
def float_convolution_of_integers(g, act):
    """Weights that integers do not hold: dequantized to halves, convolved, cast to f32 and quantized again."""
    x, w, bias = normal("bridge", shape=(1, 5, 5, 4)), normal("bridge", 1, shape=(3, 3, 4, 6)), normal("bridge", 2, shape=6)
    qx, sx = symmetric(x)
    how = ((1, 1), ((0, 0), (0, 0)), (1, 1))
    want = RELU[act](conv2d(qx * sx, w, bias, *how))
    step = np.abs(want).max() / 127
    half, out, single, y = g.native(x.shape, "f16"), g.native(want.shape, "f16"), g.native(want.shape, "f32"), g.output(want.shape, "sq8", scale=step)
    g.node("Dequantize", [g.input(qx, "sq8", scale=sx)], [half])
    to = g.native(want.shape, "f16") if act else out
    g.node("Conv2d", [half, g.const(w, "f16"), g.const(bias, "f16")], [to], conv_params(*how, 1))
    if act:
        g.node(act, [to], [out])
    g.node("Cast", [out], [single])
    g.node("Quantize", [single], [y])
    near(real(g.run()[0], step), want, 1.1 * step)


@case(*[(op, how, t) for op in ("PoolAvg2d", "PoolMax2d") for how in ("all", "same", "valid", "counted") for t in BOTH])
def pooling(g, kind):
    op, how, dtype = kind
    x = normal("pool", kind, shape=(1, 6, 7, 3))
    size, stride = ((6, 7), (6, 7)) if how == "all" else ((3, 3), (2, 2))
    pad = {"all": ((0, 0), (0, 0)), "valid": ((0, 0), (0, 0)), "same": ((0, 1), (1, 1)), "counted": ((1, 1), (1, 1))}[how]
    average, counted = op == "PoolAvg2d", how == "counted"
    w = windows(x, size, stride, pad, fill=(0. if counted else np.nan) if average else -np.inf)
    want = np.nanmean(w, (3, 4)) if average else w.max((3, 4))
    y, run = result(g, want.shape, dtype)
    params = {"filter_size": list(size), "stride": list(stride), "pad_amount": [list(p) for p in pad], **({"count_pad_for_edges": (counted, "b8")} if average else {}),
              "rounding_mode": (how in ("all", "same"), "u32")}
    g.node(op, [given(g, x, dtype)], [y], params)
    close(run(), want)


@case(*BOTH)
def scale(g, dtype):
    """A factor and a summand per channel: two nodes."""
    x, factor, summand = normal("scale", shape=(1, 4, 5, 3)), normal("scale", 1, shape=3), normal("scale", 2, shape=3)
    stage = g.native(x.shape, dtype)
    y, run = result(g, x.shape, dtype)
    g.node("ElementWiseMultiply", [given(g, x, dtype), g.const(factor, dtype)], [stage])
    g.node("ElementWiseAdd", [stage, g.const(summand, dtype)], [y])
    close(run(), x.astype(F64) * factor + summand)


@case
def scale_of_integers(g):
    """Batchnorm with an 8-bit factor and an 8-bit summand."""
    x, factor, summand = normal("scale8", shape=(1, 4, 5, 3)), normal("scale8", 1, shape=3), normal("scale8", 2, shape=3)
    (qx, sx), (qf, sf), (qs, ss) = symmetric(x), symmetric(factor), symmetric(summand)
    want = qx * sx * (qf * sf) + qs * ss
    step = np.abs(want).max() / 127
    y = g.output(x.shape, "sq8", scale=step)
    g.node("Batchnorm", [g.input(qx, "sq8", scale=sx), g.const(qf, "sq8", scale=sf), g.const(qs, "sq8", scale=ss)], [y])
    near(real(g.run()[0], step), want, 1.01 * step)


@case
def float_to_int8_and_back(g):
    """Halves are cast before they are quantized; they are dequantized without a step between."""
    x = random("there and back").uniform(-1, 1, (2, 20)).astype(np.float32)
    half, single, q, back, y = g.native(x.shape, "f16"), g.native(x.shape, "f32"), g.native(x.shape, "sq8", scale=1 / 127), g.native(x.shape, "f16"), g.output(x.shape, "f32")
    for op, a, b in (("Cast", g.input(x, "f32"), half), ("Cast", half, single), ("Quantize", single, q), ("Dequantize", q, back), ("Cast", back, y)):
        g.node(op, [a], [b])
    near(g.run()[0], real(quantized(x, "sq8", 1 / 127, 0), 1 / 127), 1 / 127 + 1e-3)


if __name__ == "__main__":
    main(half=True, versions=(1,))
