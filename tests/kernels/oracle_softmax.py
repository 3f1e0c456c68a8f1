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
    print(f"softmax: {off} values off by one rounding of exp")
    assert off < 20, "more than chance"
    c.done("softmax")


with np.errstate(all="ignore"):
    main()
