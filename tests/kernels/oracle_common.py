# SPDX-License-Identifier: Apache-2.0
"""What the oracles share: docs/numerics.md sections 1, 2 and 6 in numpy, random tensors and encodings, comparison, and the case loop."""
import sys
import time

import numpy as np

from probe import ISA, NUMPY, PACKED, O, P, Probe, ProbeError, Q_VECTOR, T, b8, f32, i32, scaled, u32  # noqa: F401

F = np.float32
FIXED = ("uq8", "sq8", "uq16", "sq16")
RANGE = {}
for _bits in (2, 4, 8, 16, 32, 64):
    for _u, _s in (("uq", "sq"), ("u", "i")):
        RANGE[f"{_u}{_bits}"] = (0, 2 ** _bits - 1)
        RANGE[f"{_s}{_bits}"] = (-2 ** (_bits - 1), 2 ** (_bits - 1) - 1)
RANGE["b8"] = (0, 1)


class Enc:
    """A type and, for fixed point, an encoding."""

    def __init__(self, dtype, scale=None, offset=0):
        self.dtype, self.scale, self.offset = dtype, scale, offset
        self.fixed = dtype.startswith(("uq", "sq"))
        self.k = dict(scale=scale, offset=offset) if self.fixed else {}

    def tensor(self, a, **k):
        return T(a, self.dtype, **self.k, **k)

    def out(self, shape):
        return O(shape, self.dtype, **self.k)

    def real(self, a):
        """Stored values as f32: section 2."""
        return deq(a, self.scale, self.offset) if self.fixed else a.astype(F)

    def __repr__(self):
        return f"{self.dtype}({self.scale},{self.offset})" if self.fixed else self.dtype


def deq(q, s, o):
    return (q.astype(np.int64) + o).astype(F) * F(s)


def clamp(v, dtype, bits=0):
    lo, hi = RANGE[dtype] if not bits else (RANGE["sq4"] if dtype[0] == "s" else RANGE["uq4"]) if bits == 4 else RANGE[dtype]
    v = np.where(np.isnan(v), 0, v) if np.asarray(v).dtype.kind == "f" else v
    return np.clip(v, lo, hi)


def quantize(x, e, f64=False):
    """Quantize of section 2 (f32), or with f64 the rule of tables (section 5)."""
    with np.errstate(all="ignore"):
        v = np.asarray(x, np.float64) / np.float64(F(e.scale)) if f64 else (np.asarray(x, F) / F(e.scale)).astype(F)
        r = np.rint(v.astype(np.float64))
        r = np.where(np.isnan(r), 0.0, r) - e.offset
    return clamp(r, e.dtype).astype(NUMPY[e.dtype])


def requant(total, m, e):
    """clamp(rne((float)total * m) - o)"""
    with np.errstate(all="ignore"):
        v = np.asarray(total, np.int64).astype(F) * F(m)
    return clamp(np.rint(v.astype(np.float64)) - e.offset, e.dtype).astype(NUMPY[e.dtype])


def fixed_to_fixed(q, a, b):
    if (a.scale, a.offset) == (b.scale, b.offset):
        return clamp(q.astype(np.int64), b.dtype).astype(NUMPY[b.dtype])
    return requant(q.astype(np.int64) + a.offset, F(float(F(a.scale)) / float(F(b.scale))), b)


def moved(q, a, b):
    """Data movement: section 7."""
    return fixed_to_fixed(q, a, b) if a.fixed else q


def store(x, e):
    """An f32 result as the output stores it."""
    if e.fixed:
        return quantize(x, e)
    if e.dtype == "b8":
        return (np.asarray(x) != 0).astype(np.uint8)
    with np.errstate(all="ignore"):
        return np.asarray(x, F).astype(NUMPY[e.dtype])


def lane_sum(x):
    """Section 6: sum over the last axis in 16 lanes."""
    n = x.shape[-1]
    pad = np.zeros(x.shape[:-1] + ((-n) % 16,), F)
    lanes = np.concatenate([x.astype(F), pad], -1).reshape(x.shape[:-1] + (-1, 16))
    acc = np.zeros(x.shape[:-1] + (16,), F)
    with np.errstate(all="ignore"):
        for i in range(lanes.shape[-2]):
            acc = acc + lanes[..., i, :]
        for step in (8, 4, 2, 1):
            acc = acc[..., :step] + acc[..., step:2 * step]
    return acc[..., 0]


class Case:
    """Random choices and the loop over cases."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.p = Probe()
        self.isas = [n for n in ("ref", "avx2", "avx512") if ISA[n] <= self.p.isa]
        self.count = 0
        self.kernels = set()
        self.skips = {}
        self.odd = False  # every array with what is rare: NaN, infinities, both ends of its type
        self.start = time.time()

    def pick(self, *xs):
        return xs[self.r.integers(len(xs))]

    def shape(self, lo=1, hi=5, size=9, total=20000):
        while True:
            rank = self.r.integers(lo, hi + 1)
            s = [int(self.pick(1, 2, 3, self.r.integers(1, size + 1), self.r.integers(1, 4 * size))) for _ in range(rank)]
            if np.prod(s, dtype=np.int64) <= total:
                return tuple(s)

    def enc(self, types=FIXED + ("f32", "f16"), span=8.0):
        """A type with an encoding whose real range is about +-span."""
        t = self.pick(*types)
        if not t.startswith(("uq", "sq")):
            return Enc(t)
        lo, hi = RANGE[t]
        scale = F(span * 2 / (hi - lo) * self.r.uniform(0.3, 1.5))
        zero = int(self.r.integers(lo, hi + 1)) if self.r.random() < 0.3 else (lo + hi + 1) // 2 + int(self.r.integers(-9, 10))
        return Enc(t, scale, -zero)

    def like(self, e, span=8.0):
        """Another encoding of the same kind of type: the same, or any fixed-point type."""
        if not e.fixed:
            return Enc(e.dtype)
        return self.pick(e, Enc(e.dtype, F(e.scale * self.r.uniform(0.5, 2)), e.offset + int(self.r.integers(-5, 6))), self.enc(FIXED, span))

    def array(self, e, shape, span=8.0, special=True):
        if e.dtype in ("f32", "f16", "f64"):
            a = self.r.normal(0, span / 2, shape).astype(NUMPY[e.dtype])
            if special and a.size and (self.r.random() < 0.15 or self.odd):
                for v in (np.nan, np.inf, -np.inf, 0.0, -0.0):
                    a.flat[self.r.integers(a.size)] = v
            return a
        lo, hi = RANGE[e.dtype]
        if not e.fixed and hi > 127 and self.r.random() < 0.6:
            lo, hi = max(lo, -100), 100
        a = self.r.integers(lo, hi, shape, dtype=np.int64 if hi < 2 ** 63 else np.uint64, endpoint=True).astype(NUMPY[e.dtype])
        if self.odd and special and a.size:
            a.flat[self.r.integers(a.size)], a.flat[self.r.integers(a.size)] = RANGE[e.dtype]
        return a

    def run(self, op, ins, outs, params=None, **k):
        k.setdefault("isa", self.pick(*self.isas))
        k.setdefault("tiles", int(self.pick(1, 1, 2, 3, 7)))
        self.count += 1
        with np.errstate(all="ignore"):
            r = self.p.run(op, ins, outs, params or {}, **k)
        self.kernels.add(self.p.kernel)
        return r

    def odd_cases(self, case, n=12):
        """The same case, often enough for every kind of rare number; not scaled, since a coverage test counts on it."""
        self.odd = True
        for i in range(n):
            case(self, i)
        self.odd = False

    def skip(self, what, error):
        """A case that the operator's row refuses: counted, and named at the end. Anything but a refusal of the row is a failure."""
        text = str(error)
        if not isinstance(error, ProbeError) or not text.startswith("ST_INVALID_OP"):
            raise error
        n, first = self.skips.get(what, (0, text))
        self.skips[what] = (n + 1, first)

    def done(self, name):
        for what, (n, text) in sorted(self.skips.items()):
            print(f"SKIP: {n} cases of {what}: {text}")
        print(f"{name}: {self.count} cases in {time.time() - self.start:.1f} s; kernels: {' '.join(sorted(self.kernels))}")


def lean(c, params, **defaults):
    """Parameters without some of those that have their default value."""
    return {k: p for k, p in params.items() if k not in defaults or c.r.integers(2) or (np.asarray(p.array) != defaults[k]).any()}


def same(got, want, *what):
    """Bit for bit; any NaN equals any NaN."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape, what)
    if got.dtype.kind == "f":
        w = want.astype(got.dtype)
        bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
        ok = (got.view(bits) == w.view(bits)) | (np.isnan(got) & np.isnan(w))
    else:
        ok = got == want
    report(ok, got, want, what)


def near(got, want, ulps, *what):
    """f32 or f16 within some units in the last place of an f64 value."""
    got = np.asarray(got)
    with np.errstate(all="ignore"):
        w = np.asarray(want, np.float64).astype(got.dtype)
        ulp = np.abs(np.spacing(np.where(np.isfinite(w), w, 1).astype(got.dtype))).astype(np.float64)
        ok = (got == w) | (np.isnan(got) & np.isnan(w)) | (np.abs(got.astype(np.float64) - w.astype(np.float64)) <= ulps * ulp)
    report(ok, got, w, what)


def report(ok, got, want, what):
    if ok.all():
        return
    at = np.argwhere(~ok)
    lines = [f"{tuple(int(j) for j in i)}: got {got[tuple(i)]!r}, want {want[tuple(i)]!r}" for i in at[:5]]
    print("FAILED", *what, f"\n{len(at)} of {ok.size} differ:", *lines, sep="\n  ")
    sys.exit(1)


def swapped(e, got, exact, bits_ok=1e-6):
    """Tables: got == want, but where f64 functions of two libraries may fall on both sides of a rounding boundary."""
    with np.errstate(all="ignore"):
        v = np.asarray(exact, np.float64) / np.float64(F(e.scale))
    tie = np.abs(np.abs(v - np.floor(v)) - 0.5) < bits_ok
    return (got == quantize(exact, e, f64=True)) | (tie & (np.abs(got.astype(np.int64) - quantize(exact, e, f64=True).astype(np.int64)) <= 1))
