# SPDX-License-Identifier: Apache-2.0
"""RoiAlign, RoiPooling and HeatMapMaxKeyPoint against docs/numerics.md section 12, sample by sample."""
import itertools
import math

import numpy as np

from oracle_common import F, FIXED, Case, Enc, ProbeError, b8, f32, fixed_to_fixed, i32, lean, same, scaled, store

TYPES = FIXED + ("f32", "f16")


def half_away(x):
    return F(math.copysign(math.floor(abs(float(x)) + 0.5), float(x))) if np.isfinite(x) else x


def rois(c, n, h, w, ratio):
    """Boxes x1, y1, x2, y2 in image coordinates: inside, over the edges, empty, turned around, far away."""
    size = np.array([w * ratio[1], h * ratio[0]])
    a = c.r.uniform(-0.3, 1.1, (n, 2)) * size
    b = a + c.r.uniform(0, 0.9, (n, 2)) * size
    box = np.concatenate([a, b], 1).astype(F)
    for k in range(n):
        how = c.r.random()
        if how < 0.1:
            box[k] = box[k][[2, 3, 0, 1]]
        elif how < 0.15:
            box[k, 2:] = box[k, :2]
        elif how < 0.2:
            box[k] += F(50) * size[0]
        elif how < 0.22:
            box[k] = [0, 0, 1e9, 1e9]
        elif how < 0.24:
            box[k, 1] = np.nan
    return box


def sample(x, size):
    """Two pixels and a weight, None outside."""
    if not -1 <= x <= size:
        return None
    x = max(x, F(0))
    lo = int(x)
    return (size - 1, size - 1, F(0)) if lo >= size - 1 else (lo, lo + 1, F(x - F(lo)))


def align_bin(img, starts, steps, counts, at):
    acc = np.zeros(img.shape[-1], F)
    places = []
    for d in range(2):
        places.append([sample(F(F(starts[d] + F(F(at[d]) * steps[d])) + F(F(F(F(i) + F(0.5)) * steps[d]) / F(counts[d]))), img.shape[d])
                       for i in range(counts[d])])
    for y, x in itertools.product(*places):
        if y is None or x is None:
            continue
        top = img[y[0], x[0]] + (img[y[0], x[1]] - img[y[0], x[0]]) * x[2]
        bottom = img[y[1], x[0]] + (img[y[1], x[1]] - img[y[1], x[0]]) * x[2]
        acc = acc + (top + (bottom - top) * y[2])
    return acc / F(max(counts[0] * counts[1], 1))


def align(img, box, out, ratio, samples, aligned, allow):
    lo, hi = [F(box[1] / ratio[0]), F(box[0] / ratio[1])], [F(box[3] / ratio[0]), F(box[2] / ratio[1])]
    want = np.zeros((*out, img.shape[-1]), F)
    if not allow and not (hi[0] >= lo[0] and hi[1] >= lo[1]):
        return want
    size = [F(b - a) for a, b in zip(lo, hi)]
    if not aligned:
        size = [s if s >= 1 else F(1) for s in size]
    starts = [F(v - F(0.5)) if aligned else v for v in lo]
    steps = [F(s / F(n)) for s, n in zip(size, out)]
    counts = [s if s > 0 else (0 if not t > 0 else min(int(np.ceil(t)), 1024)) for s, t in zip(samples, steps)]
    for at in itertools.product(*map(range, out)):
        want[at] = align_bin(img, starts, steps, counts, at)
    return want


def align_case(c, i):
    e = c.enc(TYPES)
    o = c.like(e)
    re = c.pick(Enc("f32"), Enc("f32"), Enc("uq16", F(0.01), int(c.pick(0, -200))), Enc("f16"))
    batch, h, w, ch = int(c.r.integers(1, 3)), int(c.r.integers(1, 8)), int(c.r.integers(1, 8)), int(c.pick(1, 4, 17, 520 if i % 60 == 0 else 3))
    n, out = int(c.r.integers(1, 5)), [int(v) for v in c.r.integers(1, 4, 2)]
    ratio = [F(c.pick(1, 2, 0.7, 16)) for _ in range(2)]
    q = c.array(e, (batch, h, w, ch))
    box = rois(c, n, h, w, ratio)
    if i % 7:
        box[np.abs(box) > 1e8] = 0
    box = c.array(re, (n, 4)) if re.fixed else box.astype(np.float16 if re.dtype == "f16" else F)
    which = c.r.integers(0, batch, n).astype(np.int32)
    if c.r.random() < 0.2:
        which[0] = c.pick(-1, batch)
    aligned, allow = i % 2, i // 2 % 2
    samples = [int(c.pick(-1, 0, 1, 2, 3)) for _ in range(2)]
    real = re.real(box)
    want = np.stack([align(e.real(q[k]), real[j], out, ratio, samples, aligned, allow) if 0 <= k < batch else np.zeros((*out, ch), F)
                     for j, k in enumerate(which)])
    got = c.run("RoiAlign", [e.tensor(q), re.tensor(box), Enc("i32").tensor(which)], [o.out(want.shape)],
                lean(c, {"img_size_ratio": f32(ratio), "num_samples_y": i32(samples[0]), "num_samples_x": i32(samples[1]), "aligned": b8(aligned),
                         "allow_invalid_roi": b8(allow)}, num_samples_y=-1, num_samples_x=-1, aligned=0, allow_invalid_roi=0))[0]
    same(got, store(want, o), "RoiAlign", e, re, o, q.shape, real, which, out, ratio, samples, aligned, allow)


def pool_case(c, i):
    e = c.enc(TYPES)
    o = c.like(e)
    batch, h, w, ch = int(c.r.integers(1, 3)), int(c.r.integers(1, 8)), int(c.r.integers(1, 8)), int(c.pick(1, 4, 17, 520 if i % 60 == 0 else 3))
    n, out = int(c.r.integers(1, 5)), [int(v) for v in c.r.integers(1, 5, 2)]
    ratio = [F(c.pick(1, 2, 0.7, 16)) for _ in range(2)]
    q = c.array(e, (batch, h, w, ch))
    box, which = rois(c, n, h, w, ratio), c.r.integers(0, batch + (c.r.random() < 0.2), n).astype(np.int32)
    want = np.zeros((n, *out, ch), np.int64 if e.fixed else q.dtype)
    for j, y, x in itertools.product(range(n), range(out[0]), range(out[1])):
        cut = []
        for k, n_in, n_out, bin_, r in ((1, h, out[0], y, ratio[0]), (0, w, out[1], x, ratio[1])):
            lo, hi = half_away(F(box[j, k] / r)), half_away(F(box[j, k + 2] / r))
            size = F(F(hi - lo) + F(1))
            step = F((size if size >= 1 else F(1)) / F(n_out))
            begin, end = F(np.floor(F(F(F(bin_) * step) + lo))), F(np.ceil(F(F(F(bin_ + 1) * step) + lo)))
            cut.append([0 if not v > 0 else int(min(v, n_in)) for v in (begin, end)])
        part = q[which[j], cut[0][0]:cut[0][1], cut[1][0]:cut[1][1]].reshape(-1, ch) if which[j] < batch else q[:0].reshape(0, ch)
        if not len(part):
            want[j, y, x] = store(F(0), o)
        elif e.fixed:
            want[j, y, x] = fixed_to_fixed(part.max(0), e, o)
        else:
            want[j, y, x] = np.where(np.isnan(part).any(0), np.nan, part.max(0) + F(0))  # a zero is +0
    got = c.run("RoiPooling", [e.tensor(q), Enc("f32").tensor(box), Enc("i32").tensor(which)], [o.out(want.shape)], {"img_size_ratio": f32(ratio)})[0]
    same(got, want.astype(got.dtype), "RoiPooling", e, o, q.shape, box, which, out, ratio)


def refine(g):
    two, half = F(2), F(0.5)
    bx, by = F(-0.5) * F(g[1, 2] - g[1, 0]), F(-0.5) * F(g[2, 1] - g[0, 1])
    xx, yy = F(F(g[1, 0] - two * g[1, 1]) + g[1, 2]), F(F(g[0, 1] - two * g[1, 1]) + g[2, 1])
    xy = F(0.25) * F(F(F(g[0, 0] - g[0, 2]) - g[2, 0]) + g[2, 2])
    det = F(F(xx * yy) - F(xy * xy))
    if not abs(det) >= F(F(1e-5) + F(F(1e-5) * F(xy * xy))):
        return g[1, 1], F(0), F(0)
    dx, dy = F(F(F(yy * bx) - F(xy * by)) / det), F(F(F(xx * by) - F(xy * bx)) / det)
    far = max(abs(dx), abs(dy))
    if far > F(1.5):
        dx, dy = F(dx * F(F(1.5) / far)), F(dy * F(F(1.5) / far))
    curve = F(F(F(xx * dx) + F(xy * dy)) * dx) + F(F(F(xy * dx) + F(yy * dy)) * dy)
    return F(F(F(g[1, 1] - F(bx * dx)) - F(by * dy)) + F(curve * half)), dx, dy


def heat_case(c, i):
    e = c.enc(TYPES)
    s = c.like(e)
    be = c.pick(Enc("f32"), Enc("uq16", F(0.125), 0))
    p = Enc("uq16", F(0.125), 0) if be.fixed else Enc("f32")
    n, h, w, k = (int(v) for v in c.r.integers(1, 7, 4))
    q = c.array(e, (n, h, w, k), special=False)
    if i % 3 == 0:
        q[...] = q[:, :1, :1]  # flat: nothing to refine
    box = c.array(be, (n, 4)) if be.fixed else c.r.uniform(0, 100, (n, 4)).astype(F)
    real, b = e.real(q), be.real(box)
    score, point = np.zeros((n, k), F), np.zeros((n, k, 2), F)
    for j, m in itertools.product(range(n), range(k)):
        y, x = np.unravel_index(np.argmax(real[j, ..., m]), (h, w))

        def at(v, step, size):
            v = int(v) + step
            v = 1 if v < 0 else size - 2 if v >= size else v
            return v if 0 <= v < size else 0

        g = np.array([[real[j, at(y, a, h), at(x, d, w), m] for d in (-1, 0, 1)] for a in (-1, 0, 1)], F)
        score[j, m], dx, dy = refine(g)
        for axis, (v, delta, size) in enumerate(((x, dx, w), (y, dy, h))):
            point[j, m, axis] = F(F(F(F(F(v) + delta) + F(0.5)) * F(b[j, 2 + axis] - b[j, axis])) / F(size)) + b[j, axis]
    got = c.run("HeatMapMaxKeyPoint", [e.tensor(q), be.tensor(box)], [s.out(score.shape), p.out(point.shape)])
    same(got[0], store(score, s), "HeatMapMaxKeyPoint score", e, s, q.shape)
    same(got[1], store(point, p), "HeatMapMaxKeyPoint point", e, be, q.shape)


def refusals(c):
    x, box, which = Enc("f32").tensor(np.zeros((1, 4, 4, 1), F)), Enc("f32").tensor(np.zeros((1, 4), F)), Enc("i32").tensor(np.zeros(1, np.int32))
    for params, word in (({"img_size_ratio": f32([0, 1])}, "img_size_ratio"), ({"img_size_ratio": f32([1, 1]), "num_samples_x": i32(5000)}, "num_samples_x")):
        try:
            c.run("RoiAlign", [x, box, which], [Enc("f32").out((1, 2, 2, 1))], params)
            raise AssertionError(f"RoiAlign took {params}")
        except ProbeError as err:
            assert word in str(err), err


def main():
    c = Case(37)
    for case, n in ((align_case, 700), (pool_case, 600), (heat_case, 600)):
        for i in range(scaled(n)):
            case(c, i)
    refusals(c)
    c.done("roi")


with np.errstate(all="ignore"):
    main()
