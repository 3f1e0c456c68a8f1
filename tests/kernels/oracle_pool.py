# SPDX-License-Identifier: Apache-2.0
"""Pools over two and three dimensions against docs/numerics.md section 6, window by window."""
import itertools

import numpy as np

from oracle_common import F, FIXED, Case, b8, fixed_to_fixed, requant, same, scaled, store, u32


def out_size(n, k, s, before, after, ceil):
    room = n + before + after - k
    size = room // s + 1
    return size + 1 if ceil and room % s and size * s < n + before else size


def windows(shape, out, k, s, pads):
    """For every output position: the slices of taps inside the image, and how many are inside image and padding."""
    for at in itertools.product(*[range(n) for n in out]):
        cut, padded = [], 1
        for d, i in enumerate(at):
            lo = i * s[d] - pads[d][0]
            hi = lo + k[d]
            padded *= min(hi, shape[d] + pads[d][1]) - lo
            cut.append(slice(max(lo, 0), min(hi, shape[d])))
        yield at, tuple(cut), padded


def value(op, x, e, o, divisor):
    """x: [batch, taps, channels] in row-major order of the window"""
    if op.startswith("PoolMax"):
        if e.fixed:
            return fixed_to_fixed(x.max(1), e, o)
        if x.dtype.kind != "f":
            return x.max(1)
        return np.where(np.isnan(x).any(1), np.nan, x.max(1)).astype(x.dtype)
    if op == "L2Pool2d":
        r, acc = e.real(x), np.zeros((x.shape[0], x.shape[2]), F)
        for i in range(x.shape[1]):
            acc = acc + r[:, i] * r[:, i]
        return store(np.sqrt(acc), o)
    if e.fixed:
        return requant((x.astype(np.int64) + e.offset).sum(1), F(float(F(e.scale)) / (float(F(o.scale)) * divisor)), o)
    r, acc = e.real(x), np.zeros((x.shape[0], x.shape[2]), F)
    for i in range(x.shape[1]):
        acc = acc + r[:, i]
    return store(acc / F(divisor), o)


def pool_case(c):
    op = c.pick("PoolAvg2d", "PoolMax2d", "PoolAvg2d", "PoolMax2d", "PoolAvg3d", "PoolMax3d", "L2Pool2d")
    dims = 3 if "3d" in op else 2
    e = c.enc(FIXED + ("f32", "f16") + (("u8", "i32", "i64", "u64") if op == "PoolMax2d" else ()))
    o = c.like(e)
    shape = tuple(int(v) for v in c.r.integers(1, 10 if dims == 2 else 6, dims))
    k = [int(c.r.integers(1, n + 2)) for n in shape]
    s = [int(c.r.integers(1, 4)) for _ in shape]
    pads = [[int(c.r.integers(0, v)) for _ in range(2)] for v in k]
    k = [min(v, n + p[0] + p[1]) for v, n, p in zip(k, shape, pads)]
    pads = [[min(p, v - 1) for p in ps] for ps, v in zip(pads, k)]
    k = [min(v, n + p[0] + p[1]) for v, n, p in zip(k, shape, pads)]
    if any(p >= v for ps, v in zip(pads, k) for p in ps):
        return
    ceil = bool(c.r.integers(2)) and op != "L2Pool2d"
    count = bool(c.r.integers(2)) and "Avg" in op
    out = [out_size(n, v, t, p[0], p[1], ceil) for n, v, t, p in zip(shape, k, s, pads)]
    batch, ch = int(c.r.integers(1, 3)), int(c.pick(1, 3, 16, 20, 64, 100, 515 if dims == 2 and np.prod(shape) < 30 else 5))
    q = c.array(e, (batch,) + shape + (ch,))
    want = np.zeros((batch, *out, ch), q.dtype if not e.fixed else np.int64)
    for at, cut, padded in windows(shape, out, k, s, pads):
        x = q[(slice(None),) + cut].reshape(batch, -1, ch)
        want[(slice(None),) + at] = value(op, x, e, o, padded if count else x.shape[1])
    params = {"filter_size": u32(k), "stride": u32(s), "pad_amount": u32(pads)}
    if op != "L2Pool2d":
        params["rounding_mode"] = u32(int(ceil))
    if "Avg" in op:
        params["count_pad_for_edges"] = b8(count)
    got = c.run(op, [e.tensor(q)], [o.out((batch, *out, ch))], params)[0]
    if got.dtype.kind == "f":
        got, want = got + got.dtype.type(0), want + want.dtype.type(0)  # both zeros are the same maximum
    same(got, want.astype(got.dtype), op, e, o, shape, k, s, pads, ceil, count)


def main():
    c = Case(17)
    for _ in range(scaled(900)):
        pool_case(c)
    e = c.enc(("uq16",))
    q = c.array(e, (1, 30, 30, 3))  # sums that do not fit f32
    got = c.run("PoolAvg2d", [e.tensor(q)], [e.out((1, 1, 1, 3))], {"filter_size": u32([30, 30]), "stride": u32([1, 1]),
                                                                   "pad_amount": u32([[0, 0], [0, 0]])})[0]
    same(got, value("PoolAvg2d", q.reshape(1, -1, 3), e, e, 900).reshape(1, 1, 1, 3), "PoolAvg2d over everything")
    for kind in ("uq8", "sq8"):  # maxima of bytes that stay as they are, whole vectors of channels and what is left of one
        for ch in (63, 64, 65, 130, 320):
            e = c.enc((kind,))
            q = c.array(e, (2, 5, 4, ch))
            want = np.zeros((2, 3, 2, ch), np.int64)
            for at, cut, _ in windows((5, 4), (3, 2), (3, 3), (2, 2), ((1, 1), (1, 1))):
                want[(slice(None),) + at] = q[(slice(None),) + cut].reshape(2, -1, ch).max(axis=1)
            got = c.run("PoolMax2d", [e.tensor(q)], [e.out((2, 3, 2, ch))], {"filter_size": u32([3, 3]), "stride": u32([2, 2]),
                                                                           "pad_amount": u32([[1, 1], [1, 1]])})[0]
            same(got, want.astype(got.dtype), "PoolMax2d of bytes", e, ch)
    for kind in ("f32", "f16"):  # a zero maximum is +0, whichever zero comes first
        for ch in (5, 16, 33, 70, 130):
            e = c.enc((kind,))
            q = c.r.choice(np.array([0.0, -0.0, -1.0]), (2, 5, 4, ch)).astype(F if kind == "f32" else np.float16)
            for isa in c.isas:
                got = c.run("PoolMax2d", [e.tensor(q)], [e.out((2, 3, 2, ch))], {"filter_size": u32([3, 3]), "stride": u32([2, 2]),
                                                                               "pad_amount": u32([[1, 1], [1, 1]])}, isa=isa)[0]
                assert not np.signbit(got[got == 0]).any(), (kind, ch, isa, "a maximum is -0")
    c.done("pool")


with np.errstate(all="ignore"):
    main()
