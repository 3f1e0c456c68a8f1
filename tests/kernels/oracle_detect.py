# SPDX-License-Identifier: Apache-2.0
"""Detection operators against docs/numerics.md section 13, box by box in f32 scalars."""
import math

import numpy as np

from oracle_common import F, FIXED, Case, Enc, ProbeError, O, T, b8, f32, i32, lean, same, scaled, store, u32

I32, U32, F32 = Enc("i32"), Enc("u32"), Enc("f32")
CLIP = F(math.log(1000 / 16))


def exp(x):
    return F(np.exp(np.float64(x)))


def close(got, want, e, *what):
    """Boxes behind an exponential: numpy's may differ in the last bit of f64, which survives the rounding to f32 once in a million."""
    if e.fixed:
        assert (np.abs(got.astype(np.int64) - store(want, e).astype(np.int64)) <= 1).all(), what
    else:
        w = store(want, e)
        same(np.where(np.isclose(got, w, rtol=3e-7 if e.dtype == "f32" else 2e-3, atol=1e-30, equal_nan=True), w, got), w, *what)


def iou(a, b):
    a0, a1, b0, b1 = (f(x[:2], x[2:]) for x in (a, b) for f in (np.minimum, np.maximum))
    area_a, area_b = ((hi - lo)[0] * (hi - lo)[1] for lo, hi in ((a0, a1), (b0, b1)))
    both = np.maximum(np.minimum(a1, b1) - np.maximum(a0, b0), F(0))
    both = both[0] * both[1]
    return both / (area_a + area_b - both) if area_a > 0 and area_b > 0 else F(0)


def order(cand):
    return sorted(cand, key=lambda c: (-c[0], c[1]))


def hard(cand, boxes, threshold, most=None, eta=1.0):
    kept = []
    for s, i in order(cand):
        if most is not None and len(kept) >= most:
            break
        if all(not iou(boxes[k], boxes[i]) > threshold for _, k in kept):
            kept.append((s, i))
            if eta < 1 and threshold > 0.5:
                threshold = F(threshold * F(eta))
    return kept


def soft(cand, boxes, least, weight, most):
    kept, cand = [], list(cand)
    while cand and len(kept) < most:
        best = order(cand)[0]
        if not best[0] > least:
            break
        cand.remove(best)
        kept.append(best)
        cand = [(weight(s, iou(boxes[best[1]], boxes[i])), i) for s, i in cand]
        cand = [c for c in cand if c[0] > least]
    return kept


def random_boxes(c, n, size=1.0):
    """y1, x1, y2, x2 (or x, y): crowded, some equal, some empty, some with swapped corners."""
    a = c.r.uniform(-0.2, 0.9, (n, 2)) * size
    box = np.concatenate([a, a + c.r.uniform(0, 0.6, (n, 2)) * size], 1).astype(F)
    for i in range(1, n):
        if c.r.random() < 0.25:
            box[i] = box[c.r.integers(i)] + (c.r.normal(0, 0.02 * size, 4).astype(F) if c.r.random() < 0.7 else 0)
        elif c.r.random() < 0.05:
            box[i, 2:] = box[i, :2]
        elif c.r.random() < 0.05:
            box[i] = box[i][[2, 3, 0, 1]]
    return box


def random_scores(c, shape):
    s = c.r.uniform(0, 1, shape).astype(F)
    how = c.r.integers(5)
    if how == 0:
        s = np.round(s * 4) / F(4)  # many ties
    elif how == 1:
        s *= F(0.01)  # mostly below the threshold
    elif how == 2:
        s.flat[c.r.integers(s.size)] = c.pick(np.inf, -np.inf)  # the best, or never good enough
        s.flat[c.r.integers(s.size)] = np.nan  # never a candidate
    return s


def coded(c, x, types=("f32", "f32", "f16") + FIXED):
    """An array stored in some type, and the f32 numbers that this means."""
    t = c.pick(*(types if np.isfinite(x).all() else [t for t in types if t[0] == "f"]))
    if t[1] == "q":
        hi = float(np.nanmax(np.abs(x))) or 1.0
        e = Enc(t, F(2 * hi / (255 if t.endswith("8") else 65535)), -(128 if t == "uq8" else 32768 if t == "uq16" else 0))
    else:
        e = Enc(t)
    q = store(x, e)
    return e.tensor(q), e.real(q), e


def real_out(c, types=("f32", "f32", "uq16", "sq8")):
    t = c.pick(*types)
    return Enc(t, F(0.01), -100 if t[0] == "u" else 0) if t[1] == "q" else Enc(t)


def nms_case(c, i):
    b, n, k, room = int(c.r.integers(1, 3)), int(c.pick(1, 5, 12, 40)), int(c.r.integers(1, 4)), int(c.pick(1, 4, 30))
    center = i % 2
    box = np.stack([random_boxes(c, n) for _ in range(b)])
    bt, boxes, _ = coded(c, box)
    st, scores, _ = coded(c, random_scores(c, (b, k, n)))
    thr, least, most = F(c.pick(0, 0.3, 0.5, 1)), F(c.pick(0, 0.3, 2)), int(c.pick(0, 1, 3, 100))
    if center:
        x, y, w, h = boxes[..., 0], boxes[..., 1], boxes[..., 2] * F(0.5), boxes[..., 3] * F(0.5)
        boxes = np.stack([x - w, y - h, x + w, y + h], -1)
    want = []
    for bb in range(b):
        for cc in range(k):
            cand = [(s, j) for j, s in enumerate(scores[bb, cc]) if s > least]
            want += [(bb, cc, j) for _, j in hard(cand, boxes[bb], thr, most)]
    want = want[:room]
    params = {"iou_threshold": f32(thr), "score_threshold": f32(least), "max_boxes_selected": u32(most), "center_point_box": u32(center)}
    outs = [I32.out((room, 3))] + ([U32.out((1,))] if i % 3 else [])
    got = c.run("NonMaxSuppression", [bt, st], outs, lean(c, params, score_threshold=0, max_boxes_selected=0, center_point_box=0))
    full = np.full((room, 3), -1, np.int32)
    full[:len(want)] = np.array(want).reshape(-1, 3)
    same(got[0], full, "NonMaxSuppression", params, boxes, scores)
    assert len(got) == 1 or got[1][0] == len(want)


def padded(rows, room, shape, dtype):
    out = np.zeros((room,) + shape, dtype)
    if rows:
        out[:len(rows)] = np.array(rows).reshape((len(rows),) + shape)
    return out


def multi_case(c, i):
    b, n, k, room = int(c.r.integers(1, 3)), int(c.pick(1, 5, 12, 30)), int(c.r.integers(1, 4)), int(c.pick(1, 4, 60))
    bt, boxes, _ = coded(c, np.stack([random_boxes(c, n) for _ in range(b)]))
    st, scores, _ = coded(c, random_scores(c, (b, n, k)))
    thr, least, sigma = F(c.pick(0, 0.3, 0.5)), F(c.pick(0, 0.3, 2)), F(c.pick(0, 0, 0.5, 0.1))
    fe = c.enc(FIXED + ("f32", "i32"))
    feature = c.array(fe, (b, n, 3), special=False)
    nibbles = c.r.integers(0, 16, (b, n)).astype(np.uint8)
    be, se = real_out(c), real_out(c, ("f32", "uq8", "f16"))
    outs = [[] for _ in range(6)]
    for bb in range(b):
        hits = []
        for cc in range(k):
            cand = [(s, j) for j, s in enumerate(scores[bb, :, cc]) if s > least]
            if sigma:
                kept = soft(cand, boxes[bb], least, lambda s, o: F(s * exp(F(-F(o * o) / F(2 * sigma)))) if not o > thr else F(-np.inf), 10 ** 9)
            else:
                kept = hard(cand, boxes[bb], thr)
            hits += [(s, cc, r, j) for r, (s, j) in enumerate(kept)]
        hits = sorted(hits, key=lambda h: (-h[0], h[1], h[2]))[:room]
        outs[0].append(padded([boxes[bb, h[3]] for h in hits], room, (4,), F))
        outs[1].append(padded([h[0] for h in hits], room, (), F))
        outs[2].append(padded([h[1] for h in hits], room, (), np.int32))
        outs[3].append(len(hits))
        zero = int(store(F(0), fe)) if fe.fixed else 0
        outs[4].append(np.concatenate([feature[bb, [h[3] for h in hits]], np.full((room - len(hits), 3), zero, feature.dtype)]))
        outs[5].append(padded([nibbles[bb, h[3]] for h in hits], room, (), np.uint8))
    features = i % 3
    tensors = [fe.tensor(feature), T(nibbles, "uq4", scale=1.0)][:features]
    rooms = [fe.out((b, room, 3)), O((b, room), "uq4", scale=1.0)][:features]
    params = {"iou_threshold": f32(thr), "score_threshold": f32(least), "soft_nms_sigma": f32(sigma)}
    got = c.run("MultiClassNms", [bt, st] + tensors, [be.out((b, room, 4)), se.out((b, room)), I32.out((b, room)), U32.out((b,))] + rooms,
                lean(c, params, score_threshold=0, soft_nms_sigma=0))
    what = ("MultiClassNms", params, boxes, scores)
    same(got[2], np.stack(outs[2]), *what)
    same(got[3], np.array(outs[3], np.uint32), *what)
    same(got[0], store(np.stack(outs[0]), be), *what)
    (close if sigma else lambda g, w, e, *a: same(g, store(w, e), *a))(got[1], np.stack(outs[1]), se, *what)
    for g, w in zip(got[4:], outs[4:]):
        same(g, np.stack(w), *what)


def combined_case(c, i):
    b, n, k, room = int(c.r.integers(1, 3)), int(c.pick(1, 5, 12, 30)), int(c.r.integers(1, 4)), int(c.pick(1, 4, 40))
    own = k if c.r.integers(2) else 1
    bt, boxes, _ = coded(c, np.stack([np.stack([random_boxes(c, n) for _ in range(own)], 1) for _ in range(b)]))
    st, scores, _ = coded(c, random_scores(c, (b, n, k)))
    thr, least, each, total = F(c.pick(0, 0.3, 0.5)), F(c.pick(0, 0.3, 2)), int(c.pick(0, 1, 3, 50)), int(c.pick(0, 2, 10, 100))
    pad, clip = i % 2, i // 2 % 2
    most = min(room, total, each * k if pad else total)
    rows, values, classes, counts = [], [], [], []
    for bb in range(b):
        hits = []
        for cc in range(k):
            mine = boxes[bb, :, cc if own > 1 else 0]
            kept = hard([(s, j) for j, s in enumerate(scores[bb, :, cc]) if s > least], mine, thr, each)
            hits += [(s, cc, j, mine[j]) for s, j in kept]
        hits = sorted(hits, key=lambda h: (-h[0], h[1], h[2]))[:most]
        rows.append(padded([np.clip(h[3], F(0), F(1)) if clip else h[3] for h in hits], room, (4,), F))
        values.append(padded([h[0] for h in hits], room, (), F))
        classes.append(padded([h[1] for h in hits], room, (), F))
        counts.append(len(hits))
    be, se, ce = real_out(c), real_out(c), c.pick(F32, I32, Enc("uq8", F(1), 0))
    params = {"iou_threshold": f32(thr), "score_threshold": f32(least), "max_boxes_per_class": u32(each), "max_total_boxes": u32(total),
              "pad_per_class": b8(pad), "clip_boxes": b8(clip)}
    got = c.run("CombinedNms", [bt, st], [be.out((b, room, 4)), se.out((b, room)), ce.out((b, room)), I32.out((b,))],
                lean(c, params, iou_threshold=0.5, score_threshold=0, pad_per_class=0, clip_boxes=1))
    what = ("CombinedNms", params, boxes, scores)
    same(got[3], np.array(counts, np.int32), *what)
    same(got[2], np.stack(classes).astype(got[2].dtype), *what)
    same(got[1], store(np.stack(values), se), *what)
    same(got[0], store(np.stack(rows), be), *what)


def detection_case(c, i):
    fast, own, bg_in, bg_out = i % 2 == 0, i // 2 % 2, i // 4 % 2, i // 8 % 2
    b, n, k, room = int(c.r.integers(1, 3)), int(c.pick(1, 5, 12, 30)), int(c.r.integers(1, 4)), int(c.pick(1, 4, 40))
    types = ("f32", "f32", "uq16", "uq8")
    st, scores, _ = coded(c, random_scores(c, (b, n, k)), types)
    dt, deltas, _ = coded(c, c.r.normal(0, 0.5, (b, n * (k if own else 1), 4)).astype(F), types)
    shared = c.r.integers(2)
    at, anchors, _ = coded(c, c.r.uniform(0.1, 0.9, ((1 if shared else b) * n, 4)).astype(F), types)
    anchors = np.broadcast_to(anchors.reshape(1, n, 4), (b, n, 4)) if shared or b == 1 else anchors.reshape(b, n, 4)
    factors = np.array([0.1, 0.1, 0.2, 0.2], F) * F(c.pick(1, 10))
    thr, least, bg = F(c.pick(0.3, 0.7)), F(c.pick(0, 0.3, 2)), int(c.r.integers(0, 3))
    eta, limit = F(c.pick(1, 0.8)), int(c.pick(-1, 0, 3, 100))
    most = room if limit < 0 else min(room, limit)

    def decoded(bb, j, cc):
        d, p = deltas[bb, j * k + cc if own else j], anchors[bb, j]
        out = np.zeros(4, F)
        for a in range(2):
            middle = F(F(F(d[a] * factors[a]) * p[a + 2]) + p[a])
            half = F(F(exp(F(d[a + 2] * factors[a + 2])) * p[a + 2]) * F(0.5))
            out[a], out[a + 2] = middle - half, middle + half
        return out

    rows, values, classes, counts = [], [], [], []
    for bb in range(b):
        hits = []
        if fast:
            best = {}
            for j in range(n):
                for cc in range(k):
                    s = scores[bb, j, cc]
                    if (cc != bg or bg_in) and s > least and (j not in best or s > best[j][0]):
                        best[j] = (s, cc)
            boxes = {j: decoded(bb, j, cc) for j, (_, cc) in best.items()}
            kept = hard([(s, j) for j, (s, _) in best.items()], boxes, thr, None, eta)
            hits = [(s, best[j][1], j, boxes[j]) for s, j in kept if best[j][1] != bg or bg_out]
        else:
            for cc in range(k):
                if cc == bg and not (bg_in and bg_out):
                    continue
                cand = [(s, j) for j, s in enumerate(scores[bb, :, cc]) if s > least]
                boxes = {j: decoded(bb, j, cc) for _, j in cand}
                hits += [(s, cc, j, boxes[j]) for s, j in hard(cand, boxes, thr, None, eta)]
            hits.sort(key=lambda h: (-h[0], h[1], h[2]))
        hits = hits[:most]
        rows.append(padded([h[3] for h in hits], room, (4,), F))
        values.append(padded([h[0] for h in hits], room, (), F))
        classes.append(padded([h[1] for h in hits], room, (), np.int32))
        counts.append(len(hits))
    be, se = real_out(c, ("f32", "f32", "uq16")), real_out(c, ("f32", "uq8", "uq16"))
    params = {"delta_scaling_factors": f32(factors), "confidence_threshold": f32(least), "iou_threshold": f32(thr), "nms_type": u32(0 if fast else 1),
              "background_class_idx": u32(bg), "use_bg_in_nms": b8(bg_in), "output_background": b8(bg_out), "share_location": b8(not own),
              "nms_eta": f32(eta), "detection_limit": i32(limit)}
    got = c.run("DetectionOutput", [st, dt, at], [se.out((b, room)), be.out((b, room, 4)), I32.out((b, room)), U32.out((b,))],
                lean(c, params, nms_type=0, background_class_idx=0, use_bg_in_nms=0, output_background=1, share_location=1, nms_eta=1, detection_limit=-1))
    what = ("DetectionOutput", params, scores)
    same(got[3], np.array(counts, np.uint32), *what)
    same(got[2], np.stack(classes), *what)
    same(got[0], store(np.stack(values), se), *what)
    close(got[1], np.stack(rows), be, *what)


def limit_case(c, i):
    method, n, k, room = i % 3, int(c.pick(1, 6, 15, 30)), int(c.r.integers(1, 5)), int(c.pick(1, 4, 60))
    bt, boxes, _ = coded(c, np.concatenate([random_boxes(c, n, 50.0) for _ in range(k)], 1))
    st, scores, _ = coded(c, random_scores(c, (n, k)))
    which = np.sort(c.r.integers(0, 3, n)).astype(np.int32)
    if c.r.random() < 0.2:
        which[0] = -1
    thr, sigma, after, least, before = F(c.pick(0.3, 0.6)), F(c.pick(0.5, 0.2)), F(c.pick(0, 0.2)), F(c.pick(0, 0.3, 2)), int(c.pick(-1, -1, 2, 0))
    weights = [None, lambda s, o: F(s * F(F(1) - o)) if o > thr else s, lambda s, o: F(s * exp(F(-F(o * o) / sigma)))]
    hits = []
    for bb in sorted(set(int(v) for v in which if v >= 0)):
        for cc in range(1, k):
            mine = boxes[:, cc * 4:cc * 4 + 4]
            cand = order([(s, j) for j, s in enumerate(scores[:, cc]) if s > least and which[j] == bb])
            cand = cand[:before] if before >= 0 else cand
            kept = hard(cand, mine, thr) if method == 0 else soft(cand, mine, after, weights[method], 10 ** 9)
            hits += [(s, cc, bb, j, mine[j]) for s, j in kept]
    hits = hits[:room]
    be, se, rest = real_out(c), F32, i // 3 % 2
    outs = [be.out((room, 4)), se.out((room,)), I32.out((room,)), I32.out((room,))]
    outs += [I32.out((3,)), I32.out((room,)), I32.out((k,))] if rest else []
    splits = [I32.tensor(np.bincount(np.maximum(which, 0), minlength=3).astype(np.int32))] if rest else []
    params = {"nms_kernel_method": i32(method), "nms_score_threshold": f32(after), "score_threshold": f32(least), "pre_nms_limit": i32(before),
              "iou_threshold": f32(thr), "sigma": f32(sigma)}
    got = c.run("BoxWithNmsLimit", [bt, st, I32.tensor(which)] + splits, outs, lean(c, params, score_threshold=0, pre_nms_limit=-1))
    what = ("BoxWithNmsLimit", params, boxes, scores, which)
    for at, col in ((2, 1), (3, 2), (5, 3)):
        if at < len(got):
            want = np.full(room, -1, np.int32)
            want[:len(hits)] = [h[col] for h in hits]
            same(got[at], want, *what)
    same(got[0], store(padded([h[4] for h in hits], room, (4,), F), be), *what)
    close(got[1], padded([h[0] for h in hits], room, (), F), se, *what)
    if rest:
        same(got[4], np.bincount([h[2] for h in hits], minlength=3).astype(np.int32), *what)
        same(got[6], np.bincount([h[1] for h in hits], minlength=k).astype(np.int32)[:k], *what)


# ---- boxes -----------------------------------------------------------------------------------------------------------

def move_corners(box, d, size):
    """size: width, height"""
    out = np.zeros(4, F)
    for k in range(2):
        span, middle = F(box[k + 2] - box[k]), F(F(box[k] + box[k + 2]) * F(0.5))
        to, half = F(middle + F(d[k] * span)), F(F(exp(d[k + 2]) * span) * F(0.5))
        out[k], out[k + 2] = (min(max(v, F(0)), size[k]) for v in (F(to - half), F(to + half)))
    return out


def aligned_case(c, i):
    n, k, b = int(c.pick(1, 5, 40)), int(c.r.integers(1, 4)), int(c.r.integers(1, 4))
    bt, boxes, _ = coded(c, random_boxes(c, n, 50.0))
    dt, deltas, _ = coded(c, c.r.normal(0, 0.7, (n, k * 4)).astype(F))
    sizes = c.r.uniform(20, 60, (b, 2)).astype(F)
    which = c.r.integers(-1 if i % 4 == 0 else 0, b, n).astype(np.int32)
    weights = np.array(c.pick([1, 1, 1, 1], [10, 10, 5, 5]), F)
    want = np.zeros((n, k, 4), F)
    for j in range(n):
        for cc in range(k):
            if which[j] >= 0:
                want[j, cc] = move_corners(boxes[j], deltas[j, cc * 4:cc * 4 + 4] / weights, sizes[which[j]][::-1])
    e = real_out(c)
    outs = [e.out((n, k * 4))] + ([I32.out((b,))] if i % 2 else [])
    got = c.run("AxisAlignedBboxTransform", [bt, dt, I32.tensor(which), F32.tensor(sizes)], outs, lean(c, {"weights": f32(weights)}, weights=1))
    close(got[0], want.reshape(n, -1), e, "AxisAlignedBboxTransform", boxes, deltas, sizes, which)
    if i % 2:
        same(got[1], np.array([(which == v).sum() for v in range(b)], np.int32), "AxisAlignedBboxTransform counts")


def rotated_case(c, i):
    n, k = int(c.pick(1, 5, 40)), int(c.r.integers(1, 4))
    b = int(c.r.integers(1, 4)) if i % 2 else 1
    boxes = np.concatenate([c.r.uniform(0, 50, (n, 2)), c.r.uniform(1, 30, (n, 2)), c.r.uniform(-100, 100, (n, 1))], 1).astype(F)
    deltas = c.r.normal(0, 1.0, (n, k * 5)).astype(F)
    deltas[0, 2] = 50
    info = np.concatenate([c.r.uniform(20, 60, (b, 2)), c.r.uniform(0.5, 2, (b, 1))], 1).astype(F)
    which = c.r.integers(0, b, n).astype(np.int32)
    weights, scale, threshold = np.array(c.pick([1, 1, 1, 1], [10, 10, 5, 5]), F), i // 2 % 2, F(c.pick(-1, 1, 60, 1000))
    bounds = c.pick(None, (-90, 90), (-180, 180))
    want = np.zeros((n, k, 5), F)
    for j in range(n):
        h, w, s = info[which[j]]
        limit = [F(np.floor(F(w / s) + F(0.5))), F(np.floor(F(h / s) + F(0.5)))]
        box = np.append(boxes[j, :4] / s, boxes[j, 4])
        for cc in range(k):
            d, o = deltas[j, cc * 5:cc * 5 + 5], np.zeros(5, F)
            for a in range(2):
                o[a] = F(F(d[a] / weights[a]) * box[a + 2]) + box[a]
                o[a + 2] = exp(min(F(d[a + 2] / weights[a + 2]), CLIP)) * box[a + 2]
            o[4] = F(F(d[4] * F(180)) / F(math.pi)) + box[4]
            if bounds:
                o[4] = F(o[4] + F(bounds[1] - bounds[0])) if o[4] < bounds[0] else F(o[4] - F(bounds[1] - bounds[0])) if o[4] > bounds[1] else o[4]
            if abs(o[4]) <= threshold:
                for a in range(2):
                    lo, hi = (min(max(F(o[a] + sign * F(o[a + 2] * F(0.5))), F(0)), limit[a]) for sign in (F(-1), F(1)))
                    o[a], o[a + 2] = F(F(lo + hi) * F(0.5)), F(hi - lo)
            if scale:
                o[:4] = o[:4] * s
            want[j, cc] = o
    e, ce = real_out(c, ("f32", "f16")), c.pick(I32, F32)
    params = {"weights": f32(weights), "apply_scale": b8(scale), "angle_clip_threshold": f32(threshold)}
    if bounds:
        params["angle_bounds"] = i32(bounds)
    ins = [F32.tensor(boxes), F32.tensor(deltas), F32.tensor(info)] + ([I32.tensor(which)] if i % 2 else [])
    got = c.run("BboxTransform", ins, [e.out((n, k * 5)), ce.out((b,))], lean(c, params, apply_scale=1, angle_clip_threshold=-1))
    assert np.allclose(got[0].astype(F), want.reshape(n, -1), rtol=1e-3 if e.dtype == "f16" else 2e-6, atol=1e-2 if e.dtype == "f16" else 1e-4), params
    same(got[1], np.array([(which == v).sum() for v in range(b)]).astype(got[1].dtype), "BboxTransform counts")


def proposals_case(c, i):
    b, h, w, a, room = (int(v) for v in (c.r.integers(1, 3), c.r.integers(1, 5), c.r.integers(1, 5), c.r.integers(1, 4), c.pick(1, 5, 60)))
    st, scores, _ = coded(c, random_scores(c, (b, h, w, a)))
    dt, deltas, _ = coded(c, c.r.normal(0, 0.6, (b, h, w, a * 4)).astype(F))
    if i % 5 == 0:
        dt, deltas = F32.tensor(deltas * F(8)), deltas * F(8)
    anchors = random_boxes(c, a, 20.0)
    sizes, ratio = c.r.uniform(20, 60, (b, 2)).astype(F), np.array(c.pick([8, 8], [16, 4]), F)
    thr, least, clip = F(c.pick(0.3, 0.7)), F(c.pick(0, 5, 100)), i % 2
    before, after = c.pick(None, 3, 10), c.pick(None, 0, 2, 5)
    hits = []
    for bb in range(b):
        cand = order([(s, j) for j, s in enumerate(scores[bb].reshape(-1)) if not np.isnan(s)])[:before]
        boxes, keep = {}, []
        for s, j in cand:
            y, x, k = j // a // w, j // a % w, j % a
            d = deltas[bb].reshape(-1, 4)[j].copy()
            if clip:
                d[2:] = np.minimum(d[2:], CLIP)
            shift = np.array([F(x) * ratio[1], F(y) * ratio[0]] * 2, F)
            boxes[j] = move_corners(anchors[k] + shift, d, sizes[bb][::-1])
            if F(boxes[j][2] - boxes[j][0]) >= least and F(boxes[j][3] - boxes[j][1]) >= least:
                keep.append((s, j))
        hits += [(s, bb, boxes[j]) for s, j in hard(keep, boxes, thr, after)]
    hits = hits[:room]
    params = {"img_size_ratio": f32(ratio), "min_size": f32(least), "iou_threshold": f32(thr), "bbox_xform_clip": b8(clip)}
    for name, v in (("pre_nms_limit", before), ("post_nms_limit", after)):
        if v is not None:
            params[name] = u32(v)
    be, se = real_out(c), F32
    got = c.run("GenerateProposals", [st, dt, F32.tensor(anchors), F32.tensor(sizes)], [se.out((room,)), be.out((room, 4)), I32.out((room,))],
                lean(c, params, min_size=0, bbox_xform_clip=0))
    want = np.full(room, -1, np.int32)
    want[:len(hits)] = [t[1] for t in hits]
    what = ("GenerateProposals", params, scores, anchors)
    same(got[2], want, *what)
    same(got[0], store(padded([t[0] for t in hits], room, (), F), se), *what)
    close(got[1], padded([t[2] for t in hits], room, (4,), F), be, *what)


def collect_case(c, _):
    given = int(c.r.integers(1, 6))
    levels, top, room = int(c.r.integers(1, 6)), int(c.pick(0, 3, 2000)), int(c.pick(1, 5, 50))
    counts = [int(c.pick(1, 4, 12)) for _ in range(given)]
    rois = [np.concatenate([c.r.integers(0, 3, (n, 1)), random_boxes(c, n, 40.0)], 1).astype(F) for n in counts]
    scores = [random_scores(c, (n,)) for n in counts]
    pool = [(s, lv, j) for lv in range(min(given, levels)) for j, s in enumerate(scores[lv]) if not np.isnan(s)]
    pool = sorted(pool, key=lambda t: (-t[0], t[1], t[2]))[:min(top, room)]
    e = real_out(c)
    ins = [F32.tensor(r) for r in rois] + [None] * (5 - given) + [F32.tensor(s) for s in scores]
    got = c.run("CollectRpnProposals", ins, [e.out((room, 5))], lean(c, {"rpn_min_level": u32(2), "rpn_max_level": u32(1 + levels), "post_nms_top": u32(top)}, rpn_min_level=2, rpn_max_level=6, post_nms_top=2000))
    same(got[0], store(padded([rois[lv][j] for _, lv, j in pool], room, (5,), F), e), "CollectRpnProposals", counts, levels, top)


def distribute_case(c, _):
    n, outs, e = int(c.pick(1, 6, 40)), int(c.r.integers(1, 5)), F32
    rois = np.concatenate([c.r.integers(0, 3, (n, 1)), random_boxes(c, n, float(c.pick(30, 500, 3000)))], 1).astype(F)
    rois[0, 1:] = c.pick([0, 0, 224, 224], [0, 0, 0, 5], [0, 0, 448, 448], [0, 0, np.nan, 3], [0, 0, 1e38, 1e38])
    low, high, scale, level = 2, int(c.pick(2, 4, 5)), 224, 4
    rooms = [int(c.pick(1, 5, 40)) for _ in range(outs)]
    used, want, restore = [0] * outs, [np.zeros((r, 5), F) for r in rooms], np.full(n, -1, np.int32)
    for j, r in enumerate(rois):
        ratio = F(np.sqrt(F(F(r[3] - r[1]) * F(r[4] - r[2]))) / F(scale))
        lv = low if not ratio > 0 else high if np.isinf(ratio) else min(max(level + int(np.frexp(ratio)[1]) - 1, low), high)
        at = lv - low
        if at < outs and used[at] < rooms[at]:
            want[at][used[at]] = r
            restore[j] = sum(rooms[:at]) + used[at]
            used[at] += 1
    ie = c.pick(I32, U32)
    got = c.run("DistributeFpnProposals", [e.tensor(rois)], [ie.out((n,))] + [e.out((r, 5)) for r in rooms],
                lean(c, {"roi_min_level": u32(low), "roi_max_level": u32(high), "roi_canonical_scale": u32(scale), "roi_canonical_level": u32(level)},
                     roi_min_level=2, roi_max_level=5, roi_canonical_scale=224, roi_canonical_level=4))
    same(got[0], restore.astype(got[0].dtype), "DistributeFpnProposals", rois, rooms, high)
    for g, w in zip(got[1:], want):
        same(g, w, "DistributeFpnProposals", rois, rooms, high)


def refusals(c):
    z = np.zeros
    for op, ins, outs, params, word in (
            ("DetectionOutput", [F32.tensor(z((1, 4, 2), F)), F32.tensor(z((1, 4, 4), F)), F32.tensor(z((4, 4), F))],
             [F32.out((1, 3)), F32.out((1, 3, 4)), I32.out((1, 3)), U32.out((1,))],
             {"delta_scaling_factors": f32([1] * 4), "confidence_threshold": f32(0), "iou_threshold": f32(0), "share_location": b8(0)}, "deltas"),
            ("MultiClassNms", [F32.tensor(z((1, 4, 4), F)), F32.tensor(z((1, 4, 2), F)), F32.tensor(z((1, 3, 2), F))],
             [F32.out((1, 3, 4)), F32.out((1, 3)), I32.out((1, 3)), U32.out((1,)), F32.out((1, 3, 2))], {"iou_threshold": f32(0)}, "feature"),
            ("CollectRpnProposals", [F32.tensor(z((1, 5), F))] + [None] * 4 + [F32.tensor(z(1, F))], [F32.out((1, 5))],
             {"rpn_min_level": u32(5), "rpn_max_level": u32(3)}, "rpn_max_level")):
        try:
            c.run(op, ins, outs, params)
            raise AssertionError(f"{op} took {params}")
        except ProbeError as err:
            assert word in str(err), err


def main():
    c = Case(41)
    for case, n in ((nms_case, 400), (multi_case, 480), (combined_case, 320), (detection_case, 480), (limit_case, 480), (aligned_case, 160),
                    (rotated_case, 160), (proposals_case, 320), (collect_case, 200), (distribute_case, 240)):
        for i in range(scaled(n)):
            case(c, i)
    refusals(c)
    c.done("detect")


with np.errstate(all="ignore"):
    main()
