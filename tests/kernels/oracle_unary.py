# SPDX-License-Identifier: Apache-2.0
"""Functions of one operand against docs/numerics.md section 5: f64 functions of Python's math, tables of fixed point, 1 ulp for floats."""
import math

import numpy as np

from oracle_common import F, FIXED, NUMPY, RANGE, Case, Enc, ProbeError, b8, f32, near, report, same, scaled, swapped, u32


def vec(fn):
    def one(v):
        try:
            return fn(v)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan
    return lambda x: np.array([one(float(v)) for v in x.flat], np.float64).reshape(x.shape)


def log(x):
    return np.where(x == 0, -np.inf, np.log(np.where(x > 0, x, np.nan)))


def gelu(v):
    return -0.0 if v == -math.inf else 0.5 * v * math.erfc(-v / math.sqrt(2))


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def clip(lo, hi):
    return lambda x: np.where(x < lo, lo, np.where(x > hi, hi, x))


def softplus(beta=1.0, threshold=-1.0):
    def one(x):
        z = beta * x
        if threshold >= 0 and z > threshold:
            return x
        return (max(z, 0.0) + math.log1p(math.exp(-abs(z)))) / beta
    return vec(one)


UNARY = {  # ElementWiseUnary's number, old name, function
    "Abs": (0, np.abs), "Asin": (1, np.arcsin), "Atan": (2, np.arctan), "Ceil": (3, np.ceil), "Cos": (4, np.cos), "Exp": (5, np.exp),
    "Floor": (6, np.floor), "Log": (7, log), "Neg": (8, np.negative), "Reciprocal": (10, lambda x: 1 / x), "Round": (11, np.rint),
    "Rsqrt": (12, lambda x: 1 / np.sqrt(x)), "Sign": (13, np.sign), "Sin": (14, np.sin), "SquareRoot": (15, np.sqrt),
}
EXACT = {"Abs", "Ceil", "Floor", "Neg", "Round", "Sign", "Reciprocal", "SquareRoot"}


def neuron(c):
    """(operation, parameters, function) at random values"""
    a, b = float(F(c.r.uniform(0.05, 2))), float(F(c.r.uniform(0.1, 3)))
    lo, hi, th = float(F(c.r.uniform(-3, 0))), float(F(c.r.uniform(0, 5))), float(F(c.r.uniform(0, 4)))
    elu = lambda k: (lambda x: np.where(x > 0, x, k * np.expm1(np.minimum(x, 0))))  # noqa: E731
    hard = lambda p, q: (lambda x: np.clip(p * x + q, 0, 1))  # noqa: E731
    rows = [
        (0, {}, elu(1.0)), (0, {"alpha": f32(a)}, elu(a)), (1, {}, vec(gelu)), (2, {}, hard(float(F(0.2)), 0.5)),
        (2, {"alpha": f32(a), "beta": f32(b)}, hard(a, b)),
        (3, {}, lambda x: np.where(x == -np.inf, -0.0, x * np.clip(x + 3, 0, 6) / 6)), (4, {}, lambda x: np.where(x < 0, 0, x)),
        (5, {"min_value": f32(lo), "max_value": f32(hi)}, clip(lo, hi)), (6, {}, sigmoid), (7, {}, softplus()),
        (7, {"beta": f32(b), "threshold": f32(th)}, softplus(b, th)), (8, {}, np.tanh),
    ]
    return c.pick(*rows)


def old_neuron(c):
    op, params, fn = neuron(c)
    names = {0: "Elu", 1: "Gelu", 3: "HardSwish", 4: "Relu", 5: "ReluMinMax", 6: "Sigmoid", 7: "ElementWiseSoftplus", 8: "Tanh"}
    if op in names:
        return names[op], params, fn
    return c.pick(("Relu1", {}, clip(-1.0, 1.0)), ("Relu6", {}, clip(0.0, 6.0)))


def choose(c):
    """(operator, parameters, f64 function, exact)"""
    k = c.r.integers(4)
    if k < 2:
        name = c.pick(*UNARY)
        number, fn = UNARY[name]
        if k == 0 or name == "Reciprocal":
            return "ElementWiseUnary", {"operation": u32(number)}, fn, name in EXACT
        return "ElementWise" + name, {}, fn, name in EXACT
    if k == 2:
        op, params, fn = neuron(c)
        return "ElementWiseNeuron", {"operation": u32(op), **params}, fn, op in (4, 5)
    name, params, fn = old_neuron(c)
    return name, params, fn, name.startswith("Relu")


def fixed_case(c, bits):
    types = [t for t in FIXED if t.endswith(bits)]
    e, o = c.enc(types, c.pick(1.0, 8.0, 40.0)), c.enc(FIXED, c.pick(1.0, 8.0))
    op, params, fn, _ = choose(c)
    if c.r.random() < 0.25:     # clamps between equal encodings
        a, b = sorted(float(F(v)) for v in c.r.uniform(-9, 9, 2))
        o = e
        op, params, fn = c.pick(("Relu", {}, clip(0.0, np.inf)), ("Relu6", {}, clip(0.0, 6.0)),
                                ("ReluMinMax", {"min_value": f32(a), "max_value": f32(b)}, clip(a, b)))
    lo, hi = RANGE[e.dtype]
    if bits == "8" or c.r.random() < 0.1:
        q = np.arange(lo, hi + 1).astype(NUMPY[e.dtype])  # all of them
    else:
        q = c.array(e, c.shape(1, 4, total=2000))
    exact = fn(np.float64(F(e.scale)) * (q.astype(np.float64) + e.offset))
    for aux in (True, False):
        got = c.run(op, [e.tensor(q)], [o.out(q.shape)], params, aux=aux)[0]
        report(swapped(o, got, exact), got, exact, (op, params, e, o))


def float_case(c):
    e = Enc(c.pick("f32", "f32", "f16"))
    op, params, fn, exact = choose(c)
    x = c.array(e, c.shape(1, 5), c.pick(1.0, 8.0, 100.0))
    post = (F(-0.5), F(0.75)) if c.r.random() < 0.1 else (-np.inf, np.inf)
    got = c.run(op, [e.tensor(x)], [e.out(x.shape)], params, post=post)[0]
    want = fn(x.astype(np.float64))
    if post[0] > -np.inf:
        want = np.where(want < post[0], post[0], np.where(want > post[1], post[1], want))
    if exact and "Sign" not in op:
        report((got == want.astype(got.dtype)) | (np.isnan(got) & np.isnan(want)), got, want, (op, e))
    near(got, want, 1, op, params, e)


def range_case(c):
    """Arguments of every size, both signs, for every function."""
    e = Enc("f32")
    op, params, fn, _ = choose(c)
    x = (2.0 ** c.r.uniform(-149, 128, 400) * c.r.choice([-1, 1], 400)).astype(F)
    x = np.where(c.r.random(400) < 0.5, x, (2.0 ** c.r.uniform(-40, 8, 400)).astype(F) * np.sign(x)).astype(F)
    got = c.run(op, [e.tensor(x)], [e.out(x.shape)], params)[0]
    near(got, fn(x.astype(np.float64)), 1, op, params, "all sizes")


def halves(c):
    """Every f16 number: results are rounded once, from f64. Four times as many of them are looked up in a table."""
    e = Enc("f16")
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    swish = lambda v: np.where(v == -np.inf, -0.0, v * np.clip(v + 3, 0, 6) / 6)  # noqa: E731
    for op, fn in (("ElementWiseExp", np.exp), ("Sigmoid", sigmoid), ("Tanh", np.tanh), ("Gelu", vec(gelu)), ("HardSwish", swish)):
        got = c.run(op, [e.tensor(x)], [e.out(x.shape)])[0]
        want = fn(x.astype(np.float64)).astype(np.float16)
        report((got == want) | (np.isnan(got) & np.isnan(want)), got, want, (op, "every f16"))
        many, wants = np.tile(x, 4), np.tile(want, 4)
        got = c.run(op, [e.tensor(many)], [e.out(many.shape)])[0]
        report((got == wants) | (np.isnan(got) & np.isnan(wants)), got, wants, (op, "every f16, four times"))


def int_case(c):
    """Python's own integers, so that 64 bits are exact; limits may lie outside of the type."""
    t = c.pick("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
    e = Enc(t)
    x = c.array(e, c.shape(1, 4))
    least, most = RANGE[t]
    lo, hi = int(c.r.integers(-50, 1)), int(c.r.integers(1, 90))
    if c.r.integers(4) == 0:
        lo, hi = c.pick((-300, 70000), (200, 300), (-2 ** 40, -2 ** 34), (2 ** 20, 2 ** 50))
    name, params, fn = c.pick(("ElementWiseAbs", {}, abs), ("ElementWiseNeg", {}, lambda v: -v),
                              ("ElementWiseSign", {}, lambda v: (v > 0) - (v < 0)), ("Relu", {}, lambda v: max(v, 0)),
                              ("ElementWiseFloor", {}, lambda v: v), ("ElementWiseCeil", {}, lambda v: v), ("ElementWiseRound", {}, lambda v: v),
                              ("ReluMinMax", {"min_value": f32(lo), "max_value": f32(hi)}, lambda v: min(max(min(max(v, lo), hi), least), most)))
    try:
        got = c.run(name, [e.tensor(x)], [e.out(x.shape)], params)[0]
    except ProbeError as error:
        return c.skip(f"{name} of integers", error)
    want = [(fn(int(v)) - least) % (most - least + 1) + least for v in x.flat]
    same(got, np.array(want, x.dtype).reshape(x.shape), name, t, lo, hi)


def flags(c):
    e = Enc(c.pick("f32", "f16"))
    x = c.array(e, c.shape(1, 4))
    x.flat[0], x.flat[-1] = np.nan, -np.inf
    x.flat[x.size // 2] = np.inf
    same(c.run("IsNan", [e.tensor(x)], [Enc("b8").out(x.shape)])[0], np.isnan(x).astype(np.uint8), "IsNan")
    n, p = bool(c.r.integers(2)), bool(c.r.integers(2))
    got = c.run("IsInf", [e.tensor(x)], [Enc("b8").out(x.shape)], {"detect_negative": b8(n), "detect_positive": b8(p)})[0]
    same(got, ((np.isneginf(x) & n) | (np.isposinf(x) & p)).astype(np.uint8), "IsInf")
    y = c.array(Enc("b8"), c.shape(1, 4))
    same(c.run("ElementWiseNot", [Enc("b8").tensor(y)], [Enc("b8").out(y.shape)])[0], 1 - y, "Not")
    z = c.r.uniform(0, 1, c.shape(1, 3)).astype(F)
    near(c.run("Logit", [Enc("f32").tensor(z)], [Enc("f32").out(z.shape)])[0], np.log(z.astype(np.float64) / (1 - z.astype(np.float64))), 1, "Logit")


def main():
    c = Case(12)
    for _ in range(scaled(500)):
        fixed_case(c, "8")
        float_case(c)
        range_case(c)
        int_case(c)
    for _ in range(scaled(40)):
        fixed_case(c, "16")
        flags(c)
    halves(c)
    big = c.array(c.enc(("uq16",)), (3, 7000))  # large enough for a 16-bit table
    e, o = c.enc(("uq16",)), c.enc(("sq16",))
    got = c.run("Sigmoid", [e.tensor(big)], [o.out(big.shape)], tiles=5)[0]
    exact = sigmoid(np.float64(F(e.scale)) * (big.astype(np.float64) + e.offset))
    report(swapped(o, got, exact), got, exact, ("Sigmoid by table", e, o))
    c.done("unary")


with np.errstate(all="ignore"):
    main()
