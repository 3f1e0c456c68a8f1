# SPDX-License-Identifier: Apache-2.0
"""Image operators against docs/numerics.md sections 11 and 14, pixel by pixel in f32 scalars."""
import itertools
import math

import numpy as np

from oracle_common import F, FIXED, Case, Enc, b8, f32, i32, lane_sum, lean, moved, near, same, scaled, store, u32

TYPES = FIXED + ("f32", "f16")


def out_like(c, e):
    return c.like(e) if e.fixed else Enc(e.dtype)


def constant(v, o):
    return store(np.asarray(v, F), o)


# ---- sampling --------------------------------------------------------------------------------------------------------

def lerp(img, at, edge):
    """img [..., channels] real values; at: one coordinate per dimension. The last dimension is blended first."""
    n, x = img.shape[0], at[0]
    lo = math.floor(x)
    f = F(x - F(lo))

    def one(i):
        if edge:
            i = min(max(i, 0), n - 1)
        if not 0 <= i < n:
            return np.zeros(img.shape[-1], F)
        return lerp(img[i], at[1:], edge) if len(at) > 1 else img[i]

    a, b = one(lo), one(lo + 1)
    return a + (b - a) * f


def half_away(x):
    return math.copysign(math.floor(abs(float(x)) + 0.5), float(x))


def pick(q, e, o, at, how, edge, rounding):
    """A pixel of the stored image q at a place, or None when nothing of it is there."""
    if any(not -2 < x < n + 1 for x, n in zip(at, q.shape)):
        return None
    if how == "nearest":
        i = [int(rounding(x)) for x in at]
        return moved(q[tuple(i)], e, o) if all(0 <= k < n for k, n in zip(i, q.shape)) else None
    return store(lerp(e.real(q), at, edge), o)


def reflect(x, low2, high2):
    if low2 == high2:
        return F(0)
    low, span = F(low2) / F(2), F(high2 - low2) / F(2)
    x = F(abs(F(x - low)))
    if not np.isfinite(x):
        return F(np.nan)
    rest, flips = F(np.fmod(x, span)), np.floor(F(x / span))
    return F(rest + low) if np.fmod(flips, F(2)) == 0 else F(F(span - rest) + low)


def grid_coordinate(g, n, align, padding):
    n = F(n)
    x = F(F(F(g + F(1)) * F(0.5)) * F(n - F(1))) if align else F(F(F(g + F(1)) * n) - F(1)) * F(0.5)
    if padding == 0:
        return x
    if padding == 2:
        x = reflect(x, 0, 2 * (n - 1)) if align else reflect(x, -1, 2 * n - 1)
    return F(0) if np.isnan(x) else min(max(x, F(0)), F(n - F(1)))


def grid_case(c, i):
    rank = int(c.pick(4, 4, 5))
    e, g = c.enc(TYPES), c.enc(TYPES, span=1.5)
    o = out_like(c, e)
    dims = tuple(int(v) for v in c.r.integers(1, 7, rank - 2))
    out = tuple(int(v) for v in c.r.integers(1, 5, rank - 2))
    batch, ch = int(c.r.integers(1, 3)), int(c.pick(1, 3, 17, 600 if rank == 4 else 2))
    q = c.array(e, (batch,) + dims + (ch,))
    grid = c.array(g, (batch,) + out + (rank - 2,), span=c.pick(1.5, 6.0))
    mode, padding, align = i % 2, i // 2 % 3, i // 6 % 2
    if not g.fixed and c.r.random() < 0.5:
        grid.flat[0], grid.flat[-1] = 1e30, -1.0
    want = np.zeros((batch,) + out + (ch,), q.dtype if not e.fixed else np.int64)
    for at in itertools.product(range(batch), *[range(v) for v in out]):
        coords = [grid_coordinate(v, n, align, padding) for v, n in zip(g.real(grid[at])[::-1], dims)]
        v = pick(q[at[0]], e, o, coords, ["linear", "nearest"][mode], padding != 0, np.rint)
        want[at] = constant(0, o) if v is None else v
    got = c.run("GridSample", [e.tensor(q), g.tensor(grid)], [o.out(want.shape)],
                lean(c, {"align_corners": b8(align), "mode": u32(mode), "padding_mode": u32(padding)}, align_corners=0, mode=0, padding_mode=0))[0]
    same(got, want.astype(got.dtype), "GridSample", e, g, o, dims, out, mode, padding, align)


def crop_case(c, i):
    e, be = c.enc(TYPES), c.enc(("f32", "f32", "f16", "uq16", "sq8"), span=2.0)
    o = out_like(c, e)
    h, w, boxes, rh, rw = (int(v) for v in c.r.integers(1, 8, 5))
    batch, ch = 2, int(c.pick(1, 3, 20))
    q = c.array(e, (batch, h, w, ch))
    box = c.array(be, (boxes, 4), special=False)
    if not be.fixed:
        box = c.r.uniform(-0.3, 1.3, (boxes, 4)).astype(box.dtype)
        box[0] = c.pick([0, 0, 1, 1], [1, 1, 0, 0], [0.5, 0, 0.5, 1], [np.nan, 0, 1, 1])
    which = c.r.integers(-1 if c.r.random() < 0.2 else 0, batch, boxes).astype(np.int32)
    mode, ext = i % 2, F(c.pick(0, 1.5, -2))
    want = np.zeros((boxes, rh, rw, ch), q.dtype if not e.fixed else np.int64)
    for b, y, x in itertools.product(range(boxes), range(rh), range(rw)):
        r = be.real(box[b])
        at = []
        for lo, hi, n, m, k in ((r[0], r[2], h, rh, y), (r[1], r[3], w, rw, x)):
            last = F(n - 1)
            at.append(F(F(lo * last) + F(k) * F(F(F(hi - lo) * last) / F(m - 1))) if m > 1 else F(F(F(0.5) * F(lo + hi)) * last))
        inside = which[b] >= 0 and 0 <= at[0] <= h - 1 and 0 <= at[1] <= w - 1
        want[b, y, x] = pick(q[which[b]], e, o, at, ["linear", "nearest"][mode], True, half_away) if inside else constant(ext, o)
    got = c.run("CropAndResize", [e.tensor(q), be.tensor(box), Enc("i32").tensor(which)], [o.out(want.shape)],
                lean(c, {"resize_dims": u32([rh, rw]), "interpolation_mode": u32(mode), "extrapolation_value": f32(ext)}, interpolation_mode=0,
                     extrapolation_value=0))[0]
    same(got, want.astype(got.dtype), "CropAndResize", e, be, o, q.shape, box, which, rh, rw, mode)


def projection_case(c, i):
    e = c.enc(TYPES)
    o = out_like(c, e)
    h, w, ho, wo = (int(v) for v in c.r.integers(1, 8, 4))
    batch, ch, own = int(c.r.integers(1, 3)), int(c.pick(1, 3, 20)), bool(c.r.integers(2))
    q = c.array(e, (batch, h, w, ch))
    t = np.array([1, 0, 0, 0, 1, 0, 0, 0], F) + c.r.normal(0, 0.3, (batch if own else 1, 8)).astype(F) * np.array([1, 1, 2, 1, 1, 2, .2, .2], F)
    if c.r.random() < 0.3:
        t[0] = c.pick([1, 0, 0, 0, 1, 0, -1, 0], [1, 0, 0.5, 0, 1, -0.5, 0, 0], [0, 0, 1e30, 0, 1, 0, 0, 0])
    mode = i % 2
    want = np.zeros((batch, ho, wo, ch), q.dtype if not e.fixed else np.int64)
    for b, y, x in itertools.product(range(batch), range(ho), range(wo)):
        m, fx, fy = t[b if own else 0], F(x), F(y)
        k = F(F(m[6] * fx) + F(m[7] * fy)) + F(1)
        at = [F(F(F(F(m[j] * fx) + F(m[j + 1] * fy)) + m[j + 2]) / k) for j in (3, 0)]
        v = pick(q[b], e, o, at, ["linear", "nearest"][mode], False, half_away) if k != 0 else None
        want[b, y, x] = constant(0, o) if v is None else v
    got = c.run("ImageProjectionTransform", [e.tensor(q), Enc("f32").tensor(t)], [o.out(want.shape)],
                lean(c, {"interpolation_mode": u32(mode)}, interpolation_mode=0))[0]
    same(got, want.astype(got.dtype), "ImageProjectionTransform", e, o, q.shape, t, mode)


# ---- colours ---------------------------------------------------------------------------------------------------------

def argb_case(c, i):
    e = c.enc(TYPES + ("u8",))
    o = out_like(c, e)
    q = c.array(e, (int(c.r.integers(1, 3)), int(c.r.integers(1, 9)), int(c.pick(1, 7, 300)), 4))
    rgba, reverse = i % 2, i // 2 % 2
    want = q[..., :3] if rgba else q[..., 1:]
    want = moved(want[..., ::-1] if reverse else want, e, o)
    got = c.run("ArgbToRgb", [e.tensor(q)], [o.out(want.shape)], lean(c, {"input_order": u32(rgba), "reverse_output": b8(reverse)}, input_order=0))[0]
    same(got, want.astype(got.dtype), "ArgbToRgb", e, o, q.shape, rgba, reverse)


def nv_case(c, i):
    op, bgr = ("Nv12ToRgb", "Nv21ToRgb")[i % 2], i // 2 % 2
    e = c.enc(("u8", "uq8", "f32", "f16", "uq16", "sq8"), span=200.0)
    o = c.enc(("uq8", "uq16", "sq8"), span=200.0) if e.fixed else Enc(e.dtype)
    h, w, batch = 2 * int(c.r.integers(1, 5)), 2 * int(c.pick(1, 3, 300)), int(c.r.integers(1, 3))
    q = c.array(e, (batch, h * w * 3 // 2), special=False)
    q = np.abs(q) * 20 if not e.fixed and e.dtype != "u8" else c.r.integers(0, 256, q.shape).astype(q.dtype) if e.dtype == "u8" else q
    real = q.astype(F) if e.dtype in ("u8", "uq8") else e.real(q)
    luma = real[:, :h * w].reshape(batch, h, w)
    chroma = real[:, h * w:].reshape(batch, h // 2, w // 2, 2).repeat(2, 1).repeat(2, 2)
    u, v = (chroma[..., k] - F(128) for k in ((0, 1) if op == "Nv12ToRgb" else (1, 0)))
    y = F(1.164) * (luma - F(16))
    rgb = [y + F(1.596) * v, y - F(0.813) * v - F(0.391) * u, y + F(2.018) * u]
    rgb = np.clip(np.stack(rgb[::-1] if bgr else rgb, -1), F(0), F(255))
    want = np.rint(rgb).astype(np.uint8) if o.dtype in ("u8", "uq8") else store(rgb, o)
    got = c.run(op, [e.tensor(q)], [o.out(want.shape)], {"output_order": i32(bgr)})[0]
    same(got, want, op, e, o, h, w, bgr)


# ---- windows ---------------------------------------------------------------------------------------------------------

def patches_case(c, i):
    e = c.enc(TYPES + ("i32", "u8", "b8"))
    o = c.pick(e, c.enc((e.dtype,)))
    batch, ch = int(c.r.integers(1, 3)), int(c.pick(1, 3, 20))
    hw, k, s, r = ([int(v) for v in c.r.integers(1, m, 2)] for m in (9, 4, 4, 3))
    span = [(a - 1) * b + 1 for a, b in zip(k, r)]
    pad_same = i % 2
    hw = [max(n, m) if not pad_same else n for n, m in zip(hw, span)]
    out = [-(-n // t) if pad_same else (n - m) // t + 1 for n, t, m in zip(hw, s, span)]
    before = [max((m - 1) * t + p - n, 0) // 2 if pad_same else 0 for m, t, p, n in zip(out, s, span, hw)]
    q = c.array(e, (batch, *hw, ch))
    zero = constant(0, o)
    want = np.full((batch, *out, k[0] * k[1] * ch), zero, np.int64 if e.fixed else q.dtype)
    for y, x, ky, kx in itertools.product(*map(range, out + k)):
        p = [y * s[0] + ky * r[0] - before[0], x * s[1] + kx * r[1] - before[1]]
        if 0 <= p[0] < hw[0] and 0 <= p[1] < hw[1]:
            at = (ky * k[1] + kx) * ch
            want[:, y, x, at:at + ch] = moved(q[:, p[0], p[1]], e, o)
    got = c.run("ExtractPatches", [e.tensor(q)], [o.out(want.shape)], {"size": u32(k), "stride": u32(s), "rate": u32(r), "padding": u32(pad_same)})[0]
    same(got, want.astype(got.dtype), "ExtractPatches", e, o, hw, k, s, r, pad_same)


def column_case(c, i):
    e = c.enc(TYPES)
    o = out_like(c, e)
    batch, ch = int(c.r.integers(1, 3)), int(c.pick(1, 3, 9, 200 if i % 40 == 0 else 2))
    hw, k, s, d = ([int(v) for v in c.r.integers(1, m, 2)] for m in (8, 4, 4, 3))
    pad = c.r.integers(0, 3, (2, 2))
    span = [(a - 1) * b + 1 for a, b in zip(k, d)]
    hw = [max(n, m - int(p.sum())) for n, m, p in zip(hw, span, pad)]
    out = [(n + int(p.sum()) - m) // t + 1 for n, p, m, t in zip(hw, pad, span, s)]
    taps, count = k[0] * k[1], out[0] * out[1]
    params = {"kernel_size": u32(k), "stride": u32(s), "pad_amount": u32(pad), "dilation": u32(d)}
    back = i % 2
    q = c.array(e, (batch, ch * taps, count) if back else (batch, *hw, ch))
    if back:
        total = np.zeros((batch, *hw, ch), F)
    else:
        want = np.full((batch, ch * taps, count), constant(0, o), np.int64 if e.fixed else q.dtype)
    for t, (ky, kx) in enumerate(itertools.product(*map(range, k))):
        for w, (y, x) in enumerate(itertools.product(*map(range, out))):
            py, px = y * s[0] + ky * d[0] - pad[0][0], x * s[1] + kx * d[1] - pad[1][0]
            if not (0 <= py < hw[0] and 0 <= px < hw[1]):
                continue
            if back:
                total[:, py, px] = total[:, py, px] + e.real(q[:, t::taps, w])
            else:
                want[:, t::taps, w] = moved(q[:, py, px], e, o)
    if back:
        want = store(total, o)
    got = c.run("Col2Im" if back else "Im2Col", [e.tensor(q)], [o.out(want.shape)], lean(c, params, stride=1, pad_amount=0, dilation=1))[0]
    same(got, want.astype(got.dtype), "Col2Im" if back else "Im2Col", e, o, hw, k, s, d, pad)


def bits(seed, i):
    m = 2 ** 64 - 1

    def mix(x):
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & m
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb & m
        return x ^ (x >> 31)

    return mix((mix(seed + 0x9e3779b97f4a7c15 & m) + (i + 1) * 0x9e3779b97f4a7c15) & m)


def glimpse_case(c, i):
    e, oe = c.enc(TYPES), c.enc(("f32", "f32", "uq16", "sq8"), span=1.0)
    noise, centered, normalized = i % 3, i // 3 % 2, i // 6 % 2
    o = out_like(c, e)
    batch, h, w, gh, gw, ch = (int(v) for v in c.r.integers(1, 7, 6))
    q = c.array(e, (batch, h, w, ch), special=False)
    off = c.r.uniform(-1, 1, (batch, 2)).astype(F) * (1 if normalized else 5) if not oe.fixed else c.array(oe, (batch, 2))
    if not oe.fixed and c.r.random() < 0.1:
        off[0, 0] = c.pick(np.nan, np.inf, -np.inf)
    real, x = e.real(q).astype(np.float64), oe.real(off)
    want = np.zeros((batch, gh, gw, ch), np.float64)
    exact = np.zeros(want.shape, bool)
    values = np.zeros(want.shape, np.int64 if e.fixed else q.dtype)
    for b in range(batch):
        at = []
        for v, n, g in zip(x[b], (h, w), (gh, gw)):
            v = F(v * F(n)) if normalized else v
            v = F(F(v * F(0.5)) + F(n) * F(0.5)) if centered else v
            v = F(v - F(g) * F(0.5))
            at.append(int(v) if np.isfinite(v) else 10 ** 9 if v > 0 else -10 ** 9)
        for y, xx, k in itertools.product(range(gh), range(gw), range(ch)):
            py, px = at[0] + y, at[1] + xx
            j = ((b * gh + y) * gw + xx) * ch + k
            if 0 <= py < h and 0 <= px < w:
                values[b, y, xx, k], exact[b, y, xx, k] = moved(q[b, py, px, k:k + 1], e, o)[0], True
            elif noise == 0:
                want[b, y, xx, k] = real[b].min() + (real[b].max() - real[b].min()) * ((bits(0, j) >> 40) / 2.0 ** 24)
            elif noise == 1:
                u, v = ((bits(0, 2 * j) >> 11) + 1) / 2.0 ** 53, (bits(0, 2 * j + 1) >> 11) / 2.0 ** 53
                want[b, y, xx, k] = real[b, ..., k].mean() + real[b, ..., k].std() * math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
    got = c.run("ExtractGlimpse", [e.tensor(q), oe.tensor(off)], [o.out(want.shape)],
                lean(c, {"size": i32([gh, gw]), "centered": b8(centered), "normalized": b8(normalized), "noise": i32(noise)}, centered=1, normalized=1,
                     noise=0))[0]
    what = ("ExtractGlimpse", e, oe, o, q.shape, gh, gw, off, noise, centered, normalized)
    same(got[exact], values[exact].astype(got.dtype), *what)
    filled = store(want, o)[~exact]
    if o.fixed:
        assert (np.abs(filled.astype(np.int64) - got[~exact].astype(np.int64)) <= 1).all(), what
    else:
        near(got[~exact], want[~exact], 64, *what)


def correlation_case(c, _):
    e = c.enc(TYPES, span=2.0)
    e2 = c.like(e)
    o = c.enc(FIXED, span=3.0) if e.fixed else Enc(e.dtype)
    batch, h, w, depth = int(c.r.integers(1, 3)), int(c.r.integers(1, 4)), int(c.r.integers(1, 8)), int(c.pick(1, 5, 33, 600))
    disp, shift = int(c.r.integers(0, 5)), int(c.r.integers(-3, 4))
    a, b = c.array(e, (batch, h, w, depth), span=2.0), c.array(e2, (batch, h, w, depth), span=2.0)
    ra, rb = e.real(a), e2.real(b)
    want = np.zeros((batch, h, w, 2 * disp + 1), F)
    for x, d in itertools.product(range(w), range(2 * disp + 1)):
        o_x = x + d - (disp - shift)
        if 0 <= o_x < w:
            want[:, :, x, d] = lane_sum(ra[:, :, x] * rb[:, :, o_x]) / F(depth)
    got = c.run("Correlation1D", [e.tensor(a), e2.tensor(b)], [o.out(want.shape)], {"displacement": u32(disp), "shift": i32(shift)})[0]
    same(got, store(want, o), "Correlation1D", e, e2, o, a.shape, disp, shift)


def main():
    c = Case(31)
    for case, n in ((grid_case, 600), (crop_case, 400), (projection_case, 400), (argb_case, 120), (nv_case, 120), (patches_case, 400),
                    (column_case, 400), (glimpse_case, 360), (correlation_case, 200)):
        for i in range(scaled(n)):
            case(c, i)
    for case in (patches_case, column_case):
        c.odd_cases(case, 24)
    c.done("image")


with np.errstate(all="ignore"):
    main()
