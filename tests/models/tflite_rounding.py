#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the differences of 8-bit models come from: the networks computed in exact integers, once with each way to scale an accumulator.

    tflite_rounding.py MODEL_EXEC LIBRARY MODELS

The reference rounds twice (to 31 bits, then by a shift); with that this program gives the reference's outputs, bit for bit. With one rounding, as in
docs/numerics.md, it gives ours, bit for bit. So nothing but the rounding differs. Softmax is left out: outputs are compared in front of it, and the
reference's only where the model ends without one.
"""

import math
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

MODELS = ("mlperf-tiny/ad_autoencoder_int8", "mlperf-tiny/ic_resnet8_int8", "mlperf-tiny/kws_dscnn_int8", "mlperf-tiny/vww_mobilenetv1_int8",
          "tflm/person_detect_int8", "tflm/micro_speech_int8")
CONV, DEPTHWISE, DENSE, ADD, POOL, SOFTMAX, RESHAPE, MEAN = 3, 4, 9, 0, 1, 25, 22, 40


class Table:
    def __init__(self, b, at):
        self.b, self.at = b, at
        self.v = at - struct.unpack_from("<i", b, at)[0]
        self.n = struct.unpack_from("<H", b, self.v)[0]

    def field(self, i):
        p = 4 + 2 * i
        off = struct.unpack_from("<H", self.b, self.v + p)[0] if p < self.n else 0
        return self.at + off if off else 0

    def num(self, i, fmt, absent=0):
        p = self.field(i)
        return struct.unpack_from("<" + fmt, self.b, p)[0] if p else absent

    def follow(self, i):
        p = self.field(i)
        return p + struct.unpack_from("<I", self.b, p)[0] if p else 0

    def sub(self, i):
        p = self.follow(i)
        return Table(self.b, p) if p else None

    def vec(self, i, dtype):
        p = self.follow(i)
        return np.frombuffer(self.b, dtype, struct.unpack_from("<I", self.b, p)[0], p + 4) if p else np.zeros(0, dtype)

    def tables(self, i):
        p = self.follow(i)
        n = struct.unpack_from("<I", self.b, p)[0] if p else 0
        return [Table(self.b, q + struct.unpack_from("<I", self.b, q)[0]) for q in range(p + 4, p + 4 + 4 * n, 4)]


def multiplier(real):
    mantissa, exponent = math.frexp(real)
    q = math.floor(mantissa * (1 << 31) + 0.5)
    return (q // 2, exponent + 1) if q == 1 << 31 else (q, exponent)


def twice(acc, real):
    """The reference: a rounded doubling high product, then a rounded shift."""
    q, shift = multiplier(real)
    product = (acc << max(shift, 0)) * q
    high = (np.abs(product) + np.where(product >= 0, 1 << 30, (1 << 30) - 1)) >> 31
    high = np.where(product >= 0, high, -high)
    right = max(-shift, 0)
    mask = (1 << right) - 1
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))


def once(acc, real):
    return np.rint(acc.astype(np.float32) * np.float32(real)).astype(np.int64)


def scale(acc, reals, how):
    if len(reals) == 1:
        return how(acc, reals[0])
    return np.stack([how(acc[..., c], reals[c]) for c in range(len(reals))], -1)


class Net:
    def __init__(self, path):
        data = open(path, "rb").read()
        root = Table(data, struct.unpack_from("<I", data, 0)[0])
        self.codes = [max(c.num(0, "b"), c.num(3, "i")) for c in root.tables(1)]
        self.buffers = root.tables(4)
        graph = root.tables(2)[0]
        self.tensors, self.ops = graph.tables(0), graph.tables(3)
        self.inputs, self.outputs = graph.vec(1, np.int32), graph.vec(2, np.int32)

    def shape(self, t):
        return tuple(self.tensors[t].vec(0, np.int32))

    def const(self, t, dtype):
        return self.buffers[self.tensors[t].num(2, "I")].vec(0, np.uint8).view(dtype).reshape(self.shape(t)).astype(np.int64)

    def quant(self, t):
        q = self.tensors[t].sub(4)
        return q.vec(2, np.float32), int(q.vec(3, np.int64)[0])

    def run(self, x, how, stop_before=None):
        values = {int(self.inputs[0]): x.astype(np.int64)}
        for op in self.ops:
            code = self.codes[op.num(0, "I")]
            if code == stop_before:
                break
            ins, out = op.vec(1, np.int32), int(op.vec(2, np.int32)[0])
            values[out] = self.step(code, op.sub(4), [int(i) for i in ins], out, values, how).reshape(self.shape(out))
        return values

    def step(self, code, o, ins, out, values, how):
        x = values[ins[0]]
        (sx,), zx = self.quant(ins[0])
        (sy,), zy = self.quant(out)
        if code == RESHAPE:
            return x
        if code in (CONV, DEPTHWISE, DENSE):
            w = self.const(ins[1], np.int8)
            sw = self.quant(ins[1])[0]
            acc = self.products(code, o, x - zx, w) + self.const(ins[2], np.int32)
            act = o.num({CONV: 3, DEPTHWISE: 4, DENSE: 0}[code], "b")
            # The reference multiplies the scales of a dense layer in single precision, those of a convolution in double.
            exact = code != DENSE or how is once
            reals = [(float(sx) * float(s) if exact else float(np.float32(sx * s))) / float(sy) for s in sw]
            return self.limit(scale(acc, reals, how) + zy, act, sy, zy)
        if code == ADD:
            return self.add(o, ins, out, values, how)
        if code == POOL:
            return self.pool(o, x, zx, how, sx, sy, zy)
        raise ValueError("operator %d" % code)

    @staticmethod
    def limit(q, act, s, z):
        lo, hi = -128, 127
        if act in (1, 3):
            lo = max(lo, z)
        if act == 3:
            hi = min(hi, z + int(np.rint(6 / s)))
        return np.clip(q, lo, hi)

    @staticmethod
    def windows(o, x, kernel, fields):
        same, sw, sh = o.num(0, "b") == 0, o.num(fields[0], "i"), o.num(fields[1], "i")
        pads, outs = [], []
        for size, k, s in ((x.shape[1], kernel[0], sh), (x.shape[2], kernel[1], sw)):
            n = -(-size // s) if same else (size - k) // s + 1
            total = max((n - 1) * s + k - size, 0) if same else 0
            pads.append((total // 2, total - total // 2))
            outs.append(n)
        x = np.pad(x, [(0, 0), pads[0], pads[1], (0, 0)])
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                yield i, j, x[:, i:i + sh * (outs[0] - 1) + 1:sh, j:j + sw * (outs[1] - 1) + 1:sw]

    def products(self, code, o, x, w):
        if code == DENSE:
            return x.reshape(-1, w.shape[1]) @ w.T
        acc = 0
        for i, j, win in self.windows(o, x, w.shape[1:3], (1, 2)):
            if code == CONV:
                acc = acc + win @ w[:, i, j].T
            else:
                acc = acc + np.repeat(win, w.shape[3] // x.shape[3], 3) * w[0, i, j]
        return acc

    def add(self, o, ins, out, values, how):
        (sa,), za = self.quant(ins[0])
        (sb,), zb = self.quant(ins[1])
        (sy,), zy = self.quant(out)
        a, b = values[ins[0]] - za, values[ins[1]] - zb
        if how is once:
            m = [np.float32(float(s) / float(sy)) for s in (sa, sb)]
            y = np.rint((a.astype(np.float32) * m[0]) + (b.astype(np.float32) * m[1])).astype(np.int64)
        else:
            top = 2 * max(float(sa), float(sb))
            y = twice(twice(a << 20, float(sa) / top) + twice(b << 20, float(sb) / top), top / ((1 << 20) * float(sy)))
        return self.limit(y + zy, o.num(0, "b"), sy, zy)

    def pool(self, o, x, zx, how, sx, sy, zy):
        kernel = (o.num(4, "i"), o.num(3, "i"))
        acc = sum(win for _, _, win in self.windows(o, x - (zx if how is once else 0), kernel, (1, 2)))
        n = sum(win for _, _, win in self.windows(o, np.ones_like(x), kernel, (1, 2)))
        if how is once:
            y = np.rint(acc.astype(np.float32) * (float(sx) / (float(sy) * n)).astype(np.float32)).astype(np.int64) + zy
        else:
            y = np.where(acc > 0, (acc + n // 2) // n, -((-acc + n // 2) // n))
        return self.limit(y, o.num(5, "b"), sy, zy)


def ours(runner, library, path, inputs, folder, output):
    """Our values of one tensor, by converting with it as the only output."""
    files = [os.path.join(folder, n) for n in ("in", "out")]
    with open(files[0], "wb") as f:
        f.write(inputs.tobytes())
    answer = subprocess.run([runner, library, output], input="%s %s %s 1\n" % (path, *files), capture_output=True, text=True, check=False).stdout.strip()
    if answer != "ok":
        raise RuntimeError(answer)
    return np.fromfile(files[1], np.int8).astype(np.int64)


def main():
    runner, library, models = sys.argv[1:4]
    failed = 0
    if not os.path.exists(os.path.join(models, "refs")):
        print("SKIP: %s is not there" % models)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            net = Net(os.path.join(models, model + ".tflite"))
            refs = os.path.join(models, "refs", model)
            codes = [net.codes[op.num(0, "I")] for op in net.ops]
            last = [op for op, c in zip(net.ops, codes) if c != SOFTMAX][-1]
            t = int(last.vec(2, np.int32)[0])
            name = net.tensors[t].vec(3, np.uint8).tobytes().decode()
            count = wrong = apart = worst = wrong_reference = 0
            for step in range(64):
                path = os.path.join(refs, "in_s%d_0.bin" % step)
                if not os.path.exists(path):
                    break
                x = np.fromfile(path, np.int8).reshape(net.shape(int(net.inputs[0])))
                single, double = net.run(x, once, SOFTMAX)[t].ravel(), net.run(x, twice, SOFTMAX)[t].ravel()
                got = ours(runner, library, os.path.join(models, model + ".tflite"), x, folder, name)
                count += single.size
                wrong += int(np.sum(got != single))
                apart += int(np.sum(single != double))
                worst = max(worst, int(np.max(np.abs(single - double))))
                if SOFTMAX not in codes:
                    wrong_reference += int(np.sum(np.fromfile(os.path.join(refs, "expected_s%d_0.bin" % step), np.int8) != double))
            print("%-36s %4d values; one rounding: %d differ from ours; two roundings: %s; between them %d differ, at most by %d"
                  % (model, count, wrong, "softmax follows" if SOFTMAX in codes else "%d differ from the reference" % wrong_reference, apart, worst))
            failed += bool(wrong or wrong_reference)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
