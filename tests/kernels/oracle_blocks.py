# SPDX-License-Identifier: Apache-2.0
"""Sums of products whose weights have block scales, integer block scales (expansion), mappings, or float activations beside them.

The oracle follows docs/numerics.md section 3: effective integers and exact sums where the encoding allows them, otherwise runs of k that are
multiplied by the scale of their block and added in f32. Shapes come from oracle_products.py.
"""
import math
import sys

import numpy as np

from oracle_products import FIXED, ISAS, conv_terms, describe, fixed_bias, new_case, pick, probe, products, requant, rng, run_everywhere
from probe import PACKED, O, ProbeError, Q_VECTOR, T, scaled, spread_blocks

ALL = ("Conv2d", "Conv2d", "FullyConnected", "FullyConnected", "MatMul", "MatMul", "DepthWiseConv2d", "TransposeConv2d", "TransposeConv3d",
       "Conv3d")
LONG = np.longdouble


def fma(a, b, c):
    """One rounding to f32: the product is exact in 64 bits of significand, the sum nearly always."""
    return (a.astype(LONG) * b.astype(LONG) + c.astype(LONG)).astype(np.float32)


# ---- encodings ----------------------------------------------------------------------------------------------------------------------


def divisor(n):
    return int(pick(*[d for d in range(1, n + 1) if n % d == 0]))


def codes(c, wide=False):
    """Type, true bits and random codes of weights."""
    wt = pick("sq4", "sq4", "sq8", "sq8", "uq4", "uq8", "sq2", "uq2")
    bits = int(pick(2, 4, 0)) if wt in ("sq8", "uq8") else 0
    width = bits or PACKED.get(wt, 8)
    lo, hi = (-(1 << width - 1), (1 << width - 1) - 1) if wt[0] == "s" else (0, (1 << width) - 1)
    return wt, bits, (lo, hi), rng.integers(lo, hi + 1, c["wshape"])


def mapped(v, mapping):
    """Integers and what their scale is multiplied by."""
    return (v + 1, 1.0) if mapping == 1 else (2 * v + 1, 0.5) if mapping == 2 else (v, 1.0)


def inner(c):
    """The input-channel dimension of the weights."""
    return len(c["wshape"]) - 1 if c["caxis"] != len(c["wshape"]) - 1 else len(c["wshape"]) - 2


def along(values, axis, rank):
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def per_channel(c, name):
    """Weights whose real value is scale[channel] * integer: returns operand, integers, scales of output channels."""
    wt, bits, (lo, hi), w = codes(c)
    rank, n, mapping = len(c["wshape"]), c["nscale"], int(pick(0, 1, 2))
    scales = (10.0 ** rng.uniform(-4, -1, n)).astype(np.float32)
    v, kw = w.astype(np.int64), dict(scales=scales, axis=c["caxis"], bits=bits, mapping=mapping)
    own = np.random.default_rng(int(np.abs(w).sum()))
    if name == "axis" and own.integers(2):
        kw["offsets"] = own.integers(-hi, -lo + 1, n)
        v = v + along(kw["offsets"], c["caxis"], rank)
    v, factor = mapped(v, mapping)
    if name == "expansion":
        blocks = divisor(c["wshape"][inner(c)])
        room = 32767 // max(abs(int(mapped(t, mapping)[0])) for t in (lo, hi))  # effective integers have 16 bits
        storage, most = pick((np.uint8, 16), (np.uint8, min(255, room)), (np.uint16, 16), (np.uint16, room))
        kw["block_scales"] = rng.integers(0 if rng.integers(4) == 0 else 1, most + 1, (n, blocks)).astype(storage)
        grid = np.repeat(kw["block_scales"].astype(np.int64), c["wshape"][inner(c)] // blocks, axis=1)
        shape = [1] * rank
        shape[c["caxis"]], shape[inner(c)] = n, c["wshape"][inner(c)]
        v = v * (grid if c["caxis"] < inner(c) else grid.T).reshape(shape)
    elif name == "tensor":
        scales = scales[:1]
        kw = dict(scale=scales[0], bits=bits, mapping=mapping)
    if wt[0] == "s" and bits and rng.integers(2):
        w = w & ((1 << bits) - 1)
    scales = scales if len(scales) > 1 else np.repeat(scales, n)
    return T(w.astype(np.int8) if wt == "sq8" else w, wt, const=bool(rng.integers(4)), **kw), v, scales.astype(np.float64) * factor, wt


def per_block(c, floats):
    """Weights with a scale per block: returns operand, integers, scale and float offset of every element."""
    wt, bits, (lo, hi), w = codes(c)
    shape, mapping = c["wshape"], int(pick(0, 0, 1, 2))
    block = [divisor(d) for d in shape]
    if rng.integers(2):
        d = inner(c)
        block[d] = max([v for v in range(2, shape[d] + 1, 2) if shape[d] % v == 0] or [shape[d]])
    grid = [d // b for d, b in zip(shape, block)]
    n = int(np.prod(grid))
    scales = (10.0 ** rng.uniform(-4, -1, n)).astype(np.float32)
    kw = dict(scales=scales, block=block, bits=bits, mapping=mapping)
    v, factor = w.astype(np.int64), 1.0

    def spread(a):
        return spread_blocks(a, shape, block)

    offset = np.zeros(shape, np.float32)
    if floats:
        kw["float_offsets"] = (rng.normal(0, 1, n) * scales).astype(np.float32)
        offset = spread(kw["float_offsets"])
    elif rng.integers(2):
        kw["offsets"] = rng.integers(-hi, -lo + 1, n)
        v = v + spread(kw["offsets"])
    v, factor = mapped(v, mapping)
    return T(w.astype(np.int8) if wt == "sq8" else w, wt, const=bool(rng.integers(4)), **kw), v, spread(scales), factor, offset, wt, block


# ---- sums of runs -------------------------------------------------------------------------------------------------------------------


def scatter_steps(c, x, v, m, mo, run):
    """The same for TransposeConv: each tap adds to the outputs that it meets, in ascending order."""
    *kernel, ci, cog = v.shape
    cig = ci // c["group"]
    spans = [s * (n - 1) + (k - 1) * d + 1 + o for n, k, d, s, o in zip(x.shape[1:], kernel, c["dilation"], c["stride"], c["opad"])]
    full = np.zeros((x.shape[0], *spans, cog * c["group"]), np.float32)
    for tap in np.ndindex(*kernel):
        to = [slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, n, s in zip(tap, c["dilation"], x.shape[1:], c["stride"])]
        for k in range(0, ci, run):
            at = (slice(None), *to, slice(k // cig * cog, (k // cig + 1) * cog))
            one = x[..., k:k + run]
            full[at] = fma(to_f32(np.matmul(one, v[tap][k:k + run])), m[tap][k], full[at])
            full[at] = fma(to_f32(one.sum(-1, keepdims=True)), mo[tap][k], full[at])
    return full[(slice(None), *[slice(before, n - after) for n, (before, after) in zip(spans, c["pads"])])]


def steps(c, x, v, m, mo, run):
    """f32 sums in steps of the output, without bias: x centred integers, v integers, m and mo multipliers of every element."""
    if c["op"].startswith("Transpose"):
        return scatter_steps(c, x, v, m, mo, math.gcd(run, x.shape[-1] // c["group"]))
    if c["op"] in ("FullyConnected", "MatMul"):
        if c["op"] == "FullyConnected":
            x, turn = x.reshape(-1, v.shape[1]), True
        else:
            x, turn = np.swapaxes(x, -1, -2) if c["ta"] else x, c["tb"]
        v, m, mo = (np.swapaxes(t, -1, -2) if turn else t for t in (v, m, mo))
        parts = [(..., x, v, m, mo)]
        out = np.zeros(np.matmul(x[..., :1], v[..., :1, :]).shape, np.float32)
    else:
        group = x.shape[-1] if c["op"].startswith("DepthWise") else c["group"]
        out, parts = np.zeros(c["oshape"], np.float32), []
        weights = [conv_terms(x, t, c["stride"], c["pads"], c["dilation"], group) for t in (v, m, mo)]
        cog = c["co"] // group
        for g, ((cols, vg), (_, mg), (_, og)) in enumerate(zip(*weights)):
            parts.append(((..., slice(g * cog, (g + 1) * cog)), cols, vg, mg, og))
    for at, cols, vg, mg, og in parts:
        for k in range(0, cols.shape[-1], run):
            one = cols[..., k:k + run]
            out[at] = fma(to_f32(np.matmul(one, vg[..., k:k + run, :])), mg[..., k, None, :], out[at])
            out[at] = fma(to_f32(one.sum(-1, keepdims=True)), og[..., k, None, :], out[at])
    return out


def to_f32(v):
    return v.astype(np.float32)


# ---- cases --------------------------------------------------------------------------------------------------------------------------


def activations(c):
    xt = pick("uq8", "sq8", "uq16", "sq16")
    zero = int(rng.integers(FIXED[xt][0], FIXED[xt][1] + 1))
    x = rng.integers(FIXED[xt][0], FIXED[xt][1] + 1, c["xshape"])
    sx = np.float32(10.0 ** rng.uniform(-3, 1))
    return xt, T(x, xt, scale=sx, offset=-zero), x.astype(np.int64) - zero, sx


def output(spread):
    ot = pick("uq8", "sq8", "uq16", "sq16")
    so = np.float32(spread / (FIXED[ot][1] - FIXED[ot][0]) * 10.0 ** rng.uniform(-1, 1.5))
    return ot, so, int(rng.integers(FIXED[ot][0], FIXED[ot][1] + 1))


def check(c, ins, ot, so, zero, want, what):
    got = run_everywhere(c, ins, [O(c["oshape"], ot, scale=so, offset=-zero)], (-np.inf, np.inf))
    bad = got.astype(np.int64) != want
    assert not bad.any(), f"{probe.kernel}: {np.count_nonzero(bad)} of {bad.size} differ, first {got[bad][:4]} for {want[bad][:4]}: " \
                          f"{what} -> {ot} {describe(c)}"
    return f"{c.get('line', c['op'])} {what}"


def integer_case():
    """Mappings and expansion: exact sums of effective integers."""
    c, kind = new_case(ALL), pick("expansion", "expansion", "axis", "tensor")
    w, v, scales, wt = per_channel(c, kind)
    xt, xin, x, sx = activations(c)
    acc = products(c, x, v)
    sw = np.resize(scales, c["co"])
    unit = np.float64(sx) * sw
    spread = float(np.percentile(np.abs(acc) * unit, 90)) + 1e-9
    ins = [xin, w]
    bias = pick(None, "sq32", "f32", "uq8")
    if bias:
        acc = acc + fixed_bias(bias, c["co"], unit, spread, ins, w.const)
    ot, so, zero = output(spread)
    want = requant(acc, (unit / np.float64(so)).astype(np.float32), -zero, *FIXED[ot])
    return check(c, ins, ot, so, zero, want, f"{xt}x{wt} {kind}")


def block_case():
    c, floats = new_case(ALL), bool(rng.integers(2))
    w, v, scale, factor, offset, wt, block = per_block(c, floats)
    xt, xin, x, sx = activations(c)
    spread = float(np.percentile(np.abs(products(c, x.astype(np.float64), v * (scale * factor) + offset)), 90)) * float(sx) + 1e-9
    ot, so, zero = output(spread)
    m = (np.float64(sx) * (scale.astype(np.float64) * factor) / np.float64(so)).astype(np.float32)
    mo = (np.float64(sx) * offset.astype(np.float64) / np.float64(so)).astype(np.float32)
    v_out = steps(c, x, v, m, mo, block[inner(c)])
    ins = [xin, w]
    bias = pick(None, "sq32", "f32", "sq8")
    if bias:
        b, s, o = rng.integers(-100, 100, c["co"]), np.float32(spread / 100), int(rng.integers(-3, 4))
        if bias == "f32":
            b = (rng.normal(0, spread, c["co"])).astype(np.float32)
            real = b.astype(np.float64)
        else:
            real = np.float64(s) * (b + o)
        ins.append(T(b, bias, const=w.const) if bias == "f32" else T(b, bias, scale=s, offset=o, const=w.const))
        v_out = v_out + (real / np.float64(so)).astype(np.float32)
    want = np.clip(np.rint(v_out).astype(np.float64) + zero, *FIXED[ot]).astype(np.int64).reshape(c["oshape"])
    return check(c, ins, ot, so, zero, want, f"{xt}x{wt} {'float block' if floats else 'block'}")


def float_case():
    """Float activations: the real values of the weights, as f32."""
    c, t = new_case(ALL), pick("f32", "f16")
    kind = pick("expansion", "axis", "tensor", "block", "float block")
    if kind.endswith("block"):
        w, v, scale, factor, offset, wt, _ = per_block(c, kind == "float block")
        real = (v.astype(np.float32) * (scale * np.float32(factor)).astype(np.float32)).astype(np.float32) + offset
    else:
        w, v, scale, wt = per_channel(c, kind)
        real = v.astype(np.float32) * along(scale.astype(np.float32), c["caxis"], v.ndim)
    x = rng.normal(0, 1, c["xshape"]).astype(np.float16)
    ins = [T(x.astype(np.float32) if t == "f32" else x, t), w]
    exact = products(c, x.astype(np.float64), real.astype(np.float64))
    bound = products(c, np.abs(x).astype(np.float64), np.abs(real).astype(np.float64))
    if rng.integers(2):
        b = rng.normal(0, 1, c["co"]).astype(np.float32)
        ins.append(T(b, "f32", const=w.const))
        exact, bound = exact + b, bound + np.abs(b)
    k = int(np.prod(c["wshape"])) // max(1, c["nscale"]) + 2
    bound = k * 2.0**-24 * bound + (2.0**-11 * np.abs(exact) + 2.0**-24 if t == "f16" else 1e-35)
    got = run_everywhere(c, ins, [O(c["oshape"], t)], (-np.inf, np.inf)).astype(np.float64)
    bad = ~(np.abs(got - exact) <= bound) & (np.abs(exact) < 6e4)
    assert not bad.any(), f"{probe.kernel}: {np.count_nonzero(bad)} of {bad.size} out of bounds: {t} {wt} {kind} {describe(c)}"
    return f"{c.get('line', c['op'])} {t}x{wt} {kind}"


def mixed_case():
    """Fixed-point activations in a float sum: float weights, or effective integers that have more than 16 bits."""
    c, kind = new_case(ALL), pick("f32", "f16", "wide")
    xt, xin, x, sx = activations(c)
    if kind == "wide":
        n, room = c["nscale"], c["wshape"][inner(c)]
        scales, blocks = (10.0 ** rng.uniform(-7, -5, n)).astype(np.float32), rng.integers(300, 60000, (n, 1)).astype(np.uint16)
        q = rng.integers(-128, 128, c["wshape"])
        q.flat[0], blocks[0, 0] = -128, 60000
        w = T(q, "sq8", scales=scales, axis=c["caxis"], block_scales=blocks, const=bool(rng.integers(4)))
        real = (q * along(blocks.astype(np.int64), c["caxis"], q.ndim)).astype(np.float32) * along(scales, c["caxis"], q.ndim)
        assert room
    else:
        real = rng.normal(0, 1, c["wshape"]).astype(np.float16 if kind == "f16" else np.float32)
        w = T(real, kind, const=bool(rng.integers(4)))
    xr = x.astype(np.float32) * sx
    exact = products(c, xr.astype(np.float64), real.astype(np.float64))
    bound = products(c, np.abs(xr).astype(np.float64), np.abs(real).astype(np.float64))
    spread = float(np.percentile(np.abs(exact), 90)) + 1e-9
    ins, bias = [xin, w], pick(None, "f32", "f16", "uq8", "sq16")
    if bias:
        b = rng.normal(0, 1, c["co"]).astype(np.float16) if bias[0] == "f" else rng.integers(0, 100, c["co"])
        s = np.float32(spread / 100)
        ins.append(T(b, bias, const=w.const) if bias[0] == "f" else T(b, bias, scale=s, offset=-50, const=w.const))
        exact = exact + (b.astype(np.float64) if bias[0] == "f" else np.float64(s) * (b - 50))
    ot, so, zero = output(spread)
    got = run_everywhere(c, ins, [O(c["oshape"], ot, scale=so, offset=-zero)], (-np.inf, np.inf)).astype(np.float64)
    k = int(np.prod(c["wshape"])) // max(1, c["nscale"]) + 4
    bound = ((k * 2.0**-24 * (bound + np.abs(exact)) / so + 0.5 + 1e-3) * np.ones(exact.shape)).reshape(c["oshape"])
    want = (exact / so).reshape(c["oshape"]) + zero
    bad = np.abs(got - np.clip(want, *FIXED[ot])) > bound
    assert not bad.any(), f"{probe.kernel}: {np.count_nonzero(bad)} of {bad.size} out of bounds: {xt} {kind} {bias} {ot} {describe(c)} {got[bad][:4]} {want[bad][:4]}"
    return f"{c.get('line', c['op'])} {xt}x{kind} mixed"


def refusals():
    x, y = T(np.zeros((1, 8)), "uq8", scale=1.0), O((1, 4), "uq8", scale=1.0)

    def refused(text, w, *bias):
        try:
            probe.run("FullyConnected", [x, w, *bias], [y])
        except ProbeError as e:
            assert text in str(e), (text, str(e))
            return
        raise AssertionError("not refused: " + text)

    ones = np.ones(4, np.float32)
    vector = T(np.zeros((4, 8)), "sq8", scales=ones, axis=0, const=True)
    vector.kind = Q_VECTOR
    refused("vector (code book) encoding", vector)
    refused("3 blocks per output channel", T(np.zeros((4, 8)), "sq8", scales=ones, axis=0, const=True, block_scales=np.ones((4, 3), np.uint8)))
    refused("mapping 3", T(np.zeros((4, 8)), "sq8", scale=1.0, mapping=3, const=True))
    refused("axis 1", T(np.zeros((4, 8)), "sq8", scales=np.ones(8, np.float32), axis=1, const=True, block_scales=np.ones((8, 2), np.uint8)))
    refused("offset 1 of the encoding is 999",
            T(np.zeros((4, 8)), "sq8", scales=ones[:2], offsets=[0, 999], block=[4, 4], const=True))
    blocks = T(np.zeros((4, 8)), "sq8", scales=ones[:2], block=[4, 4], const=True)
    refused("beside weights with block scales there is none", blocks, T(np.zeros(4), "i32", const=True))
    refused("beside float weights there is none", T(np.zeros((4, 8)), "f32", const=True), T(np.zeros(4), "i32", const=True))
    refused("one scale, or one per output channel", T(np.zeros((4, 8)), "sq8", scale=1.0, const=True),
            T(np.zeros(4), "sq32", scales=ones[:2], block=[2], const=True))
    refused("sq32, i32, i64, uq8", T(np.zeros((4, 8)), "sq8", scale=1.0, const=True), T(np.zeros(4), "uq32", scale=1.0, const=True))


def main():
    seen = {}
    refusals()
    for kind, n in ((integer_case, 900), (block_case, 700), (float_case, 400), (mixed_case, 300)):
        for _ in range(scaled(n)):
            name = kind()
            seen[name] = seen.get(name, 0) + 1
    for name in sorted(seen):
        print(f"{seen[name]:6d} {name}")
    kernels = {}
    for row in probe.ran:
        kernels[row[4]] = kernels.get(row[4], 0) + 1
    print("kinds of calls per kernel: " + ", ".join(f"{k} {n}" for k, n in sorted(kernels.items())))
    print(f"instruction sets: {' '.join(ISAS)}")


if __name__ == "__main__":
    sys.exit(main())
