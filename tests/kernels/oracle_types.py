# SPDX-License-Identifier: Apache-2.0
"""Data types and ranks, all of them: every combination of types that client programs are known to emit must be accepted and compute the
right numbers, every other type that an operator accepts must compute them too, and operators without a layout work at ranks 1 to 8.

An operator is a formula on f64 numbers (type_formulas.py). Inputs are stored in each type (fixed point with scales that are powers of two, so that f32 and f64 agree
about them), and the stored result must be the formula's, within half a step and the rounding of f32. Integers are exact.
"""
import numpy as np

from client_types import CLIENTS
from oracle_common import NUMPY, RANGE, Case, Enc, F, ProbeError
from type_formulas import OPS, RANKED

ALL = ("f32", "f16", "uq8", "sq8", "uq16", "sq16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "b8")
UNIT = {"f32": 2.0 ** -21, "f16": 2.0 ** -10}  # how far a result may be off, as a part of the largest number involved


def is_fixed(t):
    return t[:2] in ("uq", "sq")


def encoding(c, t, lo, hi, exact):
    """A type with a scale that holds lo … hi; exact: a power of two."""
    if not is_fixed(t):
        return Enc(t)
    qlo, qhi = RANGE[t]
    step = max(hi - lo, 1e-3) / (qhi - qlo)
    step = 2.0 ** np.ceil(np.log2(step)) if exact else float(F(step * 1.01))
    zero = int(np.clip(np.rint(qlo - lo / step), qlo, qhi))
    return Enc(t, F(step), -zero)


def stored(c, e, port):
    """Random contents inside the port's range, as stored, and as f64."""
    lo, hi = port.lo, port.hi
    if port.values is not None:
        q = np.asarray(port.values).astype(NUMPY[e.dtype])
        return q, q.astype(np.float64)
    if e.fixed:
        step, qlo, qhi = float(e.scale), *RANGE[e.dtype]
        a, b = (int(np.clip(np.rint(v / step - e.offset), qlo, qhi)) for v in (lo, hi))
        q = c.r.integers(a, b + 1, port.shape)
        if port.whole:
            q = np.clip(np.rint(np.rint((q + e.offset) * step) / step) - e.offset, qlo, qhi).astype(np.int64)
        return q.astype(NUMPY[e.dtype]), (q + e.offset) * step
    if e.dtype in ("f32", "f16"):
        x = c.r.uniform(lo, hi, port.shape)
        x = (np.rint(x) if port.whole else x).astype(NUMPY[e.dtype])
        return x, x.astype(np.float64)
    tlo, thi = RANGE[e.dtype]
    q = c.r.integers(max(int(np.ceil(lo)), tlo), min(int(np.floor(hi)), thi) + 1, port.shape).astype(NUMPY[e.dtype])
    return q, q.astype(np.float64)


def agrees(got, want, e, largest, slack=0.0):
    """Stored results against f64 numbers. `largest` number that took part in the sums."""
    odd = ~np.isfinite(want)
    if e.dtype in UNIT and odd.any():
        same = (np.isnan(got) & np.isnan(want)) | (got == want)
        return np.where(odd, same, agrees(got, np.where(odd, 0, want), e, largest) if (~odd).any() else False)
    if e.fixed:
        steps = want / float(e.scale) - e.offset
        slack += 0.51 + 2.0 ** -20 * (largest / float(e.scale))
        return np.abs(got.astype(np.float64) - np.clip(steps, *RANGE[e.dtype])) <= slack
    if e.dtype == "b8":
        return got == (want != 0)
    if e.dtype in UNIT:
        return np.abs(got.astype(np.float64) - want) <= UNIT[e.dtype] * np.maximum(np.abs(want), largest) + 1e-30
    lo, hi = RANGE[e.dtype]
    return got == (np.array([int(v) for v in want.flat], object) % (hi - lo + 1)).reshape(want.shape).astype(got.dtype if lo == 0 else np.uint64).astype(got.dtype)


def narrower(c, t, want):
    """An encoding that the middle half of the results fits: both ends saturate."""
    lo, hi = float(want.min()), float(want.max())
    qlo, qhi = RANGE[t]
    step = max((hi - lo) / 2 / (qhi - qlo), abs(lo) / 2 ** 20, 1e-6)
    return Enc(t, F(step), -int(np.rint(qlo - (lo + (hi - lo) / 4) / step)))


def plant(c, ports, tensors, reals, values):
    """Special numbers into the first float operand."""
    for port, t, real in zip(ports, tensors, reals):
        if t.dtype == "f32" and port.values is None and t.array.size > 1:
            for at, v in zip(c.r.permutation(t.array.size), values):
                t.array.flat[at] = real.flat[at] = v
            return True
    return False


def run_one(c, name, op, ins, outs, rank, must, special=None):
    """One case. None: the operator's row does not take these types (and need not). special: numbers to plant, or "ends" for results beyond their type."""
    case = op.make(c.r, rank, ins, outs)
    types = list(ins) + [case.ports[i].type or op.more(ins, i) for i in range(len(ins), len(case.ports))]
    tensors, reals = [], []
    for t, port in zip(types, case.ports):
        e = Enc(t, F(1), 0) if case.raw else encoding(c, t, port.lo, port.hi, True)
        q, real = stored(c, e, port)
        tensors.append(e.tensor(q, const=port.const))
        reals.append(real)
    if isinstance(special, list) and not plant(c, case.ports, tensors, reals, special):
        return None
    with np.errstate(all="ignore"):
        wants = [np.asarray(w, np.float64) for w in case.formula(*reals)]
    results = list(outs) + [case.out_types[i] for i in range(len(outs), len(wants))]
    clean = [np.where(np.isfinite(w), w, 0) for w in wants]
    encs = [encoding(c, t, float(w.min(initial=0)) * case.reach, float(w.max(initial=0)) * case.reach, case.exact) for t, w in zip(results, clean)]
    if case.raw:
        encs = [Enc(t, F(1), 0) for t in results]
    if case.same_encoding and encs[0].fixed:
        encs[0] = encoding(c, outs[0], case.ports[0].lo, case.ports[0].hi, True)
    if special == "ends":
        encs = [narrower(c, e.dtype, w) if e.fixed else e for e, w in zip(encs, wants)]
    try:
        gots = c.run(name, [None if i is None else tensors[i] for i in case.order], [e.out(w.shape) for e, w in zip(encs, wants)], case.params)
    except ProbeError as error:
        if must or not str(error).startswith("ST_INVALID_OP"):
            raise AssertionError(f"{name} {'+'.join(types)}>{'+'.join(results)} rank {rank}: {error}") from None
        return None
    sizes = [float(np.abs(r[np.isfinite(r)]).max(initial=0)) for r, p in zip(reals, case.ports) if p.values is None]
    largest = max(sizes + [0]) * case.gain
    for got, want, e in zip(gots, wants, encs):
        ok = agrees(got, want, e, largest, case.slack)
        if case.loose:
            ok = ok | (np.abs(Enc(e.dtype, e.scale, e.offset).real(got) - want) <= case.loose * (np.abs(want) + 1e-3))
        if not ok.all():
            at = tuple(np.argwhere(~ok)[0])
            raise AssertionError(f"{name} {types} > {results} rank {rank} {e}: {(~ok).sum()} of {ok.size} differ, at {at}: got {got[at]}, "
                                 f"which is not {want[at]} {[t.array.flat[0] for t in tensors]}")
    return True


def combinations(text):
    for one in text.split():
        ins, out = one.split(">")
        yield ins.split("+"), [out]


def client_cases(c):
    """What clients emit: no refusal is allowed."""
    for name, text in CLIENTS.items():
        for ins, outs in combinations(text):
            for _ in range(2):
                run_one(c, name, OPS[name], ins, outs, None, True)


def homogeneous(op, template, t):
    """The types of the first combination that the operator is known with, its value types exchanged for t."""
    ins, outs = template
    keep = op.keep
    return [t if i not in keep else v for i, v in enumerate(ins)], [outs[0] if op.result else t]


def other_cases(c):
    """Every other type that a row takes: the numbers must be right as well."""
    ran = {}
    for name, op in OPS.items():
        template = next(combinations(CLIENTS.get(name) or op.types))
        for t in ALL if not op.reals else ALL[:6]:
            ins, outs = homogeneous(op, template, t)
            if run_one(c, name, op, ins, outs, None, False):
                ran.setdefault(name, []).append(t)
    return ran


# What a NaN reaches depends on how the sum is written: a + (b - a) * f, or a transform that is not the fast one. Their own oracles follow the page.
BLENDS = ("ResizeBilinear", "GridSample", "RoiAlign", "Stft")


def special_cases(c):
    """NaN and infinities go where the formula takes them; results beyond their type end at its ends."""
    for name, op in OPS.items():
        template = next(combinations(CLIENTS.get(name) or op.types))
        ins, outs = homogeneous(op, template, "f32")
        for numbers in ([np.nan], [np.inf, -np.inf]):
            if name in BLENDS + ("Cast", "Dequantize", "RandomUniformLike") or (name == "TopK" and numbers[0] == np.inf):
                continue
            for _ in range(4):
                run_one(c, name, op, ins, outs, None, False, numbers)
        for t in ("uq8", "sq16") if name != "Cast" else ():
            ins, outs = homogeneous(op, template, t)
            for _ in range(3):
                run_one(c, name, op, ins, outs, None, False, "ends")


def rank_cases(c):
    for name in RANKED:
        op = OPS[name]
        template = next(combinations(CLIENTS.get(name) or op.types))
        for t in ("f32", "uq8", "i32"):
            must = t == "f32" and name not in ("Quantize", "Dequantize")
            for rank in range(op.low, 9 - op.grows):
                ins, outs = homogeneous(op, template, t)
                if run_one(c, name, op, ins, outs, rank, must) is None:
                    break


def main():
    c = Case(31)
    client_cases(c)
    ran = other_cases(c)
    special_cases(c)
    rank_cases(c)
    print(f"types: {sum(len(t.split()) for t in CLIENTS.values())} combinations of clients, {sum(map(len, ran.values()))} of one type, "
          f"{len(RANKED)} operators at all ranks")
    c.done("types")


with np.errstate(all="ignore"):
    main()
