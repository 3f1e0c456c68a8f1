# SPDX-License-Identifier: Apache-2.0
"""Softmax, LogSoftmax and MaskedSoftmax against docs/numerics.md section 6, step by step in f32."""
import numpy as np

from oracle_common import F, FIXED, Case, Enc, ProbeError, f32, lane_sum, near, quantize, report, same, scaled, store, u32


def reference(x, axis, beta, log):
    x = np.moveaxis(x, axis, -1)
    top = np.fmax.reduce(x, -1, keepdims=True, initial=-np.inf)
    t = F(beta) * (x - top)
    e = np.exp(t.astype(np.float64)).astype(F)
    total = lane_sum(e)[..., None]
    r = t - np.log(total.astype(np.float64)).astype(F) if log else e / total
    return np.moveaxis(r.astype(F), -1, axis)


def check(got, want, e, *what):
    """Bit for bit, but for the rare exp that two f64 libraries round to different f32 neighbours."""
    if e.fixed:
        w = quantize(want, e)
        report((got == w) | (np.abs(got.astype(int) - w.astype(int)) <= 1), got, w, what)
        assert (got == w).mean() > 0.999 or got.size < 2000, what
        return (got != w).sum()
    near(got, want, 2, *what)
    return 0 if e.dtype == "f16" else (got.view(np.uint32) != want.view(np.uint32))[~np.isnan(got)].sum()


def compressed_case(c):
    """Mode 1: positions see those with the same number, none see number 0."""
    e = c.enc(FIXED + ("f32", "f16"))
    o = c.enc(FIXED, 1.0) if e.fixed else e
    shape = c.shape(2, 4)[:-2] + tuple(sorted(int(v) for v in c.r.integers(1, 40, 2)))
    batched = bool(c.r.integers(2)) and len(shape) > 2
    t = c.pick("i32", "u8", "b8", "f32", "u32")
    ids = c.r.integers(0, 2 if t == "b8" else 4, (shape[0], shape[-1]) if batched else c.pick((1, shape[-1]), (shape[-1],)))
    x = c.array(e, shape, special=False)
    got = c.run("MaskedSoftmax", [e.tensor(x), Enc(t).tensor(ids)], [o.out(shape)], {"mode": u32(1)})[0]
    rows, n = shape[-2:]
    ids = ids.reshape(-1, n)
    own = ids[:, n - rows:]
    seen = (own[:, :, None] == ids[:, None, :]) & (own[:, :, None] != 0)
    seen = seen.reshape((-1,) + (1,) * (len(shape) - 3) + (rows, n)) if len(shape) > 2 else seen[0]
    seen = np.broadcast_to(seen, shape)
    with np.errstate(all="ignore"):
        want = reference(np.where(seen, e.real(x), F(-np.inf)), -1, 1.0, False)
    return check(got, np.where(seen.any(-1, keepdims=True), want, F(0)), o, "MaskedSoftmax compressed", e, o, t, shape, ids.shape)


def condition_case(c):
    """Mode 0 with a mask of bools: what is false is exactly zero, rows without a true one are all zero."""
    e = c.enc(FIXED + ("f32", "f16"))
    o = c.enc(FIXED, 1.0) if e.fixed else e
    shape = c.shape(2, 4)
    keep_shape = tuple(d if c.r.random() < 0.6 else 1 for d in shape[:-1]) + (shape[-1],)
    keep = c.r.random(keep_shape) < c.pick(0.2, 0.6, 1.0)
    x = c.array(e, shape, special=False)
    got = c.run("MaskedSoftmax", [e.tensor(x), Enc("b8").tensor(keep.astype(np.uint8))], [o.out(shape)])[0]
    seen = np.broadcast_to(keep, shape)
    with np.errstate(all="ignore"):
        want = reference(np.where(seen, e.real(x), F(-np.inf)), -1, 1.0, False)
    want = np.where(seen, want, F(0))
    if not e.fixed:
        assert (got[~seen] == 0).all(), "a masked entry is not zero"
    return check(got, want, o, "MaskedSoftmax condition", e, o, shape, keep_shape)


def byte_case(c):
    """Long runs of bytes, whose kernels look up tables: rows have many different largest bytes, so that tables are made again. All levels, bit for bit."""
    e, o = c.enc(("uq8", "sq8"), c.pick(1.0, 8.0, 40.0)), c.enc(("uq8", "sq8"), 1.0)
    shape = (int(c.r.integers(1, 40)), int(c.pick(127, 128, 129, 191, 192, 512, 700, 1000)))
    low = -128 if e.dtype == "sq8" else 0
    top = c.r.integers(0, 256, (shape[0], 1))
    q = (c.r.integers(0, 256, shape) % (top + 1) + low).astype(np.int8 if low else np.uint8)
    beta = float(F(c.pick(1.0, 0.5, 1.7)))
    runs = [c.run("Softmax", [e.tensor(q)], [o.out(shape)], {"beta": f32(beta)}, isa=isa)[0] for isa in c.isas]
    for isa, got in zip(c.isas[1:], runs[1:]):
        same(got, runs[0], "Softmax of bytes", isa, e, o, shape, beta)
    return check(runs[0], reference(e.real(q), -1, beta, False), o, "Softmax of bytes", e, o, shape, beta)


def main():
    c = Case(14)
    off = 0
    for _ in range(scaled(1200)):
        e = c.enc(FIXED + ("f32", "f32", "f16"), c.pick(1.0, 8.0, 40.0))
        log = bool(c.r.integers(2))
        o = c.enc(FIXED, 10.0 if log else 1.0) if e.fixed else e
        shape = c.shape(1, 5) if c.r.random() < 0.8 else (2, int(c.r.integers(500, 1600)))
        axis = int(c.r.integers(len(shape)))
        beta = float(F(c.pick(1.0, 0.5, 1.7)))
        q = c.array(e, shape)
        params = {"axis": u32(axis), "beta": f32(beta)} if beta != 1.0 or c.r.random() < 0.5 else {"axis": u32(axis)}
        if not log and axis == len(shape) - 1 and beta == 1.0:
            params = {}
        got = c.run("LogSoftmax" if log else "Softmax", [e.tensor(q)], [o.out(shape)], params)[0] if not log or params else \
            c.run("LogSoftmax", [e.tensor(q)], [o.out(shape)], {"axis": u32(axis)})[0]
        off += check(got, reference(e.real(q), axis, beta, log), o, "LogSoftmax" if log else "Softmax", e, o, shape, axis, beta)
    for _ in range(scaled(200)):
        e = c.enc(FIXED + ("f32", "f16"))
        o = c.enc(FIXED, 1.0) if e.fixed else e
        shape = c.shape(2, 4)
        mask = tuple(d if c.r.random() < 0.6 else 1 for d in shape[:-1]) + (shape[-1],)
        x, m = c.array(e, shape), c.array(e, mask)
        try:
            got = c.run("MaskedSoftmax", [e.tensor(x), e.tensor(m)], [o.out(shape)])[0]
        except ProbeError as error:
            c.skip("MaskedSoftmax", error)
            continue
        off += check(got, reference(e.real(x) + e.real(m), -1, 1.0, False), o, "MaskedSoftmax", e, o, shape, mask)
    for _ in range(scaled(200)):
        off += compressed_case(c)
        off += condition_case(c)
    for _ in range(scaled(100)):
        off += byte_case(c)
    assert len(c.isas) == 1 or any(k.startswith("softmax_bytes") for k in c.kernels), "no run was looked up"
    print(f"softmax: {off} values off by one rounding of exp")
    assert off < 20, "more than chance"
    c.done("softmax")


with np.errstate(all="ignore"):
    main()
