# SPDX-License-Identifier: Apache-2.0
"""Lstm and Gru against docs/numerics.md section 9: products accumulated by an exact fma, or summed in integers where both sides are fixed point, gates in
f32, states rounded at every step; and streams: a layer with a reset input that is run in pieces gives the bits of one run over the whole sequence."""
import numpy as np

from oracle_common import F, FIXED, Case, Enc, T, b8, f32, lane_sum, report, same, scaled, store, u32


def fma(a, b, c):
    """One rounding of a * b + c. The f64 product is exact; the sum is corrected where f64 rounding could matter (Boldo-Melquiond)."""
    p = a.astype(np.float64) * b.astype(np.float64)
    s = p + c.astype(np.float64)
    t = s - p
    err = (p - (s - t)) + (c.astype(np.float64) - t)  # two-sum: s + err is exact
    bits = s.view(np.int64)
    odd = np.where((err != 0) & np.isfinite(s) & (bits & 1 == 0), np.where((err > 0) == (s > 0), bits + 1, bits - 1), bits)
    return odd.view(np.float64).astype(F)


class Real(np.ndarray):
    """f32 values that remember the encoding they came from, unless something was computed with them."""
    enc = None


def known(q, e):
    v = e.real(q).view(Real)
    v.enc, v.q = e, q
    return v


def steps_of(v, major):
    """One after the other, of values with time and batch first."""
    q = v.q if major else v.q.swapaxes(0, 1)
    return [known(q[t], v.enc) for t in range(len(q))]


def whole(v, bytes_only):
    """The integers of fixed-point values, or None."""
    e = getattr(v, "enc", None)
    return v.q.astype(np.int64) + e.offset if e is not None and e.dtype in (("sq8", "uq8") if bytes_only else ("sq8", "uq8", "sq16", "uq16")) and abs(e.offset) < 1 << 20 else None


class RowEnc(Enc):
    """One scale per row of a matrix, without offsets."""

    def __init__(self, dtype, scales):
        super().__init__(dtype, scales.reshape(-1, 1))
        self.k = dict(scales=scales, axis=0)


def product(acc, x, w):
    """acc[b, u] = fma over k of x[b, k] * w[u, k], or one fma of the sum of integers"""
    a, b = whole(x, False), whole(w, True)
    if a is not None and b is not None:
        total = a @ b.T
        assert np.abs(total).max(initial=0) < 1 << 53
        scale = F(x.enc.scale) * np.asarray(w.enc.scale, F).reshape(1, -1)
        return fma(total.astype(np.float64).astype(F), np.broadcast_to(scale, total.shape).copy(), acc)
    for k in range(x.shape[1]):
        acc = fma(np.broadcast_to(x[:, k:k + 1], acc.shape).copy(), np.broadcast_to(w[None, :, k], acc.shape).copy(), acc)
    return acc


def sigmoid(x):
    return (1.0 / (1.0 + np.exp(-x.astype(np.float64)))).astype(F)


def tanh(x):
    return np.tanh(x.astype(np.float64)).astype(F)


def rounded(x, e):
    """What a state tensor of this encoding would give back."""
    return known(store(x, e), e)


def norm(z, w):
    n = F(z.shape[1])
    d = z - (lane_sum(z) / n)[:, None]
    inv = F(1) / np.sqrt((lane_sum(d * d) / n)[:, None] + F(1e-8))
    return d * inv * w


def clip(v, limit):
    return np.where(v < -limit, -limit, np.where(v > limit, limit, v)).astype(F) if limit > 0 else v


class Layer:
    """Random operands: stored tensors for the probe, f32 arrays for the oracle."""

    def __init__(self, c):
        self.c = c
        self.kind = c.pick("f32", "f32", "f16", "q8", "q16")
        self.fixed = self.kind[0] == "q"
        self.constant = c.r.random() < 0.8      # matrices are turned at prepare
        self.rows = c.r.random() < 0.3          # they have a scale per row

    def enc(self, span, types=None):
        if not self.fixed:
            return Enc(self.kind)
        return self.c.enc(types or (("uq8", "uq8", "sq8") if self.kind == "q8" else ("uq16", "sq16")), span)

    def make(self, shape, span, weight=False, special=False, far=False):
        e = self.enc(span, ("sq8", "uq8") if weight and self.kind == "q8" else ("sq16", "sq8") if weight else None)
        if far and self.fixed:
            e = Enc(e.dtype, F(span * 2.0 ** -23), 1 << 23)  # an offset that integers of 16 bits have no room for
        if weight and self.fixed and self.rows:
            e = RowEnc(e.dtype, (e.scale * np.exp(self.c.r.normal(0, .7, shape[0]))).astype(F))
        q = self.c.array(e, shape, span, special)
        return e.tensor(q, const=weight and self.constant), known(q, e)


def lstm_case(c):
    L = Layer(c)
    b, inp, units = (int(v) for v in (c.r.integers(1, 4), c.r.integers(1, 20), c.r.integers(1, 40)))
    if c.r.random() < 0.1:
        inp = int(c.pick(150, 1101))            # more than sums of 32 bits are kept for
    if c.r.random() < 0.1:
        units = int(c.r.integers(60, 150))
    seq, time = bool(c.r.integers(2)), 1
    major, reverse = bool(c.r.integers(2)), bool(c.r.integers(2))
    proj, cifg, peep, ln, reset = (c.r.random() < 0.35 for _ in range(5))
    out = int(c.r.integers(1, 12)) if proj else units
    if seq:
        time = int(c.r.integers(1, 10))
    ins, real = [None] * 25, [None] * 25

    def put(i, shape, span=1.0, weight=False):
        ins[i], real[i] = L.make(shape, span, weight)
    put(0, (b, inp) if not seq else (time, b, inp) if major else (b, time, inp), 2.0)
    for i in (1, 2, 3) + (() if cifg else (16,)):
        put(i, (units, inp), 0.5, True)
    for i in (4, 5, 6) + (() if cifg else (17,)):
        put(i, (units, out), 0.5, True)
    for i in (7, 8, 9) + (() if cifg else (21,)):
        put(i, (units,), 1.0)
    if c.r.random() < 0.8:
        ins[10], real[10] = L.make((b, out), 1.0, far=c.r.random() < 0.1)
    if c.r.random() < 0.8:
        put(11, (b, units), 2.0)
    if ln:
        for i in (13, 14, 15) + (() if cifg else (12,)):
            put(i, (units,), 1.0)
    if peep:
        for i in (19, 20) + (() if cifg else (18,)):
            put(i, (units,), 0.5)
    if proj:
        put(22, (out, units), 0.5, True)
        if c.r.random() < 0.5:
            put(23, (out,), 0.5)
    flag = int(c.r.integers(2))
    if reset:
        ins[24] = T(np.array([flag]), "b8")
    while ins[-1] is None:
        ins.pop()
    eo, ec, eh = L.enc(2.0), L.enc(4.0), L.enc(2.0)
    gates = c.r.random() < 0.4
    eg = [L.enc(1.5) for _ in range(4)]
    row = lambda n: (b, n) if not seq else (time, b, n) if major else (b, time, n)  # noqa: E731
    outs = [eo.out(row(out)), ec.out((b, units)), eh.out((b, out))]
    gate_seq = seq and bool(c.r.integers(2))
    if gates and not proj:
        outs += [e.out(row(units) if gate_seq else (b, units)) for e in eg]
    cc, oc = (float(F(c.pick(0.0, 0.7))) for _ in range(2))
    params = {"direction": u32(int(reverse)), "cell_clip_threshold": f32(cc), "output_clip_threshold": f32(oc), "time_major": b8(major)}
    got = c.run("Lstm", ins, outs, params)

    # Nothing is remembered before the first run, so the flag changes nothing here.
    h = real[10] if real[10] is not None else np.zeros((b, out), F)
    cell = real[11] if real[11] is not None else np.zeros((b, units), F)
    x = steps_of(real[0], major) if seq else [real[0]]
    ys, gs = [None] * time, [None] * time
    for step in range(time):
        t = time - 1 - step if reverse else step

        def gate(wx, wh, wc, ln_w, bias, act, peek):
            z = product(np.zeros((b, units), F), x[t], real[wx])
            z = product(z, h, real[wh])
            if wc and real[wc] is not None:
                z = z + real[wc] * peek
            if real[ln_w] is not None:
                z = norm(z, real[ln_w])
            return act(z + real[bias])
        f = gate(1, 4, 19, 13, 7, sigmoid, cell)
        g = gate(2, 5, 0, 14, 8, tanh, cell)
        i = F(1) - f if cifg else gate(16, 17, 18, 12, 21, sigmoid, cell)
        cell = clip(f * cell + i * g, F(cc))
        o = gate(3, 6, 20, 15, 9, sigmoid, cell)
        hidden = o * tanh(cell)
        if proj:
            h = product(np.zeros((b, out), F), hidden, real[22])
            h = h + real[23] if real[23] is not None else h
        else:
            h = hidden
        h = clip(h, F(oc))
        ys[t], gs[t], last_h, last_c, last_t = h, (i, f, g, o), h, cell, t
        h, cell = rounded(h, eo), rounded(cell, ec)
    stack = lambda v: v[0] if not seq else np.stack(v, 0 if major else 1)  # noqa: E731
    wants = [(eo, stack(ys)), (ec, last_c), (eh, last_h)]
    if len(outs) > 3:
        wants += [(e, stack([g[k] for g in gs]) if gate_seq else gs[last_t][k]) for k, e in enumerate(eg)]
    compare(got, wants, "Lstm", L.kind, b, inp, units, out, time, dict(seq=seq, major=major, reverse=reverse, proj=proj, cifg=cifg, peep=peep,
                                                                      ln=ln, reset=reset, cc=cc, oc=oc))


def gru_case(c):
    L = Layer(c)
    b, inp, hid, time = (int(v) for v in (c.r.integers(1, 4), c.r.integers(1, 20), c.r.integers(1, 40), c.r.integers(1, 5)))
    major, reverse, before = (bool(c.r.integers(2)) for _ in range(3))
    ins, real = [None] * 14, [None] * 14

    def put(i, shape, span=1.0, weight=False):
        ins[i], real[i] = L.make(shape, span, weight, i == 0)
    put(0, (time, b, inp) if major else (b, time, inp), float(c.pick(2, 2, 2, 100)))
    for i in (1, 2, 3):
        put(i, (hid, inp), 0.5, True)
    for i in (4, 5, 6):
        put(i, (hid, hid), 0.5, True)
    for i in range(7, 13):
        if c.r.random() < 0.7:
            put(i, (hid,), 1.0)
    if c.r.random() < 0.6:
        put(13, (1, b, hid))
    while ins[-1] is None:
        ins.pop()
    eo, eh = L.enc(2.0), L.enc(2.0)
    params = {"direction": u32(int(reverse)), "linear_before_reset": u32(int(before)), "time_major": b8(major)}
    got = c.run("Gru", ins, [eo.out((time, b, hid) if major else (b, time, hid)), eh.out((1, b, hid))], params)
    add = lambda v, i: v if real[i] is None else v + real[i]  # noqa: E731
    h = np.zeros((b, hid), F) if real[13] is None else known(real[13].q[0], real[13].enc)
    x = steps_of(real[0], major)
    zero, ys = np.zeros((b, hid), F), [None] * time
    for step in range(time):
        t = time - 1 - step if reverse else step
        z, r = (sigmoid(add(add(product(product(zero, x[t], real[1 + k]), h, real[4 + k]), 7 + k), 10 + k)) for k in (0, 1))
        if before:
            n = add(product(zero, x[t], real[3]), 9) + r * add(product(zero, h, real[6]), 12)
        else:
            n = add(add(product(product(zero, x[t], real[3]), r * h, real[6]), 9), 12)
        h = (F(1) - z) * tanh(n) + z * h
        ys[t], last = h, h
        h = rounded(h, eo)
    compare(got, [(eo, np.stack(ys, 0 if major else 1)), (eh, last[None])], "Gru", L.kind, b, inp, hid, time, major, reverse, before)


def stream_operands(c, L, op, b, inp, units, time):
    """Weights and x of a layer, and its outputs for a piece of `t` steps; x is time major."""
    lstm = op == "Lstm"
    ins = [None] * (25 if lstm else 15)
    x = L.make((time, b, inp), 2.0)[0]
    for i in (1, 2, 3, 16) if lstm else (1, 2, 3):
        ins[i] = L.make((units, inp), 0.5, True)[0]
    for i in (4, 5, 6, 17) if lstm else (4, 5, 6):
        ins[i] = L.make((units, units), 0.5, True)[0]
    for i in (7, 8, 9, 21) if lstm else (7, 10):
        ins[i] = L.make((units,), 1.0)[0]
    first = c.r.random() < 0.5
    if first:
        for i in (10, 11) if lstm else (13,):
            ins[i] = L.make((b, units) if lstm else (1, b, units), 1.0)[0]
    eo, es = L.enc(2.0), L.enc(4.0)
    rest = [es.out((b, units)), eo.out((b, units))] if lstm else [eo.out((1, b, units))]
    return x, ins, lambda t: [eo.out((t, b, units))] + rest


def stream_case(c):
    """Pieces of a sequence, a state between them, against the whole sequence in one run without one; a reset in the middle starts again."""
    L, op = Layer(c), c.pick("Lstm", "Gru")
    b, inp, units = (int(v) for v in (c.r.integers(1, 4), c.r.integers(1, 20), c.r.integers(1, 40)))
    pieces = [int(c.r.integers(1, 4)) for _ in range(int(c.r.integers(2, 6)))]
    again = int(c.r.integers(1, len(pieces) + 1))  # the piece that comes with a reset; one past the end: none
    time = sum(pieces)
    x, ins, outs = stream_operands(c, L, op, b, inp, units, time)
    params = {"time_major": b8(True)}

    def run(frames, flag, state):
        ins[0] = T(x.array[frames], x.dtype, scale=x.scales[0], offset=x.offsets[0]) if L.fixed else T(x.array[frames], x.dtype)
        ins[-1] = None if flag is None else T(np.array([flag]), "b8")
        return c.run(op, list(ins) if flag is not None else list(ins[:-1]), outs(len(x.array[frames])), params, state=state)
    cut = sum(pieces[:again])
    whole = [run(slice(0, cut), None, None)] + ([run(slice(cut, time), None, None)] if cut < time else [])
    state, got, at = np.zeros(1 << 16, np.uint8), [], 0
    for k, n in enumerate(pieces):
        got.append(run(slice(at, at + n), int(k == again), state))
        at += n
        assert c.p.state_bytes == state_size(op, L, outs(1), b, units), (op, L.kind, c.p.state_bytes)
        assert not state[c.p.state_bytes:].any(), "wrote behind the state"
    same(np.concatenate([g[0] for g in got]), np.concatenate([w[0] for w in whole]), op, "stream", L.kind, b, inp, units, pieces, again)
    for k in range(1, len(got[-1])):
        same(got[-1][k], whole[-1][k], op, "last state", k)
        if again < len(pieces):
            same(got[again - 1][k], whole[0][k], op, "state before the reset", k)


def state_size(op, L, outs, b, units):
    """A flag per batch element, h, and C of an Lstm, each in the bytes of its output and rounded up to 16."""
    up = lambda n: (n + 15) // 16 * 16  # noqa: E731
    return up(b) + up(b * units * outs[0].array.itemsize) + (up(b * units * outs[1].array.itemsize) if op == "Lstm" else 0)


OFF = 0


def compare(got, wants, *what):
    """Bit for bit, but for an exp or tanh that two f64 libraries round to different f32 neighbours, and what follows from it."""
    global OFF
    for k, (g, (e, w)) in enumerate(zip(got, wants)):
        v = store(w, e)
        if e.fixed:
            ok = np.abs(g.astype(int) - v.astype(int)) <= (1 if "8" in e.dtype else 4)
        else:
            ok = np.isnan(g) & np.isnan(v) | (np.abs(g.astype(np.float64) - v.astype(np.float64)) <= 1e-6 * np.maximum(1, np.abs(v)) * (1 if e.dtype == "f32" else 2000))
        report(ok, g, v, what + (f"output {k}", e))
        OFF += int(((g != v) & ~(np.isnan(g) & np.isnan(v))).sum())


def main():
    c = Case(21)
    for _ in range(scaled(150)):
        lstm_case(c)
        gru_case(c)
        stream_case(c)
    c.odd_cases(lambda c, _: gru_case(c), 12)
    print(f"recurrent: {OFF} values off by the rounding of an exp or tanh")
    assert OFF <= 40 * max(1, c.count // 300), "more than chance"
    c.done("recurrent")


with np.errstate(all="ignore"):
    main()
