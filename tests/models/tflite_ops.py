#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every built-in operator that converts, one small model each, against numpy.

    tflite_ops.py MODEL_EXEC LIBRARY [--verbose]
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

import tflite_file

rng = np.random.default_rng(7)
CASES = []
SAME, VALID = 0, 1
RELU, RELU6, TANH = 1, 3, 4


class Quant:
    """real = scale * (q - zero); stored as dtype."""

    def __init__(self, dtype, scale, zero=0):
        self.dtype, self.scale, self.zero = dtype, np.float32(scale), zero

    def store(self, real):
        info = np.iinfo(self.dtype)
        return np.clip(np.rint(np.asarray(real, np.float64) / np.float64(self.scale)) + self.zero, info.min, info.max).astype(self.dtype)

    def real(self, q):
        return (q.astype(np.float64) - self.zero) * np.float64(self.scale)


def describe(array, quant=None):
    how = {"shape": array.shape, "dtype": str(array.dtype)}
    if quant:
        how.update(scale=float(quant.scale), zero=int(quant.zero))
    return how


def case(name, code, inputs, expected, options=None, tol=1e-5, consts=(), quants=None, order=None, states=None, steps=1, refused=None):
    """inputs: arrays given at run time; consts: arrays in the file. order: positions of the operator's inputs, numbers count inputs, then
    consts; None in it is an absent input. quants: encodings of inputs, consts and outputs in that order."""
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    CASES.append(dict(name=name, code=code, inputs=[np.asarray(a) for a in inputs], consts=[np.asarray(c) for c in consts],
                      expected=[np.asarray(e) for e in expected], options=options, tol=tol, quants=quants or {}, order=order, steps=steps,
                      refused=refused))


def build(c):
    m = tflite_file.Model()
    quants = c["quants"]
    ids, n = [], 0
    per_step = [a[0] if c["steps"] > 1 else a for a in c["inputs"]]
    for i, a in enumerate(per_step):
        ids.append(m.tensor(name="in%d" % i, **describe(a, quants.get(n))))
        n += 1
    run_time = list(ids)
    for i, a in enumerate(c["consts"]):
        ids.append(m.tensor(name="const%d" % i, data=a.tobytes(), **describe(a, quants.get(n))))
        n += 1
    outs = []
    for i, a in enumerate(c["expected"]):
        a = a[0] if c["steps"] > 1 else a
        outs.append(m.tensor(name="out%d" % i, **describe(a, quants.get(n))))
        n += 1
    order = c["order"] if c["order"] is not None else list(range(len(ids)))
    op_in = []
    for k in order:
        if k is None:
            op_in.append(-1)
        elif isinstance(k, tuple):
            op_in.append(m.tensor(k[0], k[1], name="state%d" % len(op_in), variable=True, **(k[2] if len(k) > 2 else {})))
        else:
            op_in.append(ids[k])
    m.op(c["code"], op_in, outs, c["options"])
    return m.file(run_time, outs)


def f32(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape).astype(np.float32)


def i32(values):
    return np.asarray(values, np.int32)


def relu(x):
    return np.maximum(x, 0)


ACTS = {0: lambda x: x, RELU: relu, RELU6: lambda x: np.clip(x, 0, 6), TANH: np.tanh, 2: lambda x: np.clip(x, -1, 1)}

# ---- convolutions, written as sums over windows -----------------------------------------------------------------------------


def same_pad(size, kernel, stride, dilation, padding):
    if padding == VALID:
        return 0, 0
    out = -(-size // stride)
    total = max((out - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def windows(x, kernel, stride, dilation, padding, fill):
    pads = [same_pad(x.shape[1 + i], kernel[i], stride[i], dilation[i], padding) for i in range(2)]
    x = np.pad(x.astype(np.float64), [(0, 0), pads[0], pads[1], (0, 0)], constant_values=fill)
    out = [(x.shape[1 + i] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(2)]
    for i in range(out[0]):
        for j in range(out[1]):
            yield i, j, out, x[:, i * stride[0]:i * stride[0] + (kernel[0] - 1) * dilation[0] + 1:dilation[0],
                               j * stride[1]:j * stride[1] + (kernel[1] - 1) * dilation[1] + 1:dilation[1], :]


def conv(x, w, b, stride, dilation, padding):
    y = None
    groups = x.shape[3] // w.shape[3]
    per = w.shape[0] // groups
    for i, j, out, win in windows(x, w.shape[1:3], stride, dilation, padding, 0):
        if y is None:
            y = np.zeros((x.shape[0], out[0], out[1], w.shape[0]))
        for o in range(w.shape[0]):
            g = o // per
            y[:, i, j, o] = np.sum(win[..., g * w.shape[3]:(g + 1) * w.shape[3]] * w[o], axis=(1, 2, 3)) + b[o]
    return y


def depthwise(x, w, b, stride, dilation, padding):
    y = None
    mult = w.shape[3] // x.shape[3]
    for i, j, out, win in windows(x, w.shape[1:3], stride, dilation, padding, 0):
        if y is None:
            y = np.zeros((x.shape[0], out[0], out[1], w.shape[3]))
        y[:, i, j, :] = np.sum(np.repeat(win, mult, axis=3) * w[0], axis=(1, 2)) + b
    return y


def conv_options(padding, stride, act=0, dilation=(1, 1)):
    return {0: ("i8", padding), 1: ("i32", stride[1]), 2: ("i32", stride[0]), 3: ("i8", act), 4: ("i32", dilation[1]), 5: ("i32", dilation[0])}


def conv_cases():
    x = f32(2, 7, 6, 4)
    for name, w, padding, stride, dilation, act in (
            ("same", f32(5, 3, 3, 4), SAME, (1, 1), (1, 1), 0), ("strided", f32(5, 3, 2, 4), SAME, (2, 3), (1, 1), RELU),
            ("valid", f32(3, 2, 3, 4), VALID, (2, 1), (1, 1), RELU6), ("dilated", f32(3, 3, 2, 4), VALID, (1, 1), (2, 3), 2),
            ("dilated same", f32(3, 3, 3, 4), SAME, (1, 1), (2, 2), TANH), ("groups", f32(6, 3, 3, 2), SAME, (1, 1), (1, 1), 0)):
        b = f32(w.shape[0])
        case("conv2d " + name, 3, [x], ACTS[act](conv(x, w, b, stride, dilation, padding)).astype(np.float32),
             conv_options(padding, stride, act, dilation), consts=[w, b], tol=1e-5)
    w = f32(1, 3, 3, 8)
    b = f32(8)
    case("depthwise", 4, [x], relu(depthwise(x, w, b, (2, 2), (1, 1), SAME)).astype(np.float32),
         {0: ("i8", SAME), 1: ("i32", 2), 2: ("i32", 2), 3: ("i32", 2), 4: ("i8", RELU)}, consts=[w, b])
    case("conv2d without bias", 3, [x], conv(x, f := f32(3, 1, 1, 4), np.zeros(3), (1, 1), (1, 1), VALID).astype(np.float32),
         conv_options(VALID, (1, 1)), consts=[f], order=[0, 1, None])
    case("conv2d with computed weights", 3, [x, v := f32(3, 2, 2, 4)], conv(x, v, np.zeros(3), (1, 1), (1, 1), VALID).astype(np.float32),
         conv_options(VALID, (1, 1)), order=[0, 1])
    hybrid = Quant("int8", 0.02)
    q = hybrid.store(f32(3, 2, 2, 4))
    case("conv2d with 8-bit weights", 3, [x], conv(x, hybrid.real(q), np.zeros(3), (1, 1), (1, 1), VALID).astype(np.float32),
         conv_options(VALID, (1, 1)), consts=[q], quants={1: hybrid})
    transpose_cases()
    pool_cases(x)
    conv_fixed()


def transpose_conv(x, w, stride, shape, padding):
    """w: [out, h, w, in]"""
    kh, kw = w.shape[1:3]
    full = np.zeros((x.shape[0], stride[0] * (x.shape[1] - 1) + kh, stride[1] * (x.shape[2] - 1) + kw, w.shape[0]))
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            full[:, i * stride[0]:i * stride[0] + kh, j * stride[1]:j * stride[1] + kw, :] += np.einsum("bc,ohwc->bhwo", x[:, i, j, :], w)
    cut = [max(full.shape[1 + i] - shape[1 + i], 0) // 2 if padding == SAME else 0 for i in range(2)]
    y = np.zeros(shape)
    part = full[:, cut[0]:cut[0] + shape[1], cut[1]:cut[1] + shape[2], :]
    y[:, :part.shape[1], :part.shape[2], :] = part
    return y


def transpose_cases():
    x, w, b = f32(1, 3, 4, 2), f32(3, 3, 4, 2), f32(3)
    for padding, shape, stride in ((SAME, (1, 6, 8, 3), (2, 2)), (VALID, (1, 7, 10, 3), (2, 2)), (SAME, (1, 3, 4, 3), (1, 1))):
        case("transpose_conv %s" % (shape,), 67, [x], (transpose_conv(x, w, stride, shape, padding) + b).astype(np.float32),
             {0: ("i8", padding), 1: ("i32", stride[1]), 2: ("i32", stride[0])}, consts=[i32(shape), w, b], order=[1, 2, 0, 3])


def custom_transpose_case():
    """MediaPipe's transposed convolution: a custom operator with plain integers as options."""
    x, w, b = f32(1, 3, 4, 2), f32(3, 2, 2, 2), f32(3)
    for same, stride, shape in ((1, (2, 2), (1, 6, 8, 3)), (2, (3, 1), (1, 8, 5, 3))):
        m = tflite_file.Model()
        t = [m.tensor(x.shape, "float32", "x"), m.tensor(w.shape, "float32", "w", data=w.tobytes()), m.tensor(b.shape, "float32", "b", data=b.tobytes()),
             m.tensor(shape, "float32", "y")]
        m.op(32, t[:3], t[3:], custom="Convolution2DTransposeBias", custom_options=np.array([same, stride[1], stride[0]], np.int32).tobytes())
        CASES.append(dict(name="custom transposed convolution, padding %d" % same, file=m.file(t[:1], t[3:]), inputs=[x], tol=1e-5, steps=1, refused=None,
                          expected=[(transpose_conv(x, w, stride, shape, SAME if same == 1 else VALID) + b).astype(np.float32)]))


def csr(dense, kind):
    """The last dimension as a list of what is not zero, and the table that says so."""
    rows = dense.reshape(-1, dense.shape[-1])
    segments, indices, values = [0], [], []
    for row in rows:
        at = np.flatnonzero(row)
        indices += list(at)
        values += list(row[at])
        segments.append(len(indices))
    number, pack = {"i32": (1, lambda v: ("i32s", v)), "u16": (2, lambda v: ("u16s", v)), "u8": (3, lambda v: ("bytes", bytes(v)))}[kind]
    levels = [{0: ("i8", 0), 1: ("i32", n)} for n in dense.shape[:-1]]
    levels.append({0: ("i8", 1), 2: ("i8", number), 3: ("table", {0: pack(segments)}), 4: ("i8", number), 5: ("table", {0: pack([int(i) for i in indices])})})
    return np.array(values, dense.dtype), {0: ("i32s", list(range(dense.ndim))), 2: ("tables", levels)}


def blocks(dense, size):
    """Rows of blocks of `size` columns; blocks of zeros are left out. An order of three levels: rows, blocks, columns of a block."""
    rows, columns = dense.shape
    segments, indices, values = [0], [], []
    for row in dense:
        for i in range(columns // size):
            if row[i * size:(i + 1) * size].any():
                indices.append(i)
                values += list(row[i * size:(i + 1) * size])
        segments.append(len(indices))
    listed = {0: ("i8", 1), 2: ("i8", 1), 3: ("table", {0: ("i32s", segments)}), 4: ("i8", 3), 5: ("table", {0: ("bytes", bytes(indices))})}
    levels = [{0: ("i8", 0), 1: ("i32", rows)}, listed, {0: ("i8", 0), 1: ("i32", size)}]
    return np.array(values, dense.dtype), {0: ("i32s", [0, 1, 2]), 1: ("i32s", [1]), 2: ("tables", levels)}


def sparse_case(name, w, values, sparsity, shape=None, densify=True, refused=None):
    x = f32(2, w.shape[1])
    m = tflite_file.Model()
    t = [m.tensor(x.shape, "float32", "x"), m.tensor(shape or w.shape, "float32", "w", data=values.tobytes(), sparsity=sparsity),
         m.tensor(w.shape, "float32", "dense"), m.tensor([2, w.shape[0]], "float32", "y")]
    if densify:
        m.op(124, [t[1]], [t[2]], {})
    m.op(9, [t[0], t[2] if densify else t[1]], [t[3]], {})
    CASES.append(dict(name=name, file=m.file(t[:1], t[3:]), inputs=[x], expected=[(x @ w.T).astype(np.float32)], tol=1e-5, steps=1, refused=refused))


def half_constants():
    """Constants that were turned into 16-bit floats and back, where an operator wants to know the number."""
    x = f32(2, 3)
    m = tflite_file.Model()
    t = [m.tensor(x.shape, "float32", "x"), m.tensor([2, 2], "int32", "pads", data=[1, 0, 0, 2]), m.tensor([], "float16", "h", data=np.float16(0.7).tobytes()),
         m.tensor([], "float32", "value"), m.tensor([3, 5], "float32", "y")]
    m.op(6, [t[2]], [t[3]], {})
    m.op(60, [t[0], t[1], t[3]], [t[4]], {})
    CASES.append(dict(name="padv2 with a 16-bit value", file=m.file(t[:1], t[4:]), inputs=[x], steps=1, refused=None, tol=1e-6,
                      expected=[np.pad(x, ((1, 0), (0, 2)), constant_values=np.float32(np.float16(0.7)))]))


def sparse_cases():
    w = f32(5, 8) * (rng.random((5, 8)) < 0.4)
    w[3] = 0
    for kind in ("i32", "u16", "u8"):
        sparse_case("sparse weights, " + kind, w, *csr(w, kind))
    sparse_case("sparse weights of a dense layer", w, *csr(w, "u8"), densify=False)
    sparse_case("sparse weights in blocks", w, *blocks(w, 4))
    values, where = csr(w, "u8")
    sparse_case("sparse weights with too few values", w, values[:-1], where, refused="is wanted; there are")
    sparse_case("sparse weights outside of the shape", w, values, where, shape=(5, 2), refused="which has 2")


def pool_cases(x):
    def pool(f, kernel, stride, padding, fill):
        y = None
        for i, j, out, win in windows(x, kernel, stride, (1, 1), padding, fill):
            if y is None:
                y = np.zeros((x.shape[0], out[0], out[1], x.shape[3]))
            y[:, i, j, :] = f(win, axis=(1, 2))
        return y.astype(np.float32)
    for padding in (SAME, VALID):
        o = {0: ("i8", padding), 1: ("i32", 2), 2: ("i32", 1), 3: ("i32", 3), 4: ("i32", 2)}
        case("average_pool %d" % padding, 1, [x], pool(np.nanmean, (2, 3), (1, 2), padding, np.nan), o)
        case("max_pool %d" % padding, 17, [x], pool(np.max, (2, 3), (1, 2), padding, -np.inf), o)
        case("l2_pool %d" % padding, 12, [x], pool(lambda w, axis: np.sqrt(np.nanmean(w * w, axis=axis)), (2, 3), (1, 2), padding, np.nan), o)


def conv_fixed():
    qx, qy = Quant("int8", 0.02, 3), Quant("int8", 0.07, -11)
    x = qx.store(f32(1, 6, 5, 4))
    w = rng.integers(-127, 128, (5, 3, 3, 4)).astype(np.int8)
    scales = [0.01, 0.02, 0.005, 0.013, 0.03]
    b = rng.integers(-3000, 3000, 5).astype(np.int32)
    real = conv(qx.real(x), w * np.reshape(scales, (5, 1, 1, 1)), b * np.array(scales) * 0.02, (1, 1), (1, 1), SAME)
    m = tflite_file.Model()
    t = [m.tensor(x.shape, "int8", "in0", scale=0.02, zero=3), m.tensor(w.shape, "int8", "w", w.tobytes(), scale=scales, axis=0),
         m.tensor(b.shape, "int32", "b", b.tobytes(), scale=[0.02 * s for s in scales], axis=3), m.tensor(real.shape, "int8", "out0", scale=0.07, zero=-11)]
    m.op(3, t[:3], [t[3]], conv_options(SAME, (1, 1), RELU))
    CASES.append(dict(name="conv2d int8 per channel", file=m.file([t[0]], [t[3]]), inputs=[x], expected=[qy.store(relu(real))], tol=1, steps=1, refused=None))
    u, v = Quant("uint8", 0.02, 120), Quant("uint8", 0.05, 100)
    xu, wu = u.store(f32(3, 8)), Quant("uint8", 0.01, 130)
    ws = wu.store(f32(4, 8, lo=-1, hi=1))
    bu = rng.integers(-500, 500, 4).astype(np.int32)
    case("fully_connected uint8", 9, [xu], v.store(u.real(xu) @ wu.real(ws).T + bu * 0.0002), {0: ("i8", 0)}, consts=[ws, bu], tol=1,
         quants={0: u, 1: wu, 2: Quant("int32", 0.0002), 3: v})
    s = Quant("int16", 0.0005)
    xs, wi = s.store(f32(2, 16)), Quant("int8", 0.01)
    w16, b16 = wi.store(f32(6, 16, lo=-1, hi=1)), rng.integers(-10000, 10000, 6).astype(np.int64)
    o = Quant("int16", 0.001)
    case("fully_connected int16, 64-bit bias", 9, [xs], o.store(s.real(xs) @ wi.real(w16).T + b16 * 5e-6), {0: ("i8", 0)}, consts=[w16, b16], tol=1,
         quants={0: s, 1: wi, 2: Quant("int64", 5e-6), 3: o})


# ---- products, element-wise ----------------------------------------------------------------------------------------------------


def dense_cases():
    x, w, b = f32(2, 3, 4), f32(5, 4), f32(5)
    case("fully_connected", 9, [x], relu(x.reshape(6, 4) @ w.T + b).astype(np.float32), {0: ("i8", RELU)}, consts=[w, b])
    case("fully_connected keeping dims", 9, [x], (x @ w.T).astype(np.float32), {2: ("i8", 1)}, consts=[w], order=[0, 1, None])
    a, c = f32(2, 1, 3, 4), f32(3, 4, 5)
    case("batch_matmul", 126, [a, c], (a @ c).astype(np.float32), {})
    case("batch_matmul adjoint", 126, [np.swapaxes(a, 2, 3).copy(), np.swapaxes(c, 1, 2).copy()], (a @ c).astype(np.float32),
         {0: ("i8", 1), 1: ("i8", 1)})
    s, o = Quant("int16", 0.0005), Quant("int16", 0.002)
    x16, w8, scales = s.store(f32(6, 8)), rng.integers(-127, 128, (8, 3)).astype(np.int8), [0.01, 0.02, 0.005]
    m = tflite_file.Model()
    t = [m.tensor(x16.shape, "int16", "x", scale=0.0005), m.tensor(w8.shape, "int8", "w", w8.tobytes(), scale=scales, axis=1),
         m.tensor((6, 3), "int16", "y", scale=0.002)]
    m.op(126, t[:2], t[2:], {})
    CASES.append(dict(name="batch_matmul int16 per channel", file=m.file(t[:1], t[2:]), inputs=[x16], expected=[o.store(s.real(x16) @ (w8 * scales))],
                      tol=1, steps=1, refused=None))
    x5, w5 = f32(1, 4, 4, 4, 2), f32(2, 2, 2, 2, 3)
    y = np.zeros((1, 3, 3, 3, 3))
    for d in range(3):
        for h in range(3):
            for v in range(3):
                y[:, d, h, v] = np.einsum("bdhwc,dhwco->bo", x5[:, d:d + 2, h:h + 2, v:v + 2], w5)
    case("conv_3d", 132, [x5], y.astype(np.float32), {0: ("i8", VALID), 1: ("i32", 1), 2: ("i32", 1), 3: ("i32", 1)}, consts=[w5])


def erf(x):
    return np.vectorize(__import__("math").erf)(x)


def unary_cases():
    x = f32(2, 3, 5, lo=-3, hi=3)
    p = f32(2, 3, 5, lo=0.1, hi=4)
    d = x.astype(np.float64)
    for name, code, f in (("floor", 8, np.floor), ("logistic", 14, lambda v: 1 / (1 + np.exp(-v))), ("relu", 19, relu),
                          ("relu_n1_to_1", 20, ACTS[2]), ("relu6", 21, ACTS[RELU6]), ("tanh", 28, np.tanh), ("exp", 47, np.exp),
                          ("neg", 59, np.negative), ("sin", 66, np.sin), ("abs", 101, np.abs), ("ceil", 104, np.ceil), ("cos", 108, np.cos),
                          ("elu", 111, lambda v: np.where(v > 0, v, np.expm1(v))), ("round", 116, np.rint), ("square", 92, np.square),
                          ("hard_swish", 117, lambda v: v * np.clip(v + 3, 0, 6) / 6), ("relu_0_to_1", 152, lambda v: np.clip(v, 0, 1)),
                          ("sign", 158, np.sign), ("zeros_like", 93, np.zeros_like)):
        case(name, code, [x], f(d).astype(np.float32), {})
    for name, code, f in (("log", 73, np.log), ("sqrt", 75, np.sqrt), ("rsqrt", 76, lambda v: 1 / np.sqrt(v))):
        case(name, code, [p], f(p.astype(np.float64)).astype(np.float32), {})
    case("gelu", 150, [x], (0.5 * d * (1 + erf(d / np.sqrt(2)))).astype(np.float32), {})
    case("gelu by tanh", 150, [x], (0.5 * d * (1 + np.tanh(np.sqrt(2 / np.pi) * (d + 0.044715 * d ** 3)))).astype(np.float32), {0: ("i8", 1)})
    q, o = Quant("int16", 0.0001), Quant("int16", 0.00009)
    g = q.real(q.store(d))
    case("gelu by tanh int16", 150, [q.store(d)], o.store(0.5 * g * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g ** 3)))), {0: ("i8", 1)}, tol=1, quants={0: q, 1: o})
    case("leaky_relu", 98, [x], np.where(x > 0, x, x * np.float32(0.2)), {0: ("f32", 0.2)})
    e = np.exp(d * 0.7)
    case("softmax", 25, [x], (e / e.sum(-1, keepdims=True)).astype(np.float32), {0: ("f32", 0.7)})
    case("log_softmax", 50, [x], (d - np.log(np.exp(d).sum(-1, keepdims=True))).astype(np.float32), {})
    case("l2_normalization", 11, [x], (d / np.sqrt((d * d).sum(-1, keepdims=True))).astype(np.float32), {})
    n = f32(1, 2, 2, 7)
    acc = np.stack([(n[..., max(0, i - 2):i + 3].astype(np.float64) ** 2).sum(-1) for i in range(7)], -1)
    case("local_response_normalization", 13, [n], (n * (1.5 + 0.3 * acc) ** -0.75).astype(np.float32),
         {0: ("i32", 2), 1: ("f32", 1.5), 2: ("f32", 0.3), 3: ("f32", 0.75)})
    case("logical_not", 87, [x > 0], ~(x > 0), {})
    scale = np.float32(6 / 255)
    zero = np.rint(2 / scale)
    case("fake_quant", 80, [x], ((np.clip(np.rint(np.clip(x, -zero * scale, (255 - zero) * scale) / scale) + zero, 0, 255) - zero) * scale).astype(np.float32),
         {0: ("f32", -2.0), 1: ("f32", 4.0), 2: ("i32", 8)})


def binary_cases():
    x, y = f32(2, 3, 4), f32(3, 1, lo=0.3, hi=2)
    for name, code, f in (("add", 0, np.add), ("mul", 18, np.multiply), ("sub", 41, np.subtract), ("div", 42, np.divide)):
        case(name, code, [x, y], relu(f(x, y)), {0: ("i8", RELU)})
    for name, code, f in (("maximum", 55, np.maximum), ("minimum", 57, np.minimum), ("squared_difference", 99, lambda a, b: (a - b) ** 2),
                          ("floor_div", 90, np.floor_divide), ("floor_mod", 95, np.mod)):
        case(name, code, [x, y], f(x, y).astype(np.float32), {})
    case("pow", 78, [np.abs(x), y], np.power(np.abs(x).astype(np.float64), y).astype(np.float32), {})
    z = x.round().astype(np.float32)
    for name, code, f in (("less", 58, np.less), ("greater", 61, np.greater), ("greater_equal", 62, np.greater_equal), ("less_equal", 63, np.less_equal),
                          ("equal", 71, np.equal), ("not_equal", 72, np.not_equal)):
        case(name, code, [z, z[:, ::-1].copy()], f(z, z[:, ::-1]), {})
    b, c = x > 0, x > 0.5
    case("logical_or", 84, [b, c], b | c, {})
    case("logical_and", 86, [b, c], b & c, {})
    k, j = rng.integers(-20, 20, (2, 5)).astype(np.int32), i32([3, -3, 7, 1, 5])
    for name, code, f in (("add i32", 0, np.add), ("mul i32", 18, np.multiply), ("floor_div i32", 90, np.floor_divide), ("floor_mod i32", 95, np.mod)):
        case(name, code, [k, j], f(k, j), {})
    slope = f32(1, 4)
    case("prelu", 54, [x], np.where(x > 0, x, x * slope), {}, consts=[slope])
    case("select", 64, [np.array([True, False]), x, -x], np.where(np.array([True, False])[:, None, None], x, -x), {})
    case("select_v2", 123, [b, x, y], np.where(b, x, y), {})
    case("add_n", 106, [x, -2 * x, x * x], x - 2 * x + x * x, {})
    case("fused activation that is not known", 0, [x, y], x + y, {0: ("i8", 5)}, refused="fused activation")
    q, r, s = Quant("int8", 0.03, 5), Quant("int8", 0.02, -7), Quant("int8", 0.05, 2)
    a, d = q.store(f32(4, 9)), r.store(f32(4, 9))
    for name, code, f in (("add int8", 0, np.add), ("mul int8", 18, np.multiply), ("sub int8", 41, np.subtract), ("maximum int8", 55, np.maximum)):
        case(name, code, [a, d], s.store(f(q.real(a), r.real(d))), {}, quants={0: q, 1: r, 2: s}, tol=1)
    case("leaky_relu int8", 98, [a], s.store(np.where(q.real(a) > 0, 1, 0.3) * q.real(a)), {0: ("f32", 0.3)}, quants={0: q, 1: s}, tol=1)
    t = Quant("int8", 1 / 256, -128)
    case("logistic int8", 14, [a], t.store(1 / (1 + np.exp(-q.real(a)))), {}, quants={0: q, 1: t}, tol=1)
    e = np.exp(q.real(a))
    case("softmax int8", 25, [a], t.store(e / e.sum(-1, keepdims=True)), {0: ("f32", 1.0)}, quants={0: q, 1: t}, tol=1)
    case("mean int8", 40, [a], s.store(q.real(a).mean(1)), {}, consts=[i32([1])], quants={0: q, 2: s}, tol=1)
    case("quantize", 114, [x], q.store(x), {}, quants={1: q})
    case("requantize", 114, [a], s.store(q.real(a)), {}, quants={0: q, 1: s}, tol=1)
    case("dequantize", 6, [a], q.real(a).astype(np.float32), {}, quants={0: q}, tol=1e-6)
    case("dequantize f16", 6, [], np.arange(6, dtype=np.float32), {}, consts=[np.arange(6, dtype=np.float16)])


# ---- shapes and positions --------------------------------------------------------------------------------------------------------


def shape_cases():
    x = f32(2, 3, 4)
    case("reshape", 22, [x], x.reshape(4, 6), {}, consts=[i32([4, -1])])
    case("reshape by option", 22, [x], x.reshape(24), {0: ("i32s", [24])})
    case("squeeze", 43, [x.reshape(1, 2, 1, 12)], x.reshape(2, 12), {})
    case("squeeze one", 43, [x.reshape(1, 2, 1, 12)], x.reshape(1, 2, 12), {0: ("i32s", [-2])})
    case("expand_dims", 70, [x], x[:, :, None], {}, consts=[i32(-2)])
    case("transpose", 39, [x], x.transpose(2, 0, 1).copy(), {}, consts=[i32([2, 0, 1])])
    case("concatenation", 2, [x, x * 2], relu(np.concatenate([x, x * 2], 1)), {0: ("i32", -2), 1: ("i8", RELU)})
    case("pack", 83, [x, -x], np.stack([x, -x], 3), {0: ("i32", 2), 1: ("i32", -1)})
    case("unpack", 88, [x], [x[:, i].copy() for i in range(3)], {0: ("i32", 3), 1: ("i32", 1)})
    case("split", 49, [x], list(np.split(x, 2, 2)), {0: ("i32", 2)}, consts=[i32(2)], order=[1, 0])
    case("split into one", 49, [x], [x], {0: ("i32", 1)}, consts=[i32(0)], order=[1, 0])
    case("split_v", 102, [x], [x[:, :, :1].copy(), x[:, :, 1:].copy()], {0: ("i32", 2)}, consts=[i32([1, -1]), i32(2)])
    case("pad", 34, [x], np.pad(x, ((1, 0), (0, 2), (3, 1))), {}, consts=[i32([[1, 0], [0, 2], [3, 1]])])
    case("padv2", 60, [x], np.pad(x, ((1, 0), (0, 2), (3, 1)), constant_values=5), {}, consts=[i32([[1, 0], [0, 2], [3, 1]]), np.float32(5)])
    case("mirror_pad reflect", 100, [x], np.pad(x, ((1, 0), (0, 2), (3, 1)), "reflect"), {0: ("i8", 0)}, consts=[i32([[1, 0], [0, 2], [3, 1]])])
    case("mirror_pad symmetric", 100, [x], np.pad(x, ((1, 0), (0, 2), (3, 1)), "symmetric"), {0: ("i8", 1)}, consts=[i32([[1, 0], [0, 2], [3, 1]])])
    case("tile", 69, [x], np.tile(x, (2, 1, 3)), {}, consts=[i32([2, 1, 3])])
    case("broadcast_to", 130, [x[:, :1].copy()], np.broadcast_to(x[:, :1], (5, 2, 3, 4)).copy(), {}, consts=[i32([5, 2, 3, 4])])
    case("fill", 94, [np.float32(3)], np.full((2, 3), 3, np.float32), {}, consts=[i32([2, 3])], order=[1, 0])
    case("range", 96, [], np.arange(3, 20, 4, dtype=np.int32), {}, consts=[i32(3), i32(20), i32(4)])
    case("shape", 77, [x], i32([2, 3, 4]), {})
    case("rank", 110, [x], i32(3), {})
    case("cast", 53, [x], x.astype(np.int32), {})
    case("cast bool", 53, [x > 0], (x > 0).astype(np.float32), {})
    stored = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) * 10
    case("cast of what is stored", 53, [stored], stored.astype(np.float32), {}, quants={0: Quant("uint8", 0.1, 7)})
    case("cast to what is stored", 53, [stored], stored.view(np.int8), {}, quants={0: Quant("uint8", 0.1, 7), 1: Quant("int8", 0.3, -2)})


def slice_cases():
    x = f32(4, 5, 6)
    case("slice", 65, [x], x[1:3, 2:, :4].copy(), {}, consts=[i32([1, 2, 0]), i32([2, -1, 4])])

    def strided(name, got, first, last, strides, **masks):
        names = ["begin", "end", "ellipsis", "new", "shrink", "offset"]
        o = {names.index(k): ("i32", v) if k != "offset" else ("i8", v) for k, v in masks.items()}
        case("strided_slice " + name, 45, [x], got.copy(), o, consts=[i32(first), i32(last), i32(strides)])
    strided("plain", x[1:4:2, 0:5:3, 2:6], [1, 0, 2], [4, 5, 6], [2, 3, 1])
    strided("negative", x[::-1, 3:0:-2, -3:-1], [0, 3, -3], [0, 0, -1], [-1, -2, 1], begin=1, end=1)
    strided("shrink", x[2, :, -1], [2, 0, -1], [3, 0, 0], [1, 1, 1], begin=2, end=2, shrink=5)
    strided("ellipsis", x[..., 1:3], [0, 1], [0, 3], [1, 1], ellipsis=1)
    strided("new axis", x[:, None, 1:2], [0, 0, 1], [0, 0, 2], [1, 1, 1], begin=1, end=1, new=2)
    strided("short", x[1:3], [1], [3], [1])
    strided("offset", x[1:3, 2:5], [1, 2], [2, 3], [1, 1], offset=1)
    case("reverse_v2", 105, [x], x[:, ::-1].copy(), {}, consts=[i32([1])])
    at = i32([[2, 0], [1, 3]])
    case("gather", 36, [x, at], np.take(x, at, 1), {0: ("i32", 1)})
    case("gather in batches", 36, [x, (b := i32([[1, 2], [0, 3], [4, 4], [2, 0]]))], np.stack([x[i][b[i]] for i in range(4)]), {0: ("i32", 1), 1: ("i32", 1)})
    nd = i32([[0, 1], [3, 4], [2, 2]])
    case("gather_nd", 107, [x, nd], x[nd[:, 0], nd[:, 1]], {})
    ground = np.zeros((6, 3), np.float32)
    up = f32(3, 3)
    np.add.at(ground, [4, 1, 4], up)
    case("scatter_nd", 122, [i32([[4], [1], [4]]), up], ground, {}, consts=[i32([6, 3])])
    for name, q, o in (("int8", Quant("int8", 0.03, 7), Quant("int8", 0.03, 7)), ("uint8", Quant("uint8", 0.02, 90), Quant("uint8", 0.04, 120)),
                       ("int16", Quant("int16", 0.0002), Quant("int16", 0.0002))):
        real = np.zeros((6, 3))
        np.add.at(real, [4, 1, 4], q.real(q.store(up)))
        case("scatter_nd " + name, 122, [i32([[4], [1], [4]]), q.store(up)], o.store(real), {}, tol=1, consts=[i32([6, 3])], quants={1: q, 3: o})
    case("embedding_lookup", 7, [i32([3, 0, 1])], x[[3, 0, 1]], {}, consts=[x], order=[0, 1])
    cache, new = f32(2, 8, 3), f32(2, 2, 3)
    for start, place in ((3, 3), (7, 6), (-2, 0)):
        updated = cache.copy()
        updated[:, place:place + 2] = new
        case("dynamic_update_slice %d" % start, 151, [cache, new, i32([0, start, 0])], updated, {})
    hot = np.full((3, 4), -1, np.float32)
    hot[[0, 1, 2], [2, 0, 3]] = 5
    case("one_hot", 85, [i32([2, 0, 3])], hot, {0: ("i32", -1)}, consts=[i32(4), np.float32(5), np.float32(-1)])
    order = np.argsort(-x, axis=-1, kind="stable")[..., :2]
    case("topk_v2", 48, [x], [np.take_along_axis(x, order, -1), order.astype(np.int32)], {}, consts=[i32(2)])
    case("arg_max", 56, [x], x.argmax(1).astype(np.int32), {}, consts=[i32(1)])
    case("arg_max i64", 56, [x], x.argmax(2).astype(np.int64), {}, consts=[i32(-1)])
    case("arg_min", 79, [x], x.argmin(0).astype(np.int32), {}, consts=[i32(0)])
    for name, code, f in (("mean", 40, np.mean), ("sum", 74, np.sum), ("reduce_prod", 81, np.prod), ("reduce_max", 82, np.max), ("reduce_min", 89, np.min)):
        case(name, code, [x], f(x.astype(np.float64), axis=(0, 2)).astype(np.float32), {}, consts=[i32([0, -1])], tol=3e-5)
        case(name + " keeping dims", code, [x], f(x.astype(np.float64), axis=1, keepdims=True).astype(np.float32), {0: ("i8", 1)}, consts=[i32([1])])
    case("reduce_any", 91, [x > 1.5], (x > 1.5).any(2), {}, consts=[i32([2])])
    case("reduce_all", 140, [x > -1.5], (x > -1.5).all(2), {}, consts=[i32([2])])
    case("cumsum", 128, [x], np.cumsum(x, 1), {}, consts=[i32(1)])
    exclusive = np.cumsum(x[:, ::-1], 1)[:, ::-1] - x
    case("cumsum reversed", 128, [x], exclusive.copy(), {0: ("i8", 1), 1: ("i8", 1)}, consts=[i32(1)])


def image_cases():
    x = f32(2, 4, 6, 4)
    n, h, w, c = x.shape
    d2s = x.reshape(n, h, w, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(n, 8, 12, 1)
    case("depth_to_space", 5, [x], d2s.copy(), {0: ("i32", 2)})
    case("space_to_depth", 26, [d2s.copy()], x, {0: ("i32", 2)})
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    s2b = padded.reshape(n, 3, 2, 2, 3, c).transpose(2, 4, 0, 1, 3, 5).reshape(n * 6, 3, 2, c)
    case("space_to_batch_nd", 38, [x], s2b.copy(), {}, consts=[i32([2, 3]), i32([[1, 1], [0, 0]])])
    case("batch_to_space_nd", 37, [s2b.copy()], x, {}, consts=[i32([2, 3]), i32([[1, 1], [0, 0]])])
    y = f32(2, 6, 3)
    case("space_to_batch_nd rank 3", 38, [y], y.reshape(2, 3, 2, 3).transpose(2, 0, 1, 3).reshape(4, 3, 3).copy(), {}, consts=[i32([2]), i32([[0, 0]])])

    def positions(out, size, align, half):
        i = np.arange(out, dtype=np.float64)
        return i * (size - 1) / (out - 1) if align else (i + 0.5) * size / out - 0.5 if half else i * size / out
    for align, half in ((0, 0), (1, 0), (0, 1)):
        py, px = positions(7, h, align, half), positions(9, w, align, half)
        ny, nx = (np.clip(np.floor(p + 0.5) if align else np.floor(p + 0.5 if half else p), 0, s - 1).astype(int) for p, s in ((py, h), (px, w)))
        case("resize_nearest %d %d" % (align, half), 97, [x], x[:, ny][:, :, nx].copy(), {0: ("i8", align), 1: ("i8", half)}, consts=[i32([7, 9])])
        py, px = np.clip(py, 0, h - 1), np.clip(px, 0, w - 1)
        y0, x0 = np.floor(py).astype(int), np.floor(px).astype(int)
        y1, x1 = np.minimum(y0 + 1, h - 1), np.minimum(x0 + 1, w - 1)
        fy, fx = (py - y0)[None, :, None, None], (px - x0)[None, None, :, None]
        top = x[:, y0][:, :, x0] * (1 - fx) + x[:, y0][:, :, x1] * fx
        low = x[:, y1][:, :, x0] * (1 - fx) + x[:, y1][:, :, x1] * fx
        case("resize_bilinear %d %d" % (align, half), 23, [x], (top * (1 - fy) + low * fy).astype(np.float32), {2: ("i8", align), 3: ("i8", half)},
             consts=[i32([7, 9])], tol=2e-5)


# ---- layers with memory ----------------------------------------------------------------------------------------------------------


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def lstm(x, w, r, b, h, c, reverse=False):
    """x: [batch, time, in]; gates in the order i, f, c, o."""
    out = np.zeros((x.shape[0], x.shape[1], h.shape[1]))
    for t in (range(x.shape[1] - 1, -1, -1) if reverse else range(x.shape[1])):
        z = [x[:, t] @ w[g].T + h @ r[g].T + b[g] for g in range(4)]
        c = sigmoid(z[1]) * c + sigmoid(z[0]) * np.tanh(z[2])
        h = sigmoid(z[3]) * np.tanh(c)
        out[:, t] = h
    return out, h, c


def memory_cases():
    steps, batch, time, size, units = 3, 2, 4, 3, 5
    x = f32(steps, batch, time, size)
    w, r, b = [f32(units, size) for _ in range(4)], [f32(units, units) for _ in range(4)], [f32(units) for _ in range(4)]
    h, c, want = np.zeros((batch, units)), np.zeros((batch, units)), []
    for s in range(steps):
        y, h, c = lstm(x[s], w, r, b, h, c)
        want.append(y.astype(np.float32))
    state = ((batch, units), "float32")
    consts = w + r + b
    case("unidirectional_sequence_lstm", 44, [x], np.stack(want), {0: ("i8", TANH)}, consts=consts, steps=steps, tol=1e-4,
         order=list(range(9)) + [None] * 3 + list(range(9, 13)) + [None] * 2 + [state, state])
    w2, r2, b2 = [f32(units, size) for _ in range(4)], [f32(units, units) for _ in range(4)], [f32(units) for _ in range(4)]
    zero = np.zeros((batch, units))
    fw, bw = lstm(x[0], w, r, b, zero, zero)[0], lstm(x[0], w2, r2, b2, zero, zero, True)[0]
    one = list(range(1, 9)) + [None] * 3 + list(range(9, 13)) + [None] * 2
    two = list(range(13, 21)) + [None] * 3 + list(range(21, 25)) + [None] * 2
    case("bidirectional_sequence_lstm", 52, [x[0]], np.concatenate([fw, bw], 2).astype(np.float32),
         {0: ("i8", TANH), 3: ("i8", 1), 4: ("i8", 0)}, consts=consts + w2 + r2 + b2, order=[0] + one + two + [state] * 4 + [None] * 9, tol=1e-4)
    p, h, want = f32(steps, batch, size), np.zeros((batch, units)), []
    for s in range(steps):
        h = np.tanh(p[s] @ w[0].T + h @ r[0].T + b[0])
        want.append(h.astype(np.float32))
    case("rnn", 24, [p], np.stack(want), {0: ("i8", TANH)}, consts=[w[0], r[0], b[0]], steps=steps, order=[0, 1, 2, 3, state], tol=1e-4)
    for major in (0, 1):
        h, want = np.zeros((batch, units)), []
        for s in range(steps):
            ys = []
            for t in range(time):
                h = np.tanh(x[s][:, t] @ w[0].T + h @ r[0].T + b[0])
                ys.append(h)
            want.append(np.stack(ys, 0 if major else 1).astype(np.float32))
        case("unidirectional_sequence_rnn %d" % major, 35, [x.swapaxes(1, 2).copy() if major else x], np.stack(want), {0: ("i8", major), 1: ("i8", TANH)}, consts=[w[0], r[0], b[0]],
             steps=steps, order=[0, 1, 2, 3, state], tol=1e-4)
    long, h, ys = f32(1, 70, size), np.zeros((1, units)), []
    for t in range(70):
        h = np.tanh(long[:, t] @ w[0].T + 0.1 * (h @ r[0].T) + b[0])
        ys.append(h)
    case("unidirectional_sequence_rnn of 70 steps", 35, [long], np.stack(ys, 1).astype(np.float32), {1: ("i8", TANH)}, consts=[w[0], np.float32(0.1) * r[0], b[0]],
         order=[0, 1, 2, 3, ((1, units), "float32")], tol=1e-4)
    sides = []
    for k in range(2):
        h, ys = np.zeros((batch, units)), [None] * time
        for t in (range(time) if k == 0 else range(time - 1, -1, -1)):
            h = relu(x[0][:, t] @ w[k].T + 0.1 * (h @ r[k].T) + b[k])
            ys[t] = h
        sides.append(np.stack(ys, 1).astype(np.float32))
    consts = [w[0], np.float32(0.1) * r[0], b[0], w[1], np.float32(0.1) * r[1], b[1]]
    places = [0, 1, 2, 3, state, 4, 5, 6, state, None, None, None]
    case("bidirectional_sequence_rnn", 46, [x[0]], sides, {0: ("i8", 0), 1: ("i8", RELU)}, consts=consts, order=places, tol=1e-4)
    case("bidirectional_sequence_rnn merged", 46, [x[0]], np.concatenate(sides, 2), {0: ("i8", 0), 1: ("i8", RELU), 2: ("i8", 1)}, consts=consts, order=places, tol=1e-4)
    rank, memory, filters = 2, 3, 10
    feature, when, bias = f32(filters, size), f32(filters, memory), f32(units)
    past, want = np.zeros((batch, filters, memory)), []
    for s in range(steps):
        past = np.concatenate([past[:, :, 1:], (p[s] @ feature.T)[:, :, None]], 2)
        want.append(relu((past * when).sum(2).reshape(batch, units, rank).sum(2) + bias).astype(np.float32))
    case("svdf", 27, [p], np.stack(want), {0: ("i32", rank), 1: ("i8", RELU)}, consts=[feature, when, bias], steps=steps,
         order=[0, 1, 2, 3, ((batch, filters * memory), "float32")], tol=1e-5)


def segment_cases():
    x = f32(6, 3)
    ids = i32([0, 0, 2, 2, 2, 3])
    total, product = np.zeros((4, 3), np.float32), np.ones((5, 3), np.float32)
    np.add.at(total, ids, x)
    np.multiply.at(product, ids, x)
    case("segment_sum", 125, [x], total, {}, consts=[ids], order=[0, 1])
    case("segment_sum, computed ids", 125, [x, ids], total, {}, refused="a constant is expected")
    mixed, unsorted = i32([3, 0, 3, 1, 0, 3]), np.zeros((5, 3), np.float32)
    np.add.at(unsorted, mixed, x)
    case("unsorted_segment_sum", 155, [x], unsorted, {}, consts=[mixed, i32(5)])
    case("unsorted_segment_prod", 153, [x], product, {}, consts=[ids, i32(5)])
    case("segment_sum, negative id", 125, [x], total, {}, consts=[i32([-1, 0, 2, 2, 2, 3])], order=[0, 1], refused="segment -1")
    some = i32([3, 0, -1, 1, 0, -2])  # rows that take part in nothing
    for name, number, ids in (("mixed", 5, mixed), ("negative", 5, some), ("high", 7, ids)):
        for values in (x, i32([[-2147483648, 4, -7], [2147483647, -9, 2], [5, 5, 0], [-1, -2, -3], [8, 2147483647, -2147483648], [0, 1, 2]])):
            kind, limit = values.dtype, np.finfo("f4") if values.dtype.kind == "f" else np.iinfo("i4")
            for what, code, base, join in (("sum", 155, 0, np.add), ("prod", 153, 1, np.multiply), ("max", 154, limit.min, np.maximum), ("min", 157, limit.max, np.minimum)):
                if kind.kind == "i" and code in (153, 155):
                    continue  # sums and products of these would not fit
                want = np.full((number, 3), base, kind)
                join.at(want, ids[ids >= 0], values[ids >= 0])
                case("unsorted_segment_%s of %s, ids %s" % (what, kind, name), code, [values], want, {}, consts=[ids, i32(number)], tol=0 if code in (154, 157) else 1e-5)
    case("unsorted_segment_max, no row", 154, [x], unsorted, {}, consts=[i32([-1] * 6), i32(5)], refused="no row belongs to a segment")
    dense = np.full((4, 5), 7, np.float32)
    at, v = i32([[0, 1], [2, 4], [3, 0]]), f32(3)
    dense[tuple(at.T)] = v
    case("sparse_to_dense", 68, [v], dense, {}, consts=[at, i32([4, 5]), np.float32(7)], order=[1, 2, 0, 3])
    case("sparse_to_dense, indices at run time", 68, [at, v], dense, {}, consts=[i32([4, 5]), np.float32(7)], order=[0, 2, 1, 3])
    line = np.zeros(6, np.int32)
    line[[1, 4]] = 9
    case("sparse_to_dense, one value", 68, [i32([1, 4])], line, {}, consts=[i32([6]), i32(9), i32(0)], tol=0)
    s = f32(3, 5, 2)
    for lengths in ([5, 2, 0], [1, 4, 3]):
        want = s.copy()
        for k, n in enumerate(lengths):
            want[k, :n] = s[k, :n][::-1]
        case("reverse_sequence %s" % lengths, 112, [s], want, {0: ("i32", 1), 1: ("i32", 0)}, consts=[i32(lengths)], tol=0)
        case("reverse_sequence at run time %s" % lengths, 112, [s.swapaxes(0, 1).copy(), np.asarray(lengths, np.int64)], want.swapaxes(0, 1).copy(), {0: ("i32", 0), 1: ("i32", 1)}, tol=0)


def svdf_fixed():
    """int8 as tflite-micro has it: a 16-bit state and time weights, a 32-bit bias."""
    steps, batch, size, units, rank, memory = 3, 2, 4, 3, 2, 3
    filters = units * rank
    qx, qf, qt, qs, qy = Quant("int8", 0.02, 4), Quant("int8", 0.01), Quant("int16", 0.0001), Quant("int16", 0.001), Quant("int8", 0.05, -128)
    x, feature, when = qx.store(f32(steps, batch, size)), qf.store(f32(filters, size, lo=-1, hi=1)), qt.store(f32(filters, memory))
    bias = rng.integers(-2000000, 2000000, units).astype(np.int32)
    past, want = np.zeros((batch, filters, memory)), []
    for s in range(steps):
        new = qs.real(qs.store(qx.real(x[s]) @ qf.real(feature).T))
        past = np.concatenate([past[:, :, 1:], new[:, :, None]], 2)
        real = (past * qt.real(when)).sum(2).reshape(batch, units, rank).sum(2) + bias * (0.0001 * 0.001)
        want.append(qy.store(relu(real)))
    for name, quant in (("svdf int8", Quant("int32", 1e-7)), ("svdf int8, bias without a scale", None)):
        case(name, 27, [x], np.stack(want), {0: ("i32", rank), 1: ("i8", RELU)}, consts=[feature, when, bias], steps=steps, tol=1,
             quants={0: qx, 1: qf, 2: qt, 3: quant, 4: qy}, order=[0, 1, 2, 3, ((batch, filters * memory), "int16", dict(scale=0.001))])


def resource_case():
    """acc += x; y = acc, with a first value."""
    m = tflite_file.Model()
    x, handle = m.tensor([4], "float32", "x"), m.tensor([], "resource", "handle")
    old, new = m.tensor([4], "float32", "old"), m.tensor([4], "float32", "new")
    init = m.graph("init")
    h2, first = init.tensor([], "resource", "h2"), init.tensor([4], "float32", "first", data=[1.0, 2.0, 3.0, 4.0])
    init.op(142, [], [h2], {1: ("str", "acc")})
    init.op(144, [h2, first], [], {})
    m.op(129, [], [], {0: ("i32", 1)})
    m.op(142, [], [handle], {1: ("str", "acc")})
    m.op(143, [handle], [old], {})
    m.op(0, [old, x], [new], {})
    m.op(144, [handle, new], [], {})
    given = f32(3, 4)
    CASES.append(dict(name="variable", file=m.file([x], [new], [(init, [], [])]), inputs=[given], steps=3, tol=1e-6, refused=None,
                      expected=[np.stack([np.array([1, 2, 3, 4]) + given[:i + 1].sum(0) for i in range(3)]).astype(np.float32)]))


def composed_cases():
    d, m = f32(2, 3), f32(2, 3, 4)
    case("matrix_diag", 113, [d], d[:, :, None] * np.eye(3, dtype=np.float32), {})
    want = m.copy()
    want[:, range(3), range(3)] = d
    case("matrix_set_diag", 115, [m, d], want, {})
    bounds = [-1.0, 0.0, 0.5]
    case("bucketize", 147, [m], np.digitize(m, bounds).astype(np.int32), {0: ("f32s", bounds)})
    y, x = f32(4, 5), f32(4, 5)
    y[0], x[1] = 0, 0
    y[2, 0] = x[2, 0] = 0
    case("atan2", 156, [y, x], np.arctan2(y, x), {})
    k = i32([[100, -100, 7]])
    case("right_shift", 161, [k], k >> 3, {}, consts=[i32(3)])
    boxes = np.array([[0, 0, 1, 1], [0, .1, 1, 1.1], [0, 10, 1, 11], [0, 20, 1, 21]], np.float32)
    scores = np.array([.75, .9, .6, .2], np.float32)
    settings = [i32(3), np.float32(.5), np.float32(.3)]
    case("nms v4", 120, [boxes, scores], [i32([1, 2, 0]), i32(2)], {}, consts=settings)
    case("nms v5", 121, [boxes, scores], [i32([1, 2, 0]), np.array([.9, .6, 0], np.float32), i32(2)], {}, consts=settings + [np.float32(0)])
    case("stablehlo add", 163, [y, x], y + x, {})
    case("stablehlo logistic", 162, [x], 1 / (1 + np.exp(-x)), {})
    case("stablehlo sort", 199, [x], np.sort(x), {}, refused="STABLEHLO_SORT")


def branch_case(name, cond, given, refused=None, other=(2, 3)):
    """IF: -x and a constant, or exp(x) and x itself."""
    x, k = f32(2, 3), f32(2, 3)
    m = tflite_file.Model()
    t = [m.tensor([], "bool", "c", data=None if given else bytes([cond])), m.tensor(x.shape, "float32", "x"), m.tensor(x.shape, "float32", "y"), m.tensor(x.shape, "float32", "z")]
    yes, no = m.graph("yes"), m.graph("no")
    a = [yes.tensor(x.shape, "float32", "x"), yes.tensor(x.shape, "float32", "y"), yes.tensor(x.shape, "float32", "k", data=k.tobytes())]
    yes.op(59, [a[0]], [a[1]], {})
    b = [no.tensor(x.shape, "float32", "x"), no.tensor(other, "float32", "y")]
    no.op(47 if other == (2, 3) else 22, [b[0]], [b[1]], {})
    m.op(118, t[:2], t[2:], {0: ("i32", 1), 1: ("i32", 2)})
    expected = [-x, k] if cond else [np.exp(x), x]
    CASES.append(dict(name=name, file=m.file(t[:2] if given else t[1:2], t[2:], [(yes, a[:1], a[1:]), (no, b[:1], [b[1], b[0]])]), expected=expected, tol=1e-5, steps=1,
                      inputs=[np.array(cond), x] if given else [x], refused=refused))


def control_cases():
    for cond in (True, False):
        branch_case("if, at run time, %s" % cond, cond, True)
        branch_case("if, of a constant, %s" % cond, cond, False)
    branch_case("if with two shapes", True, True, "on one side and", other=(6,))
    x = f32(4)
    m = tflite_file.Model()
    t = [m.tensor([], "bool", "c"), m.tensor(x.shape, "float32", "x"), m.tensor(x.shape, "float32", "y")]
    sides = [m.graph("yes"), m.graph("no")]
    for g in sides:
        g.tensor(x.shape, "float32", "x")
    handle = sides[0].tensor([], "resource", "handle")
    sides[0].op(142, [], [handle], {1: ("str", "kept")})
    sides[0].op(144, [handle, 0], [], {})
    m.op(118, t[:2], t[2:], {0: ("i32", 1), 1: ("i32", 2)})
    CASES.append(dict(name="if that assigns", file=m.file(t[:2], t[2:], [(g, [0], [0]) for g in sides]), inputs=[np.array(True), x], expected=[x], tol=0, steps=1,
                      refused="is assigned only on one side"))
    m = tflite_file.Model()
    t = [m.tensor(x.shape, "float32", "x"), m.tensor(x.shape, "float32", "y")]
    inner = m.graph("inner")
    a = [inner.tensor(x.shape, "float32", "x"), inner.tensor(x.shape, "float32", "y")]
    inner.op(59, a[:1], a[1:], {})
    m.op(31, t[:1], t[1:], {0: ("u32", 1)})
    CASES.append(dict(name="call", file=m.file(t[:1], t[1:], [(inner, a[:1], a[1:])]), inputs=[x], expected=[-x], tol=0, steps=1, refused=None))


def while_case(name, turns, known=True, refused=None):
    """x and i, while i < turns: x * k - i."""
    x, k = f32(2, 3), f32(2, 3)
    m = tflite_file.Model()
    t = [m.tensor([], "int32", "i", data=[0] if known else None), m.tensor(x.shape, "float32", "x"), m.tensor([], "int32", "n"), m.tensor(x.shape, "float32", "y")]
    cond, body = m.graph("cond"), m.graph("body")
    c = [cond.tensor([], "int32", "i"), cond.tensor(x.shape, "float32", "x"), cond.tensor([], "int32", "most", data=[turns]), cond.tensor([], "bool", "more")]
    cond.op(58, [c[0], c[2]], [c[3]], {})
    b = [body.tensor([], "int32", "i"), body.tensor(x.shape, "float32", "x"), body.tensor([], "int32", "one", data=[1]), body.tensor(x.shape, "float32", "k", data=k.tobytes()),
         body.tensor([], "int32", "j"), body.tensor([], "float32", "f"), body.tensor(x.shape, "float32", "p"), body.tensor(x.shape, "float32", "q")]
    body.op(0, [b[0], b[2]], [b[4]], {})
    body.op(53, [b[0]], [b[5]], {})
    body.op(18, [b[1], b[3]], [b[6]], {})
    body.op(41, [b[6], b[5]], [b[7]], {})
    m.op(119, t[:2], t[2:], {0: ("i32", 1), 1: ("i32", 2)})
    y = x
    for i in range(min(turns, 8)):
        y = y * k - i
    CASES.append(dict(name=name, file=m.file(t[1:2] if known else t[:2], t[3:], [(cond, c[:2], c[3:]), (body, b[:2], [b[4], b[7]])]), inputs=[x] if known else [i32(0), x],
                      expected=[y], tol=1e-4, steps=1, refused=refused))


def list_case(steps):
    """A list that gets one row per turn, as TensorFlow writes recurrent layers: what is before the row, the row, what is behind; one is empty at either end."""
    x = f32(steps, 2)
    m = tflite_file.Model()
    t = [m.tensor([], "int32", "i", data=[0]), m.tensor(x.shape, "float32", "list", data=np.zeros_like(x).tobytes()), m.tensor(x.shape, "float32", "x"), m.tensor([], "int32", "n"),
         m.tensor(x.shape, "float32", "y"), m.tensor(x.shape, "float32", "same")]
    cond, body = m.graph("cond"), m.graph("body")
    c = [cond.tensor([], "int32", "i"), cond.tensor(x.shape, "float32", "l"), cond.tensor(x.shape, "float32", "x"), cond.tensor([], "int32", "most", data=[steps]), cond.tensor([], "bool", "more")]
    cond.op(58, [c[0], c[3]], [c[4]], {})

    def ints(name, values):
        return body.tensor([len(values)], "int32", name, data=values)

    def part(name, rows=None):
        return body.tensor([1 if rows is None else rows, 2], "float32", name, signature=[-1 if rows is None else rows, 2])
    i, old, src = body.tensor([], "int32", "i"), body.tensor(x.shape, "float32", "l"), body.tensor(x.shape, "float32", "x")
    j, at, behind, left = body.tensor([], "int32", "j"), body.tensor([2], "int32", "at"), body.tensor([2], "int32", "behind"), body.tensor([2], "int32", "left")
    zero = body.tensor([], "int32", "zero", data=[0])
    head, row, tail, twice, new = part("head"), part("row", 1), part("tail"), part("twice", 1), body.tensor(x.shape, "float32", "new")
    body.op(0, [i, body.tensor([], "int32", "one", data=[1])], [j], {})
    body.op(83, [i, zero], [at], {0: ("i32", 2)})
    body.op(0, [at, ints("next", [1, 0])], [behind], {})
    before = body.tensor([2], "int32", "before")
    body.op(0, [at, ints("wide", [0, 2])], [before], {})
    body.op(41, [ints("all", [steps, 2]), behind], [left], {})
    body.op(65, [old, ints("from", [0, 0]), before], [head], {})
    body.op(65, [src, at, ints("one row", [1, 2])], [row], {})
    body.op(65, [old, behind, left], [tail], {})
    body.op(0, [row, row], [twice], {})
    body.op(2, [head, twice, tail], [new], {0: ("i32", 0)})
    m.op(119, t[:3], t[3:], {0: ("i32", 1), 1: ("i32", 2)})
    CASES.append(dict(name="list of %d in a loop" % steps, file=m.file(t[2:3], t[4:5], [(cond, c[:3], c[4:]), (body, [i, old, src], [j, new, src])]), inputs=[x], expected=[2 * x],
                      tol=1e-6, steps=1, refused=None))


def loop_cases():
    list_case(3)
    list_case(1)
    while_case("while, four turns", 4)
    while_case("while, no turn", 0)
    while_case("while, endless", 1 << 30, refused="more than 1024 turns")
    while_case("while, counted at run time", 4, False, refused="condition depends on the inputs")
    x = f32(2, 1, 3)
    m = tflite_file.Model()
    t = [m.tensor(x.shape, "float32", "x"), m.tensor([3], "int32", "s", data=[2, 1, 3]), m.tensor([2], "int32", "t", data=[4, 1]), m.tensor([3], "int32", "u"),
         m.tensor([2, 4, 3], "float32", "y")]
    m.op(145, t[1:3], t[3:4], {})
    m.op(130, [t[0], t[3]], t[4:], {})
    CASES.append(dict(name="broadcast_args", file=m.file(t[:1], t[4:]), inputs=[x], expected=[np.broadcast_to(x, (2, 4, 3))], tol=0, steps=1, refused=None))


def wide_cases():
    """More tensors than a node takes."""
    parts = [f32(2, 1 + i % 2) for i in range(20)]
    order = [i % 20 for i in range(70)]
    case("concatenation of 70", 2, parts, np.concatenate([parts[i] for i in order], 1), {0: ("i32", 1)}, order=order)
    rows = [f32(3) for _ in range(20)]
    case("pack of 70", 83, rows, np.stack([rows[i] for i in order], 1), {0: ("i32", 70), 1: ("i32", 1)}, order=order)
    x = f32(2, 70)
    case("unpack into 70", 88, [x], [x[:, i] for i in range(70)], {0: ("i32", 70), 1: ("i32", 1)})
    x = f32(2, 195)
    case("split into 65", 49, [x], list(np.split(x, 65, 1)), {0: ("i32", 65)}, consts=[i32(1)], order=[1, 0])
    sizes = [1 + i % 3 for i in range(66)]
    x = f32(sum(sizes), 2)
    case("split_v into 66", 102, [x], list(np.split(x, np.cumsum(sizes)[:-1])), {}, consts=[i32(sizes), i32(0)])
    case("add_n of 70", 106, [a := f32(2, 3), b := f32(2, 3)], 35 * (a + b), {}, order=[0, 1] * 35, tol=1e-4)


def shape_case():
    """Frames of a signal, as programs write it: sizes are computed from SHAPE, and the shapes in the file are placeholders."""
    x = f32(1, 50)
    m = tflite_file.Model()

    def ints(name, values, shape=None):
        return m.tensor([len(values)] if shape is None else shape, "int32", name, data=list(values))

    def between(name, shape, dtype="int32"):
        return m.tensor(shape, dtype, name, signature=[-1] * len(shape))
    axis, step, size = ints("zero", [0], []), ints("step", [6], []), ints("size", [8], [])
    src = m.tensor([1, 50], "float32", "x")
    shape, batch, length, nothing = between("shape", [2]), between("batch", [1]), between("length", [1]), m.tensor([0], "int32", "nothing")
    m.op(77, [src], [shape], {})
    m.op(102, [shape, ints("sizes", [1, 1, 0]), axis], [batch, length, nothing], {0: ("i32", 3)})
    scalar = m.tensor([], "int32", "n")
    m.op(22, [length, m.tensor([0], "int32", "no dimension")], [scalar], {})
    rest, whole, count = m.tensor([], "int32", "rest"), m.tensor([], "int32", "whole"), m.tensor([], "int32", "count")
    m.op(41, [scalar, size], [rest], {})
    m.op(90, [rest, step], [whole], {})
    one = ints("one", [1], [])
    m.op(0, [whole, one], [count], {})
    starts, steps, packed, frame, at = between("starts", [1]), between("steps", [1]), between("packed", [2]), between("frame", [1, 1]), between("at", [1, 8])
    m.op(96, [axis, count, one], [starts], {})
    m.op(18, [starts, step], [steps], {})
    m.op(83, [count, one], [packed], {0: ("i32", 2)})
    m.op(22, [steps, packed], [frame], {})
    m.op(0, [frame, ints("inside", range(8), [1, 8])], [at], {})
    taken, ends, all_of_it, y = (between("taken", [1, 1, 8], "float32"), between("ends", [2]), between("all", [3]), between("y", [1, 1], "float32"))
    m.op(36, [src, at], [taken], {0: ("i32", 1)})
    m.op(83, [count, size], [ends], {0: ("i32", 2)})
    m.op(2, [batch, nothing, ends], [all_of_it], {0: ("i32", 0)})
    back = between("back", [1, 1, 1], "float32")
    m.op(22, [taken, all_of_it], [back], {})
    m.op(40, [back, ints("last", [2])], [y], {})
    frames = np.stack([x[:, i * 6:i * 6 + 8] for i in range(8)], 1)
    CASES.append(dict(name="shapes that are computed", file=m.file([src], [y]), inputs=[x], expected=[frames.mean(2, dtype=np.float64).astype(np.float32)], tol=1e-5, steps=1,
                      refused=None))


def complex_cases():
    """Real signals in complex spectra and back to real numbers."""
    x = f32(3, 12)
    for name, length in (("as long", 12), ("cut", 8), ("with zeros behind", 16)):
        want = np.fft.rfft(x, length)
        bins = length // 2 + 1
        m = tflite_file.Model()
        src, line = m.tensor([3, 12], "float32", "x"), m.tensor([3, 1, 12], "float32", "line")
        m.op(70, [src, m.tensor([], "int32", "axis", data=[1])], [line], {})
        pairs, flat = m.tensor([3, 1, bins], "complex64", "pairs"), m.tensor([3, bins], "complex64", "flat")
        m.op(131, [line, m.tensor([2], "int32", "length", data=[1, length])], [pairs], {})
        m.op(43, [pairs], [flat], {0: ("i32s", [-2])})
        outs = [m.tensor([3, bins], "float32", n) for n in ("real", "imaginary", "absolute", "cast")]
        for code, out in zip((134, 133, 135, 53), outs):
            m.op(code, [flat], [out], {})
        CASES.append(dict(name="rfft, " + name, file=m.file([src], outs), inputs=[x], expected=[a.astype(np.float32) for a in (want.real, want.imag, np.abs(want), want.real)], tol=1e-5,
                          steps=1, refused=None))
    m.op(0, [flat, flat], [m.tensor([3, bins], "complex64", "sum")], {})
    CASES.append(dict(name="complex sum", file=m.file([src], outs), inputs=[x], expected=[x], tol=0, steps=1, refused="complex numbers"))
    CASES.append(dict(name="complex output", file=m.file([src], [flat]), inputs=[x], expected=[x], tol=0, steps=1, refused="complex64"))


def flex_map(values):
    """A flexbuffer: a map of numbers, everything four bytes wide."""
    names = sorted(values)
    buf, at = bytearray(), {}
    for name in names:
        at[name] = len(buf)
        buf += name.encode() + b"\0"
    buf += bytes(-len(buf) % 4)
    buf += np.uint32(len(names)).tobytes()
    keys = len(buf)
    for name in names:
        buf += np.uint32(len(buf) - at[name]).tobytes()
    buf += np.uint32(len(buf) - keys).tobytes() + np.uint32(4).tobytes() + np.uint32(len(names)).tobytes()
    start = len(buf)
    for name in names:
        buf += (np.float32 if isinstance(values[name], float) else np.int32)(values[name]).tobytes()
    buf += bytes([((3 if isinstance(values[name], float) else 1) << 2) | 2 for name in names])
    buf += bytes(-len(buf) % 4)
    return bytes(buf + np.uint32(len(buf) - start).tobytes() + bytes([(9 << 2) | 2, 4]))


def detections(encodings, scores, anchors, offset, regular, most, least, iou):
    y, x, h, w = ((encodings[:, k] / (10, 10, 5, 5)[k]) for k in range(4))
    cy, cx, hh, hw = y * anchors[:, 2] + anchors[:, 0], x * anchors[:, 3] + anchors[:, 1], np.exp(h) * anchors[:, 2] / 2, np.exp(w) * anchors[:, 3] / 2
    boxes = np.stack([cy - hh, cx - hw, cy + hh, cx + hw], 1)

    def overlap(a, b):
        side = [max(0, min(a[k + 2], b[k + 2]) - max(a[k], b[k])) for k in range(2)]
        area = [(q[2] - q[0]) * (q[3] - q[1]) for q in (a, b)]
        return side[0] * side[1] / (sum(area) - side[0] * side[1])

    def keep(candidates):
        kept = []
        for s, c, i in sorted(candidates, key=lambda v: -v[0]):
            if all(overlap(boxes[i], boxes[j]) <= iou for _, _, j in kept):
                kept.append((s, c, i))
        return kept
    real = scores[:, offset:]
    if regular:
        found = [k for c in range(real.shape[1]) for k in keep([(s, c, i) for i, s in enumerate(real[:, c]) if s >= least])]
    else:
        found = keep([(s.max(), s.argmax(), i) for i, s in enumerate(real) if s.max() >= least])
    found = sorted(found, key=lambda v: -v[0])[:most]
    out = [np.zeros((1, most, 4), np.float32), np.zeros((1, most), np.float32), np.zeros((1, most), np.float32), np.array([len(found)], np.float32)]
    for k, (s, c, i) in enumerate(found):
        out[0][0, k], out[1][0, k], out[2][0, k] = boxes[i], c, s
    return out


def detection_cases():
    n = 24
    anchors = np.concatenate([rng.uniform(0.2, 0.8, (n, 2)), rng.uniform(0.1, 0.5, (n, 2))], 1).astype(np.float32)
    encodings = rng.normal(0, 1, (1, n, 4)).astype(np.float32)
    for offset in (0, 1):
        scores = rng.permutation(np.linspace(0.01, 0.99, n * (3 + offset))).reshape(1, n, 3 + offset).astype(np.float32)
        for regular, most in ((0, 5), (0, 30), (1, 6)):
            options = dict(max_detections=most, num_classes=3, nms_score_threshold=0.25, nms_iou_threshold=0.4, y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0,
                           use_regular_nms=regular, max_classes_per_detection=1, detections_per_class=100)
            m = tflite_file.Model()
            t = [m.tensor(encodings.shape, "float32", "encodings"), m.tensor(scores.shape, "float32", "scores"),
                 m.tensor(anchors.shape, "float32", "anchors", data=anchors.tobytes())]
            outs = [m.tensor([1], "float32", name) for name in ("boxes", "classes", "kept", "count")]
            m.op(32, t, outs, custom="TFLite_Detection_PostProcess", custom_options=flex_map(options))
            CASES.append(dict(name="detection, %d background, regular %d, %d boxes" % (offset, regular, most), file=m.file(t[:2], outs), inputs=[encodings, scores], tol=1e-5,
                              expected=detections(encodings[0], scores[0], anchors, offset, regular, most, 0.25, 0.4), steps=1, refused=None))
    m.ops[-1][5] = ("bytes", b"\x01\x02\x03")
    CASES.append(dict(name="detection without options", file=m.file(t[:2], outs), inputs=[encodings, scores], expected=[scores], tol=0, steps=1, refused="max_detections"))


def refusal_cases():
    x = f32(2, 3)
    for name, code in (("WHILE", 119), ("UNIQUE", 103), ("operator code 250", 250)):
        case("refused " + name, code, [x], x, {}, refused=name)
    case("computed paddings", 34, [x, i32([[0, 0], [1, 1]])], np.pad(x, ((0, 0), (1, 1))), {}, refused="a constant is expected")
    m = tflite_file.Model()
    a, b, c = m.tensor([3], "float32", "a"), m.tensor([3], "float32", "b"), m.tensor([3], "float32", "c")
    m.op(32, [a], [b], {}, custom="MyOperator")
    m.op(119, [b], [c], {})
    CASES.append(dict(name="all refusals at once", file=m.file([a], [c]), inputs=[f32(3)], expected=[f32(3)], tol=0, steps=1, refused="MyOperator"))
    CASES.append(dict(name="all refusals at once, the second", file=m.file([a], [c]), inputs=[f32(3)], expected=[f32(3)], tol=0, steps=1, refused="WHILE"))


# ---- running -------------------------------------------------------------------------------------------------------------------


def judge(c, answer, path):
    if c["refused"]:
        return None if answer.startswith("refused") and c["refused"] in answer else "expected a refusal with %r: %s" % (c["refused"], answer)
    if answer != "ok":
        return answer
    steps = c["steps"]
    data = open(path, "rb").read()
    at = 0
    for s in range(steps):
        for e in c["expected"]:
            want = e[s] if steps > 1 else e
            n = want.nbytes
            if at + n > len(data):
                return "too little output"
            got = np.frombuffer(data[at:at + n], want.dtype).reshape(want.shape)
            at += n
            diff = np.abs(got.astype(np.float64) - want.astype(np.float64))
            worst = float(np.max(diff / (1 if c["tol"] >= 1 else np.maximum(np.abs(want.astype(np.float64)), 1)), initial=0))
            if not worst <= c["tol"]:
                return "step %d differs by %g, %g is allowed\n  got  %s\n  want %s" % (s, worst, c["tol"], got.ravel()[:8], want.ravel()[:8])
    return None if at == len(data) else "%d bytes of output, %d expected" % (len(data), at)


def main():
    runner, library = sys.argv[1:3]
    for make in (conv_cases, dense_cases, unary_cases, binary_cases, shape_cases, slice_cases, image_cases, memory_cases, segment_cases, svdf_fixed, resource_case, composed_cases,
                 refusal_cases, custom_transpose_case, half_constants, sparse_cases, control_cases, loop_cases, wide_cases, shape_case, complex_cases, detection_cases):
        make()
    failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for i, c in enumerate(CASES):
            paths = [os.path.join(folder, "%d.%s" % (i, end)) for end in ("tflite", "in", "out")]
            with open(paths[0], "wb") as f:
                f.write(c["file"] if "file" in c else build(c))
            with open(paths[1], "wb") as f:
                for s in range(c["steps"]):
                    for a in c["inputs"]:
                        f.write(np.ascontiguousarray(a[s] if c["steps"] > 1 else a).tobytes())
            lines.append("%s %d\n" % (" ".join(paths), c["steps"]))
        answers = subprocess.run([runner, library], input="".join(lines), capture_output=True, text=True, check=False).stdout.splitlines()
        for i, c in enumerate(CASES):
            wrong = judge(c, answers[i], os.path.join(folder, "%d.out" % i)) if i < len(answers) else "the runner ended before this case"
            skip = bool(wrong) and "has no kernel for it yet" in wrong
            if wrong or "--verbose" in sys.argv:
                print("%s%s: %s" % ("SKIP: " if skip else "", c["name"], wrong or "ok"))
            skipped += skip
            failed += bool(wrong) and not skip
    print("%d cases, %d failed, %d skipped" % (len(CASES), failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
