# SPDX-License-Identifier: Apache-2.0
"""What trained models were found to contain and the operator cases do not, against numpy: onnx_ops_trained.py ONNX_CONFORMANCE."""
import sys

import numpy as np

from onnx_ops import FLOAT, branch, case, choice, f, i64, judge, node, one


def unsorted():
    """Nodes listed before those that make what they read: a chain backwards, one at the end, one that only a branch reads."""
    x, k = f(2, 3), f(3)
    case('unsorted_backwards', [node('Neg', ['c'], ['y']), node('Mul', ['b', 'k'], ['c']), node('Add', ['a', 'x'], ['b']), node('Relu', ['x'], ['a'])], {'x': x},
         {'y': -(np.maximum(x, 0) + x) * k}, {'k': k})
    case('unsorted_cast_at_the_end', [node('Abs', ['x'], ['a']), node('Cast', ['h'], ['y'], to=1), node('Cast', ['a'], ['h'], to=10)], {'x': x},
         {'y': np.abs(x).astype('f2').astype('f4')})
    then = branch([node('Add', ['m', 'x'], ['t'])], [('t', FLOAT, (2, 3))])
    other = branch([node('Sub', ['u', 'm'], ['t']), node('Neg', ['x'], ['u'])], [('t', FLOAT, (2, 3))])
    nodes = [choice('c', ['y'], then, other), node('Relu', ['x'], ['m']), node('Greater', ['s', 'zero'], ['c']), node('ReduceSum', ['x'], ['s'], keepdims=0)]
    for sign in (1, -1):
        v = sign * np.abs(x)
        case('unsorted_branch_%d' % sign, nodes, {'x': v}, {'y': np.maximum(v, 0) + v if sign > 0 else -v - np.maximum(v, 0)}, {'zero': np.array(0, 'f4')})


def resizes():
    """Positions of pixels as TensorFlow once had them, in opsets 11 and 12."""
    x = f(1, 2, 3, 4)

    def want(oh, ow, rounding):
        y, z = ((rounding((np.arange(n) + 0.5) * m / n)).clip(0, m - 1).astype(int) for n, m in ((oh, 3), (ow, 4)))
        return x[:, :, y][:, :, :, z]

    for name, mode, rounding in (('floor', 'floor', np.floor), ('ceil', 'ceil', np.ceil)):
        for oh, ow in ((6, 8), (5, 3)):
            one('resize_old_half_pixel_%s_%d' % (name, oh), 'Resize', x, want(oh, ow, rounding), 11, {'n': np.zeros(0, 'f4'), 's': i64(1, 2, oh, ow)}, ['x', 'n', 'n', 's'],
                mode='nearest', nearest_mode=mode, coordinate_transformation_mode='tf_half_pixel_for_nn')


if __name__ == '__main__':
    sys.exit(judge((unsorted, resizes), 'unsorted', ' known=0 '))
