# SPDX-License-Identifier: Apache-2.0
"""Operators that the shared ONNX cases do not have, against numpy: onnx_ops.py ONNX_CONFORMANCE. Every case becomes a folder like those of the ONNX
project, and the conformance runner judges them all. The arithmetic here follows the text of the operators, not our converter."""
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fuzz'))
from make_onnx_seeds import FLOAT, INT64, attr, data, model, node, num, tensor  # noqa: E402

RNG = np.random.default_rng(7)
ELEM = {np.dtype('f4'): 1, np.dtype('u1'): 2, np.dtype('i1'): 3, np.dtype('i4'): 6, np.dtype('i8'): 7, np.dtype('?'): 9}
CASES = []


def pb(name, x):
    x = np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x)
    return tensor(name, ELEM[x.dtype], x.shape, raw=x.tobytes())


def case(name, nodes, ins, outs, consts=None, opset=18, extra=b''):
    """ins, outs, consts: name -> array. Outputs are what is expected."""
    m = model(nodes, [(k, ELEM[np.asarray(v).dtype], np.shape(v)) for k, v in ins.items()],
              [(k, ELEM.get(np.asarray(v).dtype, FLOAT), np.shape(v)) for k, v in outs.items()], [pb(k, v) for k, v in (consts or {}).items()], opset)
    CASES.append((name, m + extra, list(ins.items()), list(outs.items())))


def f(*shape):
    return RNG.standard_normal(shape).astype('f4')


def one(name, op, x, y, opset=18, consts=None, inputs=None, **attrs):
    case(name, [node(op, inputs or ['x'], ['y'], **attrs)], {'x': x}, {'y': y}, consts, opset)


def i64(*v):
    return np.array(v, 'i8')


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---- element-wise ---------------------------------------------------------------------------------------------------

def elementwise():
    x, u = f(2, 3, 4), RNG.uniform(-1, 1, (2, 3)).astype('f4')
    one('asin', 'Asin', u, np.arcsin(u))
    one('asinh', 'Asinh', x * 50, np.arcsinh(x * 50))
    one('sinh', 'Sinh', x, np.sinh(x))
    one('round', 'Round', np.array([0.5, 1.5, -0.5, 2.4, -2.6], 'f4'), np.array([0, 2, -0.0, 2, -3], 'f4'))
    one('isnan', 'IsNaN', np.array([1, np.nan, np.inf], 'f4'), np.array([False, True, False]))
    one('hardswish', 'HardSwish', x * 4, (x * 4 * np.clip(x * 4 / 6 + 0.5, 0, 1)).astype('f4'), 14)
    one('mish', 'Mish', x, (x * np.tanh(np.log1p(np.exp(x)))).astype('f4'))
    one('erf', 'Erf', np.array([0, 1e-6, -0.3, 2, -5], 'f4'), np.array([math.erf(v) for v in np.array([0, 1e-6, -0.3, 2, -5], 'f4')], 'f4'), 13)
    h = np.zeros_like(x)
    np.put_along_axis(h, x.argmax(1)[:, None], 1, 1)
    one('hardmax', 'Hardmax', x, h, axis=1)
    t = f(3, 5)
    for upper in (0, 1):
        for k in (-1, 2):
            one('trilu_%d_%d' % (upper, k), 'Trilu', t, (np.triu if upper else np.tril)(t, k), 14, {'k': np.array(k, 'i8')}, ['x', 'k'], upper=upper)


# ---- moving ---------------------------------------------------------------------------------------------------------

def moving():
    x = f(2, 8, 2, 3)
    b = 2
    dcr = x.reshape(2, b, b, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 4, 6)
    crd = x.reshape(2, 2, b, b, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6)
    one('depth_to_space_dcr', 'DepthToSpace', x, dcr, 13, blocksize=2, mode='DCR')
    one('depth_to_space_crd', 'DepthToSpace', x, crd, 13, blocksize=2, mode='CRD')
    g = f(2, 3, 4)
    one('gather_nd', 'GatherND', g, np.stack([g[0, 1], g[1, -1]]), 13, {'i': np.array([[0, 1], [1, -1]], 'i8')}, ['x', 'i'])
    one('gather_nd_batch', 'GatherND', g, np.stack([g[0, 2], g[1, 0]]), 13, {'i': np.array([[2], [0]], 'i8')}, ['x', 'i'], batch_dims=1)
    s = f(3, 4)
    w = s.copy()
    w[0, 1], w[1, 3] = 7, 8
    one('scatter', 'Scatter', s, w, 10, {'i': np.array([[1], [3]], 'i8'), 'u': np.array([[7], [8]], 'f4')}, ['x', 'i', 'u'], axis=1)
    one('compress', 'Compress', s, s[:, [0, 3]], 11, {'c': np.array([True, False, False, True])}, ['x', 'c'], axis=1)
    one('compress_flat', 'Compress', s, s.reshape(-1)[[1, 2]], 11, {'c': np.array([False, True, True])}, ['x', 'c'])
    c = f(5, 6)
    one('center_crop_pad', 'CenterCropPad', c, np.pad(c[1:4], ((0, 0), (1, 2))), 18, {'s': i64(3, 9)}, ['x', 's'])
    one('pad_negative', 'Pad', c, np.pad(c[1:, :-2], ((0, 2), (1, 0)), constant_values=3), 13, {'p': i64(-1, 1, 2, -2), 'v': np.array(3, 'f4')}, ['x', 'p', 'v'])
    one('pad_wrap', 'Pad', c, np.pad(c, ((2, 1), (0, 3)), 'wrap'), 19, {'p': i64(2, 0, 1, 3)}, ['x', 'p'], mode='wrap')
    r = f(4)
    case('range', [node('Range', ['a', 'b', 'd'], ['r']), node('Add', ['x', 'r'], ['y'])], {'x': r}, {'y': r + np.array([10, 7, 4, 1], 'f4')},
         {'a': np.array(10, 'f4'), 'b': np.array(0, 'f4'), 'd': np.array(-3, 'f4')})
    # a transpose, an element-wise operator, and the transpose back, with a per-channel constant between
    t, k = f(1, 3, 4, 5), f(3, 1, 1)
    case('transposes_cancel', [node('Transpose', ['x'], ['a'], perm=[0, 2, 3, 1]), node('Relu', ['a'], ['b']), node('Transpose', ['b'], ['c'], perm=[0, 3, 1, 2]),
                               node('Mul', ['c', 'k'], ['y'])], {'x': t}, {'y': np.maximum(t, 0) * k}, {'k': k})


# ---- products -------------------------------------------------------------------------------------------------------

def products():
    def einsum(name, eq, *ops):
        names = 'abcd'[:len(ops)]
        case('einsum_' + name, [node('Einsum', list(names), ['y'], equation=eq)], dict(zip(names, ops)), {'y': np.einsum(eq, *ops).astype('f4')}, None, 12)
    einsum('matmul', 'ij,jk->ik', f(3, 4), f(4, 5))
    einsum('batch', 'bij,bjk->bik', f(2, 3, 4), f(2, 4, 5))
    einsum('attention', 'bhid,bhjd->bhij', f(2, 2, 3, 4), f(2, 2, 5, 4))
    einsum('transpose', 'ij->ji', f(3, 4))
    einsum('sum', 'ij->i', f(3, 4))
    einsum('inner', 'i,i', f(5), f(5))
    einsum('outer', 'i,j->ij', f(3), f(4))
    einsum('three', 'ij,jk,kl->il', f(2, 3), f(3, 4), f(4, 2))
    einsum('dots', '...ij,...jk->...ik', f(2, 3, 4), f(2, 4, 2))
    einsum('implied', 'ji,jk', f(3, 2), f(3, 4))


def qlinear_conv(name, dynamic, bias):
    x, w = RNG.integers(0, 256, (1, 2, 5, 5), dtype='u1'), RNG.integers(-128, 128, (3, 2, 3, 3)).astype('i1')
    sx, sw, sy, zx, zy = np.float32(0.02), np.array([0.01, 0.02, 0.005], 'f4'), np.float32(0.2), np.uint8(120), np.uint8(100)
    b = RNG.integers(-2000, 2000, 3).astype('i4')
    acc = np.zeros((1, 3, 5, 5), 'i8')
    p = np.pad(x.astype('i8') - int(zx), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for i in range(5):
        for j in range(5):
            acc[0, :, i, j] = (p[0, :, i:i + 3, j:j + 3] * w.astype('i8')).sum((1, 2, 3))
    acc += b[:, None, None] if bias else 0
    y = np.clip(np.rint(acc * (float(sx) * sw[:, None, None].astype('f8') / float(sy))) + int(zy), 0, 255).astype('u1')
    params = {'sx': np.array(sx), 'zx': np.array(zx), 'w': w, 'sw': sw, 'zw': np.zeros(3, 'i1'), 'sy': np.array(sy), 'zy': np.array(zy)}
    ins = ['x', 'sx', 'zx', 'w', 'sw', 'zw', 'sy', 'zy']
    if bias:
        params['b'] = b
        ins.append('b')
    case(name, [node('QLinearConv', ins, ['y'], pads=[1, 1, 1, 1])], {'x': x, **(params if dynamic else {})}, {'y': y}, {} if dynamic else params, 13)


def quantized():
    qlinear_conv('qlinear_conv', False, False)
    qlinear_conv('qlinear_conv_bias', False, True)
    qlinear_conv('qlinear_conv_dynamic', True, False)
    x = f(3, 4) * 3
    lo, hi = min(x.min(), 0), max(x.max(), 0)
    s = np.float32((hi - lo) / 255)
    z = np.uint8(np.clip(np.rint(-lo / s), 0, 255))
    case('dynamic_quantize', [node('DynamicQuantizeLinear', ['x'], ['y', 's', 'z'])], {'x': x},
         {'y': np.clip(np.rint(x / s) + z, 0, 255).astype('u1'), 's': np.array(s), 'z': np.array(z)}, None, 11)


# ---- layers ---------------------------------------------------------------------------------------------------------

def norms():
    x, g, b = f(2, 6, 3, 4), f(6), f(6)
    for opset, per in ((18, 'group'), (21, 'channel')):
        gg, bb = (g[:3], b[:3]) if per == 'group' else (g, b)
        full = [np.repeat(v, 2) if per == 'group' else v for v in (gg, bb)]
        r = x.reshape(2, 3, -1)
        n = ((r - r.mean(2, keepdims=True)) / np.sqrt(r.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
        one('group_norm_' + per, 'GroupNormalization', x, n * full[0][:, None, None] + full[1][:, None, None], opset, {'g': gg, 'b': bb}, ['x', 'g', 'b'], num_groups=3)
    one('global_lp_pool', 'GlobalLpPool', x, (np.abs(x) ** 3).sum((2, 3), keepdims=True) ** (1 / 3), 13, p=3)
    th = f(2, 2, 3)
    for corners in (0, 1):
        def line(n):
            return np.linspace(-1, 1, n) if corners else (np.arange(n) * 2 + 1) / n - 1
        gy, gx = np.meshgrid(line(3), line(4), indexing='ij')
        base = np.stack([gx, gy, np.ones_like(gx)], -1)
        one('affine_grid_%d' % corners, 'AffineGrid', th, np.einsum('hwk,nck->nhwc', base, th).astype('f4'), 20, {'s': i64(2, 1, 3, 4)}, ['x', 's'], align_corners=corners)


def lstm_step(x, h, c, w, r, b):
    i, o, fg, g = np.split(x @ w.T + h @ r.T + b, 4, 1)
    c = sigmoid(fg) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def recurrent():
    t, n, i, h = 4, 2, 3, 5
    x = f(t, n, i)
    w, r, b = f(2, 4 * h, i) * 0.4, f(2, 4 * h, h) * 0.4, f(2, 8 * h) * 0.4
    y, yh, yc = np.zeros((t, 2, n, h), 'f4'), np.zeros((2, n, h), 'f4'), np.zeros((2, n, h), 'f4')
    for d in range(2):
        hh = cc = np.zeros((n, h), 'f4')
        for s in (range(t) if d == 0 else reversed(range(t))):
            hh, cc = lstm_step(x[s], hh, cc, w[d], r[d], b[d, :4 * h] + b[d, 4 * h:])
            y[s, d] = hh
        yh[d], yc[d] = hh, cc
    case('lstm_bidirectional', [node('LSTM', ['x', 'w', 'r', 'b'], ['y', 'h', 'c'], hidden_size=h, direction='bidirectional')], {'x': x},
         {'y': y, 'h': yh, 'c': yc}, {'w': w, 'r': r, 'b': b}, 14)
    for before in (0, 1):
        w, r, b = f(1, 3 * h, i) * 0.4, f(1, 3 * h, h) * 0.4, f(1, 6 * h) * 0.4
        hh = h0 = f(1, n, h)
        hh, ys = hh[0], []
        wb, rb = b[0, :3 * h], b[0, 3 * h:]
        for s in reversed(range(t)):
            gx, gh = x[s] @ w[0].T + wb, hh @ r[0].T
            z, q = sigmoid(gx[:, :h] + gh[:, :h] + rb[:h]), sigmoid(gx[:, h:2 * h] + gh[:, h:2 * h] + rb[h:2 * h])
            inner = q * (gh[:, 2 * h:] + rb[2 * h:]) if before else (q * hh) @ r[0, 2 * h:].T + rb[2 * h:]
            hh = (1 - z) * np.tanh(gx[:, 2 * h:] + inner) + z * hh
            ys.insert(0, hh)
        case('gru_reverse_%d' % before, [node('GRU', ['x', 'w', 'r', 'b', '', 'i'], ['y', 'h'], hidden_size=h, direction='reverse', linear_before_reset=before)],
             {'x': x, 'i': h0}, {'y': np.stack(ys)[:, None], 'h': hh[None]}, {'w': w, 'r': r, 'b': b}, 14)
    w, r, b = f(1, h, i) * 0.4, f(1, h, h) * 0.4, f(1, 2 * h) * 0.4
    hh, ys = np.zeros((n, h), 'f4'), []
    for s in range(t):
        hh = np.tanh(x[s] @ w[0].T + hh @ r[0].T + b[0, :h] + b[0, h:])
        ys.append(hh)
    case('rnn_batch_first', [node('RNN', ['x', 'w', 'r', 'b'], ['y', 'h'], hidden_size=h, layout=1)], {'x': x.transpose(1, 0, 2)},
         {'y': np.stack(ys, 1)[:, :, None], 'h': hh[:, None]}, {'w': w, 'r': r, 'b': b}, 14)


def microsoft():
    def ms(op, ins, outs, **attrs):
        n = b''.join(data(1, i) for i in ins) + b''.join(data(2, o) for o in outs) + data(4, op) + data(7, 'com.microsoft')
        return data(1, n + b''.join(data(5, attr(k, v)) for k, v in attrs.items()))
    x, s, g, b = f(2, 3, 4), f(2, 3, 4), f(4), f(4)
    case('quick_gelu', [ms('QuickGelu', ['x'], ['y'])], {'x': x}, {'y': (x * sigmoid(1.702 * x)).astype('f4')})
    a = x + s
    n = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    case('skip_layer_norm', [ms('SkipLayerNormalization', ['x', 's', 'g', 'b'], ['y'], epsilon=1e-5)], {'x': x, 's': s}, {'y': n * g + b}, {'g': g, 'b': b})
    m = a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5)
    case('skip_simplified', [ms('SkipSimplifiedLayerNormalization', ['x', 's', 'g'], ['y'], epsilon=1e-5)], {'x': x, 's': s}, {'y': m * g}, {'g': g})
    case('simplified', [node('SimplifiedLayerNormalization', ['x', 'g'], ['y'], epsilon=1e-5)], {'x': a}, {'y': m * g}, {'g': g})


def patterns():
    """Subgraphs that become one node, in the float64 arithmetic of what they are written as. The runner says that one node was left."""
    x, g, b = f(2, 3, 8) * 3, f(8), f(8)
    x8 = x.astype('f8')
    k = {n: np.array(v, 'f4') for n, v in dict(root=math.sqrt(2), half=0.5, one=1, two=2, three=3, six=6, eps=1e-3, scale=0.25).items()}
    gelu = 0.5 * x8 * (1 + np.vectorize(math.erf)(x8 / math.sqrt(2)))
    erf = [node('Div', ['x', 'root'], ['a']), node('Erf', ['a'], ['b']), node('Add', ['b', 'one'], ['c'])]
    for i, tail in enumerate(([('x', 'c'), ('t', 'half')], [('half', 'c'), ('x', 't')], [('x', 'half'), ('t', 'c')])):
        case('pattern_gelu_%d' % i, erf + [node('Mul', list(tail[0]), ['t']), node('Mul', list(tail[1]), ['y'])], {'x': x}, {'y': gelu}, k)
    hard = x8 * np.clip(x8 + 3, 0, 6) / 6
    case('pattern_hard_swish_clip', [node('Add', ['x', 'three'], ['a']), node('Clip', ['a', 'lo', 'six'], ['b']), node('Mul', ['x', 'b'], ['c']), node('Div', ['c', 'six'], ['y'])],
         {'x': x}, {'y': hard}, {**k, 'lo': np.array(0, 'f4')})
    case('pattern_hard_swish_sigmoid', [node('HardSigmoid', ['x'], ['a'], alpha=1 / 6, beta=0.5), node('Mul', ['a', 'x'], ['y'])], {'x': x}, {'y': hard})
    var = [node('ReduceMean', ['x'], ['m'], axes=[-1]), node('Sub', ['x', 'm'], ['d']), node('Pow', ['d', 'two'], ['q']), node('ReduceMean', ['q'], ['v'], axes=[-1]),
           node('Add', ['v', 'eps'], ['w']), node('Sqrt', ['w'], ['s'])]
    norm = (x8 - x8.mean(-1, keepdims=True)) / np.sqrt(x8.var(-1, keepdims=True) + 1e-3)
    case('pattern_layer_norm', var + [node('Div', ['d', 's'], ['n']), node('Mul', ['n', 'g'], ['o']), node('Add', ['o', 'b'], ['y'])], {'x': x}, {'y': norm * g + b},
         {**k, 'g': g, 'b': b}, 13)
    case('pattern_layer_norm_plain', var + [node('Reciprocal', ['s'], ['r']), node('Mul', ['r', 'd'], ['y'])], {'x': x}, {'y': norm}, k, 13)
    rms = x8 / np.sqrt((x8 * x8).mean(-1, keepdims=True) + 1e-3)
    case('pattern_rms_norm', [node('Mul', ['x', 'x'], ['q']), node('ReduceMean', ['q'], ['v'], axes=[2]), node('Add', ['eps', 'v'], ['w']), node('Sqrt', ['w'], ['s']),
                              node('Div', ['x', 's'], ['n']), node('Mul', ['g', 'n'], ['y'])], {'x': x}, {'y': rms * g}, {**k, 'g': g}, 13)
    scores, mask = f(2, 2, 4, 8), np.where(RNG.random((2, 1, 1, 8)) < 0.3, -1e4, 0).astype('f4')
    e = np.exp(scores.astype('f8') + mask)
    case('pattern_masked_softmax', [node('Add', ['x', 'mask'], ['a']), node('Softmax', ['a'], ['y'], axis=-1)], {'x': scores, 'mask': mask},
         {'y': e / e.sum(-1, keepdims=True)}, None, 13)


def one_node_each(runner, folder):
    """Which patterns were left with more than one node."""
    out = subprocess.run([runner, folder, '--only', 'pattern_', '--verbose'], capture_output=True, text=True, check=False).stdout
    lines = [line for line in out.splitlines() if ' test_pattern_' in line]
    wrong = [line for line in lines if ' nodes=1 ' not in line]
    for line in wrong or ([] if lines else ['no pattern ran']):
        print('not one node:', line)
    return bool(lines) and not wrong


def structure():
    x = f(2, 3)
    # a function of the model, called twice: y = (x + 1) * 2
    body = data(1, 'Twice') + data(4, 'a') + data(5, 'b') + b''.join(
        data(7, nd[2 if nd[1] < 128 else 3:]) for nd in (node('Constant', [], ['k'], value_float=1.0), node('Add', ['a', 'k'], ['s']), node('Add', ['s', 's'], ['b'])))
    body += data(9, data(1, '') + num(2, 18)) + data(10, 'mine')
    def call(i, o):
        return data(1, data(1, i) + data(2, o) + data(4, 'Twice') + data(7, 'mine'))
    case('function', [call('x', 'm'), call('m', 'y')], {'x': x}, {'y': ((x + 1) * 2 + 1) * 2}, None, 18, data(25, body))


def write(folder):
    for name, m, ins, outs in CASES:
        where = os.path.join(folder, 'test_' + name)
        os.makedirs(os.path.join(where, 'test_data_set_0'))
        with open(os.path.join(where, 'model.onnx'), 'wb') as out:
            out.write(m)
        for kind, list_ in (('input', ins), ('output', outs)):
            for i, (k, v) in enumerate(list_):
                with open(os.path.join(where, 'test_data_set_0', '%s_%d.pb' % (kind, i)), 'wb') as out:
                    out.write(pb(k, np.asarray(v) if np.asarray(v).dtype != 'f8' else np.asarray(v).astype('f4')))


def main():
    for part in (elementwise, moving, products, quantized, norms, recurrent, microsoft, patterns, structure):
        part()
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        baseline = os.path.join(folder, 'baseline.txt')
        with open(baseline, 'w') as out:
            out.write('passed %d\n' % len(CASES))
        status = subprocess.call([sys.argv[1], folder, '--baseline', baseline] + sys.argv[2:])
        sys.exit(status or not one_node_each(sys.argv[1], folder))


if __name__ == '__main__':
    main()
