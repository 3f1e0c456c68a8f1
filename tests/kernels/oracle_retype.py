# SPDX-License-Identifier: Apache-2.0
"""Quantize, Dequantize, Convert and Cast against docs/numerics.md section 2."""
import numpy as np

from probe import spread_blocks
from oracle_common import F, FIXED, NUMPY, O, PACKED, ProbeError, Q_VECTOR, RANGE, Case, Enc, T, b8, clamp, deq, fixed_to_fixed, quantize, requant, same, scaled, store, u32


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
    o = c.enc(FIXED + ("sq32",))
    same(c.run("Quantize", [e.tensor(q)], [o.out(shape)])[0], fixed_to_fixed(q, e, o), "Quantize from fixed point", e, o)


def axis_case(c):
    t = c.pick("sq8", "uq8", "sq16", "sq4", "uq4", "sq2", "uq2")
    shape = c.shape(1, 4)
    axis, scales, offsets, s, o = per_axis(c, t, shape)
    q = c.array(Enc(t, F(1), 0), shape)
    per = dict(scales=scales, offsets=offsets, axis=axis)
    x = c.r.normal(0, 4, shape).astype(F)
    want = clamp(np.rint((x / s).astype(np.float64)) - o, t).astype(NUMPY[t])
    if t not in PACKED:
        same(c.run("Quantize", [T(x, "f32")], [O(shape, t, **per)])[0], want, "Quantize per axis", t, axis)
    same(c.run("Dequantize", [T(q, t, **per)], [O(shape, "f32")])[0], (q.astype(np.int64) + o).astype(F) * s, "Dequantize per axis", t, axis)
    wide = c.r.normal(0, 4, shape)
    nearest = clamp(np.rint((wide.astype(F) / s).astype(np.float64)) - o, t).astype(NUMPY[t])
    real = ((q.astype(np.int64) + o).astype(F) * s).astype(np.float64)
    for op in ("Cast", "Convert"):
        same(c.run(op, [T(wide, "f64")], [O(shape, t, **per)])[0], nearest, op + " of f64 to an encoding per axis", t, axis)
        same(c.run(op, [T(q, t, **per)], [O(shape, "f64")])[0], real, op + " of an encoding per axis to f64", t, axis)
    e = c.enc(FIXED)
    if t in PACKED:
        same(c.run("Convert", [T(x, "f32")], [O(shape, t, **per)])[0], want, "Convert to packed", t, axis)
    m = (s.astype(np.float64) / np.float64(F(e.scale))).astype(F)
    v = (q.astype(np.int64) + o).astype(F) * m
    want = clamp(np.rint(v.astype(np.float64)) - e.offset, e.dtype).astype(NUMPY[e.dtype])
    try:
        got = c.run("Convert", [T(q, t, **per)], [e.out(shape)])[0]
    except ProbeError as error:
        return c.skip("Convert per axis", error)
    same(got, want, "Convert per axis", t, e)


def complex_encoding(c, t, shape):
    """Blocks, expansions and mappings: what T takes, and scale, offset and float offset of every element."""
    kind, mapping = c.pick("tensor", "axis", "block", "float block", "expansion"), int(c.r.integers(3))
    bits = {"sq8": c.pick(0, 2, 4), "uq8": c.pick(0, 4)}.get(t, 0)
    if kind in ("tensor", "axis") and mapping == 0:
        mapping = 1
    k, full = dict(bits=bits, mapping=mapping), lambda v: np.broadcast_to(v, shape)  # noqa: E731
    if kind == "tensor":
        k.update(scale=F(c.r.uniform(0.01, 0.3)), offset=int(c.r.integers(-3, 4)))
        return k, full(k["scale"]), full(k["offset"]), full(0)
    if kind in ("axis", "expansion"):
        axis = int(c.r.integers(len(shape)))
        view = [-1 if i == axis else 1 for i in range(len(shape))]
        scales, offsets = (10.0 ** c.r.uniform(-3, 0, shape[axis])).astype(F), c.r.integers(-3, 4, shape[axis])
        k.update(scales=scales, offsets=offsets, axis=axis)
        step = scales.astype(np.float64).reshape(view)
        if kind == "expansion":
            inner = len(shape) - 2 if axis == len(shape) - 1 else len(shape) - 1
            blocks = int(c.pick(*[d for d in range(1, shape[inner] + 1) if shape[inner] % d == 0]))
            k["block_scales"] = c.r.integers(1, 16, (shape[axis], blocks)).astype(c.pick(np.uint8, np.uint16))
            grid = np.repeat(k["block_scales"], shape[inner] // blocks, 1)
            where = [1] * len(shape)
            where[axis], where[inner] = shape[axis], shape[inner]
            step = step * (grid if axis < inner else grid.T).reshape(where)
        return k, full(step), full(offsets.reshape(view)), full(0)
    block = [int(c.pick(*[d for d in range(1, n + 1) if n % d == 0])) for n in shape]
    n = int(np.prod([n // b for n, b in zip(shape, block)]))

    def spread(v):
        return spread_blocks(v, shape, block)

    scales = (10.0 ** c.r.uniform(-3, 0, n)).astype(F)
    k.update(scales=scales, block=block)
    if kind == "float block":
        k["float_offsets"] = c.r.normal(0, 1, n).astype(F)
        return k, spread(scales), full(0), spread(k["float_offsets"])
    k["offsets"] = c.r.integers(-3, 4, n)
    return k, spread(scales), spread(k["offsets"]), full(0)


def complex_case(c):
    t, shape = c.pick("sq8", "uq8", "sq4", "sq2", "sq16"), c.shape(2, 4)
    k, step, offset, extra = complex_encoding(c, t, shape)
    lo, hi = RANGE[t] if not k["bits"] else RANGE[f"{t[:2]}{k['bits']}"]
    q = c.r.integers(lo, hi + 1, shape)
    v, half = q + offset, (0.5 if k["mapping"] == 2 else 0.0)
    v = v + (1 if k["mapping"] == 1 else 0)
    real = (v + half) * np.asarray(step, np.float64) + extra
    tolerance = 3e-7 * (np.abs(real) + np.abs(extra))  # three f32 roundings
    got = c.run("Dequantize", [T(q, t, **k)], [O(shape, "f32")])[0]
    assert (np.abs(got - real) <= tolerance).all(), ("Dequantize", t, k, shape)
    o = c.enc(FIXED)
    got = c.run("Convert", [T(q, t, **k)], [o.out(shape)])[0]
    want = np.clip(real / float(F(o.scale)) - o.offset, *RANGE[o.dtype])
    assert (np.abs(got - want) <= 0.501 + tolerance / float(F(o.scale))).all(), ("Convert from", t, k, o, shape)
    x = (c.r.normal(0, 1, shape) * step * (hi - lo) / 2 + extra).astype(F)
    want = np.clip((x.astype(np.float64) - extra) / step - half - offset - (1 if k["mapping"] == 1 else 0), lo, hi)
    for op in ("Quantize", "Convert"):
        got = c.run(op, [T(x, "f32")], [O(shape, t, **k)])[0].astype(np.int64)
        got = np.where((got > hi) & (hi > 0), got - (hi - lo + 1), got)
        assert (np.abs(got - want) <= 0.5 + 1e-9 * np.abs(want)).all(), (op, t, k, shape)


def refusals(c):
    for text, k, shape in (("vector (code book)", dict(scales=np.ones(2, F), axis=0), (2, 4)),
                           ("mapping 3", dict(scale=F(1), mapping=3), (2, 4)),
                           ("at least rank 2", dict(scales=np.ones(4, F), axis=0, block_scales=np.ones((4, 1), np.uint8)), (4,)),
                           ("3 blocks per axis", dict(scales=np.ones(2, F), axis=0, block_scales=np.ones((2, 3), np.uint8)), (2, 4))):
        t = T(np.zeros(shape), "sq8", **k)
        t.kind = Q_VECTOR if "vector" in text else t.kind
        try:
            c.run("Dequantize", [t], [O(shape, "f32")])
        except ProbeError as error:
            assert text in str(error), (text, str(error))
        else:
            raise AssertionError("not refused: " + text)


def bits_case(c):
    """Encodings that keep fewer bits than the type: stores stay inside them, loads do not trust what is above."""
    t, bits = c.pick(("sq8", 4), ("uq8", 4), ("sq8", 2), ("uq8", 2), ("sq16", 12), ("uq16", 10), ("sq8", 6))
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
    if NUMPY[t]().dtype.kind == "f":
        return x.astype(NUMPY[t])
    lo, hi = RANGE[t]
    if x.dtype.kind != "f":  # the low bits
        low = x.astype(NUMPY[t]) if t not in PACKED else x.astype(np.int64) & hi - lo
        return np.where(low > hi, low - (hi - lo + 1), low).astype(NUMPY[t]) if t in PACKED else low
    out = [0 if v != v else lo if v <= lo else hi if v >= hi else int(v) for v in x.astype(np.float64).flat]
    return np.array(out, NUMPY[t]).reshape(x.shape)


def cast_encoded(x, e, o):
    """Fixed point with an encoding is the real value, but what is stored beside the integers of its own storage."""
    plain = lambda t: {"u": "u", "s": "i"}[t[0]] + t[2:] if t[1] == "q" else t  # noqa: E731
    real = [v.fixed and v.scale is not None for v in (e, o)]
    if all(real):
        return fixed_to_fixed(x, e, o)
    if plain(e.dtype) == plain(o.dtype) or not any(real):
        return cast(x, o.dtype)
    return cast(e.real(x), o.dtype) if real[0] else quantize(x.astype(F), o)


def cast_case(c):
    plain = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "b8", "f32", "f16", "uq8", "sq8", "uq16", "sq16",
             *PACKED)
    encode = lambda t: Enc(t, c.pick(F(0.5), F(0.07), None), c.pick(0, 3, -128)) if t[1] == "q" else Enc(t)  # noqa: E731
    e, o = encode(c.pick(*plain)), encode(c.pick(*plain))
    shape = c.shape()
    x = c.array(e, shape, c.pick(5.0, 1e3, 1e12))
    same(c.run("Cast", [e.tensor(x)], [o.out(shape)])[0], cast_encoded(x, e, o), "Cast", e, o)


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
    refusals(c)
    for _ in range(scaled(300)):
        tensor_case(c)
        complex_case(c)
        axis_case(c)
        integer_case(c)
        bits_case(c)
        narrow_operands(c)
    for _ in range(scaled(1500)):
        cast_case(c)
    c.odd_cases(lambda c, _: cast_case(c), 200)
    c.done("retype")


with np.errstate(all="ignore"):
    main()
