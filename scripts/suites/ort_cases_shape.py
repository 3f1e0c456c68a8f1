# SPDX-License-Identifier: Apache-2.0
"""More cases of ort_suite.py: operators that move data, resize it, pick from it, and those with a state."""
import numpy as np

from ort_cases import Case, const, ints


def moves():
    for i, perm in enumerate(((0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 3, 2))):
        yield Case(f"Transpose-{i}", "Transpose", [((2, 3, 4, 5), "")], perm=perm)
        yield Case(f"Transpose-{i}-int32", "Transpose", [((2, 3, 4, 5), "int32")], perm=perm)
    yield Case("Transpose-5d", "Transpose", [((1, 2, 3, 4, 5), "")], perm=(0, 2, 4, 1, 3))
    for shape in ((6, 20), (2, -1), (0, 0, 20), (1, 2, 3, 4, 5)):
        yield Case(f"Reshape-{len(shape)}{shape[0]}", "Reshape", [((2, 3, 4, 5), ""), ints(*shape)])
    yield Case("Flatten", "Flatten", [((2, 3, 4, 5), "")], axis=2)
    yield Case("Squeeze", "Squeeze", [((2, 1, 4, 1), ""), ints(1, 3)])
    yield Case("Unsqueeze", "Unsqueeze", [((2, 4), ""), ints(0, 3)])
    yield Case("Expand", "Expand", [((2, 1, 4), ""), ints(2, 3, 4)])
    yield Case("Expand-rank", "Expand", [((4,), ""), ints(2, 3, 4)])
    yield Case("Expand-int64", "Expand", [((1, 4), "int64"), ints(3, 4)])
    yield Case("Expand-bool", "Expand", [((1, 4), "bool"), ints(3, 4)])
    yield Case("Tile", "Tile", [((2, 3, 4), ""), ints(2, 1, 3)])
    for axis in (0, 1, -1):
        yield Case(f"Concat-{axis}", "Concat", [((2, 3, 4), "")] * 3, axis=axis)
    yield Case("Concat-const", "Concat", [((2, 3, 4), ""), const(2, 5, 4)], axis=1)
    yield Case("Concat-int64", "Concat", [((2, 3), "int64"), ((2, 3), "int64")], axis=1)
    yield Case("Split", "Split", [((2, 6, 4), "")], outputs=3, axis=1, num_outputs=3)
    yield Case("Split-sizes", "Split", [((2, 6, 4), ""), ints(1, 2, 3)], outputs=3, axis=1)
    yield Case("Split-uneven", "Split", [((2, 7, 4), "")], outputs=3, axis=1, num_outputs=3)
    yield Case("Slice", "Slice", [((4, 6, 8), ""), ints(1, 2), ints(3, 8), ints(0, 2), ints(1, 2)])
    yield Case("Slice-negative", "Slice", [((4, 6, 8), ""), ints(-3), ints(-1), ints(1)])
    yield Case("Slice-reverse", "Slice", [((4, 6, 8), ""), ints(-1), ints(-9), ints(2), ints(-1)])
    yield Case("Slice-int32", "Slice", [((4, 6), "int32"), ints(1), ints(5), ints(1)])
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield Case(f"Pad-{mode}", "Pad", [((1, 3, 5, 6), ""), ints(0, 0, 1, 2, 0, 0, 2, 1)], mode=mode)
    yield Case("Pad-value", "Pad", [((2, 5, 6), ""), ints(0, 1, 1, 0, 2, 0), np.float32(0.5)])
    yield Case("Pad-int32", "Pad", [((2, 5), "int32"), ints(0, 1, 0, 2), np.int32(7)])
    for mode in ("DCR", "CRD"):
        yield Case(f"DepthToSpace-{mode}", "DepthToSpace", [((1, 16, 3, 4), "")], blocksize=2, mode=mode)
    yield Case("SpaceToDepth", "SpaceToDepth", [((1, 4, 6, 8), "")], blocksize=2)
    yield Case("ReverseSequence", "ReverseSequence", [((4, 3, 5), ""), ints(1, 2, 4)])
    yield Case("Trilu", "Trilu", [((2, 4, 5), "")])
    for to, word in ((1, "int32"), (6, ""), (7, "int32"), (6, "int64"), (9, ""), (10, ""), (1, "bool"), (2, "int32"), (3, "int32"), (12, "int32")):
        yield Case(f"Cast-{word or 'float'}-{to}", "Cast", [((2, 3, 4), word)], to=to)
    yield Case("Shape", "Shape", [((2, 3, 4), "")])
    yield Case("Size", "Size", [((2, 3, 4), "")])
    yield Case("EyeLike", "EyeLike", [((3, 3), "")])
    yield Case("ConstantOfShape", "ConstantOfShape", [ints(2, 3)])
    yield Case("Range", "Range", [np.float32(0), np.float32(8), np.float32(2)])


def picks():
    for axis in (0, 1, 2, -1):
        yield Case(f"Gather-{axis}", "Gather", [((3, 4, 5), ""), ints(0, 2, 1)], axis=axis)
        yield Case(f"Gather-{axis}-2d", "Gather", [((3, 4, 5), ""), np.array([[0, 2], [1, 0]])], axis=axis)
    yield Case("Gather-scalar", "Gather", [((3, 4, 5), ""), np.array(1)], axis=1)
    yield Case("Gather-negative", "Gather", [((3, 4, 5), ""), ints(-1, 0)], axis=1)
    yield Case("Gather-dynamic", "Gather", [((3, 4, 5), ""), ((2, 2), "index3")], axis=0)
    yield Case("Gather-dynamic-int32", "Gather", [((3, 4, 5), ""), ((2, 2), "index3int32")], axis=0)
    yield Case("Gather-int64", "Gather", [((3, 4), "int64"), ints(0, 2)], axis=0)
    yield Case("GatherElements", "GatherElements", [((3, 4), ""), np.array([[0, 2, 1, 0], [1, 1, 0, 2]])], axis=0)
    yield Case("GatherElements-dynamic", "GatherElements", [((3, 4), ""), ((3, 2), "index4")], axis=1)
    yield Case("GatherElements-negative", "GatherElements", [((3, 4), ""), np.array([[-1, 2], [1, -2], [0, 0]])], axis=1)
    yield Case("GatherND", "GatherND", [((3, 4, 5), ""), np.array([[0, 1], [2, 3]])])
    yield Case("GatherND-full", "GatherND", [((3, 4, 5), ""), np.array([[0, 1, 2], [2, 3, 4]])])
    yield Case("GatherND-dynamic", "GatherND", [((3, 4, 5), ""), ((6, 1), "index3")])
    yield Case("GatherND-batch1", "GatherND", [((2, 4, 5), ""), np.array([[1], [3]])], batch_dims=1)
    yield Case("GatherND-batch1-many", "GatherND", [((2, 4, 5), ""), np.array([[[1], [2], [0]], [[3], [0], [1]]])], batch_dims=1)
    yield Case("GatherND-batch2", "GatherND", [((2, 3, 4, 5), ""), np.array([[[1], [2], [0]], [[3], [0], [1]]])], batch_dims=2)
    for reduction in ("none", "add", "mul", "max", "min"):
        yield Case(f"ScatterND-{reduction}", "ScatterND", [((4, 5), ""), np.array([[1], [3]]), ((2, 5), "")], reduction=reduction)
        yield Case(f"ScatterElements-{reduction}", "ScatterElements", [((4, 5), ""), np.array([[1, 0, 2], [0, 2, 1]]), ((2, 3), "")], reduction=reduction)
    yield Case("ScatterElements-axis", "ScatterElements", [((4, 5), ""), np.array([[1, 0, 2], [0, 2, 1]]), ((2, 3), "")], axis=1)
    yield Case("OneHot", "OneHot", [((2, 3), "index4"), np.array(4), np.array([0, 1], np.float32)])
    yield Case("NonZero", "NonZero", [((3, 4), "")])
    yield Case("Compress", "Compress", [((3, 4), ""), np.array([True, False, True])], axis=0)


# The only one that the provider can express beside each transformation; it takes no notice of others.
NEAREST = {"half_pixel": "round_prefer_ceil", "asymmetric": "floor", "align_corners": "round_prefer_ceil", "pytorch_half_pixel": "round_prefer_floor"}


def resizes():
    roi, scales = None, np.array([1, 1, 2, 2], np.float32)
    for mode in ("nearest", "linear", "cubic"):
        for transform in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
            for name, factor in (("up", 2.0), ("down", 0.5), ("odd", 1.5)):
                attributes = {"nearest_mode": NEAREST[transform]} if mode == "nearest" else {}
                yield Case(f"Resize-{mode}-{transform}-{name}", "Resize", [((1, 3, 6, 8), ""), roi, np.array([1, 1, factor, factor], np.float32)], mode=mode,
                           coordinate_transformation_mode=transform, **attributes)
    for nearest in ("round_prefer_floor", "round_prefer_ceil"):
        yield Case(f"Resize-{nearest}", "Resize", [((1, 3, 6, 8), ""), roi, scales], mode="nearest", nearest_mode=nearest)
    yield Case("Resize-sizes", "Resize", [((1, 3, 6, 8), ""), None, None, ints(1, 3, 9, 10)], mode="linear")
    yield Case("Resize-3d", "Resize", [((1, 3, 8), ""), roi, np.array([1, 1, 2], np.float32)], mode="linear")
    yield Case("Resize-5d", "Resize", [((1, 2, 3, 4, 5), ""), roi, np.array([1, 1, 2, 2, 2], np.float32)], mode="nearest", nearest_mode="floor")
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            yield Case(f"GridSample-{mode}-{padding}", "GridSample", [((1, 3, 6, 8), ""), ((1, 4, 5, 2), "")], mode=mode, padding_mode=padding)
    yield Case("GridSample-align", "GridSample", [((1, 3, 6, 8), ""), ((1, 4, 5, 2), "")], align_corners=1)
    yield Case("RoiAlign", "RoiAlign", [((1, 3, 8, 8), ""), np.array([[0, 0, 4, 4], [2, 1, 7, 6]], np.float32), ints(0, 0)], output_height=2, output_width=2,
               sampling_ratio=2, quantize=False)


def recurrent():
    for direction, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        x, h = ((5, 2, 4), ""), 3
        for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            parts = [x, const(n, gates * h, 4), const(n, gates * h, h), const(n, 2 * gates * h)]
            count = 3 if op == "LSTM" else 2
            yield Case(f"{op}-{direction}", op, parts, outputs=count, hidden_size=h, direction=direction, quantize=False)
            state = [None] + [const(n, 2, h)] * (count - 1)
            yield Case(f"{op}-{direction}-state", op, parts + state, outputs=count, hidden_size=h, direction=direction, quantize=False)
    yield Case("GRU-linear", "GRU", [x, const(1, 9, 4), const(1, 9, 3), const(1, 18)], outputs=2, hidden_size=3, linear_before_reset=1, quantize=False)
    yield Case("STFT", "STFT", [((1, 64, 1), ""), np.array(8), const(16), np.array(16)], quantize=False)
