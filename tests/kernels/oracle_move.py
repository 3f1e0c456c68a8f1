# SPDX-License-Identifier: Apache-2.0
"""Data movement against numpy's own movement, with section 7 for the values."""
import numpy as np

from oracle_common import F, FIXED, PACKED, Case, Enc, O, P, T, i32, moved, quantize, same, scaled, u32

TYPES = FIXED + ("f32", "f16", "i32", "i64", "u8", "b8", "i16", "uq4", "sq4", "uq2", "sq2", "i4", "u2")


def pair(c):
    """Type of the input and of the output: the same type, sometimes another encoding."""
    e = c.enc(TYPES)
    if e.fixed and e.dtype not in PACKED and c.r.random() < 0.5:
        return e, c.enc((e.dtype,))
    return e, e


def check(c, op, e, o, q, want, params=None, what=()):
    got = c.run(op, [e.tensor(q)], [o.out(want.shape)], params)[0]
    same(got, moved(want, e, o), op, e, o, q.shape, *what)


def views(c):
    e, o = pair(c)
    shape = c.shape()
    q = c.array(e, shape)
    check(c, "Reshape", e, o, q, q.reshape(-1) if c.r.random() < 0.5 else q.reshape((1,) + shape[::-1] if len(shape) < 8 else shape))
    perm = c.r.permutation(len(shape))
    check(c, "Transpose", e, o, q, q.transpose(perm), {"perm": u32(perm)}, perm)
    axis = int(c.r.integers(len(shape) + 1))
    check(c, "ExpandDims", e, o, q, np.expand_dims(q, axis), {"axis": u32(axis)})
    ones = [d for d, n in enumerate(shape) if n == 1]
    if ones and len(ones) < len(shape):
        check(c, "Squeeze", e, o, q, q.squeeze(tuple(ones)), {"axes": u32(ones)})
    times = [int(c.pick(1, 1, 2, 3)) for _ in shape]
    if q.size * np.prod(times) < 40000:
        check(c, "Tile", e, o, q, np.tile(q, times), {"multiples": u32(times)}, times)
    axis = int(c.r.integers(len(shape)))
    groups = int(c.pick(*[k for k in range(1, shape[axis] + 1) if shape[axis] % k == 0]))
    m = np.moveaxis(q, axis, -1)
    want = np.moveaxis(m.reshape(m.shape[:-1] + (groups, -1)).swapaxes(-1, -2).reshape(m.shape), -1, axis)
    check(c, "ChannelShuffle", e, o, q, want, {"num_groups": u32(groups), "axis": u32(axis)}, (axis, groups))


def channels(c):
    """One scale per channel, up to 1000 times apart: the stored values move, and the scales with them."""
    t = c.pick("uq8", "sq8", "uq16", "sq16", "sq4")
    shape = tuple(int(c.r.integers(1, 7)) for _ in range(3))
    a = int(c.r.integers(3))
    s, z = np.exp(c.r.uniform(-3.5, 3.5, shape[a])).astype(F), c.r.integers(-5, 6, shape[a])
    q = c.array(Enc(t, 1.0), shape)

    def coded(v, axis, at=slice(None), out=False):
        k = dict(scales=s[at].copy(), offsets=z[at].copy(), axis=axis)
        return O(v.shape, t, **k) if out else T(v, t, **k)

    def one(op, want, axis, params, at=slice(None), ins=None):
        got = c.run(op, ins or [coded(q, a)], [coded(want, axis, at, True)], params)[0]
        same(got, want, op, "channels", t, shape, a)

    perm = c.r.permutation(3)
    one("Transpose", q.transpose(perm), list(perm).index(a), {"perm": u32(perm)})
    flat = q.reshape(shape[0], -1) if a == 0 else q.reshape(-1, shape[2]) if a == 2 else q.reshape(1, shape[0], shape[1], 1, shape[2])
    one("Reshape", flat, {0: 0, 1: 2, 2: 1}[a], {})
    one("ExpandDims", q[None], a + 1, {"axis": u32(0)})
    first, step = int(c.r.integers(shape[a])), int(c.pick(1, 2, -1))
    cut = [slice(None)] * 3
    cut[a] = slice(first, None, step)
    ranges = [[0, n, 1] for n in shape]
    ranges[a] = [first, -1 if step < 0 else shape[a], step]
    one("StridedSlice", q[tuple(cut)], a, {"ranges": i32(ranges)}, cut[a])
    other = (a + 1) % 3
    rest = c.array(Enc(t, 1.0), shape)
    one("Concat", np.concatenate([q, rest], other), a, {"axis": u32(other)}, ins=[coded(q, a), coded(rest, a)])
    if shape[a] > 1:
        k = int(c.r.integers(1, shape[a]))
        lo, hi = np.split(q, [k], a)
        got = c.run("Split", [coded(q, a)], [coded(lo, a, slice(k), True), coded(hi, a, slice(k, None), True)], {"axis": u32(a), "split_index": u32([k])})
        same(got[0], lo, "Split channels"), same(got[1], hi, "Split channels")
        one("Concat", q, a, {"axis": u32(a)}, ins=[coded(lo, a, slice(k)), coded(hi, a, slice(k, None))])
    z[:] = 3
    pick = c.r.integers(0, shape[other], (2, 3)).astype(np.int32)
    one("Gather", np.take(q, pick, other), a + (a > other), {"axis": i32(other)}, ins=[coded(q, a), T(pick, "i32")])


def slice_case(c):
    e, o = pair(c)
    shape = c.shape()
    q = c.array(e, shape)
    ranges, cut, shrink, begin, end = [], [], 0, 0, 0
    for d, n in enumerate(shape):
        step = int(c.pick(1, 1, 2, 3, -1, -2))
        if c.r.random() < 0.2:
            i = int(c.r.integers(n))
            ranges.append([i, i + 1, 1])
            cut.append(i)
            shrink |= 1 << d
        elif step > 0:
            a, b = sorted(int(v) for v in c.r.choice(n + 1, 2, replace=False)) if n > 0 else (0, 1)
            ma, mb = c.r.random() < 0.2, c.r.random() < 0.2
            begin |= ma << d
            end |= mb << d
            ranges.append([a, b if c.r.random() < 0.8 or b != n else n + 5, step])
            cut.append(slice(None if ma else a, None if mb else b, step))
        else:
            a = int(c.r.integers(n))
            b = int(c.r.integers(-1, a))
            ranges.append([a, b, step])
            cut.append(slice(a, None if b < 0 else b, step))
    want = q[tuple(cut)]
    if want.ndim == 0 or want.size == 0:
        return
    check(c, "StridedSlice", e, o, q, np.ascontiguousarray(want), {"ranges": i32(ranges), "begin_mask": u32(begin), "end_mask": u32(end),
                                                                  "shrink_axes": u32(shrink)}, (ranges, begin, end, shrink))


def pad_case(c):
    e, o = pair(c)
    shape = c.shape(1, 4)
    q = c.array(e, shape)
    scheme = int(c.r.integers(4))
    amount = []
    for n in shape:
        most = {0: 3, 1: n, 2: n - 1, 3: 3}[scheme]
        amount.append([int(v) for v in c.r.integers(0, min(most, 4) + 1, 2)] if c.r.random() < 0.7 else [0, 0])
    params = {"scheme": u32(scheme), "pad_amount": u32(amount)}
    if scheme:
        want = np.pad(q, amount, mode={1: "symmetric", 2: "reflect", 3: "edge"}[scheme])
    else:
        value = float(F(c.pick(0.0, 1.0, -2.5, 3.0)))
        if c.r.random() < 0.7:
            params["pad_constant_value"] = P(value, "f32") if e.fixed or q.dtype.kind == "f" else P(int(value), "i32")
        else:
            value = 0.0
        if e.fixed:
            fill = int(quantize(np.array(value, F), e))
        elif e.dtype == "b8":
            fill = int(int(value) != 0)
        else:
            fill = value if q.dtype.kind == "f" else max(int(value), 0) if q.dtype.kind == "u" else int(value)
        want = np.pad(q, amount, constant_values=fill)
    check(c, "Pad", e, o, q, want, params, (scheme, amount))


def joins(c):
    t = c.pick("uq8", "sq8", "uq16", "f32", "i32", "f16", "b8")
    o = c.enc((t,))
    shape = list(c.shape(1, 4))
    axis, n = int(c.r.integers(len(shape))), int(c.r.integers(1, 6))
    encs = [c.pick(o, c.enc((t,))) for _ in range(n)]
    parts = []
    for e in encs:
        s = list(shape)
        s[axis] = int(c.r.integers(1, 6))
        parts.append(c.array(e, s))
    want = np.concatenate([moved(q, e, o) for q, e in zip(parts, encs)], axis)
    same(c.run("Concat", [e.tensor(q) for q, e in zip(parts, encs)], [o.out(want.shape)], {"axis": u32(axis)})[0], want, "Concat", t, axis)
    parts = [c.array(e, shape) for e in encs]
    axis = int(c.r.integers(len(shape) + 1))
    want = np.stack([moved(q, e, o) for q, e in zip(parts, encs)], axis)
    same(c.run("Pack", [e.tensor(q) for q, e in zip(parts, encs)], [o.out(want.shape)], {"axis": u32(axis)})[0], want, "Pack", t, axis)


def splits(c):
    e = c.enc(("uq8", "sq8", "uq16", "f32", "i32", "f16"))
    shape = list(c.shape(2, 4))
    axis = int(c.r.integers(len(shape)))
    shape[axis] = int(c.r.integers(1, 12))
    q = c.array(e, shape)
    cuts = sorted(int(v) for v in c.r.choice(np.arange(1, shape[axis]), int(c.r.integers(1, min(5, shape[axis]))), replace=False)) \
        if shape[axis] > 1 else []
    if cuts:
        pieces = np.split(q, cuts, axis)
        outs = [c.pick(e, c.enc((e.dtype,))) for _ in pieces]
        got = c.run("Split", [e.tensor(q)], [o.out(p.shape) for p, o in zip(pieces, outs)], {"axis": u32(axis), "split_index": u32(cuts)})
        for g, p, o in zip(got, pieces, outs):
            same(g, moved(p, e, o), "Split", e, o, shape, axis, cuts)
    pieces = [np.take(q, i, axis) for i in range(shape[axis])]
    got = c.run("UnPack", [e.tensor(q)], [e.out(p.shape) for p in pieces], {"axis": u32(axis)})
    for g, p in zip(got, pieces):
        same(g, p, "UnPack", e, shape, axis)


def blocks(c):
    e, o = pair(c)
    b, h, w, d, bh, bw = (int(v) for v in c.r.integers(1, 5, 6))
    size = {"block_size": u32([bh, bw])}
    mode = int(c.r.integers(2))
    q = c.array(e, (b, h, w, bh * bw * d))
    want = q.reshape(b, h, w, bh, bw, d).transpose(0, 1, 3, 2, 4, 5) if mode == 0 else q.reshape(b, h, w, d, bh, bw).transpose(0, 1, 4, 2, 5, 3)
    check(c, "DepthToSpace", e, o, q, want.reshape(b, h * bh, w * bw, d), {**size, "mode": u32(mode)})
    q = c.array(e, (b, h * bh, w * bw, d))
    cut = q.reshape(b, h, bh, w, bw, d)
    want = cut.transpose(0, 1, 3, 2, 4, 5) if mode == 0 else cut.transpose(0, 1, 3, 5, 2, 4)
    check(c, "SpaceToDepth", e, o, q, want.reshape(b, h, w, bh * bw * d), {**size, "mode": u32(mode)})
    q = c.array(e, (bh * bw * b, h, w, d))
    whole = q.reshape(bh, bw, b, h, w, d).transpose(2, 3, 0, 4, 1, 5).reshape(b, h * bh, w * bw, d)
    ct, cb = int(c.r.integers(0, (h * bh + 1) // 2)), int(c.r.integers(0, (h * bh) // 2 + 1))
    cl, cr = int(c.r.integers(0, (w * bw + 1) // 2)), int(c.r.integers(0, (w * bw) // 2 + 1))
    want = whole[:, ct:h * bh - cb, cl:w * bw - cr]
    if want.size:
        check(c, "BatchToSpace", e, o, q, np.ascontiguousarray(want), {**size, "crops": u32([[ct, cb], [cl, cr]])})
    pads = [[int(v) for v in c.r.integers(0, 3, 2)] for _ in range(2)]
    hh, ww = -(-(h + sum(pads[0])) // bh) * bh - sum(pads[0]), -(-(w + sum(pads[1])) // bw) * bw - sum(pads[1])
    q = c.array(e, (b, hh, ww, d))
    zero = int(quantize(np.zeros((), F), e)) if e.fixed else 0
    padded = np.pad(q, [[0, 0], *pads, [0, 0]], constant_values=zero)
    ph, pw = padded.shape[1] // bh, padded.shape[2] // bw
    want = padded.reshape(b, ph, bh, pw, bw, d).transpose(2, 4, 0, 1, 3, 5).reshape(-1, ph, pw, d)
    check(c, "SpaceToBatch", e, o, q, want, {**size, "pad_amount": u32(pads)})


def turned(c):
    """Planes that become their transposes, of sizes around the blocks that kernels turn, and images between layouts; on all levels."""
    e = Enc(c.pick("u8", "i16", "f16", "i32", "f32", "i64", "b8"))
    size = [int(c.pick(1, 3, 4, 7, 8, 15, 16, 17, 33, 64, 70)) for _ in range(2)]
    q = c.array(e, (int(c.pick(1, 2, 3)), *size))
    images = q.reshape(q.shape[0], size[0], 1, size[1])
    for isa in c.isas:
        same(c.run("Transpose", [e.tensor(q)], [e.out(q.transpose(0, 2, 1).shape)], {"perm": u32([0, 2, 1])}, isa=isa)[0], q.transpose(0, 2, 1), "turned", isa, e, size)
        want = images.transpose(0, 2, 3, 1)
        same(c.run("Transpose", [e.tensor(images)], [e.out(want.shape)], {"perm": u32([0, 2, 3, 1])}, isa=isa)[0], want, "layout", isa, e, size)


def few_channels(c):
    """Images of one to five channels between layouts, whole and in tiles; on all levels."""
    e = c.enc(("uq8", "sq16", "f32", "f16"))
    n, h, w, ch = int(c.r.integers(1, 3)), int(c.r.integers(1, 40)), int(c.r.integers(1, 150)), int(c.r.integers(1, 6))
    for shape, perm in (((n, ch, h, w), (0, 2, 3, 1)), ((n, h, w, ch), (0, 3, 1, 2))):
        q = c.array(e, shape)
        want = q.transpose(perm)
        for isa in c.isas:
            for tiles in (1, 3):
                got = c.p.run("Transpose", [e.tensor(q)], [e.out(want.shape)], {"perm": u32(list(perm))}, isa=isa, tiles=tiles)[0]
                same(got, want, "few channels", isa, e, shape, tiles)


def main():
    c = Case(18)
    for _ in range(scaled(250)):
        views(c)
        slice_case(c)
        pad_case(c)
        joins(c)
        splits(c)
        blocks(c)
        channels(c)
    for _ in range(scaled(250)):
        turned(c)
    for _ in range(scaled(60)):
        few_channels(c)
    assert len(c.isas) == 1 or "move_turn_avx2" in c.kernels, "nothing was turned"
    c.done("move")


with np.errstate(all="ignore"):
    main()
