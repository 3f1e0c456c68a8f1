# SPDX-License-Identifier: Apache-2.0
"""Quantize, Dequantize, Convert and Cast against docs/numerics.md section 2."""
import numpy as np

from oracle_common import F, FIXED, NUMPY, O, ProbeError, RANGE, Case, Enc, T, clamp, deq, fixed_to_fixed, quantize, requant, same, scaled, store


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
    except ProbeError as error:  # the row may keep per-axis encodings to weights
        assert "one scale per channel" in str(error), error
        return
    same(got, want, "Convert per axis", t, e)


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
    except ProbeError as error:  # the row may take fixed point and floats only
        assert "Convert" in str(error), error
        return
    same(got, requant(q.astype(np.int64), F(1.0 / float(F(o.scale))), o), "Convert of integers", a, o)


def main():
    c = Case(13)
    for _ in range(scaled(300)):
        tensor_case(c)
        axis_case(c)
        integer_case(c)
    for _ in range(scaled(1500)):
        cast_case(c)
    c.done("retype")


with np.errstate(all="ignore"):
    main()
