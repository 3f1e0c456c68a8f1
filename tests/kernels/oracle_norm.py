# SPDX-License-Identifier: Apache-2.0
"""Normalizations against docs/numerics.md section 6, step by step in f32."""
import numpy as np

from oracle_common import F, FIXED, Case, Enc, f32, i32, b8, lane_sum, near, same, scaled, store, u32


def runs(x, axes):
    """The reduced axes last, as one run in row-major order; and the way back."""
    axes = sorted(axes)
    kept = [d for d in range(x.ndim) if d not in axes]
    order = kept + axes
    moved = x.transpose(order)
    flat = moved.reshape(moved.shape[:len(kept)] + (-1,))
    return flat, lambda r: r.reshape(moved.shape).transpose(np.argsort(order))


def centered(x):
    n = F(x.shape[-1])
    mean = (lane_sum(x) / n)[..., None]
    return x - mean


def variance(x, eps):
    d = centered(x)
    var = (lane_sum(d * d) / F(x.shape[-1]))[..., None]
    return d * (F(1) / np.sqrt(var + F(eps)))


def rms(x, eps, mean=True):
    s = lane_sum(x * x)[..., None]
    return x * (F(1) / np.sqrt((s / F(x.shape[-1]) if mean else s) + F(eps)))


def affine(r, gamma, beta):
    if gamma is not None:
        r = r * gamma
    return r if beta is None else r + beta


def parameters(c, e, n, optional=True):
    """gamma and beta: encodings, stored values, f32 values"""
    enc = (lambda: c.enc(FIXED, 2.0)) if e.fixed else (lambda: e)
    g, b = enc(), enc()
    qg, qb = c.array(g, n, 2.0, False), c.array(b, n, 2.0, False)
    keep = c.r.integers(3) if optional else c.r.integers(1, 3)
    ins = [g.tensor(qg), b.tensor(qb)][:keep]
    return ins, g.real(qg) if keep > 0 else None, b.real(qb) if keep > 1 else None


def layer_case(c):
    e = c.enc(FIXED + ("f32", "f32", "f16"))
    o = c.enc(FIXED, 4.0) if e.fixed else e
    shape = c.shape(1, 4) if c.r.random() < 0.8 else (2, int(c.r.integers(500, 1300)))
    axes = sorted(c.r.choice(len(shape), int(c.r.integers(1, len(shape) + 1)), replace=False).tolist())
    eps = float(F(c.pick(1e-3, 1e-5, 1e-12)))
    q = c.array(e, shape)
    x, back = runs(e.real(q), axes)
    ins, g, b = parameters(c, e, tuple(shape[d] for d in axes))
    g, b = (None if v is None else v.reshape(-1) for v in (g, b))
    op = c.pick("LayerNorm", "RmsNorm")
    if op == "RmsNorm" and len(ins) < 1:
        ins, g, b = parameters(c, e, tuple(shape[d] for d in axes), False)
        g, b = (None if v is None else v.reshape(-1) for v in (g, b))
    got = c.run(op, [e.tensor(q)] + ins, [o.out(shape)], {"axes": u32(axes), "epsilon": f32(eps)})[0]
    r = variance(x, eps) if op == "LayerNorm" else rms(x, eps)
    same(got, store(back(affine(r, g, b)), o), op, e, o, shape, axes, eps)


def channel_case(c, shape=None, group=None):
    e = c.enc(FIXED + ("f32", "f32", "f16"))
    o = c.enc(FIXED, 4.0) if e.fixed else e
    shape = shape or c.shape(2, 4)
    n = shape[-1]
    ins, g, b = parameters(c, e, (n,), False)
    q = c.array(e, shape)
    x = e.real(q)
    same(c.run("Batchnorm", [e.tensor(q)] + ins, [o.out(shape)])[0], store(affine(x, g, b), o), "Batchnorm", e, o, shape)
    eps = float(F(1e-5))
    if len(shape) < 2:
        return
    mode, region, var = int(c.r.integers(2)), int(c.r.integers(3)), bool(c.r.integers(2))
    axes = {0: list(range(1, len(shape) - 1)), 1: [len(shape) - 1], 2: list(range(1, len(shape)))}[region]
    flat, back = runs(x, axes)
    r = rms(flat, eps, False) if mode else variance(flat, eps) if var else centered(flat)
    params = {"epsilon": f32(eps), "mode": u32(mode), "region": u32(region), "normalize_variance": b8(var)}
    same(c.run("InstanceNorm", [e.tensor(q)] + ins, [o.out(shape)], params)[0], store(affine(back(r), g, b), o), "InstanceNorm", e, o, shape,
         mode, region, var)
    group = group or int(c.pick(*[k for k in range(1, n + 1) if n % k == 0]))
    y = x.reshape(shape[:-1] + (group, n // group))
    flat, back = runs(y, list(range(1, len(shape) - 1)) + [len(shape)])
    want = affine(back(variance(flat, eps)).reshape(shape), g, b)
    same(c.run("GroupNorm", [e.tensor(q)] + ins, [o.out(shape)], {"epsilon": f32(eps), "group": u32(group)})[0], store(want, o), "GroupNorm", e,
         o, shape, group)


def l2_case(c):
    e = c.enc(FIXED + ("f32", "f16"))
    o = c.enc(FIXED, 1.0) if e.fixed else e
    shape = c.shape(1, 4)
    axes = sorted(c.r.choice(len(shape), int(c.r.integers(1, len(shape) + 1)), replace=False).tolist())
    q = c.array(e, shape)
    flat, back = runs(e.real(q), axes)
    norm = np.sqrt(lane_sum(flat * flat))[..., None]
    eps = F(c.pick(1e-12, 3.0))
    params = {"axis": u32(axes[0])} if len(axes) == 1 else {"axes": u32(axes)}
    got = c.run("L2Norm", [e.tensor(q)], [o.out(shape)], {"epsilon": f32(eps), **params})[0]
    same(got, store(back(flat / np.where(norm < eps, eps, norm)), o), "L2Norm", e, o, shape, axes)


def lrn_case(c):
    e = c.enc(("uq8", "uq16", "f32", "f16"))
    o = c.enc(FIXED, 4.0) if e.fixed else e
    region = int(c.r.integers(2))
    shape = c.shape(4, 4, 5, 600) if region else c.shape(1, 4, 5, 600)
    radius = int(c.r.integers(0, 4))
    alpha, beta, bias = (F(v) for v in c.r.uniform(0.1, 1.5, 3))
    q = c.array(e, shape, 4.0, False)
    x = e.real(q)
    sq = x * x
    total = np.zeros(shape, F)
    if region == 0:
        for k in range(-radius, radius + 1):
            for ch in range(shape[-1]):
                if 0 <= ch + k < shape[-1]:
                    total[..., ch] += sq[..., ch + k]
    else:
        for dy in range(-radius, radius + 1):
            for dx in range(-radius, radius + 1):
                for y in range(shape[1]):
                    for w in range(shape[2]):
                        if 0 <= y + dy < shape[1] and 0 <= w + dx < shape[2]:
                            total[:, y, w] += sq[:, y + dy, w + dx]
    want = x / np.power((bias + alpha * total).astype(np.float64), np.float64(beta)).astype(F)
    params = {"alpha": f32(alpha), "beta": f32(beta), "bias": f32(bias), "radius": i32(radius), "region": u32(region)}
    got = c.run("Lrn", [e.tensor(q)], [o.out(shape)], params)[0]
    if o.fixed:
        w = store(want, o)
        assert (np.abs(got.astype(int) - w.astype(int)) <= 1).all() and (got == w).mean() > 0.98, ("Lrn", e, o, shape)
    else:
        near(got, want, 1, "Lrn", e, shape, radius, region)


def main():
    c = Case(15)
    for _ in range(scaled(500)):
        layer_case(c)
        channel_case(c)
        l2_case(c)
    for _ in range(scaled(80)):
        lrn_case(c)
    for _ in range(scaled(10)):  # blocks of channels, groups that divide 16 lanes or do not
        for shape, group in (((2, 5, 7, 40), 20), ((1, 9, 4, 64), 64), ((2, 6, 6, 132), 33), ((1, 33, 144), 18), ((1, 3, 5, 7, 32), 2), ((1, 8, 5, 60), 6), ((2, 2, 3, 200), 100)):
            channel_case(c, shape, group)
    c.done("norm")


with np.errstate(all="ignore"):
    main()
