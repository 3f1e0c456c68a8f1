# SPDX-License-Identifier: Apache-2.0
"""Reductions, positions of extremes, moments and running sums against docs/numerics.md section 6."""
import numpy as np

from oracle_common import F, FIXED, NUMPY, Case, Enc, ProbeError, b8, fixed_to_fixed, i32, lane_sum, requant, same, scaled, store, u32

INTS = ("i8", "i16", "i32", "i64", "u8", "u32")


def flat_runs(x, axes):
    kept = [d for d in range(x.ndim) if d not in axes]
    moved = x.transpose(kept + sorted(axes))
    return moved.reshape(moved.shape[:len(kept)] + (-1,))


def nan_extreme(x, fn):
    return np.where(np.isnan(x).any(-1), np.nan, fn(np.where(np.isnan(x), 0, x), -1) if not np.isnan(x).any() else
                    fn(x, -1)).astype(x.dtype)


def float_value(op, x):
    n = F(x.shape[-1])
    if op in ("ReduceSum", "ReduceMean"):
        return lane_sum(x) / (n if op == "ReduceMean" else F(1))
    if op == "ReduceSumSquare":
        return lane_sum(x * x)
    if op == "ReduceProd":
        p = np.ones(x.shape[:-1], F)
        for i in range(x.shape[-1]):
            p = p * x[..., i]
        return p
    return nan_extreme(x, np.max if op == "ReduceMax" else np.min)


def fixed_value(op, q, e, o):
    v = q.astype(np.int64)
    s, t, n = float(F(e.scale)), float(F(o.scale)), q.shape[-1]
    total = (v + e.offset).sum(-1)
    if op == "ReduceSum":
        return requant(total, F(s / t), o)
    if op == "ReduceMean":
        return requant(total, F(s / (t * n)), o)
    if op == "ReduceSumSquare":
        return requant(((v + e.offset) ** 2).sum(-1), F(s * s / t), o)
    if op == "ReduceProd":
        return store(float_value(op, e.real(q)), o)
    return fixed_to_fixed(v.max(-1) if op == "ReduceMax" else v.min(-1), e, o)


def int_value(op, q):
    t = q.dtype
    v = q.astype(np.int64)
    if op == "ReduceMean":
        s = v.sum(-1)
        return (np.sign(s) * (np.abs(s) // q.shape[-1])).astype(t)
    return {"ReduceSum": v.sum(-1), "ReduceSumSquare": (v * v).sum(-1), "ReduceProd": v.prod(-1), "ReduceMax": v.max(-1),
            "ReduceMin": v.min(-1)}[op].astype(t)


def reduce_case(c):
    op = c.pick("ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceProd", "ReduceMax", "ReduceMin")
    e = c.enc(FIXED + ("f32", "f16", "f32") + INTS)
    o = c.like(e)
    shape = c.shape() if c.r.random() < 0.8 else (3, int(c.r.integers(400, 1500)), 2)
    axes = c.r.choice(len(shape), int(c.r.integers(1, len(shape) + 1)), replace=False).tolist()
    keep = bool(c.r.integers(2))
    q = c.array(e, shape, 2.0)
    out = tuple(1 if d in axes else n for d, n in enumerate(shape)) if keep else tuple(n for d, n in enumerate(shape) if d not in axes)
    runs = flat_runs(q, axes)
    want = fixed_value(op, runs, e, o) if e.fixed else int_value(op, runs) if e.dtype in INTS else store(float_value(op, e.real(runs)), o)
    try:
        got = c.run(op, [e.tensor(q)], [o.out(out)], {"axes": u32(axes), "keep_dims": b8(keep)})[0]
    except ProbeError as error:
        return c.skip(f"{op} of {e.dtype}", error)
    if op in ("ReduceMax", "ReduceMin") and got.dtype.kind == "f":
        want = want + want.dtype.type(0)  # a zero is +0
    same(got, want.reshape(out), op, e, o, shape, axes)


def arg_case(c):
    op = c.pick("Argmax", "Argmin")
    e = c.enc(FIXED + ("f32", "f16", "i32"))
    shape = c.shape()
    axis = int(c.r.integers(len(shape)))
    q = c.array(e, shape)
    if c.r.random() < 0.5:
        q = (q // 8 if q.dtype.kind != "f" else np.rint(q)).astype(q.dtype)  # ties
    want = (np.argmax if op == "Argmax" else np.argmin)(q, axis)
    keep = bool(c.r.integers(2))
    out = tuple(1 if d == axis else n for d, n in enumerate(shape)) if keep else tuple(n for d, n in enumerate(shape) if d != axis)
    t = c.pick("i32", "u32")
    got = c.run(op, [e.tensor(q)], [Enc(t).out(out)], {"axis": u32(axis), "keep_dims": b8(keep)})[0]
    same(got, want.reshape(out).astype(NUMPY[t]), op, e, shape, axis)


def moments_case(c):
    e = c.enc(FIXED + ("f32", "f16"))
    a, b = (c.enc(FIXED), c.enc(FIXED, 30.0)) if e.fixed else (e, e)
    shape = c.shape(1, 4)
    axes = sorted(c.r.choice(len(shape), int(c.r.integers(1, len(shape) + 1)), replace=False).tolist())
    q = c.array(e, shape)
    x = e.real(flat_runs(q, axes))
    n = F(x.shape[-1])
    mean = lane_sum(x) / n
    d = x - mean[..., None]
    out = tuple(n for k, n in enumerate(shape) if k not in axes)
    got = c.run("Moments", [e.tensor(q)], [a.out(out), b.out(out)], {"axes": i32(axes), "keep_dims": b8(False)})
    same(got[0], store(mean, a).reshape(out), "Moments mean", e, shape, axes)
    same(got[1], store(lane_sum(d * d) / n, b).reshape(out), "Moments variance", e, shape, axes)


def cumulative_case(c):
    e = c.enc(FIXED + ("f32", "f16", "i32"))
    o = c.like(e, 60.0)
    shape = c.shape() if c.r.random() < 0.9 else (2, 1100)
    axis, exclusive, reverse = int(c.r.integers(len(shape))), bool(c.r.integers(2)), bool(c.r.integers(2))
    q = c.array(e, shape)
    v = np.moveaxis(q.astype(np.int64) + e.offset if e.fixed else q.astype(np.int64) if e.dtype == "i32" else e.real(q), axis, -1)
    v = v[..., ::-1] if reverse else v
    sums = np.zeros(v.shape, v.dtype)
    run = np.zeros(v.shape[:-1], v.dtype)
    for i in range(v.shape[-1]):
        after = run + v[..., i]
        sums[..., i] = run if exclusive else after
        run = after
    sums = np.moveaxis(sums[..., ::-1] if reverse else sums, -1, axis)
    want = requant(sums, F(float(F(e.scale)) / float(F(o.scale))), o) if e.fixed else sums.astype(np.int32) if e.dtype == "i32" else store(sums, o)
    got = c.run("CumulativeSum", [e.tensor(q)], [o.out(shape)], {"axis": u32(axis), "exclusive": b8(exclusive), "reverse": b8(reverse)})[0]
    same(got, want, "CumulativeSum", e, o, shape, axis, exclusive, reverse)


def main():
    c = Case(16)
    for _ in range(scaled(1500)):
        reduce_case(c)
    for _ in range(scaled(400)):
        arg_case(c)
        moments_case(c)
        cumulative_case(c)
    for op, axis, kind in [(o, a, k) for o in ("ReduceMax", "ReduceMin") for a in (0, 1) for k in ("f32", "f16")]:  # a zero is +0
        e = c.enc((kind,))
        q = c.r.choice(np.array([0.0, -0.0, -1.0 if op == "ReduceMax" else 1.0]), (40, 70)).astype(F if kind == "f32" else np.float16)
        for isa in c.isas:
            got = c.run(op, [e.tensor(q)], [e.out((70 if axis == 0 else 40,))], {"axes": u32([axis])}, isa=isa)[0]
            assert not np.signbit(got[got == 0]).any(), (op, axis, kind, isa, "an extreme is -0")
    c.done("reduce")


with np.errstate(all="ignore"):
    main()
