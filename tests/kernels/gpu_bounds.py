# SPDX-License-Identifier: Apache-2.0
"""How far libQnnGpu.so may be from libQnnCpu.so, per operator: |gpu - cpu| <= bound * max(1, largest |cpu| of the tensor). In float16 storage a bound that is not 0 is at least
2^-9. Integers and truth values are always the same. docs/ops.md prints this table."""

import numpy as np

SAME = 0.0        # moved values: the same bits
ROUNDED = 2e-7    # one rounding
FUNCTION = 2e-6   # functions of the device: a few units in the last place
SUMS = 2e-5       # sums in another order

MOVED = """BatchPermutation BatchToSpace ChannelShuffle Concat DepthToSpace ExpandDims Gather GatherElements GatherNd Pack Pad Reshape ScatterElements ScatterNd SpaceToBatch SpaceToDepth
Split Squeeze StridedSlice Tile TopK Transpose UnPack ElementWiseSelect OneHot ConstantOfShape Buffer Im2Col ExtractPatches ElementWiseMux SparseToDense""".split()
ARITHMETIC = """ElementWiseAbs ElementWiseAdd ElementWiseCeil ElementWiseFloor ElementWiseMaximum ElementWiseMinimum ElementWiseMultiply ElementWiseNeg ElementWiseRound ElementWiseSign
ElementWiseSubtract ElementWiseNot Prelu Relu Relu1 Relu6 ReluMinMax Cast Dequantize Convert ArgbToRgb PoolMax2d PoolMax3d ReduceMax ReduceMin Argmax Argmin""".split()
FUNCTIONS = """ElementWiseAsin ElementWiseAtan ElementWiseBinary ElementWiseCos ElementWiseDivide ElementWiseExp ElementWiseFloorDiv ElementWiseFmod ElementWiseLog ElementWiseMod ElementWiseNeuron
ElementWisePower ElementWiseRsqrt ElementWiseSin ElementWiseSoftplus ElementWiseSquareRoot ElementWiseSquaredDifference Elu Gelu HardSwish Sigmoid Tanh""".split()

BOUNDS = {op: b for ops, b in ((MOVED, SAME), (ARITHMETIC, ROUNDED), (FUNCTIONS, FUNCTION)) for op in ops}


def bound_of(op, output=0):
    return BOUNDS.get(op, SUMS)


def unpromised(op, ins):
    """Why a case has no result that could be compared, or None."""
    finite = [t is None or t.array.dtype.kind != "f" or bool(np.isfinite(t.array).all()) for t in ins]
    if op in ("Conv1d", "Conv2d", "Conv3d") and not all(finite[1:]):
        return "weights that are not finite: padding is zeros that are multiplied"
    if op == "Stft" and not all(finite):
        return "a signal that is not finite: products with a cosine of 0 are NaN or infinite"
    return None
