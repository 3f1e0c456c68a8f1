# SPDX-License-Identifier: Apache-2.0
"""Quantize, Dequantize, Convert and Cast against docs/numerics.md section 2."""
import numpy as np

from oracle_common import F, FIXED, NUMPY, O, ProbeError, RANGE, Case, Enc, T, b8, clamp, deq, fixed_to_fixed, quantize, requant, same, scaled, store, u32


def per_axis(c, t, shape):
    axis = int(c.r.integers(len(shape)))
    n = shape[axis]
    scales = c.r.uniform(0.01, 0.2, n).astype(F)
    offsets = c.r.integers(-5, 6, n).astype(np.int32) if c.r.random() < 0.5 else np.zeros(n, np.int32)
    view = [1] * len(shape)
    view[axis] = n
    return axis, scales, offsets, scales.reshape(view), offsets.astype(np.int64).reshape(view)


def tensor_case(c):
    shape = c.shape()
    e, o, f = c.enc(FIXED + ("sq32",)), c.enc(FIXED), Enc(c.pick("f32", "f32", "f16"))
    x, q = c.array(f, shape, 20.0), c.array(e, shape)
    same(c.run("Quantize", [f.tensor(x)], [o.out(shape)])[0], quantize(x.astype(F), o), "Quantize", o)
    same(c.run("Convert", [f.tensor(x)], [o.out(shape)])[0], quantize(x.astype(F), o), "Convert to fixed", o)
    same(c.run("Dequantize", [e.tensor(q)], [Enc("f32").out(shape)])[0], deq(q, e.scale, e.offset), "Dequantize", e)
    same(c.run("Convert", [e.tensor(q)], [f.out(shape)])[0], store(deq(q, e.scale, e.offset), f), "Convert to float", e)
    same(c.run("Convert", [e.tensor(q)], [o.out(shape)])[0], fixed_to_fixed(q, e, o), "Convert", e, o)
    same(c.run("Convert", [e.tensor(q)], [e.out(shape)])[0], q, "Convert to the same", e)


def axis_case(c):
    t = c.pick("sq8", "uq8", "sq16", "sq4")
    shape = c.shape(1, 4)
    axis, scales, offsets, s, o = per_axis(c, t, shape)
    q = c.array(Enc(t, F(1), 0), shape)
    per = dict(scales=scales, offsets=offsets, axis=axis)
    x = c.r.normal(0, 4, shape).astype(F)
    want = clamp(np.rint((x / s).astype(np.float64)) - o, t).astype(NUMPY[t])
    if t != "sq4":
        same(c.run("Quantize", [T(x, "f32")], [O(shape, t, **per)])[0], want, "Quantize per axis", t, axis)
    same(c.run("Dequantize", [T(q, t, **per)], [O(shape, "f32")])[0], (q.astype(np.int64) + o).astype(F) * s, "Dequantize per axis", t, axis)
    e = c.enc(FIXED)
    if t == "sq4":
        return
    m = (s.astype(np.float64) / np.float64(F(e.scale))).astype(F)
    v = (q.astype(np.int64) + o).astype(F) * m
    want = clamp(np.rint(v.astype(np.float64)) - e.offset, e.dtype).astype(NUMPY[e.dtype])
    try:
        got = c.run("Convert", [T(q, t, **per)], [e.out(shape)])[0]
    except ProbeError as error:
        return c.skip("Convert per axis", error)
    same(got, want, "Convert per axis", t, e)


def bits_case(c):
    """Encodings that keep fewer bits than the type: stores stay inside them, loads do not trust what is above."""
    t, bits = c.pick(("sq8", 4), ("uq8", 4), ("sq16", 12), ("uq16", 10), ("sq8", 6))
    lo, hi = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if t[0] == "s" else (0, 2 ** bits - 1)
    shape = c.shape(1, 4)
    q = c.r.integers(lo, hi + 1, shape)
    stored = q & (2 ** bits - 1) if c.r.random() < 0.5 else q  # bits above: zero, or the sign
    e = Enc(t, F(c.r.uniform(0.01, 0.5)), int(c.r.integers(-4, 5)))
    want = deq(q, e.scale, e.offset)
    same(c.run("Dequantize", [T(stored, t, bits=bits, **e.k)], [O(shape, "f32")])[0], want, "Dequantize of few bits", t, bits)
    x = c.r.normal(0, 30 * float(e.scale) * 2 ** (bits - 5), shape).astype(F)
    r = np.rint((x / F(e.scale)).astype(np.float64)) - e.offset
    got = c.run("Quantize", [T(x, "f32")], [O(shape, t, bits=bits, **e.k)])[0]
    same(got, np.clip(r, lo, hi).astype(NUMPY[t]), "Quantize to few bits", t, bits)
    axis, scales, offsets, s, o = per_axis(c, t, shape)
    per = dict(scales=scales, offsets=offsets, axis=axis, bits=bits)
    same(c.run("Dequantize", [T(stored, t, **per)], [O(shape, "f32")])[0], (q.astype(np.int64) + o).astype(F) * s, "Dequantize of few bits per axis",
         t, bits, axis)


def narrow_operands(c):
    """The same rule where operators work on stored integers."""
    t, bits = c.pick(("sq8", 4), ("sq16", 12))
    shape = (2, 5, 3, 6)
    q = c.r.integers(-2 ** (bits - 1), 2 ** (bits - 1), shape)
    raw = T(q & (2 ** bits - 1), t, bits=bits, scale=F(0.5), offset=1)
    o, total = Enc(t, F(2.0), 3), q.astype(np.int64) + 1
    axis = int(c.r.integers(4))
    out = tuple(1 if d == axis else n for d, n in enumerate(shape))
    params = {"axes": u32([axis]), "keep_dims": b8(True)}
    same(c.run("ReduceSum", [raw], [o.out(out)], params)[0], requant(total.sum(axis, keepdims=True), F(0.25), o), "ReduceSum", t, bits)
    same(c.run("ReduceMax", [raw], [o.out(out)], params)[0], requant(total.max(axis, keepdims=True), F(0.25), o), "ReduceMax", t, bits)
    same(c.run("ElementWiseMultiply", [raw, raw], [o.out(shape)])[0], requant(total * total, F(0.125), o), "Multiply", t, bits)
    same(c.run("ElementWiseAdd", [raw, raw], [o.out(shape)])[0], requant(total * 2, F(0.25), o), "Add", t, bits)
    window = {"filter_size": u32([5, 3]), "stride": u32([1, 1]), "pad_amount": u32([[0, 0], [0, 0]])}
    same(c.run("PoolMax2d", [raw], [o.out((2, 1, 1, 6))], window)[0], requant(total.max((1, 2), keepdims=True), F(0.25), o), "PoolMax2d", t, bits)
    want = requant(total.sum((1, 2), keepdims=True), F(0.5 / (2.0 * 15)), o)
    same(c.run("PoolAvg2d", [raw], [o.out((2, 1, 1, 6))], window)[0], want, "PoolAvg2d", t, bits)


def cast(x, t):
    """Section 2's last rows; numpy's own casts are undefined where the page says saturate."""
    if t == "b8":
        return (x != 0).astype(np.uint8)
    if NUMPY[t]().dtype.kind == "f" or x.dtype.kind != "f":
        return x.astype(NUMPY[t])
    lo, hi = RANGE[t]
    out = [0 if v != v else lo if v <= lo else hi if v >= hi else int(v) for v in x.astype(np.float64).flat]
    return np.array(out, NUMPY[t]).reshape(x.shape)


def cast_case(c):
    plain = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "b8", "f32", "f16", "uq8", "sq8", "uq16", "sq16")
    a, b = c.pick(*plain), c.pick(*plain)
    encode = lambda t: Enc(t, F(0.5), 3) if t in FIXED else Enc(t)  # noqa: E731
    e, o = encode(a), encode(b)
    shape = c.shape()
    x = c.array(e, shape, c.pick(5.0, 1e3, 1e12))
    same(c.run("Cast", [e.tensor(x)], [o.out(shape)])[0], cast(x, b), "Cast", a, b)


def integer_case(c):
    """Convert treats plain integers as fixed point with scale 1."""
    a, o = c.pick("u8", "i8", "u16"), c.enc(FIXED)
    shape = c.shape()
    q = c.array(Enc(a), shape)
    try:
        got = c.run("Convert", [Enc(a).tensor(q)], [o.out(shape)])[0]
    except ProbeError as error:
        return c.skip("Convert of integers", error)
    same(got, requant(q.astype(np.int64), F(1.0 / float(F(o.scale))), o), "Convert of integers", a, o)


def main():
    c = Case(13)
    for _ in range(scaled(300)):
        tensor_case(c)
        axis_case(c)
        integer_case(c)
        bits_case(c)
        narrow_operands(c)
    for _ in range(scaled(1500)):
        cast_case(c)
    c.done("retype")


with np.errstate(all="ignore"):
    main()
