# SPDX-License-Identifier: Apache-2.0
"""Operators as formulas on f64 numbers (see oracle_types.py).

`make` gives the operands of one case (shape and range of each), the parameters and the formula; types are given to it so that integers can follow
their own rules (docs/numerics.md).
"""
import math

import numpy as np

from oracle_products import conv_terms, deconv
from probe import P, b8, f32, i32, u32


class Port:
    def __init__(self, shape, lo=-4.0, hi=4.0, values=None, whole=False, const=False, type=None):
        self.shape, self.lo, self.hi, self.whole, self.const, self.type = tuple(shape), lo, hi, whole, const, type
        self.values = None if values is None else np.asarray(values)


class Made:
    """gain: how much larger than an operand the numbers in a sum get; reach: part of the results' range that the output holds; exact: the output's
    scale is a power of two; raw: encodings have scale 1 and offset 0; order: of the ports as inputs, None for an absent one;
    slack: steps that a fixed-point result may be off besides its own rounding."""

    def __init__(self, ports, formula, params=None, out_types=(), reach=1.0, exact=False, same_encoding=False, gain=1.0, loose=0.0,
                 raw=False, order=None, slack=0.0):
        self.ports, self.params, self.out_types, self.reach, self.exact = ports, params or {}, out_types, reach, exact
        self.same_encoding, self.gain, self.loose, self.raw = same_encoding, gain, loose, raw
        self.slack = slack
        self.order = order or list(range(len(ports)))
        self.formula = lambda *x: formula(*x) if isinstance(formula(*x), (list, tuple)) else [formula(*x)]


class Op:
    """keep: inputs that have types of their own; result: the output has; low: least rank; grows: the output has that many dimensions more;
    reals: whole numbers make no sense."""

    def __init__(self, make, types="f32>f32", keep=(), result=False, low=1, grows=0, more=lambda ins, i: ins[0], reals=False):
        self.make, self.types, self.keep, self.result, self.low, self.grows, self.more = make, types, keep, result, low, grows, more
        self.reals = reals


def whole(t):
    return t[0] in "iu" and t[1] != "q"


def unsigned(t):
    return whole(t) and t[0] == "u"


def dims(r, rank, least=1):
    rank = rank or int(r.integers(least, 5))
    return [int(r.integers(1, 6 if rank < 5 else 4)) for _ in range(rank)]


# ---- element by element ------------------------------------------------------------------------------------------------------------


def unary(fn, lo=-3.0, hi=3.0, params=None, loose=0.0, **k):
    return Op(lambda r, rank, ins, outs: Made([Port(dims(r, rank), 0 if unsigned(ins[0]) else lo, hi)], fn, params, loose=loose), **k)


def truncated(fn):
    """Integer division and the like: the formula on whole numbers, cut toward zero."""
    return lambda a, b: np.trunc(fn(a, b))


def binary(fn, second=(-4.0, 4.0), first=(-4.0, 4.0), on_whole=None, gain=4.0, **k):
    def make(r, rank, ins, outs):
        shape = dims(r, rank)
        other = [1 if r.integers(3) == 0 else n for n in shape][int(r.integers(len(shape))) if rank is None else 0:]
        up = unsigned(ins[0])
        ports = [Port(shape, 0 if up else first[0], first[1]), Port(other or [1], 1 if up or second[0] > 0 else second[0], second[1])]
        return Made(ports, on_whole if on_whole and whole(ins[0]) and whole(ins[1]) else fn, gain=gain)

    return Op(make, "f32+f32>f32", **k)


def compare(fn, lo=-4, hi=4):
    def make(r, rank, ins, outs):
        shape = dims(r, rank)
        ports = [Port(shape, 0 if unsigned(ins[0]) else lo, hi, whole=True), Port(shape, 0 if unsigned(ins[0]) else lo, hi, whole=True)]
        return Made(ports, lambda a, b: fn(a, b).astype(float))

    return Op(make, "f32+f32>b8", result=True)


def power(r, rank, ins, outs):
    shape = dims(r, rank)
    exponent = Port(shape, 0, 2, whole=whole(ins[0]) or whole(ins[1]))
    return Made([Port(shape, 1 if whole(ins[0]) else 0.5, 3), exponent], lambda a, b: a ** b, gain=4)


def select(r, rank, ins, outs):
    shape = dims(r, rank)
    return Made([Port(shape, 0, 1, values=r.integers(0, 2, shape)), Port(shape), Port(shape)], lambda k, a, b: np.where(k != 0, a, b))


def neuron(r, rank, ins, outs):
    ops = [lambda x: np.where(x > 0, x, np.expm1(x)), gelu, lambda x: np.clip(0.2 * x + 0.5, 0, 1), hard_swish, lambda x: np.maximum(x, 0),
           lambda x: np.clip(x, -1, 2), lambda x: 1 / (1 + np.exp(-x)), lambda x: np.log1p(np.exp(x)), np.tanh]
    at = int(r.integers(len(ops)))
    params = {"operation": u32(at)} | ({"min_value": f32(-1), "max_value": f32(2)} if at == 5 else {})
    return Made([Port(dims(r, rank))], ops[at], params)


def unary_generic(r, rank, ins, outs):
    at, fn = [(0, np.abs), (3, np.ceil), (6, np.floor), (8, np.negative), (11, np.rint), (13, np.sign)][int(r.integers(6))]
    return Made([Port(dims(r, rank), 0 if unsigned(ins[0]) else -3, 3)], fn, {"operation": u32(at)})


def binary_generic(r, rank, ins, outs):
    at, fn = [(0, np.add), (10, larger), (11, smaller), (13, np.multiply), (18, np.subtract)][int(r.integers(5))]
    shape, lo = dims(r, rank), 0 if unsigned(ins[0]) else -4
    return Made([Port(shape, lo), Port(shape, lo)], fn, {"operation": u32(at)}, gain=4)


def larger(a, b):
    return np.where(a > b, a, b)


def smaller(a, b):
    return np.where(a < b, a, b)


def gelu(x):
    return np.where(x == -np.inf, 0, 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


def hard_swish(x):
    return np.where(x == -np.inf, 0, x * np.clip(x + 3, 0, 6) / 6)


def cast(r, rank, ins, outs):
    """Integers are cut, fixed point is rounded; oracle_retype.py has encodings, of which here the stored number is the real one."""
    lo = 0 if unsigned(ins[0]) or ins[0][:2] == "uq" or outs[0][0] == "u" else -100

    def formula(x):
        return np.trunc(x) if outs[0][0] in "iu" and outs[0][1] != "q" else x

    return Made([Port(dims(r, rank), lo, 1 if ins[0] == "b8" else 100)], formula, raw=True)


def convert(r, rank, ins, outs):
    lo = 0 if ins[0] == "u8" else -4
    return Made([Port(dims(r, rank), lo, 200 if ins[0] == "u8" else 4)], lambda x: x)


# ---- moving ------------------------------------------------------------------------------------------------------------------------


def move(build, low=1, grows=0, **k):
    """build(r, shape) -> parameters, formula of one array; values move, so encodings stay."""

    def make(r, rank, ins, outs):
        shape = dims(r, rank, low)
        params, formula = build(r, shape)
        lo = 0 if unsigned(ins[0]) or ins[0] == "b8" else -4
        return Made([Port(shape, lo, 1 if ins[0] == "b8" else 4)], formula, params, same_encoding=True)

    return Op(make, low=low, grows=grows, **k)


def transpose(r, shape):
    perm = r.permutation(len(shape))
    return {"perm": u32(perm)}, lambda x: x.transpose(perm)


def tile(r, shape):
    times = [int(r.integers(1, 3)) for _ in shape]
    return {"multiples": u32(times)}, lambda x: np.tile(x, times)


def pad(r, shape):
    pads = [[int(v) for v in r.integers(0, 2, 2)] for _ in shape]
    return {"scheme": u32(0), "pad_amount": u32(pads), "pad_constant_value": P(1, "i32")}, lambda x: np.pad(x, pads, constant_values=1)


def strided_slice(r, shape):
    ranges = [[int(r.integers(n)), n, int(r.integers(1, 3))] for n in shape]
    return {"ranges": i32(ranges)}, lambda x: x[tuple(slice(*v) for v in ranges)]


def expand_dims(r, shape):
    axis = int(r.integers(len(shape) + 1))
    return {"axis": u32(axis)}, lambda x: np.expand_dims(x, axis)


def joined(stack):
    def make(r, rank, ins, outs):
        shape = dims(r, rank)
        axis = int(r.integers(len(shape) + stack))
        lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
        join = np.stack if stack else np.concatenate
        return Made([Port(shape, lo, hi) for _ in ins], lambda *x: join(x, axis), {"axis": u32(axis)}, same_encoding=True)

    return Op(make, "f32+f32>f32", grows=int(stack))


def split(r, rank, ins, outs):
    shape = dims(r, rank)
    axis = int(r.integers(len(shape)))
    shape[axis] = 5
    cut = int(r.integers(1, 5))
    lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
    return Made([Port(shape, lo, hi)], lambda x: np.split(x, [cut], axis), {"axis": u32(axis), "split_index": u32([cut])}, [None, outs[0]])


def unpack(r, rank, ins, outs):
    shape = dims(r, rank, 2)
    axis = int(r.integers(len(shape)))
    shape[axis] = 2
    lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
    return Made([Port(shape, lo, hi)], lambda x: [np.take(x, i, axis) for i in range(2)], {"axis": u32(axis)}, [None, outs[0]])


def values(r, rank, ins, least=1):
    shape = dims(r, rank, least)
    lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
    return shape, Port(shape, lo, hi)


def gather(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    axis = int(r.integers(len(shape)))
    at = r.integers(0, shape[axis], 3)
    return Made([x, Port((3,), values=at)], lambda a, i: np.take(a, at, axis), {"axis": i32(axis)}, same_encoding=True)


def gather_elements(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    axis = int(r.integers(len(shape)))
    at = r.integers(0, shape[axis], shape)
    return Made([x, Port(shape, values=at)], lambda a, i: np.take_along_axis(a, at, axis), {"axis": u32(axis)}, same_encoding=True)


def gather_nd(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    at = np.stack([r.integers(0, n, 4) for n in shape], -1)
    return Made([x, Port(at.shape, values=at)], lambda a, i: a[tuple(at.T)], {"batch_dims": u32(0)}, same_encoding=True)


def scatter_nd(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    at = r.permutation(shape[0])[:2].reshape(-1, 1)
    lo, hi = x.lo, x.hi

    def formula(a, i, u):
        a = a.copy()
        a[at[:, 0]] = u
        return a

    return Made([x, Port(at.shape, values=at), Port([len(at)] + shape[1:], lo, hi)], formula, {"reduction": u32(0)}, same_encoding=True)


def scatter_elements(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    axis = int(r.integers(len(shape)))
    at = np.argsort(r.random(shape), axis)

    def formula(a, i, u):
        a = a.copy()
        np.put_along_axis(a, at, u, axis)
        return a

    return Made([x, Port(shape, values=at), Port(shape, x.lo, x.hi)], formula, {"axis": u32(axis), "reduction": u32(0)}, same_encoding=True)


def blocks(to_depth):
    def make(r, rank, ins, outs):
        b, h, w, d = 2, 4, 6, 3
        lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
        params = {"block_size": u32([2, 2])}
        if to_depth:
            def formula(x):
                return x.reshape(b, h // 2, 2, w // 2, 2, d).transpose(0, 1, 3, 2, 4, 5).reshape(b, h // 2, w // 2, 4 * d)
            return Made([Port((b, h, w, d), lo, hi)], formula, params, same_encoding=True)

        def formula(x):  # DCR
            return x.reshape(b, h, w, 2, 2, d).transpose(0, 1, 3, 2, 4, 5).reshape(b, 2 * h, 2 * w, d)
        return Made([Port((b, h, w, 4 * d), lo, hi)], formula, params, same_encoding=True)

    return Op(make)


def batch_blocks(to_batch):
    def make(r, rank, ins, outs):
        lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
        if to_batch:
            def formula(x):
                return x.reshape(1, 2, 2, 3, 2, 3).transpose(2, 4, 0, 1, 3, 5).reshape(4, 2, 3, 3)
            return Made([Port((1, 4, 6, 3), lo, hi)], formula, {"block_size": u32([2, 2]), "pad_amount": u32([[0, 0], [0, 0]])}, same_encoding=True)

        def formula(x):
            return x.reshape(2, 2, 1, 2, 3, 3).transpose(2, 3, 0, 4, 1, 5).reshape(1, 4, 6, 3)
        return Made([Port((4, 2, 3, 3), lo, hi)], formula, {"block_size": u32([2, 2]), "crops": u32([[0, 0], [0, 0]])}, same_encoding=True)

    return Op(make)


def squeeze(r, shape):
    shape[0] = 1
    return {"axes": u32([0])}, lambda x: x[0]


def batch_permutation(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    at = r.permutation(shape[0])
    return Made([x, Port((shape[0],), values=at)], lambda a, i: a[at], same_encoding=True)


def shuffle(r, shape):
    shape[-1] = 6
    return {"num_groups": u32(2), "axis": u32(len(shape) - 1)}, \
        lambda x: x.reshape(x.shape[:-1] + (2, 3)).swapaxes(-1, -2).reshape(x.shape)


def one_hot(r, rank, ins, outs):
    shape = dims(r, rank)
    at = r.integers(0, 5, shape)
    return Made([Port(shape, values=at)], lambda x: np.eye(5)[at], {"depth": u32(5), "on_value": P(1, "f32"), "off_value": P(0, "f32")})


# ---- along axes --------------------------------------------------------------------------------------------------------------------


def reduce(fn, on_whole=None, lo=-4.0, hi=4.0, gain=8.0, **k):
    def make(r, rank, ins, outs):
        shape = dims(r, rank)
        axes = sorted(int(v) for v in r.permutation(len(shape))[:int(r.integers(1, len(shape) + 1))])
        keep = bool(r.integers(2)) or len(axes) == len(shape)
        n = int(np.prod([shape[a] for a in axes]))
        f = on_whole if on_whole and whole(ins[0]) else fn
        port = Port(shape, 0 if unsigned(ins[0]) or ins[0] == "b8" else lo, 1 if ins[0] == "b8" else hi)
        return Made([port], lambda x: f(x, axis=tuple(axes), keepdims=keep), {"axes": u32(axes), "keep_dims": b8(keep)}, gain=gain * n)

    return Op(make, **k)


def extreme(fn):
    def make(r, rank, ins, outs):
        shape = dims(r, rank, 2)
        axis, keep = int(r.integers(len(shape))), len(shape) == 1 or bool(r.integers(2))
        port = Port(shape, 0 if unsigned(ins[0]) else -4, 4)
        return Made([port], lambda x: fn(x, axis=axis, keepdims=keep), {"axis": u32(axis), "keep_dims": b8(keep)})

    return Op(make, "f32>i32", result=True)


def top_k(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    k, largest = int(r.integers(1, shape[-1] + 1)), bool(r.integers(2))

    def formula(a):
        key = np.where(np.isnan(a), 1e9, a)  # a NaN counts as the largest
        at = np.argsort(-key if largest else key, -1, kind="stable")[..., :k]
        return [np.take_along_axis(a, at, -1), at]

    return Made([x], formula, {"k": u32(k), "largest": b8(largest)}, [None, "u32" if r.integers(2) else "i32"], same_encoding=True)


def cumulative(r, rank, ins, outs):
    shape, x = values(r, rank, ins)
    axis, exclusive, reverse = int(r.integers(len(shape))), bool(r.integers(2)), bool(r.integers(2))

    def formula(a):
        a = np.flip(a, axis) if reverse else a
        s = np.cumsum(a, axis)
        if exclusive:
            s = np.concatenate([np.zeros_like(np.take(s, [0], axis)), np.take(s, range(a.shape[axis] - 1), axis)], axis)
        return np.flip(s, axis) if reverse else s

    return Made([x], formula, {"axis": u32(axis), "exclusive": b8(exclusive), "reverse": b8(reverse)}, gain=6)


def softmax(log):
    def make(r, rank, ins, outs):
        shape = dims(r, rank)
        axis = int(r.integers(len(shape)))

        def formula(x):
            x = x - x.max(axis, keepdims=True)
            s = np.exp(x).sum(axis, keepdims=True)
            return x - np.log(s) if log else np.exp(x) / s

        return Made([Port(shape)], formula, {"axis": u32(axis)})

    return Op(make)


def affine(kind):
    """Norms with factors and terms: gamma and beta hold one value per channel."""

    def make(r, rank, ins, outs):
        shape = dims(r, rank, 2 if kind != "layer" else 1)
        shape[-1] = 4
        last, space, n = len(shape) - 1, tuple(range(1, len(shape) - 1)), shape[-1]
        ports = [Port(shape), Port((n,), 0.5, 1.5), Port((n,), -1, 1)]
        eps = 1e-3

        def norm(x, axes):
            d = x - x.mean(axes, keepdims=True)
            return d / np.sqrt((d * d).mean(axes, keepdims=True) + eps)

        def group(x):
            parts = norm(x.reshape((shape[0], -1, 2, 2)), (1, 3))
            return parts.reshape(x.shape)

        formulas = {"layer": lambda x: norm(x, (last,)), "rms": lambda x: x / np.sqrt((x * x).mean(last, keepdims=True) + eps),
                    "instance": lambda x: norm(x, space or ()), "group": group, "batch": lambda x: x}
        params = {"layer": {"axes": u32([last]), "epsilon": f32(eps)}, "rms": {"axes": u32([last]), "epsilon": f32(eps)},
                  "instance": {"epsilon": f32(eps)}, "group": {"epsilon": f32(eps), "group": u32(2)}, "batch": {}}
        return Made(ports, lambda x, g, b: formulas[kind](x) * g + b, params[kind], gain=16, loose=1e-3 if ins[0] in ("f32", "f16") else 0)

    return Op(make, "f32+f32>f32", low={"layer": 1, "rms": 1, "batch": 1, "group": 2}.get(kind, 3),
              more=lambda ins, i: ins[0] if ins[0][0] == "f" else ("sq32", "uq8")[len(ins[0]) % 2])


def l2_norm(r, rank, ins, outs):
    shape = dims(r, rank)
    axis = int(r.integers(len(shape)))
    return Made([Port(shape, 1, 4)], lambda x: x / np.maximum(np.sqrt((x * x).sum(axis, keepdims=True)), 1e-12), {"axis": u32(axis)})


def lrn(r, rank, ins, outs):
    shape = dims(r, rank or 4)

    def formula(x):
        n = x.shape[-1]
        s = np.stack([(x[..., max(0, i - 1):i + 2] ** 2).sum(-1) for i in range(n)], -1)
        return x / (1 + 0.5 * s) ** 0.75

    params = {"alpha": f32(0.5), "beta": f32(0.75), "bias": f32(1), "radius": i32(1), "region": u32(0)}
    return Made([Port(shape)], formula, params)


def hadamard(r, rank, ins, outs):
    shape = dims(r, rank)
    shape[-1] = 8
    h = np.array([[1.0]])
    while len(h) < 8:
        h = np.block([[h, h], [h, -h]])
    return Made([Port(shape)], lambda x: x @ h * 0.5 / math.sqrt(8), {"scale": f32(0.5)}, gain=8)


def stft(r, rank, ins, outs):
    n, step, length = 24, 4, 8

    def formula(x, w=None):
        frames = np.stack([x[:, s:s + length, 0] for s in range(0, n - length + 1, step)], 1)
        y = np.fft.rfft(frames * (1 if w is None else w), axis=-1)
        return np.stack([y.real, y.imag], -1)

    ports = [Port((2, n, 1))] + ([Port((length,), 0, 1)] if len(ins) > 1 else [])
    return Made(ports, formula, {"frame_step": u32(step), "frame_length": u32(length), "onesided": b8(1)}, gain=8)


# ---- products ----------------------------------------------------------------------------------------------------------------------

bias_turn = [0]


def bias_type(ins, i):
    """Every kind of bias in turn."""
    kinds = ("f32", "f16") if ins[0][0] == "f" else ("sq32", "uq8", "f32", "sq16") if ins[1][0] != "f" else ("f32", "sq32", "uq8")
    bias_turn[0] += 1
    return kinds[bias_turn[0] % len(kinds)]


def weight_range(t):
    """16-bit weights are symmetric, so the zero point must be 0."""
    return (-1.0, 1.0 - 2.0 ** -15) if t == "sq16" else (-1.0, 1.0)


def convolution(n, transposed=False, depthwise=False):
    def make(r, rank, ins, outs):
        size, kernel, stride, pads = [int(v) for v in r.integers(3, 6, n)], [2, 3, 1][:n], [1, 2, 1][:n], [[1, 0]] * n
        ci, co = 4, 6
        group = 1 if depthwise or r.integers(2) else 2
        if depthwise:
            wshape, co = kernel + [1, 8], 8
        else:
            wshape = kernel + ([ci, co // group] if transposed else [ci // group, co])
        lo, hi = weight_range(ins[1])
        const = bool(r.integers(2))
        ports = [Port([2] + size + [ci]), Port(wshape, lo, hi, const=const), Port((co,), -2, 2, const=const)]
        params = {"stride": u32(stride if n > 1 else stride[0]), "pad_amount": u32(pads if n > 1 else pads[0])}
        params |= {} if depthwise else {"group": u32(group)}

        def formula(x, w, b):
            if transposed:
                return deconv(x, w, stride, pads, [1] * n, [0] * n, group, np.matmul) + b
            parts = [np.matmul(a, v) for a, v in conv_terms(x, w, stride, pads, [1] * n, ci if depthwise else group)]
            return np.concatenate(parts, -1) + b

        return Made(ports, formula, params, gain=40, slack=0.05)  # a bias is rounded to the accumulator's unit

    return Op(make, "f32+f32>f32", more=bias_type)


def fully_connected(r, rank, ins, outs):
    lo, hi = weight_range(ins[1])
    return Made([Port((3, 9)), Port((5, 9), lo, hi, const=bool(r.integers(2))), Port((5,), -2, 2, const=True)], lambda x, w, b: x @ w.T + b, gain=40, slack=0.05)


def matmul(r, rank, ins, outs):
    batch = dims(r, rank - 2) if rank and rank > 2 else [] if rank else dims(r, None)[:2]
    ta, tb = bool(r.integers(2)), bool(r.integers(2))
    a, b = ([7, 3] if ta else [3, 7]), ([5, 7] if tb else [7, 5])
    turn = lambda x, t: np.swapaxes(x, -1, -2) if t else x  # noqa: E731
    return Made([Port(batch + a), Port(batch + b)], lambda x, y: turn(x, ta) @ turn(y, tb), {"transpose_in0": b8(ta), "transpose_in1": b8(tb)}, gain=40)


# ---- images ------------------------------------------------------------------------------------------------------------------------


def pool(n, fn, average=False, count=False):
    def make(r, rank, ins, outs):
        shape = [2] + [6] * n + [3]
        lo, hi = (0, 4) if unsigned(ins[0]) else (-4, 4)
        params = {"filter_size": u32([2] * n), "stride": u32([2] * n), "pad_amount": u32([[0, 0]] * n)}
        if count:
            params["count_pad_for_edges"] = b8(0)

        def formula(x):
            parts = x.reshape([2] + [3, 2] * n + [3])
            return fn(parts, tuple(range(2, 2 * n + 2, 2)))

        return Made([Port(shape, lo, hi)], formula, params, gain=4, same_encoding=not average)

    return Op(make)


def resize_bilinear(r, rank, ins, outs):
    def twice(x, axis):
        after = np.concatenate([np.take(x, range(1, x.shape[axis]), axis), np.take(x, [-1], axis)], axis)
        return np.stack([x, (x + after) / 2], axis + 1).reshape([2 * n if i == axis else n for i, n in enumerate(x.shape)])

    return Made([Port((1, 3, 4, 2))], lambda x: twice(twice(x, 2), 1), {"align_corners": b8(0), "half_pixel_centers": b8(0)})


def resize_nearest(name):
    def make(r, rank, ins, outs):
        params = {"align_corners": b8(0), "half_pixel_centers": b8(1)}
        if name == "Resize":
            params = {"interpolation_mode": u32(0), "transformation_mode": u32(0), "nearest_mode": u32(0), "exclude_outside": b8(0), "cubic_coeff": f32(-0.75)}
        lo, hi = (0, 1) if ins[0] == "b8" else (0 if unsigned(ins[0]) else -4, 4)
        return Made([Port((1, 3, 4, 2), lo, hi)], lambda x: x.repeat(2, 1).repeat(2, 2), params, same_encoding=True)

    return Op(make)


def grid_sample(r, rank, ins, outs):
    h, w = 5, 9  # corners 4 and 8 steps apart: coordinates are exact

    def formula(x, g):
        px, py = (g[..., 0] + 1) / 2 * (w - 1), (g[..., 1] + 1) / 2 * (h - 1)
        x0, y0 = np.clip(np.floor(px), 0, w - 1).astype(int), np.clip(np.floor(py), 0, h - 1).astype(int)
        x1, y1, fx, fy = np.minimum(x0 + 1, w - 1), np.minimum(y0 + 1, h - 1), (px - x0)[..., None], (py - y0)[..., None]
        top, low = x[0][y0, x0] * (1 - fx) + x[0][y0, x1] * fx, x[0][y1, x0] * (1 - fx) + x[0][y1, x1] * fx
        return top * (1 - fy) + low * fy

    params = {"align_corners": b8(1), "mode": u32(0), "padding_mode": u32(1)}
    return Made([Port((1, h, w, 2)), Port((1, 4, 4, 2), -1, 0.9)], formula, params, gain=4)


def roi_align(r, rank, ins, outs):
    """One sample in the middle of four pixels."""
    return Made([Port((1, 5, 5, 2)), Port((1, 4), values=np.array([[0.0, 0.0, 4.0, 4.0]])), Port((1,), values=[0], type="i32")],
                lambda x, b, i: (x[:, :-1, :-1] + x[:, 1:, :-1] + x[:, :-1, 1:] + x[:, 1:, 1:]) / 4, {"img_size_ratio": f32([1, 1])})


# ---- others ------------------------------------------------------------------------------------------------------------------------


def random_uniform(r, rank, ins, outs):
    """docs/numerics.md section 14."""
    shape, mask, g = (3, 5), 2 ** 64 - 1, 0x9E3779B97F4A7C15

    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        return x ^ x >> 31

    def formula(s, seed=None):
        bits = 0 if seed is None else int(np.float32(seed.flat[0]).view(np.uint32))
        n = [mix((mix((bits + g) & mask) + (i + 1) * g) & mask) >> 40 for i in range(15)]
        return np.array([-1 + 3 * (v * 2.0 ** -24) for v in n]).reshape(shape)

    ports = [Port((2,), values=shape)] + ([Port((1,), 1, 2)] if len(ins) > 1 else [])
    return Made(ports, formula, {"low": f32(-1), "high": f32(2)})


def lstm(r, rank, ins, outs):
    b, i, h = 2, 3, 4
    sizes = [(b, i)] + [(h, i)] * 3 + [(h, h)] * 3 + [(h,)] * 3 + [(b, h)] * 2
    ports = [Port(s, -1, 1) for s in sizes] + [Port((h, i), -1, 1), Port((h, h), -1, 1), Port((h,), -1, 1)]
    sig = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731

    def formula(x, wf, wc, wo, uf, uc, uo, bf, bc, bo, h0, c0, wi, ui, bi):
        z = lambda w, u, v: x @ w.T + h0 @ u.T + v  # noqa: E731
        c = sig(z(wf, uf, bf)) * c0 + sig(z(wi, ui, bi)) * np.tanh(z(wc, uc, bc))
        y = sig(z(wo, uo, bo)) * np.tanh(c)
        return [y, c, y]

    params = {"direction": u32(0), "time_major": b8(0), "cell_clip_threshold": f32(0), "output_clip_threshold": f32(0)}
    return Made(ports, formula, params, [None, outs[0], outs[0]], gain=16, order=list(range(12)) + [None] * 4 + [12, 13] + [None] * 3 + [14])


def is_nan(r, rank, ins, outs):
    shape = dims(r, rank)
    x = np.where(r.random(shape) < 0.5, np.nan, 1.0)
    return Made([Port(shape, values=x)], lambda v: np.isnan(x).astype(float))


def reshaped(r, shape):
    return {}, lambda x: x.reshape(-1)


LIMITS = {"min_value": f32(-1), "max_value": f32(2)}
OPS = {
    "Conv1d": convolution(1), "DepthWiseConv1d": convolution(1, depthwise=True), "TransposeConv1d": convolution(1, True),
    "MatMul": Op(matmul, low=2), "Reshape": move(reshaped), "Cast": Op(cast), "Conv2d": convolution(2), "Conv3d": convolution(3),
    "DepthWiseConv2d": convolution(2, depthwise=True), "TransposeConv2d": convolution(2, True), "TransposeConv3d": convolution(3, True),
    "FullyConnected": Op(fully_connected, more=bias_type),
    "ElementWiseAdd": binary(np.add), "ElementWiseMultiply": binary(np.multiply), "ElementWiseSubtract": binary(np.subtract),
    "ElementWiseDivide": binary(np.divide, (1.0, 4.0), on_whole=truncated(np.divide)),
    "ElementWiseFloorDiv": binary(lambda a, b: np.floor(a / b), (1.0, 1.0)), "ElementWiseFmod": binary(np.fmod, (1.0, 1.0), on_whole=np.fmod),
    "ElementWiseMod": binary(np.mod, (1.0, 1.0)), "ElementWiseMaximum": binary(larger), "ElementWiseMinimum": binary(smaller),
    "ElementWiseSquaredDifference": binary(lambda a, b: (a - b) ** 2), "ElementWisePower": Op(power, "f32+f32>f32"),
    "ElementWiseBinary": Op(binary_generic), "ElementWiseUnary": Op(unary_generic), "ElementWiseNeuron": Op(neuron),
    "ElementWiseEqual": compare(np.equal), "ElementWiseNotEqual": compare(np.not_equal), "ElementWiseGreater": compare(np.greater),
    "ElementWiseGreaterEqual": compare(np.greater_equal), "ElementWiseLess": compare(np.less), "ElementWiseLessEqual": compare(np.less_equal),
    "ElementWiseOr": compare(lambda a, b: (a != 0) | (b != 0)), "ElementWiseAnd": compare(lambda a, b: (a != 0) & (b != 0)),
    "ElementWiseXor": compare(lambda a, b: (a != 0) ^ (b != 0)), "ElementWiseSelect": Op(select, keep=(0,), more=lambda ins, i: ins[1]),
    "ElementWiseAbs": unary(np.abs), "ElementWiseAsin": unary(np.arcsin, -1.0, 1.0), "ElementWiseAtan": unary(np.arctan),
    "ElementWiseCeil": unary(np.ceil), "ElementWiseCos": unary(np.cos), "ElementWiseExp": unary(np.exp), "ElementWiseFloor": unary(np.floor),
    "ElementWiseLog": unary(np.log, 0.5, 8.0), "ElementWiseNeg": unary(np.negative), "ElementWiseNot": unary(lambda x: (x == 0).astype(float), 0, 1, result=True,
                                                                                                          types="b8>b8"),
    "ElementWiseRound": unary(np.rint), "ElementWiseRsqrt": unary(lambda x: 1 / np.sqrt(x), 0.5, 8.0), "ElementWiseSign": unary(np.sign),
    "ElementWiseSin": unary(np.sin), "ElementWiseSoftplus": unary(lambda x: np.log1p(np.exp(x))), "ElementWiseSquareRoot": unary(np.sqrt, 0, 8.0),
    "Elu": unary(lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)), params={"alpha": f32(0.5)}), "Gelu": unary(gelu), "HardSwish": unary(hard_swish, -5.0, 5.0),
    "Relu": unary(lambda x: np.maximum(x, 0)), "Relu1": unary(lambda x: np.clip(x, -1, 1)), "Relu6": unary(lambda x: np.clip(x, 0, 6), -9.0, 9.0),
    "ReluMinMax": unary(lambda x: np.clip(x, -1, 2), params=LIMITS), "Sigmoid": unary(lambda x: 1 / (1 + np.exp(-x))), "Tanh": unary(np.tanh),
    "Logit": unary(lambda x: np.log(x / (1 - x)), 0.25, 0.75, reals=True), "IsNan": Op(is_nan, "f32>b8", result=True),
    "Prelu": binary(lambda a, b: np.where(a < 0, a * b, a), (-1.0, 1.0)), "Quantize": Op(convert, "f32>uq8", keep=(0,)), "Dequantize": Op(convert, "uq8>f32", result=True),
    "Convert": Op(convert), "Gather": Op(gather, keep=(1,)), "GatherElements": Op(gather_elements, keep=(1,)), "GatherNd": Op(gather_nd, keep=(1,)),
    "ScatterNd": Op(scatter_nd, keep=(1,)), "ScatterElements": Op(scatter_elements, keep=(1,)), "Tile": move(tile), "Transpose": move(transpose),
    "Concat": joined(False), "Pack": joined(True), "UnPack": Op(unpack, low=2), "Split": Op(split), "Pad": move(pad), "StridedSlice": move(strided_slice),
    "ExpandDims": move(expand_dims, grows=1), "Squeeze": move(squeeze, low=2),
    "BatchPermutation": Op(batch_permutation, "f32+i32>f32", keep=(1,)), "ChannelShuffle": move(shuffle), "DepthToSpace": blocks(False), "SpaceToDepth": blocks(True),
    "BatchToSpace": batch_blocks(False), "SpaceToBatch": batch_blocks(True), "OneHot": Op(one_hot, "i32>f32", keep=(0,), grows=1),
    "ReduceMax": reduce(np.max), "ReduceMin": reduce(np.min), "ReduceSum": reduce(np.sum), "ReduceProd": reduce(np.prod, lo=-1.25, hi=1.25, gain=64),
    "ReduceMean": reduce(np.mean, lambda x, **k: np.trunc(np.mean(x, **k))), "ReduceSumSquare": reduce(lambda x, **k: np.sum(x * x, **k), gain=64),
    "Argmax": extreme(np.argmax), "Argmin": extreme(np.argmin), "TopK": Op(top_k), "CumulativeSum": Op(cumulative),
    "Softmax": softmax(False), "LogSoftmax": softmax(True), "LayerNorm": affine("layer"), "RmsNorm": affine("rms"), "InstanceNorm": affine("instance"),
    "GroupNorm": affine("group"), "Batchnorm": affine("batch"), "L2Norm": Op(l2_norm), "Lrn": Op(lrn), "HadamardTransform": Op(hadamard),
    "Stft": Op(stft, "f32+f32>f32"), "PoolAvg2d": pool(2, np.mean, True, True), "PoolAvg3d": pool(3, np.mean, True, True), "PoolMax2d": pool(2, np.max),
    "PoolMax3d": pool(3, np.max), "L2Pool2d": pool(2, lambda x, a: np.sqrt((x * x).sum(a)), True), "ResizeBilinear": Op(resize_bilinear), "Resize": resize_nearest("Resize"),
    "ResizeNearestNeighbor": resize_nearest("ResizeNearestNeighbor"), "GridSample": Op(grid_sample), "RoiAlign": Op(roi_align, "f32+f32>f32", keep=(1,)),
    "RandomUniformLike": Op(random_uniform, "u32>f32", keep=(0,)), "Lstm": Op(lstm, "f32+f32>f32"),
}
# Operators without a layout of their own: any rank.
RANKED = [name for name in OPS if name.startswith(("ElementWise", "Reduce"))] + [
    "MatMul", "Reshape", "Cast", "Prelu", "Quantize", "Dequantize", "Convert", "Relu", "ReluMinMax", "Sigmoid", "Tanh", "Gelu", "Elu", "HardSwish", "Gather",
    "GatherElements", "GatherNd", "ScatterNd", "ScatterElements", "Tile", "Transpose", "Concat", "Pack", "UnPack", "Split", "Pad", "StridedSlice", "ExpandDims", "Squeeze", "BatchPermutation",
    "OneHot", "Argmax", "Argmin", "TopK", "CumulativeSum", "Softmax", "LogSoftmax", "LayerNorm", "RmsNorm", "Batchnorm", "L2Norm", "HadamardTransform",
    "InstanceNorm", "GroupNorm", "ChannelShuffle"]
