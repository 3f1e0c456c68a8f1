# SPDX-License-Identifier: Apache-2.0
"""Sums of products against numpy: Conv, TransposeConv, DepthWiseConv, FullyConnected, MatMul.

The oracle knows the operators' definitions and docs/numerics.md, not the kernels: windows are taken from a padded array, fixed point is computed
in Python integers or int64, floats in float64 with a bound. Every case runs on every instruction set and in several tiles.
"""
import copy
import sys

import numpy as np

from probe import ISA, PACKED, O, P, Probe, ProbeError, T, b8, scaled, u32

FIXED = {"uq8": (0, 255), "sq8": (-128, 127), "uq16": (0, 65535), "sq16": (-32768, 32767), "uq4": (0, 15), "sq4": (-8, 7), "uq2": (0, 3), "sq2": (-2, 1),
         "sq32": (-2**31, 2**31 - 1)}
rng = np.random.default_rng(20261)
probe = Probe()
ISAS = [n for n, level in ISA.items() if level <= probe.isa]


# ---- docs/numerics.md, sections 1 to 3 --------------------------------------------------------------------------------------------


def requant(acc, m, offset, lo, hi):
    """clamp(rne((float)acc * m) - offset); acc int64, m f32 broadcast over the last axis."""
    with np.errstate(over="ignore"):
        v = np.rint(to_f32(acc) * m.astype(np.float32))
    return np.clip(v.astype(np.float64) - offset, lo, hi).astype(np.int64)


def to_f32(acc):
    """int64 to f32, rounded once (numpy goes directly, which is what is wanted)."""
    return acc.astype(np.float32)


def bias_to_acc(b, kind, sb, ob, unit):
    if kind == "sq32" and np.all(sb == 0):
        return b.astype(np.int64)
    if kind == "sq32":
        close = (ob == 0) & (np.abs(sb - unit) <= unit / 65536)
        other = np.clip(np.rint(np.float64(sb) * (b.astype(np.int64) + ob) / unit), -2**31, 2**31 - 1).astype(np.int64)
        return np.where(close, b.astype(np.int64), other)
    if kind == "f32":
        return np.clip(np.rint(b.astype(np.float64) / unit), -2**31, 2**31 - 1).astype(np.int64)
    return np.clip(np.rint(np.float64(sb) * (b.astype(np.int64) + ob) / unit), -2**31, 2**31 - 1).astype(np.int64)


# ---- the operators as sums over (rows, k) x (k, channels) ---------------------------------------------------------------------------


def conv_terms(x, w, stride, pads, dilation, group):
    """x [b,…,ci] centred, w [kernel…,ci/g,co]: yields per group (windows [b,…,k], weights [k,co/g])."""
    *kernel, cig, co = w.shape
    xp = np.pad(x, [(0, 0), *pads, (0, 0)])
    sizes = [(n - ((k - 1) * d + 1)) // s + 1 for n, k, d, s in zip(xp.shape[1:], kernel, dilation, stride)]
    if min(sizes) < 1:
        raise ValueError("the kernel is larger than the input")
    cog = co // group
    for g in range(group):
        cols = []
        for tap in np.ndindex(*kernel):
            at = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, sizes, stride)]
            cols.append(xp[(slice(None), *at, slice(g * cig, (g + 1) * cig))])
        yield np.concatenate(cols, axis=-1), w[..., g * cog:(g + 1) * cog].reshape(-1, cog)


def deconv(x, w, stride, pads, dilation, opad, group, dot):
    """Scatter form, the textbook definition: each input pixel adds its kernel to the output."""
    *kernel, ci, cog = w.shape
    spans = [s * (n - 1) + (k - 1) * d + 1 + o for n, k, d, s, o in zip(x.shape[1:], kernel, dilation, stride, opad)]
    if min(n - sum(p) for n, p in zip(spans, pads)) < 1:
        raise ValueError("nothing is left of the output")
    full = np.zeros((x.shape[0], *spans, cog * group), np.result_type(x, w))
    cig = ci // group
    for g in range(group):
        for tap in np.ndindex(*kernel):
            part = dot(x[..., g * cig:(g + 1) * cig], w[tap][g * cig:(g + 1) * cig])
            at = [slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, n, s in zip(tap, dilation, x.shape[1:], stride)]
            full[(slice(None), *at, slice(g * cog, (g + 1) * cog))] += part
    return full[(slice(None), *[slice(before, n - after) for n, (before, after) in zip(spans, pads)])]


def products(case, x, w):
    """The sum of products of a case for operands of any numeric type."""
    dot = np.matmul
    if case["op"].startswith("TransposeConv"):
        return deconv(x, w, case["stride"], case["pads"], case["dilation"], case["opad"], case["group"], dot)
    if case["op"] == "FullyConnected":
        return dot(x.reshape(-1, w.shape[1]), w.T)
    if case["op"] == "MatMul":
        return dot(np.swapaxes(x, -1, -2) if case["ta"] else x, np.swapaxes(w, -1, -2) if case["tb"] else w)
    group = x.shape[-1] if case["op"].startswith("DepthWise") else case["group"]
    return np.concatenate([dot(a, b) for a, b in conv_terms(x, w, case["stride"], case["pads"], case["dilation"], group)], axis=-1)


# ---- random cases -----------------------------------------------------------------------------------------------------------------


def pick(*choices):
    return choices[rng.integers(len(choices))]


def size(big=9):
    return int(pick(1, 2, 3, rng.integers(1, big + 1), rng.integers(1, big + 1)))


def channels():
    return int(pick(1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, rng.integers(1, 140)))


def spatial_case(op):
    n = 3 if op.endswith("3d") else 2
    transposed = op.startswith("Transpose")
    kernel = [int(rng.integers(1, 5 if n == 2 else 4)) for _ in range(n)]
    stride = [int(rng.integers(1, 4)) for _ in range(n)]
    dilation = [int(pick(1, 1, 2, 3)) if not transposed or n == 3 else 1 for _ in range(n)]
    pads = [[int(rng.integers(0, 4)), int(rng.integers(0, 4))] for _ in range(n)]
    group = 1
    if op == "DepthWiseConv2d" or (op == "Conv3d" and rng.integers(5) == 0):
        ci = channels()
        co = ci * int(pick(1, 1, 1, 2, 3, 5))
        group = ci
        wshape = (*kernel, 1, co)
    else:
        group = int(pick(1, 1, 1, 2, 3))
        cig, cog = channels(), channels()
        ci, co = cig * group, cog * group
        wshape = (*kernel, ci, cog) if transposed else (*kernel, cig, co)
    big = 12 if n == 2 else 6
    c = dict(op=op, stride=stride, dilation=dilation, pads=pads, group=group, xshape=(size(3), *[size(big) for _ in range(n)], ci),
             wshape=wshape, caxis=n + 1, co=co, nscale=wshape[-1])
    params = {"stride": u32(stride), "pad_amount": u32(pads)}
    if transposed:
        c["opad"] = [int(rng.integers(0, s)) for s in stride]
        params["output_padding"] = u32(c["opad"])
    if not transposed or n == 3:
        params["dilation"] = u32(dilation)
    if op != "DepthWiseConv2d":
        params["group"] = P(group, "u32")
    c["params"] = params
    return c


def matrix_case(op):
    m, k, n = size(20), int(pick(channels(), rng.integers(1, 700))), channels()
    if op == "FullyConnected":
        shape = pick((m, k), (1, m, k), (m, 1, 1, k), (1, k))
        return dict(op=op, xshape=shape, wshape=(n, k), caxis=0, co=n, nscale=n, params={})
    ta, tb = bool(rng.integers(2)), bool(rng.integers(2))
    batch = [size(3) for _ in range(rng.integers(0, 3))]
    xb = [d if rng.integers(3) else 1 for d in batch]
    wb = [d if rng.integers(3) else 1 for d in batch]
    cut = int(rng.integers(0, len(batch) + 1))
    if rng.integers(3) == 0:
        wb = wb[cut:]
    elif rng.integers(3) == 0:
        xb = xb[cut:]
    xs = tuple(xb) + ((k, m) if ta else (m, k))
    ws = tuple(wb) + ((n, k) if tb else (k, n))
    return dict(op=op, xshape=xs, wshape=ws, caxis=len(ws) - (2 if tb else 1), co=n, nscale=n, ta=ta, tb=tb,
                params={"transpose_in0": b8(ta), "transpose_in1": b8(tb)})


def one_dimensional(c):
    """The same case for the operator without a height."""
    d = dict(c, xshape=(c["xshape"][0], 1) + c["xshape"][2:], wshape=(1,) + c["wshape"][1:], stride=[1, c["stride"][1]],
             dilation=[1, c["dilation"][1]], pads=[[0, 0], c["pads"][1]])
    d["line"] = c["op"].replace("2d", "1d")
    d["params"] = {"stride": P(d["stride"][1], "u32"), "pad_amount": u32(d["pads"][1])}
    if "opad" in c:
        d["opad"] = [0, c["opad"][1]]
        d["params"]["output_padding"] = P(d["opad"][1], "u32")
    else:
        d["params"]["dilation"] = P(d["dilation"][1], "u32")
    if "group" in c["params"]:
        d["params"]["group"] = c["params"]["group"]
    return d


OPS = ("Conv2d", "Conv2d", "DepthWiseConv2d", "TransposeConv2d", "FullyConnected", "MatMul", "Conv3d", "TransposeConv3d")


def new_case(ops=OPS):
    op = pick(*ops)
    while True:
        c = matrix_case(op) if op in ("FullyConnected", "MatMul") else spatial_case(op)
        if op.endswith("2d") and rng.integers(5) == 0:
            c = one_dimensional(c)
        x, w = np.zeros(c["xshape"], np.float32), np.zeros(c["wshape"], np.float32)
        # Depthwise kernels see one channel of x per output.
        work = np.prod(c["xshape"]) * np.prod(c["wshape"][:-1]) / (c["group"] if "group" in c and not op.startswith("Transpose") else 1)
        if work > 3e6 or np.prod(c["wshape"]) > 2e5:
            continue
        try:
            c["oshape"] = products(c, x, w).shape
        except (ValueError, IndexError):
            continue
        if min(c["oshape"]) > 0 and np.prod(c["oshape"]) < 60000:
            return c


def run_everywhere(c, ins, outs, post):
    """Every instruction set, with and without constants made at prepare, in one and several tiles: the same bits. Returns ref's."""
    first, op = None, c["op"]
    if "line" in c:
        op, ins, outs = c["line"], list(ins), [drop_axis(outs[0], 1)]
        ins[0], ins[1] = drop_axis(ins[0], 1), drop_axis(ins[1], 0)
    for isa in ISAS:
        for tiles in (1, int(rng.integers(2, 9))):
            y = probe.run(op, ins, outs, c["params"], isa=isa, post=post, tiles=tiles)[0]
            if first is None:
                first = y
            same = (y == first) | ((y != y) & (first != first))
            assert same.all(), f"{probe.kernel} in {tiles} tiles differs from ref in {np.count_nonzero(~same)} of {y.size}: {describe(c)}"
    return first.reshape(c["oshape"])


def drop_axis(t, axis):
    """The same tensor without a dimension of 1."""
    t = copy.copy(t)
    t.array = np.squeeze(t.array, axis)
    t.shape = t.array.shape
    t.axis = t.axis - 1 if t.axis > axis else t.axis
    if t.block is not None:
        t.block = t.block[:axis] + t.block[axis + 1:]
    return t


def describe(c):
    return {k: v for k, v in c.items() if k != "params"}


def fixed_case():
    c = new_case()
    xt = pick("uq8", "sq8", "uq8", "uq16", "sq16")
    wt = pick("sq8", "uq8", "sq4", "uq4", "sq8", "sq2", "uq2") if xt in ("uq8", "sq8") else pick("sq8", "uq8", "sq16", "uq16", "sq4", "sq2", "uq4")
    ot = pick("uq8", "sq8", "uq16", "sq16")
    bits = int(pick(2, 4)) if wt in ("sq8", "uq8") and rng.integers(5) == 0 else 0
    const = bool(rng.integers(4)) or bits or wt in PACKED
    lo, hi = FIXED[wt] if not bits else (-(2**bits // 2), 2**bits // 2 - 1) if wt == "sq8" else (0, 2**bits - 1)
    zero_x = int(rng.integers(FIXED[xt][0], FIXED[xt][1] + 1))
    x = rng.integers(FIXED[xt][0], FIXED[xt][1] + 1, c["xshape"])
    w = rng.integers(lo, hi + 1, c["wshape"])
    if rng.integers(8) == 0:
        x[...], w[...] = pick(*FIXED[xt]), pick(lo, hi)
    per_axis = wt in ("sq8", "sq4", "sq2", "sq16") and bool(rng.integers(2))
    zero_w = 0 if per_axis or rng.integers(3) == 0 else int(rng.integers(lo, hi + 1))
    sx = np.float32(10.0 ** rng.uniform(-3, 1))
    n = c["nscale"] if per_axis else 1
    sw = (10.0 ** rng.uniform(-4, -1, n)).astype(np.float32)
    acc = products(c, x.astype(np.int64) - zero_x, w.astype(np.int64) - zero_w)
    sw_c = np.resize(sw, c["co"]) if c["op"].startswith("Transpose") or not per_axis else sw
    unit = np.float64(sx) * sw_c.astype(np.float64)
    spread = float(np.percentile(np.abs(acc) * unit, 90)) + 1e-9
    so = np.float32(spread / (FIXED[ot][1] - FIXED[ot][0]) * 10.0 ** rng.uniform(-1, 1.5))
    zero_o = int(rng.integers(FIXED[ot][0], FIXED[ot][1] + 1))
    ins = [T(x, xt, scale=sx, offset=-zero_x)]
    store = w & (2**bits - 1) if bits and wt == "sq8" and rng.integers(2) else w
    if per_axis:
        ins.append(T(store.astype(np.int8) if wt == "sq8" else store, wt, scales=sw, axis=c["caxis"], bits=bits, const=const))
    else:
        ins.append(T(store.astype(np.int8) if wt == "sq8" else store, wt, scale=sw[0], offset=-zero_w, bits=bits, const=const))
    kind = pick(None, "sq32", "sq32", "sq32", "uq8", "sq8", "f32", "i64")
    if kind:
        acc = acc + fixed_bias(kind, c["co"], unit, spread, ins, const)
    post, (qlo, qhi) = (-np.inf, np.inf), FIXED[ot]
    if rng.integers(4) == 0:
        post = (np.float32(0), pick(np.float32(np.inf), np.float32(spread / 2), np.float32(6)))
        qlo, qhi = (int(np.clip(v, *FIXED[ot])) for v in (-0 + zero_o, np.rint(np.float64(post[1]) / np.float64(so)) + zero_o))
    want = requant(acc, (unit / np.float64(so)).astype(np.float32), -zero_o, qlo, qhi)
    got = run_everywhere(c, ins, [O(c["oshape"], ot, scale=so, offset=-zero_o)], post)
    bad = got.astype(np.int64) != want
    assert not bad.any(), f"{probe.kernel}: {np.count_nonzero(bad)} of {bad.size} differ, first {got[bad][:4]} for {want[bad][:4]}: " \
                          f"{xt} {wt} {ot} bits {bits} per_axis {per_axis} zero_w {zero_w} bias {kind} const {const} post {post} {describe(c)}"
    return f"{c.get('line', c['op'])} {xt}x{wt}"


def fixed_bias(kind, n, unit, spread, ins, const):
    const = const and bool(rng.integers(4))
    if kind == "f32":
        b = (rng.normal(0, spread, n)).astype(np.float32)
        ins.append(T(b, "f32", const=const))
        return bias_to_acc(b, kind, 0, 0, unit)
    if kind == "i64":  # steps of the accumulator; whatever scale stands beside them
        b = rng.integers(-int(spread / unit.min()) - 1, int(spread / unit.min()) + 2, n) * pick(1, 1, 1, 2**20)
        ins.append(T(b, kind, const=const, **pick({}, {"scale": np.float32(3), "offset": 0})))
        return np.clip(b, -2**31, 2**31 - 1)
    if kind == "sq32":
        big = spread / unit.min() if rng.integers(10) else 2**31
        b = np.clip(rng.integers(-int(min(big, 2**31)) - 1, int(min(big, 2**31 - 2)) + 2, n), -2**31, 2**31 - 1)
        style = rng.integers(4)
        if style == 3:  # one scale per channel, up to 1000 times apart; half of them the accumulator's own
            scales = (unit * (1 if rng.integers(2) else 10.0 ** rng.uniform(-1.5, 1.5, n))).astype(np.float32)
            offsets = np.zeros(n, np.int32) if rng.integers(2) else rng.integers(-9, 10, n)
            ins.append(T(b, kind, scales=scales, offsets=offsets, axis=0, const=const))
            return bias_to_acc(b, kind, scales.astype(np.float64), offsets, unit)
        # Exactly the accumulator's scale, no scale, or one of its own.
        s, o = (np.float32(0), 0) if style == 0 else (np.float32(unit[0]), 0) if style == 1 else (np.float32(unit[0] * 3), int(rng.integers(-5, 6)))
    else:
        b = rng.integers(FIXED[kind][0], FIXED[kind][1] + 1, n)
        s, o = np.float32(spread / 128), -int(rng.integers(FIXED[kind][0], FIXED[kind][1] + 1))
    ins.append(T(b, kind, scale=s, offset=o, const=const))
    return bias_to_acc(b, kind, np.float64(s), o, unit)


def float_case():
    c = new_case()
    t = pick("f32", "f32", "f16")
    np_t = np.float32 if t == "f32" else np.float16
    x, w = rng.normal(0, 1, c["xshape"]).astype(np_t), rng.normal(0, 1, c["wshape"]).astype(np_t)
    const = bool(rng.integers(4))
    ins = [T(x, t), T(w, t, const=const)]
    exact = products(c, x.astype(np.float64), w.astype(np.float64))
    size_ = products(c, np.abs(x).astype(np.float64), np.abs(w).astype(np.float64))
    k = int(np.prod(c["wshape"])) // max(1, c["nscale"]) + 2
    if rng.integers(2):
        b = rng.normal(0, 1, c["co"]).astype(np_t)
        ins.append(T(b, t, const=const))
        exact, size_ = exact + b.astype(np.float64), size_ + np.abs(b).astype(np.float64)
    post = (-np.inf, np.inf) if rng.integers(3) else (np.float32(-0.5), np.float32(6))
    exact = np.clip(exact, *[float(v) for v in post])
    got = run_everywhere(c, ins, [O(c["oshape"], t)], post).astype(np.float64)
    bound = k * 2.0**-24 * size_ + (2.0**-11 * np.abs(exact) + 2.0**-24 if t == "f16" else 0)
    bad = ~(np.abs(got - exact) <= bound)
    assert not bad.any(), f"{probe.kernel}: {np.count_nonzero(bad)} of {bad.size} out of bounds, first {got[bad][:4]} for {exact[bad][:4]}: {describe(c)}"
    return f"{c.get('line', c['op'])} {t}"


def specials():
    """Padding is skipped, not multiplied: an infinite weight at a padded tap must not make NaN; a lone -0 stays."""
    w = np.zeros((3, 3, 1, 1), np.float32)
    w[0, 0] = np.inf
    x = np.ones((1, 2, 2, 1), np.float32)
    p = {"stride": u32([1, 1]), "pad_amount": u32([[1, 1], [1, 1]])}
    for isa in ISAS:
        for const in (False, True):
            y = probe.run("Conv2d", [T(x, "f32"), T(w, "f32", const=const)], [O((1, 2, 2, 1), "f32")], p, isa=isa)[0]
            assert y[0, 0, 0, 0] == 0 and y[0, 0, 1, 0] == 0 and y[0, 1, 1, 0] == np.inf, (probe.kernel, y)
            tiny = np.float32(-1e-30)
            y = probe.run("FullyConnected", [T([[tiny]], "f32"), T([[np.float32(1e-30)]], "f32", const=const)], [O((1, 1), "f32")], isa=isa)[0]
            assert y[0, 0] == 0 and np.signbit(y[0, 0]), (probe.kernel, y)


def wide_sums():
    """More 8-bit products than 32 bits hold, and a bias at the end of its range: still exact."""
    k = 40000
    for xv, wv, bias in ((255, 255, 0), (255, 0, -2**31), (0, 255, 2**31 - 1), (255, 255, 2**31 - 1)):
        x, w = np.full((2, k), xv), np.full((3, k), wv)
        x[1, ::7] = 3
        acc = (x - 0).astype(np.int64) @ (w - 0).astype(np.int64).T + bias
        scale = np.float32(np.float64(np.abs(acc).max()) / 60000)
        want = requant(acc, np.full(3, 1.0 / np.float64(scale)).astype(np.float32), 0, -32768, 32767)
        for isa in ISAS:
            for const in (False, True):
                y = probe.run("FullyConnected", [T(x, "uq8", scale=1.0), T(w, "uq8", scale=1.0, const=const),
                                                 T(np.full(3, bias), "sq32", scale=1.0, const=const)], [O((2, 3), "sq16", scale=scale)], isa=isa)[0]
                assert (y == want).all(), (probe.kernel, y, want)


def main():
    seen = {}
    specials()
    wide_sums()
    for kind, n in ((fixed_case, 2500), (float_case, 900)):
        for _ in range(scaled(n)):
            name = kind()
            seen[name] = seen.get(name, 0) + 1
    for name in sorted(seen):
        print(f"{seen[name]:6d} {name}")
    print(f"instruction sets: {' '.join(ISAS)}")
    if probe.isa < 3:
        print("SKIP: amx: this CPU does not have it")


if __name__ == "__main__":
    sys.exit(main())
