# SPDX-License-Identifier: Apache-2.0
"""Resizing against docs/numerics.md section 8, coordinate by coordinate in f32."""
import numpy as np

from oracle_common import F, FIXED, Case, ProbeError, b8, f32, moved, same, scaled, store, u32

HALF, PYTORCH, CORNERS, ASYMMETRIC, CENTER = range(5)


def coordinate(mode, i, n_in, n_out):
    i, n, m = F(i), F(n_in), F(n_out)
    r = n / m
    if mode == HALF or (mode == PYTORCH and n_out > 1):
        return (i + F(0.5)) * r - F(0.5)
    if mode == PYTORCH:
        return F(0)
    if mode == CORNERS:
        return i * (n - F(1)) / (m - F(1)) if n_out > 1 else F(0)
    return (i + F(0.5)) * r if mode == CENTER else i * r


def nearest(mode, rounding, n_in, n_out):
    fn = [lambda x: np.ceil(x - F(0.5)), lambda x: np.floor(x + F(0.5)), np.floor, np.ceil][rounding]
    return [int(np.clip(fn(coordinate(mode, i, n_in, n_out)), 0, n_in - 1)) for i in range(n_out)]


def along(x, axis, i):
    return np.take(x, i, axis)


def linear(x, axis, mode, n_out):
    n = x.shape[axis]
    rows = []
    for i in range(n_out):
        p = np.clip(coordinate(mode, i, n, n_out), F(0), F(n - 1))
        lo = int(np.floor(p))
        a, b = along(x, axis, lo), along(x, axis, min(lo + 1, n - 1))
        rows.append(a + (b - a) * (p - F(lo)))
    return np.stack(rows, axis).astype(F)


def cubic(x, axis, mode, n_out, c, outside):
    n, c, rows = x.shape[axis], F(c), []
    far = lambda t: ((c * (t + F(1)) - F(5) * c) * (t + F(1)) + F(8) * c) * (t + F(1)) - F(4) * c  # noqa: E731
    close = lambda t: ((c + F(2)) * t - (c + F(3))) * t * t + F(1)  # noqa: E731
    for i in range(n_out):
        p = coordinate(mode, i, n, n_out)
        lo = np.floor(p)
        t = p - lo
        w = [far(t), close(t), close(F(1) - t), far(F(1) - t)]
        at = [int(lo) + k for k in (-1, 0, 1, 2)]
        if outside:
            w = [v if 0 <= k < n else F(0) for v, k in zip(w, at)]
            total = F(0)
            for v in w:
                total = total + v
            w = [v / total for v in w]
        taps = [along(x, axis, int(np.clip(k, 0, n - 1))) for k in at]
        r = w[0] * taps[0]
        for v, tap in zip(w[1:], taps[1:]):
            r = r + v * tap
        rows.append(r)
    return np.stack(rows, axis).astype(F)


def smooth(x, axis, mode, n_out):
    """Linear with antialias: a triangle as wide as the step between output pixels, taps ascending from 0."""
    n, rows = x.shape[axis], []
    step = (F(n - 1) / F(n_out - 1) if n_out > 1 else F(1)) if mode == CORNERS else F(n) / F(n_out)
    half = max(step, F(1))
    for i in range(n_out):
        p = coordinate(mode, i, n, n_out)
        taps = range(max(0, int(np.ceil(p - half))), min(n - 1, int(np.floor(p + half))) + 1)
        weights = [max(F(1) - np.abs(F(k) - p) / half, F(0)) for k in taps]
        total = F(0)
        for w in weights:
            total = total + w
        r = np.zeros_like(along(x, axis, 0))
        for k, w in zip(taps, weights):
            r = r + (w / total) * along(x, axis, k)
        rows.append(r)
    return np.stack(rows, axis).astype(F)


def antialias_case(c):
    e, o = pair(c)
    (h, w), (ho, wo) = ([int(v) for v in c.r.integers(1, 20, 2)] for _ in range(2))
    q = c.array(e, (2, h, w, 3), special=False)
    corners, half = c.pick((False, False), (True, False), (False, True))
    params = {"align_corners": b8(corners), "half_pixel_centers": b8(half), "antialias": b8(1)}
    mode = CORNERS if corners else HALF if half else ASYMMETRIC
    want = smooth(smooth(e.real(q), 2, mode, wo), 1, mode, ho)
    same(c.run("ResizeBilinear", [e.tensor(q)], [o.out((2, ho, wo, 3))], params)[0], store(want, o), "ResizeBilinear antialias", e, o, (h, w), (ho, wo), mode)


def sizes(c, dims):
    small = [int(v) for v in c.r.integers(1, 8, dims)]
    return small, [int(c.pick(n, 2 * n, c.r.integers(1, 13))) for n in small]


def pair(c):
    e = c.enc(FIXED + ("f32", "f16"))
    return e, (c.enc((e.dtype,)) if e.fixed else e)


def image_case(c):
    e, o = pair(c)
    (h, w), (ho, wo) = sizes(c, 2)
    b, ch = int(c.r.integers(1, 3)), int(c.pick(1, 3, 17))
    q = c.array(e, (b, h, w, ch), special=False)
    corners, half = c.pick((False, False), (True, False), (False, True))
    params = {"align_corners": b8(corners), "half_pixel_centers": b8(half)}
    mode = CORNERS if corners else HALF if half else ASYMMETRIC
    want = linear(linear(e.real(q), 2, mode, wo), 1, mode, ho)
    same(c.run("ResizeBilinear", [e.tensor(q)], [o.out((b, ho, wo, ch))], params)[0], store(want, o), "ResizeBilinear", e, o, (h, w), (ho, wo), mode)
    mode, rounding = (CORNERS, 1) if corners else (CENTER, 2) if half else (ASYMMETRIC, 2)
    picked = q[:, nearest(mode, rounding, h, ho)][:, :, nearest(mode, rounding, w, wo)]
    same(c.run("ResizeNearestNeighbor", [e.tensor(q)], [o.out((b, ho, wo, ch))], params)[0], moved(picked, e, o), "ResizeNearestNeighbor", e, o,
         (h, w), (ho, wo), mode)


def general_case(c):
    e, o = pair(c)
    dims = int(c.r.integers(1, 4))
    before, after = sizes(c, dims)
    b, ch = int(c.r.integers(1, 3)), int(c.pick(1, 3, 9))
    q = c.array(e, (b, *before, ch), special=False)
    kind, mode, rounding, outside = (int(v) for v in (c.r.integers(3), c.r.integers(4), c.r.integers(4), c.r.integers(2)))
    coeff = float(F(c.pick(-0.75, -0.5)))
    params = {"interpolation_mode": u32(kind), "transformation_mode": u32(mode), "nearest_mode": u32(rounding), "exclude_outside": b8(outside)}
    if coeff != -0.75:
        params["cubic_coeff"] = f32(coeff)
    x = q if kind == 0 else e.real(q)
    for axis in range(dims, 0, -1):  # width first
        n, m = before[axis - 1], after[axis - 1]
        if kind == 0:
            x = np.take(x, nearest(mode, rounding, n, m), axis)
        elif kind == 1:
            x = linear(x, axis, mode, m)
        else:
            x = cubic(x, axis, mode, m, coeff, outside)
    want = moved(x, e, o) if kind == 0 else store(x, o)
    try:
        got = c.run("Resize", [e.tensor(q)], [o.out((b, *after, ch))], params)[0]
    except ProbeError as error:
        return c.skip("Resize", error)
    same(got, want, "Resize", e, o, before, after, kind, mode, rounding, outside)


def wide_case(c, w, wo, ch):
    """Lines of many columns, pixels of many channels, columns that read far apart."""
    e, o = pair(c)
    h, ho = int(c.r.integers(1, 4)), int(c.r.integers(1, 5))
    q = c.array(e, (1, h, w, ch), special=False)
    half = bool(c.r.integers(2))
    want = linear(linear(e.real(q), 2, HALF if half else ASYMMETRIC, wo), 1, HALF if half else ASYMMETRIC, ho)
    got = c.run("ResizeBilinear", [e.tensor(q)], [o.out((1, ho, wo, ch))], {"half_pixel_centers": b8(half)})[0]
    same(got, store(want, o), "ResizeBilinear", e, o, (h, w), (ho, wo), ch, half)


def main():
    c = Case(20)
    for _ in range(scaled(250)):
        image_case(c)
        antialias_case(c)
        general_case(c)
    for _ in range(scaled(6)):
        for w, wo, ch in ((300, 600, 3), (90, 257, 2), (900, 70, 4), (1, 600, 1), (2000, 3, 5), (13, 40, 64), (40, 11, 100), (5, 9, 511), (6, 4, 512), (4, 7, 513)):
            wide_case(c, w, wo, ch)
    c.done("resize")


with np.errstate(all="ignore"):
    main()
