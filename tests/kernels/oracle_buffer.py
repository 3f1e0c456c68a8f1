# SPDX-License-Identifier: Apache-2.0
"""Buffer against docs/numerics.md section 16: a list of frames in Python beside a state in bytes."""
import numpy as np

from oracle_common import Case, Enc, ProbeError, T, lean, moved, same, scaled, u32

TYPES = ("f32", "f16", "uq8", "sq8", "uq16", "sq16", "i8", "i32", "i64", "u8", "u16", "u32", "b8", "uq4", "sq4")


class Frames:
    """The buffer as section 16 tells it: single places, oldest first."""

    def __init__(self, size, stride, padding, zero):
        self.size, self.stride, self.padding, self.zero, self.places = size, stride, padding, zero, None

    def add(self, frame, dim, reset):
        if reset or self.places is None:
            self.places = [self.zero] * self.padding
        if len(self.places) == self.size:
            self.places = self.places[self.stride:]
        self.places += list(np.moveaxis(frame, dim, 0))
        return len(self.places) == self.size

    def window(self, dim, right):
        rest = [self.zero] * (self.size - len(self.places))
        return np.stack(rest + self.places if right else self.places + rest, dim)


def stored_zero(e, shape):
    return np.full(shape, -e.offset if e.fixed else 0)


def encoding(c):
    t = c.pick(*TYPES)
    if t in ("uq4", "sq4"):
        return Enc(t, 0.25, int(c.pick(0, -3)) if t == "uq4" else 0)
    return c.enc((t,))


def case(c):
    e = encoding(c)
    out = c.like(e) if e.fixed and "4" not in e.dtype else e
    out = Enc(e.dtype, out.scale, out.offset) if out.dtype == e.dtype or not out.fixed else e
    shape = list(c.shape(1, 4, 4, 200))
    dim = int(c.r.integers(len(shape)))
    frame = shape[dim] = int(c.pick(1, 1, 2, 3))
    count = int(c.r.integers(1, 6))
    size, stride, padding = frame * count, frame * int(c.r.integers(1, count + 1)), frame * int(c.pick(0, 0, 0, c.r.integers(count + 1)))
    mode = int(c.r.integers(3))
    params = lean(c, {"buffer_size": u32(size), "buffer_dim": u32(dim), "stride": u32(stride), "mode": u32(mode), "buffer_padding": u32(padding)},
                  stride=1, mode=0, buffer_padding=0)
    flags = c.pick("none", "absent", "given")
    state = np.zeros(1 << 16, np.uint8)
    rest = tuple(shape[:dim] + shape[dim + 1:])
    want = Frames(size, stride, padding, stored_zero(out, rest))
    for _ in range(int(c.r.integers(1, 3 * count + 4))):
        x = c.array(e, tuple(shape))
        reset = flags == "given" and c.r.random() < 0.15
        ins = [e.tensor(x)] + {"none": [], "absent": [None], "given": [T(np.array([int(reset)]), "b8")]}[flags]
        full = want.add(moved(x, e, out), dim, reset)
        got = c.run("Buffer", ins, [out.out(tuple(shape[:dim] + [size] + shape[dim + 1:]))], params, state=state)[0]
        what = ("Buffer", e, out, shape, dim, size, stride, padding, mode, flags)
        assert c.p.ended == (mode == 0 and not full), what
        if not c.p.ended:
            same(got, want.window(dim, mode == 2).astype(got.dtype), *what)
        bits = 4 if "4" in e.dtype and e.fixed and e.dtype in ("uq4", "sq4") else 8 * got.dtype.itemsize
        assert c.p.state_bytes == 16 + ((size - frame) * int(np.prod(rest, dtype=int)) * bits + 7) // 8, what
        assert not state[c.p.state_bytes:].any(), "wrote behind the state"


def scribbled(c):
    """The state may be in the client's memory: whatever stands there, the kernel stays within its bounds (the sanitizer build looks)."""
    for _ in range(50):
        state = c.r.integers(0, 256, 1 << 12).astype(np.uint8)
        params = {"buffer_size": u32(12), "buffer_dim": u32(1), "stride": u32(3), "mode": u32(int(c.r.integers(3)))}
        c.run("Buffer", [T(np.ones((2, 3, 5)), "f32")], [Enc("f32").out((2, 12, 5))], params, state=state)


def refused(c):
    good = dict(buffer_size=6, buffer_dim=0, stride=2)
    for word, bad in (("buffer_size", dict(buffer_size=7)), ("buffer_size", dict(buffer_size=0)), ("stride", dict(stride=3)), ("stride", dict(stride=8)),
                      ("stride", dict(stride=0)), ("buffer_padding", dict(buffer_padding=1)), ("buffer_padding", dict(buffer_padding=8)),
                      ("buffer_dim", dict(buffer_dim=2)), ("mode", dict(mode=3))):
        p = dict(good, **bad)
        try:
            c.run("Buffer", [T(np.zeros((2, 3)), "f32")], [Enc("f32").out((max(1, p["buffer_size"]), 3))], {k: u32(v) for k, v in p.items()})
        except ProbeError as error:
            assert word in str(error), (bad, str(error))
        else:
            raise AssertionError(f"{bad} was taken")


def main():
    c = Case(31)
    for _ in range(scaled(150)):
        case(c)
    c.odd_cases(lambda c, _: case(c), 30)
    scribbled(c)
    refused(c)
    c.done("buffer")


with np.errstate(all="ignore"):
    main()
