# SPDX-License-Identifier: Apache-2.0
"""Parameters that the family oracles leave at their defaults: each given explicitly at least once, against a numpy formula."""
import sys

import numpy as np

from probe import O, P, Probe, T, b8, f32, i32, u32


def same(name, got, want):
    if got.shape != want.shape or not np.array_equal(got, want):
        sys.exit(f"{name}: got {got.ravel()[:8]} of shape {got.shape}, want {want.ravel()[:8]} of shape {want.shape}")


def expand_dims(p, rng):
    x = rng.standard_normal((3, 4), dtype=np.float32)
    got = p.run("ExpandDims", [T(x, "f32")], [O((1, 3, 1, 4), "f32")], {"axes": u32([0, 2])})[0]
    same("ExpandDims axes", got, x.reshape(1, 3, 1, 4))


def fully_connected(p, rng):
    x = rng.integers(-4, 5, (2, 3, 5)).astype(np.float32)  # small integers: every sum is exact
    w = rng.integers(-4, 5, (7, 5)).astype(np.float32)
    got = p.run("FullyConnected", [T(x, "f32"), T(w, "f32", const=True)], [O((2, 3, 7), "f32")], {"keep_dims": b8(1)})[0]
    same("FullyConnected keep_dims", got, x @ w.T)


def masked_softmax(p, rng):
    x = rng.standard_normal((2, 6), dtype=np.float32)
    mask = np.where(rng.random((2, 6)) < 0.3, np.float32(-1e9), np.float32(0)).astype(np.float32)
    mask[:, 0] = 0
    got = p.run("MaskedSoftmax", [T(x, "f32"), T(mask, "f32")], [O((2, 6), "f32")], {"mode": u32(0)})[0]
    e = np.exp((x.astype(np.float64) + mask) - (x + mask).max(-1, keepdims=True))
    if np.abs(got - e / e.sum(-1, keepdims=True)).max() > 1e-6:
        sys.exit("MaskedSoftmax mode 0 differs")


def strided_slice(p, rng):
    x = rng.integers(0, 100, (4, 5)).astype(np.int32)
    ranges = [[0, 4, 2], [0, 0, 1], [1, 5, 2]]  # the middle one is the new axis
    got = p.run("StridedSlice", [T(x, "i32")], [O((2, 1, 2), "i32")], {"ranges": i32(ranges), "new_axes_mask": u32(0b010)})[0]
    same("StridedSlice new_axes_mask", got, x[0:4:2, None, 1:5:2])


def convert(p, rng):
    q = rng.integers(0, 256, (50,)).astype(np.uint8)
    got = p.run("Convert", [T(q, "uq8", scale=0.5, offset=-10)], [O((50,), "f32")], {"dynamic_input_data": b8(0), "dynamic_output_data": b8(0)})[0]
    same("Convert", got, (q.astype(np.float32) - np.float32(10)) * np.float32(0.5))


def resize_bilinear(p, rng):
    x = rng.standard_normal((1, 3, 3, 2), dtype=np.float32)
    got = p.run("ResizeBilinear", [T(x, "f32")], [O((1, 3, 3, 2), "f32")], {"antialias": b8(0)})[0]
    same("ResizeBilinear antialias", got, x)  # equal sizes: every sample falls on a pixel


def lstm(p, rng):
    """The scales of intermediate results describe encodings that a float computation does not have: giving them changes nothing."""
    b, i, h = 2, 3, 4
    ins = [T(rng.standard_normal(s, dtype=np.float32), "f32")
           for s in [(b, i)] + [(h, i)] * 3 + [(h, h)] * 3 + [(h,)] * 3 + [(b, h), (b, h)]]
    outs = lambda: [O((b, h), "f32"), O((b, h), "f32"), O((b, h), "f32")]
    names = ["input_gate_qscale", "forget_gate_qscale", "cell_gate_qscale", "output_gate_qscale", "hidden_state_qscale"]
    given = {n: f32(0.25) for n in names} | {"hidden_state_offset": P(0.0, "f32")}
    for got, want in zip(p.run("Lstm", ins, outs(), given), p.run("Lstm", ins, outs(), {})):
        same("Lstm qscale", got, want)


def conv_sparse_flag(p, rng):
    """reuse_sparse_indices is about sparse inputs: dense ones are convolved as ever."""
    x, w = rng.integers(-3, 4, (1, 4, 4, 2)).astype(np.float32), rng.integers(-3, 4, (1, 1, 2, 3)).astype(np.float32)
    params = {"stride": u32([1, 1]), "pad_amount": u32([[0, 0], [0, 0]]), "reuse_sparse_indices": b8(0)}
    got = p.run("Conv2d", [T(x, "f32"), T(w, "f32", const=True)], [O((1, 4, 4, 3), "f32")], params)[0]
    same("Conv2d", got, x @ w[0, 0])
    params = {"stride": u32([1, 1, 1]), "pad_amount": u32([[0, 0]] * 3), "reuse_sparse_indicies": b8(0)}
    got = p.run("Conv3d", [T(x[None], "f32"), T(w[None], "f32", const=True)], [O((1, 1, 4, 4, 3), "f32")], params)[0]
    same("Conv3d", got, x[None] @ w[0, 0])


def main():
    p, rng = Probe(), np.random.default_rng(5)
    cases = [expand_dims, fully_connected, masked_softmax, strided_slice, convert, resize_bilinear, lstm, conv_sparse_flag]
    for case in cases:
        case(p, rng)
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
