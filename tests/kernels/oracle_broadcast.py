# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators of two and three operands against docs/numerics.md section 4 in numpy."""
import math

import numpy as np

from oracle_common import (F, FIXED, NUMPY, RANGE, Case, Enc, deq, moved, near, quantize, requant, same, scaled, store, u32)

NAMES = ["Add", "And", "Divide", "Equal", "FloorDiv", "Fmod", "Greater", "GreaterEqual", "Less", "LessEqual", "Maximum", "Minimum",
         "Mod", "Multiply", "NotEqual", "Or", "Power", "SquaredDifference", "Subtract", "Xor"]
BOOLEAN = {"And", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual", "Or", "Xor"}
LOGIC = {"And", "Or", "Xor"}
INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def mod_f32(x, y):
    r = np.fmod(x, y)
    return np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r).astype(F)


def power_f32(x, y):
    def one(a, b):
        try:
            return math.pow(a, b)
        except OverflowError:
            return math.inf if a > 0 or b % 2 == 0 else -math.inf
        except ValueError:
            return math.nan if a else (math.copysign(math.inf, a) if b % 2 == 1 else math.inf)
    x, y = np.broadcast_arrays(x, y)
    return np.array([one(float(a), float(b)) for a, b in zip(x.flat, y.flat)], np.float64).reshape(x.shape).astype(F)


FLOAT = {
    "Add": lambda x, y: x + y, "Subtract": lambda x, y: x - y, "Multiply": lambda x, y: x * y, "Divide": lambda x, y: x / y,
    "And": lambda x, y: (x != 0) & (y != 0), "Or": lambda x, y: (x != 0) | (y != 0), "Xor": lambda x, y: (x != 0) ^ (y != 0),
    "Equal": lambda x, y: x == y, "NotEqual": lambda x, y: x != y, "Greater": lambda x, y: x > y, "Less": lambda x, y: x < y,
    "GreaterEqual": lambda x, y: x >= y, "LessEqual": lambda x, y: x <= y, "FloorDiv": lambda x, y: np.floor(x / y),
    "Fmod": lambda x, y: np.fmod(x, y), "Mod": mod_f32, "Maximum": lambda x, y: np.where(x > y, x, y),
    "Minimum": lambda x, y: np.where(x < y, x, y), "Power": power_f32, "SquaredDifference": lambda x, y: (x - y) * (x - y),
    "Prelu": lambda x, y: np.where(x < 0, y * x, x),
}


def int_one(op, a, b):
    """Python integers: exact, wrapped by the caller."""
    if op in ("Divide", "FloorDiv", "Fmod", "Mod") and b == 0:
        return 0
    if op == "Power":
        if b < 0:
            return 1 if a == 1 else (-1 if b % 2 else 1) if a == -1 else 0
        return pow(a, b, 2 ** 64)
    trunc = lambda: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # noqa: E731
    return {"Add": lambda: a + b, "Subtract": lambda: a - b, "Multiply": lambda: a * b, "Divide": trunc, "FloorDiv": lambda: a // b,
            "Fmod": lambda: a - b * trunc(), "Mod": lambda: a % b, "Maximum": lambda: max(a, b), "Minimum": lambda: min(a, b),
            "SquaredDifference": lambda: (a - b) ** 2, "And": lambda: bool(a) and bool(b), "Or": lambda: bool(a) or bool(b),
            "Xor": lambda: bool(a) != bool(b), "Equal": lambda: a == b, "NotEqual": lambda: a != b, "Greater": lambda: a > b,
            "GreaterEqual": lambda: a >= b, "Less": lambda: a < b, "LessEqual": lambda: a <= b}[op]()


def wrapped(values, dtype):
    bits = NUMPY[dtype]().itemsize * 8
    return np.array([int(v) % 2 ** bits for v in values], np.uint64).astype({8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]) \
        .view(NUMPY[dtype])


def broadcast_shapes(c):
    out = c.shape(1, 5)

    def cut(keep_rank):
        s = [d if c.r.random() < 0.7 else 1 for d in out]
        return tuple(s[0 if keep_rank else int(c.r.integers(0, len(s))):])
    a, b = (out, cut(False)) if c.r.random() < 0.5 else (cut(True), out)
    if c.r.random() < 0.3:
        a, b = cut(True), cut(False)
    return a, b, np.broadcast_shapes(a, b)


def call(c, op, ins, outs, **k):
    if op == "Prelu":
        return c.run("Prelu", ins, outs, **k)[0]
    if c.r.random() < 0.4:
        return c.run("ElementWiseBinary", ins, outs, {"operation": u32(NAMES.index(op))}, **k)[0]
    return c.run("ElementWise" + op, ins, outs, **k)[0]


def fixed_case(c, op):
    a, b = c.enc(FIXED), c.enc(FIXED)
    o = c.enc(FIXED, 20.0)
    if op in BOOLEAN and op not in LOGIC:
        o = Enc("b8")
    sa, sb, so = broadcast_shapes(c)
    if op == "Prelu":
        sa = so
    qa, qb = c.array(a, sa), c.array(b, sb)
    if op == "Power":
        qa = np.maximum(qa.astype(np.int64), -a.offset).clip(*RANGE[a.dtype]).astype(NUMPY[a.dtype])
    got = call(c, op, [a.tensor(qa), b.tensor(qb)], [o.out(so)])
    ia, ib = qa.astype(np.int64) + a.offset, qb.astype(np.int64) + b.offset
    ratio = lambda x, y: F(float(F(x)) / float(F(y)))  # noqa: E731
    if op in ("Add", "Subtract"):
        x, y = ia.astype(F) * ratio(a.scale, o.scale), ib.astype(F) * ratio(b.scale, o.scale)
        want = quantize(x + y if op == "Add" else x - y, Enc(o.dtype, F(1), o.offset))
    elif op == "Multiply":
        want = requant(ia * ib, F(float(F(a.scale)) * float(F(b.scale)) / float(F(o.scale))), o)
    else:
        want = store(FLOAT[op](deq(qa, a.scale, a.offset), deq(qb, b.scale, b.offset)), o)
    same(got, want, op, a, b, o, sa, sb)


def constant_case(c, op):
    """Bytes beside a constant number, which may be a table."""
    a, o = c.enc(("uq8", "sq8")), Enc("b8") if op in BOOLEAN and op not in LOGIC else c.enc(("uq8", "sq8"), 20.0)
    one, first = c.enc(FIXED), op == "Prelu" or c.r.random() < 0.6
    q, v = np.arange(256).astype(np.uint8).view(NUMPY[a.dtype]), c.array(one, (1,) if op == "Prelu" else c.pick((1,), (1, 1, 1)))
    q = np.resize(q, c.pick((256,), (1, 5, 7, 9), (2, 300)))
    if op == "Power":
        v = np.abs(v.astype(np.int64)).clip(*RANGE[one.dtype]).astype(v.dtype)
    shape = np.broadcast_shapes(q.shape, v.shape)
    order = (lambda x, y: [x, y]) if first else (lambda x, y: [y, x])
    got = call(c, op, order(a.tensor(q), one.tensor(v, const=True)), [o.out(shape)])
    same(got, call(c, op, order(a.tensor(q), one.tensor(v)), [o.out(shape)]), op, "beside a constant", a, one, o)


def whole_powers(c):
    """Squares and cubes have ways of their own: sizes of every kind, their results correctly rounded from f64."""
    e = Enc("f32")
    x = (2.0 ** c.r.uniform(-60, 45, 3000) * c.r.choice([-1, 1], 3000)).astype(F)
    x = np.concatenate([x, np.linspace(-3, 3, 1001).astype(F), np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, 1.5, 2.0 ** -149], F)])
    for k in (2, 3):
        got = c.run("ElementWisePower", [e.tensor(x), e.tensor(np.array([k], F))], [e.out(x.shape)])[0]
        same(got, power_f32(x, np.full(x.shape, k, F)), "Power", k)


def pairs_case(c, op):
    """Every pair of bytes, less a few at the end, with encodings from far apart to equal; a Relu behind it or not."""
    t = c.pick("uq8", "sq8")
    enc = lambda: Enc(t, F(2.0 ** c.r.uniform(-12, 4)), int(c.pick(0, 128, -255, int(c.r.integers(-300, 300)))))  # noqa: E731
    a, b, o = enc(), enc(), enc()
    b, o = (b, o) if c.r.random() < 0.7 else (a, a)
    lo, hi = RANGE[t]
    n = 65536 - int(c.r.integers(0, 130))
    qa, qb = (v.ravel()[:n].astype(NUMPY[t]) for v in np.meshgrid(np.arange(lo, hi + 1), np.arange(lo, hi + 1)))
    relu = c.r.random() < 0.5
    got = call(c, op, [a.tensor(qa), b.tensor(qb)], [o.out((n,))], isa=c.isas[-1], post=(F(0), np.inf) if relu else (-np.inf, np.inf))
    ratio = lambda x, y: F(float(F(x)) / float(F(y)))  # noqa: E731
    x, y = (qa.astype(np.int64) + a.offset).astype(F) * ratio(a.scale, o.scale), (qb.astype(np.int64) + b.offset).astype(F) * ratio(b.scale, o.scale)
    want = quantize(x + y if op == "Add" else x - y, Enc(t, F(1), o.offset))
    same(got, np.maximum(want, np.clip(-o.offset, lo, hi)).astype(NUMPY[t]) if relu else want, op, a, b, o, relu)


def float_case(c, op):
    e = Enc(c.pick("f32", "f32", "f16"))
    o = Enc("b8") if op in BOOLEAN else e
    sa, sb, so = broadcast_shapes(c)
    if op == "Prelu":
        sa = so
    x, y = c.array(e, sa), c.array(e, sb)
    if op == "Power":
        x = np.abs(x) if c.r.random() < 0.5 else x
        y = np.rint(y)
    post = (F(-1.5), F(2.5)) if op == "Add" and c.r.random() < 0.3 else (-np.inf, np.inf)
    got = call(c, op, [e.tensor(x), e.tensor(y)], [o.out(so)], post=post)
    want = FLOAT[op](x.astype(F), y.astype(F))
    if post[0] > -np.inf:
        want = np.where(want < post[0], post[0], np.where(want > post[1], post[1], want))
    if op == "Power":
        near(got, want, 1, op, e, sa, sb)
    else:
        same(got, store(want, o), op, e, sa, sb)


def int_case(c, op):
    t = c.pick(*INTS)
    e = Enc(t)
    o = Enc("b8") if op in BOOLEAN else e
    sa, sb, so = broadcast_shapes(c)
    x, y = c.array(e, sa), c.array(e, sb)
    if op == "Power":
        y = (y.astype(np.int64) % 9 - (2 if t[0] == "i" else 0)).astype(NUMPY[t])
    got = call(c, op, [e.tensor(x), e.tensor(y)], [o.out(so)])
    bx, by = np.broadcast_to(x, so), np.broadcast_to(y, so)
    values = [int_one(op, int(p), int(q)) for p, q in zip(bx.flat, by.flat)]
    same(got, wrapped(values, o.dtype).reshape(so), op, t, sa, sb)


def bool_case(c, op):
    sa, sb, so = broadcast_shapes(c)
    e = Enc("b8")
    x, y = c.array(e, sa), c.array(e, sb)
    same(call(c, op, [e.tensor(x), e.tensor(y)], [e.out(so)]), FLOAT[op](x, y).astype(np.uint8), op, sa, sb)


def select_case(c):
    so = c.shape(1, 5)
    cut = lambda: tuple([d if c.r.random() < 0.8 else 1 for d in so][int(c.r.integers(0, len(so))):])  # noqa: E731
    a = c.enc(FIXED + ("f32", "f16", "i32", "i8", "u8"))
    same_type = (a.dtype,)
    b, o = (c.like(a), c.like(a)) if c.r.random() < 0.5 else (a, a)
    if a.fixed:
        b = c.pick(a, c.enc(same_type))
        o = c.pick(a, c.enc(same_type))
    shapes = [so, cut(), cut()]
    c.r.shuffle(shapes)
    shapes = [tuple(s) for s in shapes]
    cond, x, y = c.array(Enc("b8"), shapes[0]), c.array(a, shapes[1]), c.array(b, shapes[2])
    out = np.broadcast_shapes(*shapes)
    got = c.run("ElementWiseSelect", [Enc("b8").tensor(cond), a.tensor(x), b.tensor(y)], [o.out(out)])[0]
    same(got, np.where(cond != 0, moved(x, a, o), moved(y, b, o)), "Select", a, b, o, shapes)


def main():
    c = Case(11)
    for op in NAMES + ["Prelu"]:
        for _ in range(scaled(120)):
            if op not in LOGIC:
                fixed_case(c, op)
            if op not in LOGIC:
                float_case(c, op)
        for _ in range(scaled(30)):
            if op in LOGIC:
                bool_case(c, op)
            elif op != "Prelu":
                int_case(c, op)
            if op not in LOGIC:
                constant_case(c, op)
    for _ in range(scaled(400)):
        select_case(c)
    whole_powers(c)
    for i in range(40):
        pairs_case(c, ("Add", "Subtract")[i % 2])
    c.done("broadcast")


with np.errstate(all="ignore"):
    main()
