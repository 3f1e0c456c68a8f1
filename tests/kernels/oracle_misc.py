# SPDX-License-Identifier: Apache-2.0
"""Shapes, constants, random numbers, transforms, selection, sparse tensors and attention against docs/numerics.md sections 14 and 15."""
import itertools
import math

import numpy as np

from oracle_common import F, FIXED, NUMPY, O, RANGE, Case, Enc, P, ProbeError, T, b8, f32, lean, moved, near, same, scaled, store, u32

TYPES = FIXED + ("f32", "f16")
I32, U32, F32 = Enc("i32"), Enc("u32"), Enc("f32")


def like(c, e):
    """The same type with another encoding."""
    return c.pick(e, c.enc((e.dtype,)))


def shape_case(c, _):
    e = c.enc(TYPES + ("i32", "b8"))
    dims = c.shape(1, 5)
    start, end = int(c.r.integers(0, len(dims))), int(c.r.integers(1, 9))
    want = np.array(dims[start:end])
    params = {"start": u32(start), "end": u32(end)} if len(want) else {}
    want = want if len(want) else np.array(dims)
    o = c.pick(U32, I32, Enc("i64"))
    got = c.run("Shape", [e.tensor(np.zeros(dims, NUMPY[e.dtype]))], [o.out(want.shape)], params)[0]
    same(got, want.astype(got.dtype), "Shape", dims, params)


def constant_case(c, _):
    o = c.enc(TYPES + ("i32", "u8", "i64", "b8", "f64", "uq4"))
    dims, t = c.shape(1, 4), c.pick("f32", "i32", "i64")
    v = np.asarray(c.pick(0, 1, 3, -2, 2 ** 40 + 1 if t == "i64" else 7, 2.75), NUMPY[t])
    if o.dtype == "b8":
        want = np.full(dims, v != 0)
    elif o.dtype == "uq4":
        o = Enc("uq4", F(0.5), -3)
        want = np.full(dims, np.clip(np.rint(F(v) / F(0.5)) + 3, 0, 15))
    elif o.fixed or o.dtype in ("f32", "f16"):
        want = np.full(dims, store(F(v), o))
    elif o.dtype == "f64":
        want = np.full(dims, np.float64(v))
    else:
        want = np.full(dims, np.clip(int(v), *RANGE[o.dtype]))
    got = c.run("ConstantOfShape", [I32.tensor(np.array(dims, np.int32))], [o.out(dims)], {"value": P(v, t)})[0]
    same(got, want.astype(got.dtype), "ConstantOfShape", o, v, t)


def bits(seed, i):
    m = 2 ** 64 - 1

    def mix(x):
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & m
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb & m
        return x ^ (x >> 31)

    return mix((mix(seed + 0x9e3779b97f4a7c15 & m) + (i + 1) * 0x9e3779b97f4a7c15) & m)


def random_case(c, i):
    op = ("RandomUniformLike", "RandomNormalLike")[i % 2]
    o, dims = c.enc(TYPES), c.shape(1, 3, total=2000)
    seed = F(c.pick(0, 1, -3.5, 1e30))
    a, b = F(c.pick(0, -2)), F(c.pick(1, 3))
    s = int(seed.view(np.uint32)) if i % 3 else 0
    n = int(np.prod(dims))
    if op == "RandomUniformLike":
        want = np.array([a + (b - a) * (F(bits(s, j) >> 40) * F(2.0 ** -24)) for j in range(n)], F)
        params = {"low": f32(a), "high": f32(b)}
    else:
        z = [math.sqrt(-2 * math.log(((bits(s, 2 * j) >> 11) + 1) / 2.0 ** 53)) * math.cos(2 * math.pi * ((bits(s, 2 * j + 1) >> 11) / 2.0 ** 53))
             for j in range(n)]
        want = np.float64(a) + np.float64(b) * np.array(z)
        params = {"mean": f32(a), "scale": f32(b)}
    ins = [I32.tensor(np.array(dims, np.int32))] + ([F32.tensor(np.array([seed]))] if i % 3 else [])
    got = c.run(op, ins, [o.out(dims)], lean(c, params, low=0, high=1, mean=0, scale=1))[0]
    want = want.reshape(dims)
    if op == "RandomUniformLike":
        same(got, store(want, o), op, o, seed)
    elif o.fixed:
        assert (np.abs(got.astype(np.int64) - store(want, o).astype(np.int64)) <= 1).all()
    else:
        near(got, want, 4, op, o, seed)


def moments(c):
    """The stream looks like what its name says."""
    n = 200000
    u = c.run("RandomUniformLike", [I32.tensor(np.array([n], np.int32))], [F32.out((n,))], {})[0].astype(np.float64)
    z = c.run("RandomNormalLike", [I32.tensor(np.array([n], np.int32))], [F32.out((n,))], {})[0].astype(np.float64)
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.004 and abs(u.var() - 1 / 12) < 0.002
    assert abs(z.mean()) < 0.01 and abs(z.var() - 1) < 0.02 and abs((z ** 3).mean()) < 0.05 and abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 0.01


def hadamard_case(c, _):
    e = c.enc(TYPES)
    o = c.like(e)
    n = 2 ** int(c.r.integers(0, 8))
    x = c.array(e, c.shape(0, 2, size=4) + (n,))
    y, h = e.real(x).copy(), 1
    while h < n:
        v = y.reshape(y.shape[:-1] + (n // (2 * h), 2, h))
        y = np.stack([v[..., 0, :] + v[..., 1, :], v[..., 0, :] - v[..., 1, :]], -2).reshape(y.shape)
        h *= 2
    scale = F(c.pick(1, 0.5, -3))
    want = y * F(float(scale) / math.sqrt(n))
    got = c.run("HadamardTransform", [e.tensor(x)], [o.out(x.shape)], lean(c, {"scale": f32(scale)}, scale=1))[0]
    same(got, store(want, o), "HadamardTransform", e, o, x.shape)


def turn(x, cos, sin, interleaved):
    """x [..., rotated]"""
    half = x.shape[-1] // 2
    p, q = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    a, b = p * cos - q * sin, p * sin + q * cos
    return np.stack([a, b], -1).reshape(x.shape) if interleaved else np.concatenate([a, b], -1)


def rotary_case(c, i):
    e = c.enc(TYPES)
    o, te = c.like(e), c.enc(("f32", "f16", "sq16"), span=1.0)
    batch, heads, seq, size = int(c.r.integers(1, 3)), int(c.r.integers(1, 4)), int(c.r.integers(1, 6)), 2 * int(c.r.integers(1, 20))
    interleaved, ids, rank3, part = i % 2, i // 2 % 2, i // 4 % 2, i // 8 % 2
    heads = 1 if rank3 and part else heads
    rot = 2 * int(c.r.integers(1, size // 2 + 1)) if part else size
    table = int(c.r.integers(1, 8))
    angles = c.r.uniform(-3, 3, (table, rot // 2) if ids else (batch, seq, rot // 2))
    cos, sin = (store(f(angles).astype(F), te) for f in (np.cos, np.sin))
    position = c.r.integers(-1, table + 1, (batch, seq)).astype(np.int32)
    rc, rs = (te.real(v) for v in (cos, sin))
    if ids:
        rc, rs = rc[np.clip(position, 0, table - 1)], rs[np.clip(position, 0, table - 1)]
    q = c.array(e, (batch, seq, heads, size))
    x = e.real(q)
    want = np.concatenate([turn(x[..., :rot], rc[:, :, None], rs[:, :, None], interleaved), x[..., rot:]], -1)
    if rank3:
        q, want = q.reshape(batch, seq, -1), want.reshape(batch, seq, -1)
    else:
        q, want = q.transpose(0, 2, 1, 3), want.transpose(0, 2, 1, 3)
    params = {"interleaved": b8(interleaved), "rotary_embedding_dim": u32(rot if part else 0)}
    got = c.run("RotaryEmbedding", [e.tensor(q), te.tensor(cos), te.tensor(sin)] + ([I32.tensor(position)] if ids else []), [o.out(q.shape)],
                lean(c, params, interleaved=0, rotary_embedding_dim=0))[0]
    same(got, store(want, o), "RotaryEmbedding", e, te, o, q.shape, interleaved, ids, rank3, rot)


def stft_case(c, i):
    e = c.enc(TYPES, span=1.0)
    o = c.enc(FIXED, span=8.0) if e.fixed else Enc(e.dtype)
    we = c.enc(("f32", "f16", "uq8"), span=1.0)
    n = int(c.pick(1, 2, 7, 16, 97, 400))
    samples, step, batch = n + int(c.r.integers(0, 40)), int(c.r.integers(1, 9)), int(c.r.integers(1, 3))
    x = c.array(e, (batch, samples, 1) if i % 2 else (batch, samples), span=1.0)
    w = c.array(we, (n,), special=False)
    onesided, windowed = i // 2 % 2, i // 4 % 2
    real = e.real(x).reshape(batch, samples).astype(np.float64)
    frames = np.stack([real[:, k:k + n] for k in range(0, samples - n + 1, step)], 1) * (we.real(w).astype(np.float64) if windowed else 1.0)
    spec = np.fft.fft(frames)[..., :n // 2 + 1 if onesided else n]
    want = np.stack([spec.real, spec.imag], -1)
    params = {"frame_step": u32(step), "onesided": b8(onesided)}
    if not windowed or c.r.integers(2):
        params["frame_length"] = u32(n)
    got = c.run("Stft", [e.tensor(x)] + ([we.tensor(w)] if windowed else []), [o.out(want.shape)], lean(c, params, onesided=1))[0]
    if o.fixed:
        assert (np.abs(got.astype(np.int64) - store(want.astype(F), o).astype(np.int64)) <= 1).all(), params
    else:
        bound = np.nanmax(np.where(np.isfinite(frames), np.abs(frames), 0).sum(-1)) * 1e-12 + np.abs(want) * (2.0 ** -24 if e.dtype == "f32" else 2.0 ** -10.9) + (1e-7 if e.dtype == "f16" else 0)
        known = np.isfinite(frames).all(-1)[..., None, None] & np.ones(want.shape, bool)  # a frame with a NaN or an infinity has no finite sum
        assert (np.abs(got.astype(np.float64) - want) <= bound)[known].all(), ("Stft", e, x.shape, n, params)
        assert not np.isfinite(got[~known]).any(), ("Stft", e, x.shape, n, params)


def mux_case(c, _):
    e = c.enc(TYPES + ("i32", "b8"))
    o = like(c, e)
    n, dims = int(c.r.integers(1, 5)), c.shape(1, 4, total=3000)

    def part():
        return tuple(1 if c.r.random() < 0.3 else d for d in dims)[int(c.r.integers(0, len(dims))) if c.r.random() < 0.3 else 0:]

    se = c.pick(I32, Enc("b8"), Enc("u8"), F32)
    encs = [like(c, e) for _ in range(n)]
    xs = [c.array(k, part()) for k in encs]
    sel = c.r.integers(0 if se.dtype in ("b8", "u8") else -1, 2 if se.dtype == "b8" else n + 1, part())
    shape = np.broadcast_shapes(sel.shape, *[x.shape for x in xs])
    pick = np.broadcast_to(np.clip(sel, 0, n - 1), shape)
    sel = sel.astype(NUMPY[se.dtype]) + (F(0.7) * (sel >= 0) if se.dtype == "f32" else 0)
    parts = [np.broadcast_to(moved(x, k, o), shape) for x, k in zip(xs, encs)]
    want = np.choose(pick, parts)
    got = c.run("ElementWiseMux", [se.tensor(sel)] + [k.tensor(x) for k, x in zip(encs, xs)], [o.out(shape)])[0]
    same(got, want.astype(got.dtype), "ElementWiseMux", se, encs, o, sel.shape, [x.shape for x in xs])


def if_case(c, _):
    """What the compiler leaves of If: whole tensors of one side or the other. Graphs are tested in tests/api/test_if.c."""
    n = int(c.r.integers(1, 4))
    encs = [c.enc(TYPES + ("i32", "b8", "i64", "u16")) for _ in range(n)]
    shapes = [c.shape(0, 4, total=40000) for _ in range(n)]
    sides = [[c.array(e, s) for e, s in zip(encs, shapes)] for _ in range(2)]
    yes = int(c.pick(0, 1, 1, 255))
    ins = [Enc("b8").tensor(np.full(c.pick((1,), (1, 1), ()), yes))] + [e.tensor(x) for side in sides for e, x in zip(encs, side)]
    got = c.run("If", ins, [e.out(s) for e, s in zip(encs, shapes)])
    for g, x, e in zip(got, sides[0] if yes else sides[1], encs):
        same(g, x, "If", yes, e, x.shape)


def sparse_case(c, _):
    e = c.enc(TYPES + ("i32",))
    o = like(c, e)
    dims = c.shape(1, 4, size=5, total=600)
    depth = int(c.r.integers(1, len(dims) + 1))
    n = int(c.r.integers(1, 10))
    index = np.stack([c.r.integers(-1 if c.r.random() < 0.1 else 0, d + (c.r.random() < 0.05), n) for d in dims[:depth]], -1).astype(np.int32)
    values = c.array(e, (n,) + dims[depth:])
    zero = store(F(0), o) if o.dtype != "i32" else 0
    want = np.full(dims, zero, NUMPY[o.dtype])
    for row, v in zip(index, moved(values, e, o)):
        if all(0 <= k < d for k, d in zip(row, dims)):
            want[tuple(row)] = v
    got = c.run("CreateSparse", [I32.tensor(index), e.tensor(values)], [o.out(dims)])[0]
    same(got, want.astype(got.dtype), "CreateSparse", e, o, dims, index)
    back = c.run("SparseToDense", [o.tensor(got)], [o.out(dims)])[0]
    same(back, got, "SparseToDense")
    room = int(c.pick(1, 5, 20))
    flat = got.reshape(dims[:depth] + (-1,))
    used = (o.real(flat) != 0).any(-1) if o.dtype != "i32" else (flat != 0).any(-1)
    rows = np.argwhere(used)[:room]
    want = np.full((room, depth), -1, np.int32)
    want[:len(rows)] = rows
    same(c.run("GetSparseIndices", [o.tensor(got)], [I32.out((room, depth))])[0], want, "GetSparseIndices", o, dims)
    want = np.full((room,) + dims[depth:], zero, NUMPY[o.dtype])
    want[:len(rows)] = got[used][:room]
    same(c.run("GetSparseValues", [o.tensor(got)], [o.out(want.shape)])[0], want, "GetSparseValues", o, dims)


def attention_case(c, i):
    e = c.enc(TYPES, span=2.0)
    ke, pe, te = c.like(e), c.like(e), F32
    o, co = c.like(e), c.like(e)
    batch, seq, kv, group, size = (int(v) for v in (c.r.integers(1, 3), c.r.integers(1, 5), c.r.integers(1, 3), c.r.integers(1, 4), 2 * c.r.integers(1, 20)))
    heads, past = kv * group, int(c.pick(0, 0, 3, 7))
    packed, rotary, lens, present = i % 2, i // 2 % 2, i // 4 % 2, i // 8 % 2
    q = c.array(e, (batch, seq, heads * size), span=2.0)
    k, v = (c.array(e if packed else ke, (batch, seq, kv * size), span=2.0) for _ in range(2))
    pk, pv = (c.array(pe, (batch, kv, past, size), span=2.0, special=False) for _ in range(2))
    half = int(c.r.integers(1, size // 2 + 1))
    table = past + seq if c.r.integers(2) else 2
    angles = c.r.uniform(-3, 3, (table, half))
    cos, sin = np.cos(angles).astype(F), np.sin(angles).astype(F)
    seqlens = c.r.integers(-1, past + seq + 2, batch).astype(np.int32)
    before = np.clip(seqlens + 1 - seq, 0, past) if lens else np.full(batch, past)
    scale, said = F(c.pick(0, 0.3)), rotary and c.r.integers(2)
    positions = c.r.integers(-1, past + seq + 2, (batch, seq))
    real = (e if packed else ke).real
    rq, rk, rv = (x.reshape(batch, seq, -1, size).transpose(0, 2, 1, 3).astype(np.float64) for x in (e.real(q), real(k), real(v)))
    want = np.zeros((batch, seq, heads, size))
    room = past + seq
    caches = [np.zeros((batch, kv, room, size)) for _ in range(2)]
    for b in range(batch):
        at = np.clip(positions[b] if said else before[b] + np.arange(seq), 0, table - 1)
        if rotary:
            for x in (rq, rk):
                x[b, ..., :2 * half] = turn(x[b, ..., :2 * half], cos[at].astype(np.float64), sin[at].astype(np.float64), False)
        for cache, old, new in ((caches[0], pk, rk), (caches[1], pv, rv)):
            cache[b, :, :past] = pe.real(old[b])
            cache[b, :, before[b]:before[b] + seq] = new[b]
        for h, j in itertools.product(range(heads), range(seq)):
            n = before[b] + j + 1
            s = caches[0][b, h // group, :n] @ rq[b, h, j] * (float(scale) or 1 / math.sqrt(size))
            p = np.exp(s - s.max())
            want[b, j, h] = p @ caches[1][b, h // group, :n] / p.sum()
    ins = [e.tensor(np.concatenate([q, k, v], -1) if packed else q)]
    ins += [I32.tensor(seqlens) if lens else None, I32.tensor(np.array([room], np.int32)) if lens else None]
    ins += [None, None] if packed else [ke.tensor(k), ke.tensor(v)]
    ins += [pe.tensor(pk), pe.tensor(pv)] if past else [None, None]
    ins += [te.tensor(cos), te.tensor(sin)] if rotary else []
    ins += [Enc(c.pick("i32", "i64")).tensor(positions)] if said else []
    outs = [o.out((batch, seq, heads * size))] + ([co.out((batch, kv, room, size))] * 2 if present else [])
    params = {"num_heads": u32(heads), "kv_num_heads": u32(kv), "do_rotary": b8(rotary), "scale": f32(scale)}
    params = lean(c, params, do_rotary=0, scale=0)
    results = [c.run("GroupQueryAttention", ins, outs, params, isa=isa) for isa in c.isas]
    for other in results[1:]:
        for a, b in zip(results[0], other):
            same(b, a, "GroupQueryAttention on another instruction set")
    for got, exact, enc in zip(results[0], [want.reshape(batch, seq, -1)] + caches, [o, co, co]):
        if enc.fixed:
            ok = np.abs(got.astype(np.int64) - store(exact.astype(F), enc).astype(np.int64)) <= 1
        else:
            ok = (got == exact) | (np.isnan(got) & np.isnan(exact)) | (np.abs(got - exact) <= (2e-5 if enc.dtype == "f32" else 4e-3) * (1 + np.abs(exact)))
        assert ok.all(), ("GroupQueryAttention", e, ke, pe, o, batch, seq, kv, group, size, past, packed, rotary, lens, present)


def refusals(c):
    z = np.zeros
    many = [F32.tensor(z(2, F))] * 17
    for op, ins, outs, params, word in (
            ("ElementWiseMux", [I32.tensor(z(2, np.int32))] + many, [F32.out((2,))], {}, "at most 16"),
            ("ElementWiseMux", [I32.tensor(z(2, np.int32)), many[0], I32.tensor(z(2, np.int32))], [F32.out((2,))], {}, "same data type"),
            ("If", [Enc("b8").tensor(z(1, np.uint8)), many[0]], [F32.out((2,))], {}, "two inputs per output"),
            ("If", [Enc("b8").tensor(z(1, np.uint8)), many[0], F32.tensor(z(3, F))], [F32.out((2,))], {}, "type, shape and encoding"),
            ("If", [Enc("b8").tensor(z(2, np.uint8)), many[0], many[0]], [F32.out((2,))], {}, "condition"),
            ("HadamardTransform", [F32.tensor(z((1, 6), F))], [F32.out((1, 6))], {}, "power of two"),
            ("RotaryEmbedding", [F32.tensor(z((1, 1, 1, 4), F)), F32.tensor(z((1, 1, 3), F)), F32.tensor(z((1, 1, 3), F))], [F32.out((1, 1, 1, 4))], {}, "cos"),
            ("Stft", [F32.tensor(z((1, 8, 2), F))], [F32.out((1, 1, 5, 2))], {"frame_step": u32(1), "frame_length": u32(8)}, "complex"),
            ("CreateSparse", [I32.tensor(z((2, 3), np.int32)), F32.tensor(z(2, F))], [F32.out((4, 4))], {}, "indices"),
            ("CreateSparse", [I32.tensor(z((2, 1), np.int32)), F32.tensor(z(2, F))], [F32.out((4, 4))], {}, "values"),
            ("GetSparseIndices", [F32.tensor(z((4, 4), F))], [I32.out((4, 3))], {}, "depth"),
            ("GetSparseValues", [F32.tensor(z((4, 4), F))], [F32.out((4, 3))], {}, "values"),
            ("GroupQueryAttention", [F32.tensor(z((1, 1, 8), F)), None, None] + [F32.tensor(z((1, 1, 8), F))] * 2, [F32.out((1, 1, 8))],
             {"num_heads": u32(2), "kv_num_heads": u32(2), "do_rotary": b8(1)}, "cos_cache"),
            ("GroupQueryAttention", [F32.tensor(z((1, 1, 8), F)), None, None, F32.tensor(z((1, 1, 8), F))], [F32.out((1, 1, 8))],
             {"num_heads": u32(2), "kv_num_heads": u32(2)}, "value"),
            ("GroupQueryAttention", [F32.tensor(z((1, 1, 8), F))], [F32.out((1, 1, 8))], {"num_heads": u32(3), "kv_num_heads": u32(2)}, "multiple")):
        try:
            c.run(op, ins, outs, params)
            raise AssertionError(f"{op} took {params}")
        except ProbeError as err:
            assert word in str(err), err
    assert (c.run("GetSparseIndices", [T(z((3, 2)), "uq4", scale=1.0)], [O((2, 1), "i32")])[0] == -1).all()


def main():
    c = Case(43)
    for case, n in ((shape_case, 100), (constant_case, 240), (random_case, 90), (hadamard_case, 200), (rotary_case, 480), (stft_case, 320),
                    (mux_case, 400), (if_case, 200), (sparse_case, 400), (attention_case, 480)):
        for i in range(scaled(n)):
            case(c, i)
    for case in (stft_case, if_case, attention_case):
        c.odd_cases(case, 24)
    moments(c)
    refusals(c)
    c.done("misc")


with np.errstate(all="ignore"):
    main()
