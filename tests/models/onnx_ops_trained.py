# SPDX-License-Identifier: Apache-2.0
"""What trained models were found to contain and the operator cases do not, against numpy: onnx_ops_trained.py ONNX_CONFORMANCE."""
import sys

import numpy as np

from onnx_ops import FLOAT, INT64, attr, body, branch, case, choice, data, f, i64, judge, node, one, pb, sigmoid, turns


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


def rates():
    """A model for two rates: the branch that the length of the input does not fit is never taken, whatever the condition says."""
    x, w, b, h = f(1, 6), f(1, 8, 3), f(1, 16), f(1, 1, 2)
    r = f(1, 8, 2)

    def side(size):
        """Steps of `size` samples; without a step dimension of 1 to leave out, the input of the layer has rank 4."""
        nodes = [node('Reshape', ['x', 'shape'], ['p']), node('Shape', ['p'], ['s']), node('Gather', ['s', 'one'], ['count'], axis=0), node('Equal', ['count', 'unit'], ['is_one']),
                 choice('is_one', ['q'], branch([node('Squeeze', ['p', 'axes'], ['z'])], [('z', FLOAT, (1, 1, 3))]), branch([node('Identity', ['p'], ['z'])], [('z', FLOAT, (1, 2, 1, 3))])),
                 node('LSTM', ['q', 'w', 'r', 'b', '', 'h', 'h'], ['', 'o'], hidden_size=2)]
        return branch(nodes, [('o', FLOAT, (1, 1, 2))], [pb('shape', i64(1, -1, 1, size)), pb('one', np.array(1, 'i8')), pb('unit', np.array(1, 'i8')), pb('axes', i64(1))])

    gates = np.split(x[:, :3].astype('f8') @ w[0].T + h[0] @ r[0].T + b[:, :8] + b[:, 8:], 4, 1)
    cell = sigmoid(gates[2]) * h[0] + sigmoid(gates[0]) * np.tanh(gates[3])
    want = (sigmoid(gates[1]) * np.tanh(cell)).reshape(1, 1, 2)
    for first in (True, False):
        nodes = [node('Equal', ['rate', 'high'], ['c']), node('Slice', ['x6', 'from', 'to', 'axis'], ['x']),
                 choice('c', ['y'], side(3) if first else side(1), side(1) if first else side(3))]
        case('branch_that_does_not_fit_%d' % first, nodes, {'x6': x, 'rate': np.array(16000 if first else 8000, 'i8')}, {'y': want},
             {'high': np.array(16000, 'i8'), 'w': w, 'r': r, 'b': b, 'h': h, 'from': i64(0), 'to': i64(3), 'axis': i64(1)})


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


def clipped():
    """Padding computed from the shape, never below zero, in the ways of exporters: floats and integers, bounds as inputs, as attributes, missing, crossed."""
    x = f(1, 1, 3, 5)
    for name, opset, elem, bounds, attrs, want in (('both', 13, 'f4', (0.0, 2.0), {}, 2), ('below', 13, 'f4', (0.0, None), {}, 3), ('above', 12, 'i8', (None, 1), {}, 1), ('crossed', 13, 'i8', (4, 1), {}, 1),
                                                   ('whole', 13, 'i8', (0, 9), {}, 3), ('attributes', 6, 'f4', (), {'min': 0.0, 'max': 2.0}, 2), ('nothing', 13, 'f4', (), {}, 3)):
        nodes = [node('Shape', ['x'], ['s']), node('Gather', ['s', 'two'], ['h'], axis=0), node('Cast', ['h'], ['n'], to=FLOAT if elem == 'f4' else INT64),
                 node('Clip', ['n'] + [('lo', 'hi')[k] if b is not None else '' for k, b in enumerate(bounds)], ['c'], **attrs), node('Cast', ['c'], ['i'], to=INT64),
                 node('Concat', ['one', 'one', 'i', 'five'], ['shape'], axis=0), node('Expand', ['y0', 'shape'], ['e']), node('ReduceSum', ['e'], ['r'], keepdims=0), node('Mul', ['x', 'r'], ['y'])]
        consts = {'two': i64(2), 'one': i64(1), 'five': i64(5), 'y0': np.ones((1, 1, 1, 1), 'f4')}
        consts.update({k: np.array(b, elem) for k, b in zip(('lo', 'hi'), bounds) if b is not None})
        case('clipped_' + name, nodes, {'x': x}, {'y': x * want * 5}, consts, max(opset, 8))


def decoders():
    """Turns until a condition of the data fails, at most as many as there is room for: what is carried stays as the last turn left it, and grows in between."""
    x, a, most = np.abs(f(2, 3)), f(2, 3), 5
    rows = [a.astype('f8')]
    for _ in range(most):
        rows.append(rows[-1] + x + np.tanh(np.mean(np.concatenate(rows), 0, keepdims=True)))
    sums = [float(np.sum(r)) for r in rows]
    cast = [node('Add', ['k', 'unit'], ['l']), node('ReduceMean', ['g'], ['q'], axes=[0]), node('Tanh', ['q'], ['p']), node('Add', ['v', 'x'], ['u']), node('Add', ['u', 'p'], ['w']),
            node('Concat', ['g', 'w'], ['h'], axis=0), node('ReduceSum', ['w'], ['s'], keepdims=0), node('Less', ['s', 'limit'], ['d'])]
    head = [('i', INT64, ()), ('c', 9, ()), ('v', FLOAT, (2, 3)), ('g', FLOAT, ('r', 3)), ('k', INT64, ())]
    tail = [('d', 9, ()), ('w', FLOAT, (2, 3)), ('h', FLOAT, ('r2', 3)), ('l', INT64, ())]
    consts = {'m': np.array(most, 'i8'), 'zero': np.array(0, 'i8'), 'unit': np.array(1, 'i8'), 'yes': np.array(True)}
    for shape in ((), (1,)):
        graph = body(cast + ([node('Reshape', ['d', 'flat'], ['d1'])] if shape else []), head, ([('d1', 9, shape)] if shape else tail[:1]) + tail[1:], [pb('flat', i64(1))] if shape else [])
        for k in (1, 3, most):
            limit = np.array((sums[k - 1] + sums[k]) / 2 if k < most else sums[-1] + 1, 'f4')
            case('loop_until_%d_%d' % (k, len(shape)), [turns('Loop', ['m', 'yes', 'a', 'a', 'zero'], ['y', 'unused', 'n'], graph)], {'x': x, 'a': a, 'limit': limit},
                 {'y': rows[k], 'n': np.array(k, 'i8')}, consts, 13)
    for first in (True, False):
        case('loop_that_begins_%d' % first, [turns('Loop', ['m', 'first', 'a', 'a', 'zero'], ['y', '', 'n'], body(cast, head, tail))],
             {'x': x, 'a': a, 'limit': np.array(sums[-1] + 1, 'f4'), 'first': np.array(first)}, {'y': rows[-1] if first else a, 'n': np.array(most if first else 0, 'i8')}, consts, 13)


def flags():
    """A decoder as Paddle's exporter writes it: a flag that is a scalar in one branch and has one element in the other, a count and the flag that end the turns
    together, and behind it what nobody reads and no graph could have."""
    x, a, most = np.abs(f(2, 3)), f(2, 3), 5
    rows = [a.astype('f8') + k * x for k in range(most + 1)]
    sums = [float(np.sum(r)) for r in rows]
    done = choice('reached', ['e'], branch([], [('true1', 9, (1,))], [pb('true1', np.array([True]))]), branch([node('Identity', ['h'], ['same'])], [('same', 9, ())]))
    nodes = [node('Add', ['v', 'x'], ['w']), node('ReduceSum', ['w'], ['s'], keepdims=0), node('Greater', ['s', 'limit'], ['reached']), done, node('Add', ['k', 'unit'], ['l']),
             node('Less', ['l', 'most'], ['room']), node('Not', ['e'], ['open'])]
    head = [('i', INT64, ()), ('c', 9, ()), ('v', FLOAT, (2, 3)), ('h', 9, ()), ('k', INT64, ())]
    tail = [('d', 9, ()), ('w', FLOAT, (2, 3)), ('e', 9, ()), ('l', INT64, ())]
    consts = {'m': np.array(2 ** 62, 'i8'), 'zero': np.array(0, 'i8'), 'unit': np.array(1, 'i8'), 'most': np.array([most], 'i8'), 'yes': np.array(True), 'no': np.array(False)}
    ways = {'and': [node('And', ['room', 'open'], ['d'])], 'and_first': [node('And', ['open', 'room'], ['d'])],
            'or': [node('Not', ['room'], ['full']), node('Or', ['full', 'e'], ['end']), node('Not', ['end'], ['d'])]}
    for name, way in ways.items():
        for k in (1, 3, most):
            limit = np.array((sums[k - 1] + sums[k]) / 2 if k < most else sums[-1] + 1, 'f4')
            case('loop_with_flag_%s_%d' % (name, k), [turns('Loop', ['m', 'yes', 'a', 'no', 'zero'], ['y', '', 'n'], body(nodes + way, head, tail)), node('Unique', ['y'], ['nobody'])],
                 {'x': x, 'a': a, 'limit': limit}, {'y': rows[k], 'n': np.array(k, 'i8')}, consts, 13)
    then, other = branch([node('Neg', ['x'], ['t'])], [('t', FLOAT, (1,))]), branch([node('Squeeze', ['x'], ['t'])], [('t', FLOAT, ())])
    one_x = f(1)
    for c in (True, False):
        for turned in (True, False):
            case('if_of_one_element_%d_%d' % (c, turned), [choice('c', ['t'], *((then, other) if c != turned else (other, then))), node('Concat', ['t', 'x'], ['y'], axis=0)],
                 {'x': one_x, 'c': np.array(c)}, {'y': np.concatenate([-one_x if turned is False else one_x, one_x])})


def steps():
    """Networks of Brevitas and QONNX: rounded weights, and rounded values of a run, of any number of bits; and those of one bit."""
    def of(domain, op, ins, out, **attrs):
        return data(1, b''.join(data(1, i) for i in ins) + data(2, out) + data(4, op) + data(7, domain) + b''.join(data(5, attr(k, v)) for k, v in attrs.items()))

    x, w = f(3, 6) * 2, f(6, 4)
    for domain, bits, signed, narrow, mode, way in (('qonnx.custom_op.general', 8, 1, 0, 'ROUND', np.rint), ('qonnx.custom_op.general', 4, 1, 1, None, np.rint), ('onnx.brevitas', 2, 0, 0, 'ROUND', np.rint),
                                                    ('finn.custom_op.general', 3, 0, 1, 'FLOOR', np.floor), ('qonnx.custom_op.general', 6, 1, 0, 'CEIL', np.ceil)):
        zero = 0 if signed else 2 ** (bits - 1)
        least, most = (narrow - 2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1 - narrow)

        def quant(v, scale):
            return (np.clip(way((v / scale).astype('f4') + np.float32(zero)), least, most) - zero) * scale
        attrs = {'signed': signed, 'narrow': narrow, **({'rounding_mode': mode} if mode else {})}
        sx, sw = np.array(3 / 2 ** (bits - 1), 'f4'), (np.abs(w).max(0, keepdims=True) / 2 ** (bits - 1)).astype('f4')
        nodes = [of(domain, 'Quant', ['x', 'sx', 'zero', 'bits'], 'a', **attrs), of(domain, 'Quant', ['w', 'sw', 'zero', 'bits'], 'b', **attrs), node('MatMul', ['a', 'b'], ['y'])]
        case('steps_of_%d_bits_%d_%d' % (bits, signed, narrow), nodes, {'x': x}, {'y': quant(x, sx).astype('f8') @ quant(w, sw)},
             {'w': w, 'sx': sx, 'sw': sw, 'zero': np.array(zero, 'f4'), 'bits': np.array(bits, 'f4')})
    x = np.concatenate([x, np.zeros((1, 6), 'f4')])
    case('steps_of_one_bit', [of('qonnx.custom_op.general', 'BipolarQuant', ['x', 's'], 'y')], {'x': x}, {'y': np.where(x >= 0, .5, -.5)}, {'s': np.array(.5, 'f4')})


if __name__ == '__main__':
    sys.exit(judge((unsorted, rates, resizes, clipped, decoders, flags, steps), 'branch_that', ' known=0 '))
