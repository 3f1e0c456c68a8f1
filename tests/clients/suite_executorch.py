# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's Qualcomm builders: nodes of one torch operator share its name, scalars have rank 1, parameters are left out where torch has its default."""
import numpy as np

from client_cases import case, equal, main, near, quantized, random, real


@case
def index_put(g):
    """Reshape, Tile, Concat and ScatterNd, all with one node name."""
    x, v = np.zeros((1, 2, 6, 3), np.float32), random("put").normal(0, 1, (1, 2, 1, 3)).astype(np.float32)
    shaped, tiled, index, y = g.native((1, 1, 1, 1), "i32"), g.native((1, 2, 1, 1), "i32"), g.native((1, 2, 1, 3), "i32"), g.output(x.shape, "f32")
    g.node("Reshape", [g.input([4], "i32")], [shaped], name=b"index_put")
    g.node("Tile", [shaped], [tiled], {"multiples": [1, 2, 1, 1]}, name=b"index_put")
    g.node("Concat", [g.const([[[[0, 0]], [[0, 1]]]], "i32"), tiled], [index], {"axis": (3, "u32")}, name=b"index_put")
    g.node("ScatterNd", [g.input(x, "f32"), index, g.input(v, "f32")], [y], name=b"index_put")
    x[:, :, 4:5] = v
    equal(g.run()[0], x)


@case
def flip(g):
    """A slice from the last element to before the first, which is -1 and not the last one again."""
    x = np.arange(24).reshape(2, 3, 4)
    y = g.output(x.shape, "f32")
    g.node("StridedSlice", [g.input(x, "f32")], [y], {"ranges": (np.array([[0, 2, 1], [2, -1, -1], [3, -1, -1]]), "i32")})
    equal(g.run()[0], x[:, ::-1, ::-1])


@case("uq8", "uq16")
def reshape_that_converts(g, kind):
    """AdaptiveAvgPool1d: the pool computes in float, the reshapes around it come from and go to fixed point."""
    scale, offset = (0.02, -100) if kind == "uq8" else (1e-4, -30000)
    x = quantized(random("reshape", kind).normal(0, 1, (1, 2, 3)), kind, scale, offset)
    wide, mean, y = g.native((1, 1, 3, 2), "f32"), g.native((1, 1, 1, 2), "f32"), g.output((1, 2, 1), kind, scale=scale / 2, offset=offset)
    g.node("Reshape", [g.input(x, kind, scale=scale, offset=offset)], [wide], name=b"unsqueeze")
    g.node("PoolAvg2d", [wide], [mean], {"filter_size": [1, 3], "stride": [1, 3], "pad_amount": np.zeros((2, 2), int)})
    g.node("Reshape", [mean], [y], name=b"squeeze")
    want = real(x, scale, offset).reshape(3, 2).mean(0).reshape(1, 2, 1)
    near(real(g.run()[0], scale / 2, offset), np.clip(want, scale / 2 * offset, None), scale / 2 * 0.51)


@case
def linear_of_rank_3(g):
    """FullyConnected keeps the dimensions of its input when the output has them, without keep_dims."""
    r = random("linear")
    x, w, b = (r.normal(0, 1, s).astype(np.float32) for s in ((2, 3, 5), (4, 5), (4,)))
    y = g.output((2, 3, 4), "f32")
    g.node("FullyConnected", [g.input(x, "f32"), g.const(w, "f32"), g.const(b, "f32")], [y])
    near(g.run()[0], x @ w.T + b)


@case
def instance_norm_without_bias(g):
    r = random("instance")
    x = r.normal(0, 1, (1, 4, 5, 3)).astype(np.float32)
    y = g.output(x.shape, "f32")
    g.node("InstanceNorm", [g.input(x, "f32"), g.const(np.ones(3), "f32")], [y])
    near(g.run()[0], (x - x.mean((1, 2), keepdims=True)) / x.std((1, 2), keepdims=True), 1e-3)


@case
def rms_norm(g):
    """In 16 bits, with a bias of zeros in the encoding of the result but zero point 0."""
    r = random("rms")
    x, w = quantized(r.normal(0, 1, (1, 4, 16)), "uq16", 2e-4, -32768), quantized(r.uniform(.5, 1.5, 16), "uq16", 3e-5, 0)
    y = g.output(x.shape, "uq16", scale=2e-4, offset=-32768)
    g.node("RmsNorm", [g.input(x, "uq16", scale=2e-4, offset=-32768), g.const(w, "uq16", scale=3e-5, offset=0), g.const(np.zeros(16), "uq16", scale=2e-4, offset=0)], [y],
           {"epsilon": (1e-6, "f32"), "axes": [2]})
    exact = real(x, 2e-4, -32768)
    near(real(g.run()[0], 2e-4, -32768), exact / np.sqrt((exact ** 2).mean(-1, keepdims=True) + 1e-6) * real(w, 3e-5), 4e-4)


@case(("f32", 4), ("i32", 4))
def floor_divide(g, kind):
    dtype, operation = kind
    a, b = np.array([7, -7, 9, -1]), np.array([2, 2, -2, 3])
    y = g.output((4,), dtype)
    g.node("ElementWiseBinary", [g.input(a, dtype), g.input(b, dtype)], [y], {"operation": (operation, "u32")})
    equal(g.run()[0], a // b)


@case(1, 2)
def scatter_reduce(g, reduction):
    """Sum and product."""
    x, index, v = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[0, 1, 2], [0, 0, 1]]), np.full((2, 3), 2)
    y = g.output((2, 3), "f32")
    g.node("ScatterElements", [g.input(x, "f32"), g.input(index, "i32"), g.input(v, "f32")], [y], {"axis": (1, "u32"), "reduction": (reduction, "u32")})
    equal(g.run()[0], [[3, 4, 5], [8, 7, 6]] if reduction == 1 else [[2, 4, 6], [16, 10, 6]])


@case("DepthToSpace", "SpaceToDepth")
def pixels(g, op):
    """pixel_shuffle and pixel_unshuffle: channels before blocks (mode 1)."""
    small, large = (1, 2, 2, 8), (1, 4, 4, 2)
    x = np.arange(32).reshape(small if op == "DepthToSpace" else large)
    want = x.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(large) if op == "DepthToSpace" else \
        x.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(small)
    y = g.output(want.shape, "f32")
    g.node(op, [g.input(x, "f32")], [y], {"block_size": [2, 2], "mode": (1, "u32")})
    equal(g.run()[0], want)


@case
def average_pool_rounded_up(g):
    """ceil_mode: windows over the edge count only what is there."""
    x = random("pool").normal(0, 1, (1, 5, 5, 2)).astype(np.float32)
    y = g.output((1, 3, 3, 2), "f32")
    g.node("PoolAvg2d", [g.input(x, "f32")], [y], {"filter_size": [2, 2], "stride": [2, 2], "pad_amount": [[0, 0], [0, 0]], "rounding_mode": (1, "u32"),
                                                   "count_pad_for_edges": (1, "b8")})
    near(g.run()[0], [[[x[0, i:i + 2, j:j + 2].mean((0, 1)) for j in (0, 2, 4)] for i in (0, 2, 4)]])


@case
def reduced_to_one(g):
    """A sum over everything without keep_dims is a tensor of rank 1 here."""
    y = g.output((1,), "f32")
    g.node("ReduceSum", [g.input(np.arange(6).reshape(3, 2), "f32")], [y], {"axes": [0, 1]})
    equal(g.run()[0], [15])


@case("uq8", "uq16")
def to_integers(g, dtype):
    """to(int64) of a quantized value: Cast to 32 bits, which carry the encoding of the input, and on to 64. Integers are cut."""
    scale, offset = (.05, -100) if dtype == "uq8" else (.0002, -30000)
    x = np.array([-4.9, -1.5, -.99, -.3, 0, .7, 1.02, 2.55, 5.1])
    stored, whole, y = quantized(x, dtype, scale, offset), g.native(x.shape, "i32", scale=scale, offset=offset), g.output(x.shape, "i64")
    g.node("Cast", [g.input(stored, dtype, scale=scale, offset=offset)], [whole])
    g.node("Cast", [whole], [y])
    equal(g.run()[0], np.trunc(real(stored, scale, offset)))


@case("uq8", "uq16")
def to_float(g, dtype):
    """to(float) of integers, the result quantized: Cast to 32 bits, and on to fixed point."""
    scale, offset = (.08, -126) if dtype == "uq8" else (.0003, -32768)
    x = np.arange(-10, 10)
    whole, y = g.native(x.shape, "i32"), g.output(x.shape, dtype, scale=scale, offset=offset)
    g.node("Cast", [g.input(x, "i64")], [whole])
    g.node("Cast", [whole], [y])
    near(real(g.run()[0], scale, offset), np.clip(x, scale * offset, None), scale / 2 + 1e-6)


@case("uq8", "uq16")
def truth_to_float(g, dtype):
    scale = 1 / 255
    y = g.output((4,), dtype, scale=scale, offset=0)
    g.node("Cast", [g.input([0, 1, 1, 0], "b8")], [y])
    near(real(g.run()[0], scale), [0, 1, 1, 0], scale / 2)


if __name__ == "__main__":
    main(on_gpu=12)
