# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter, OneHot, TopK and NonZero against loops in Python."""
import itertools

import numpy as np

from oracle_common import F, FIXED, NUMPY, Case, Enc, P, ProbeError, b8, i32, moved, quantize, same, scaled, store, u32

TYPES = ("uq8", "sq8", "uq16", "f32", "f16", "i32")


def zero(e):
    return quantize(np.zeros((), F), e) if e.fixed else NUMPY[e.dtype](0)


def indices(c, n, shape, signed=True, wild=True):
    t = c.pick("i32", "u32", "i64") if c.r.random() < 0.5 else "i32"
    lo = -n if t != "u32" and signed else 0
    v = c.r.integers(lo, n, shape)
    if wild and v.size and c.r.random() < 0.3:
        v.flat[c.r.integers(v.size)] = n + 3
        if t != "u32":
            v.flat[c.r.integers(v.size)] = -n - 7
    return Enc(t), v.astype(NUMPY[t])


def take(q, axis, idx, e):
    """numpy.take with zeros for indices outside"""
    n = q.shape[axis]
    i = idx.astype(np.int64)
    i = np.where(i < 0, i + n, i)
    ok = (i >= 0) & (i < n)
    r = np.take(q, np.where(ok, i, 0), axis)
    mask = ok.reshape((1,) * axis + ok.shape + (1,) * (q.ndim - axis - 1))
    return np.where(mask, r, zero(e)).astype(q.dtype)


def gather_case(c):
    e = c.enc(TYPES)
    o = c.pick(e, c.enc((e.dtype,)))
    q = c.array(e, c.shape(1, 4))
    axis = int(c.r.integers(q.ndim))
    t, idx = indices(c, q.shape[axis], c.shape(1, 2, 4))
    want = take(q, axis, idx, e)
    got = c.run("Gather", [e.tensor(q), t.tensor(idx)], [o.out(want.shape)], {"axis": i32(axis if c.r.random() < 0.5 else axis - q.ndim)})[0]
    same(got, moved(want, e, o), "Gather", e, o, q.shape, axis, idx.shape)
    t, idx = indices(c, q.shape[0], (q.shape[0],))
    want = take(q, 0, idx, e)
    try:
        same(c.run("BatchPermutation", [e.tensor(q), t.tensor(idx)], [e.out(want.shape)])[0], want, "BatchPermutation", e)
    except ProbeError as error:
        c.skip("BatchPermutation", error)


def elements_case(c):
    e = c.enc(TYPES)
    q = c.array(e, c.shape(1, 4))
    axis = int(c.r.integers(q.ndim))
    shape = tuple(int(c.r.integers(1, 6)) if d == axis else int(c.r.integers(1, n + 1)) for d, n in enumerate(q.shape))
    t, idx = indices(c, q.shape[axis], shape)
    want = np.empty(shape, q.dtype)
    n = q.shape[axis]
    for at in itertools.product(*[range(k) for k in shape]):
        i = int(idx[at])
        i += n if i < 0 else 0
        src = list(at)
        src[axis] = i
        want[at] = q[tuple(src)] if 0 <= i < n else zero(e)
    same(c.run("GatherElements", [e.tensor(q), t.tensor(idx)], [e.out(shape)], {"axis": u32(axis)})[0], want, "GatherElements", e, q.shape, axis)
    red = int(c.r.integers(4))
    e1, o = (e, e) if c.r.random() < 0.5 else (c.enc((e.dtype,)), c.enc((e.dtype,)))
    u = c.array(e1, shape, special=False)
    want = Scattered(q, e, e1, o, red)
    for at in itertools.product(*[range(k) for k in shape]):
        i = int(idx[at])
        i += n if i < 0 else 0
        dst = list(at)
        dst[axis] = i
        if 0 <= i < n:
            want.update(tuple(dst), u[at])
    got = c.run("ScatterElements", [e.tensor(q), t.tensor(idx), e1.tensor(u)], [o.out(q.shape)], {"axis": u32(axis), "reduction": u32(red)})[0]
    same(got, want.stored(), "ScatterElements", e, e1, o, q.shape, axis, red)


class Scattered:
    """The output of a scatter while updates arrive, one element at a time. Reductions of fixed point go on in float32 and are stored once."""

    def __init__(self, q, e, e1, o, red):
        self.e1, self.o, self.red = e1, o, red
        self.real = red != 0 and e.fixed
        self.now = e.real(q).astype(F) if self.real else moved(q, e, o).copy()

    def update(self, at, y):
        self.now[at] = self.combined(self.now[at], np.array(y))

    def combined(self, x, y):
        if not self.red:
            return moved(y, self.e1, self.o)
        if self.o.dtype == "i32":
            v = max(int(x), int(y)) if self.red == 3 else int(x) + int(y) if self.red == 1 else int(x) * int(y)
            return np.array(v % 2 ** 32, np.uint32).view(np.int32)
        a, b = (x if self.real else self.o.real(np.array(x))), self.e1.real(y).astype(F)
        v = np.where(a > b, a, b) if self.red == 3 else a + b if self.red == 1 else a * b
        return v if self.real else store(v, self.o)

    def stored(self):
        return store(self.now, self.o) if self.real else self.now


def nd_case(c):
    e = c.enc(TYPES)
    q = c.array(e, c.shape(1, 4, 5))
    batch = int(c.r.integers(0, q.ndim)) if c.r.random() < 0.4 else 0
    depth = int(c.r.integers(1, q.ndim - batch + 1))
    lead = q.shape[:batch] + c.shape(1, 2, 4)
    idx = np.stack([c.r.integers(-n, n, lead) for n in q.shape[batch:batch + depth]], -1).astype(np.int32)
    want = np.empty(lead + q.shape[batch + depth:], q.dtype)
    for at in itertools.product(*[range(k) for k in lead]):
        want[at] = q[at[:batch] + tuple(int(v) for v in idx[at])]
    if want.ndim and want.ndim <= 8:
        got = c.run("GatherNd", [e.tensor(q), Enc("i32").tensor(idx)], [e.out(want.shape)], {"batch_dims": u32(batch)})[0]
        same(got, want, "GatherNd", e, q.shape, idx.shape, batch)
    depth = int(c.r.integers(1, q.ndim + 1))
    lead = c.shape(1, 2, 4)
    idx = np.stack([c.r.integers(-n, n + 1, lead) for n in q.shape[:depth]], -1).astype(np.int32)
    red = int(c.r.integers(3))
    e1, o = (e, e) if c.r.random() < 0.5 else (c.enc((e.dtype,)), c.enc((e.dtype,)))
    u = c.array(e1, lead + q.shape[depth:], special=False)
    want = Scattered(q, e, e1, o, red)
    for at in itertools.product(*[range(k) for k in lead]):
        i = tuple(int(v) for v in idx[at])
        if all(v < n for v, n in zip(i, q.shape)):
            for rest in itertools.product(*[range(k) for k in q.shape[depth:]]):
                want.update(i + rest, u[at + rest])
    if u.ndim > 8:
        return
    got = c.run("ScatterNd", [e.tensor(q), Enc("i32").tensor(idx), e1.tensor(u)], [o.out(q.shape)], {"reduction": u32(red)})[0]
    same(got, want.stored(), "ScatterNd", e, e1, o, q.shape, idx.shape, red)


def one_hot_case(c):
    o = c.enc(("f32", "uq8", "sq8", "uq16", "i32", "f16"))
    idx = c.r.integers(-2, 9, c.shape(1, 3, 5)).astype(np.int32)
    depth, axis = int(c.r.integers(1, 8)), int(c.r.integers(idx.ndim + 1))
    hot = np.moveaxis(idx[..., None] == np.arange(depth), -1, axis)
    on, off = (3, -2) if o.dtype == "i32" else (F(2.5), F(-1.5))
    params = {"depth": u32(depth), "axis": u32(axis)}
    if c.r.random() < 0.5:
        t = "i32" if o.dtype == "i32" else "f32"
        params.update(on_value=P(on, t), off_value=P(off, t))
    else:
        on, off = 1, 0
    want = np.where(hot, on, off).astype(np.int32) if o.dtype == "i32" else store(np.where(hot, F(on), F(off)), o)
    same(c.run("OneHot", [Enc("i32").tensor(idx)], [o.out(hot.shape)], params)[0], want, "OneHot", o, depth, axis)


def top_k_case(c):
    e = c.enc(("f32", "f16", "uq8", "sq8", "uq16", "i32"))
    shape = c.shape(1, 3, 30)
    q = c.array(e, shape)
    if c.r.random() < 0.5:
        q = (np.rint(q) if q.dtype.kind == "f" else q // 9).astype(q.dtype)  # ties
    k = int(c.r.integers(1, shape[-1] + 1))
    largest = bool(c.r.integers(4))
    number = np.where(np.isnan(q), np.inf, q).astype(np.float64)  # NaN counts as the largest, above infinity
    order = np.lexsort((np.broadcast_to(np.arange(shape[-1]), shape),) + ((-number, ~np.isnan(q)) if largest else (number, np.isnan(q))), -1)[..., :k]
    params = {"k": u32(k)} if largest else {"k": u32(k), "largest": b8(False)}
    t = c.pick("i32", "u32")
    got = c.run("TopK", [e.tensor(q)], [e.out(order.shape), Enc(t).out(order.shape)], params)
    same(got[0], np.take_along_axis(q, order, -1), "TopK values", e, shape, k)
    same(got[1], order.astype(NUMPY[t]), "TopK indices", e, shape, k)


def non_zero_case(c):
    e = c.enc(("f32", "uq8", "b8", "i32"))
    q = c.array(e, c.shape(1, 4, 5, 500))
    q = np.where(c.r.random(q.shape) < 0.5, zero(e), q).astype(q.dtype)
    real = e.real(q)
    found = np.argwhere(real != 0)
    rows = q.size if c.r.random() < 0.7 else max(1, len(found) // 2)
    want = np.full((rows, q.ndim), -1, np.int32)
    want[:min(rows, len(found))] = found[:rows]
    same(c.run("NonZero", [e.tensor(q)], [Enc("i32").out(want.shape)])[0], want, "NonZero", e, q.shape)


def main():
    c = Case(19)
    for _ in range(scaled(150)):
        for case in (gather_case, elements_case, nd_case, one_hot_case, top_k_case, non_zero_case):
            case(c)
    for case in (top_k_case, non_zero_case):
        c.odd_cases(lambda c, _, case=case: case(c), 20)
    c.done("gather")


with np.errstate(all="ignore"):
    main()
