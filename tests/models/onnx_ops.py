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
from make_onnx_seeds import FLOAT, INT64, attr, data, info, model, node, num, tensor  # noqa: E402

RNG = np.random.default_rng(7)
ELEM = {np.dtype('f4'): 1, np.dtype('u1'): 2, np.dtype('i1'): 3, np.dtype('i4'): 6, np.dtype('i8'): 7, np.dtype('?'): 9,
        np.dtype('u2'): 4, np.dtype('i2'): 5, np.dtype('u4'): 12, np.dtype('u8'): 13}
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
    flat = np.zeros((2, 12), 'f4')
    flat[range(2), x.reshape(2, 12).argmax(1)] = 1
    one('hardmax_old', 'Hardmax', x, flat.reshape(2, 3, 4), 11, axis=1)  # everything from the axis on is one dimension
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
    q = np.clip(np.rint(x / np.float32(.1)) + 120, 0, 255)
    case('seen_with_other_scales', [node('QuantizeLinear', ['x', 's', 'z'], ['q']), node('DequantizeLinear', ['q', 't', 'v'], ['y'])], {'x': x},
         {'y': ((q - 100) * np.float32(.3)).astype('f4')}, {'s': np.float32(.1), 'z': np.uint8(120), 't': np.float32(.3), 'v': np.uint8(100)})
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


def ms(op, ins, outs, **attrs):
    n = b''.join(data(1, i) for i in ins) + b''.join(data(2, o) for o in outs) + data(4, op) + data(7, 'com.microsoft')
    return data(1, n + b''.join(data(5, attr(k, v)) for k, v in attrs.items()))


def microsoft():
    x, s, g, b = f(2, 3, 4), f(2, 3, 4), f(4), f(4)
    case('quick_gelu', [ms('QuickGelu', ['x'], ['y'])], {'x': x}, {'y': (x * sigmoid(1.702 * x)).astype('f4')})
    a = x + s
    n = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    case('skip_layer_norm', [ms('SkipLayerNormalization', ['x', 's', 'g', 'b'], ['y'], epsilon=1e-5)], {'x': x, 's': s}, {'y': n * g + b}, {'g': g, 'b': b})
    m = a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5)
    case('skip_simplified', [ms('SkipSimplifiedLayerNormalization', ['x', 's', 'g'], ['y'], epsilon=1e-5)], {'x': x, 's': s}, {'y': m * g}, {'g': g})
    case('simplified', [node('SimplifiedLayerNormalization', ['x', 'g'], ['y'], epsilon=1e-5)], {'x': a}, {'y': m * g}, {'g': g})


def quantized_microsoft():
    def quantize(v, scale, zero):
        return np.clip(np.rint(v / float(scale)) + zero, 0, 255).astype('u1')
    a, b = (RNG.integers(0, 256, (1, 3, 4, 4)).astype('u1') for _ in range(2))
    k = {'sa': np.array(0.02, 'f4'), 'za': np.array(120, 'u1'), 'sb': np.array(0.03, 'f4'), 'zb': np.array(130, 'u1'), 'sy': np.array(0.07, 'f4'), 'zy': np.array(125, 'u1')}
    ra, rb = (a.astype('f8') - 120) * float(k['sa']), (b.astype('f8') - 130) * float(k['sb'])
    pair = ['a', 'sa', 'za', 'b', 'sb', 'zb', 'sy', 'zy']
    case('qlinear_add', [ms('QLinearAdd', pair, ['y'])], {'a': a, 'b': b}, {'y': quantize(ra + rb, k['sy'], 125)}, k)
    case('qlinear_concat', [ms('QLinearConcat', ['sy', 'zy', 'a', 'sa', 'za', 'b', 'sb', 'zb'], ['y'], axis=1)], {'a': a, 'b': b},
         {'y': quantize(np.concatenate([ra, rb], 1), k['sy'], 125)}, k)
    case('qlinear_leaky', [ms('QLinearLeakyRelu', ['a', 'sa', 'za', 'sy', 'zy'], ['y'], alpha=0.1)], {'a': a}, {'y': quantize(np.where(ra < 0, ra * 0.1, ra), k['sy'], 125)}, k)
    x, packed, scale = f(2, 3, 32), RNG.integers(0, 256, (5, 2, 8)).astype('u1'), np.abs(f(5, 2)) * 0.1
    w = np.stack([packed & 15, packed >> 4], -1).reshape(5, 2, 16) - 8.0
    case('matmul_4_bits', [ms('MatMulNBits', ['x', 'w', 's'], ['y'], K=32, N=5, bits=4, block_size=16)], {'x': x}, {'y': (x @ (w * scale[..., None]).reshape(5, 32).T).astype('f4')},
         {'w': packed, 's': scale.reshape(-1)})
    zeros = RNG.integers(0, 256, (5, 1)).astype('u1')
    u = np.stack([packed & 15, packed >> 4], -1).reshape(5, 2, 16) - np.stack([zeros & 15, zeros >> 4], -1).reshape(5, 2, 1).astype('f8')
    case('matmul_4_bits_zeros', [ms('MatMulNBits', ['x', 'w', 's', 'z'], ['y'], K=32, N=5, bits=4, block_size=16)], {'x': x},
         {'y': (x @ (u * scale[..., None]).reshape(5, 32).T).astype('f4')}, {'w': packed, 's': scale.reshape(-1), 'z': zeros.reshape(-1)})
    case('matmul_4_bits_rest', [ms('MatMulNBits', ['v', 'w', 's'], ['y'], K=30, N=5, bits=4, block_size=16)], {'v': x[..., :30].copy()},
         {'y': (x[..., :30] @ (w * scale[..., None]).reshape(5, 32)[:, :30].T).astype('f4')}, {'w': packed, 's': scale.reshape(-1)})
    bytes_ = RNG.integers(0, 256, (5, 2, 16)).astype('u1')
    case('matmul_8_bits', [ms('MatMulNBits', ['x', 'w', 's'], ['y'], K=32, N=5, bits=8, block_size=16)], {'x': x},
         {'y': (x @ ((bytes_ - 128.0) * scale[..., None]).reshape(5, 32).T).astype('f4')}, {'w': bytes_, 's': scale.reshape(-1)})
    m, n = f(2, 4, 3), f(2, 5, 4)
    case('fused_matmul', [ms('FusedMatMul', ['m', 'n'], ['y'], transA=1, transB=1, alpha=0.5)], {'m': m, 'n': n},
         {'y': 0.5 * np.swapaxes(m, 1, 2) @ np.swapaxes(n, 1, 2)})
    c = f(1, 2, 4, 4)
    z = np.einsum('oi,nihw->nohw', f1 := f(3, 2), c) + (g := f(1, 3, 4, 4))
    case('fused_conv', [ms('FusedConv', ['x', 'w', '', 'z'], ['y'], activation='Relu')], {'x': c, 'z': g}, {'y': np.maximum(z, 0)}, {'w': f1.reshape(3, 2, 1, 1)})


def unrolled():
    """What QNN's recurrent layers do not have: a softsign cell, clipped, with sequences of different lengths, backwards."""
    t, n, i, h = 4, 2, 3, 5
    x, w, r, b, lens = f(t, n, i), f(1, 4 * h, i) * 0.4, f(1, 4 * h, h) * 0.4, f(1, 8 * h) * 0.4, np.array([4, 2], 'i4')
    hh, c, y = np.zeros((n, h)), np.zeros((n, h)), np.zeros((t, 1, n, h))
    for s in reversed(range(t)):
        gates = np.clip(x[s] @ w[0].T + hh @ r[0].T + b[0, :4 * h] + b[0, 4 * h:], -0.8, 0.8)
        gi, go, gf, gc = np.split(gates, 4, 1)
        new_c = sigmoid(gf) * c + sigmoid(gi) * np.clip(0.2 * gc + 0.5, 0, 1)
        new_h = sigmoid(go) * (new_c / (1 + abs(new_c)))
        inside = (s < lens)[:, None]
        y[s, 0] = np.where(inside, new_h, 0)
        hh, c = np.where(inside, new_h, hh), np.where(inside, new_c, c)
    case('lstm_unusual', [node('LSTM', ['x', 'w', 'r', 'b', 'l'], ['y', 'h', 'c'], hidden_size=h, direction='reverse', clip=0.8,
                               activations=['Sigmoid', 'HardSigmoid', 'Softsign'])], {'x': x, 'l': lens}, {'y': y, 'h': hh[None], 'c': c[None]}, {'w': w, 'r': r, 'b': b}, 14)
    w, r, b = f(2, 3 * h, i) * 0.4, f(2, 3 * h, h) * 0.4, f(2, 6 * h) * 0.4
    y, last = np.zeros((t, 2, n, h)), np.zeros((2, n, h))
    for d in range(2):
        for s in (range(t), reversed(range(t)))[d]:
            gx, gh = x[s] @ w[d].T + b[d, :3 * h], last[d] @ r[d].T + b[d, 3 * h:]
            z, q = sigmoid(gx[:, :h] + gh[:, :h]), sigmoid(gx[:, h:2 * h] + gh[:, h:2 * h])
            new = (1 - z) * np.maximum(gx[:, 2 * h:] + q * gh[:, 2 * h:], 0) + z * last[d]
            inside = (s < lens)[:, None]
            y[s, d], last[d] = np.where(inside, new, 0), np.where(inside, new, last[d])
    case('gru_unusual', [node('GRU', ['x', 'w', 'r', 'b', 'l'], ['y', 'h'], hidden_size=h, direction='bidirectional', linear_before_reset=1,
                              activations=['Sigmoid', 'Relu', 'Sigmoid', 'Relu'])], {'x': x, 'l': lens}, {'y': y, 'h': last}, {'w': w, 'r': r, 'b': b}, 14)


def lengths():
    """Sequences of different lengths in the layers that QNN has: zeros behind their ends, states of their last steps, turned around one by one."""
    t, i, h = 5, 3, 4
    for n, lens in ((1, [3]), (3, [5, 2, 0])):
        x, lens, h0 = f(t, n, i), np.array(lens, 'i4'), f(2, n, h)
        w, r, b = f(2, 3 * h, i) * 0.4, f(2, 3 * h, h) * 0.4, f(2, 6 * h) * 0.4
        y, last = np.zeros((t, 2, n, h)), h0.astype('f8')
        for d in range(2):
            for s in (range(t), reversed(range(t)))[d]:
                gx, gh = x[s] @ w[d].T + b[d, :3 * h], last[d] @ r[d].T + b[d, 3 * h:]
                z, q = sigmoid(gx[:, :h] + gh[:, :h]), sigmoid(gx[:, h:2 * h] + gh[:, h:2 * h])
                new, inside = (1 - z) * np.tanh(gx[:, 2 * h:] + q * gh[:, 2 * h:]) + z * last[d], (s < lens)[:, None]
                y[s, d], last[d] = np.where(inside, new, 0), np.where(inside, new, last[d])
        case('gru_lengths_%d' % n, [node('GRU', ['x', 'w', 'r', 'b', 'l', 'i'], ['y', 'h'], hidden_size=h, direction='bidirectional', linear_before_reset=1)],
             {'x': x, 'l': lens, 'i': h0}, {'y': y, 'h': last}, {'w': w, 'r': r, 'b': b}, 14)
        w, r, b = f(1, 4 * h, i) * 0.4, f(1, 4 * h, h) * 0.4, f(1, 8 * h) * 0.4
        for way, order in (('forward', range(t)), ('reverse', reversed(range(t)))):
            hh, c, y = np.zeros((n, h)), np.zeros((n, h)), np.zeros((t, 1, n, h))
            for s in order:
                new_h, new_c = lstm_step(x[s], hh, c, w[0], r[0], b[0, :4 * h] + b[0, 4 * h:])
                inside = (s < lens)[:, None]
                y[s, 0], hh, c = np.where(inside, new_h, 0), np.where(inside, new_h, hh), np.where(inside, new_c, c)
            for outs, want in ((['y', 'h'], {'y': y, 'h': hh[None]}), (['y', 'h', 'c'], {'y': y, 'h': hh[None], 'c': c[None]})):
                case('lstm_lengths_%s_%d_%d' % (way, n, len(outs)), [node('LSTM', ['x', 'w', 'r', 'b', 'l'], outs, hidden_size=h, direction=way)], {'x': x, 'l': lens}, want,
                     {'w': w, 'r': r, 'b': b}, 14)


# ---- whole numbers --------------------------------------------------------------------------------------------------

def whole():
    for kind in ('u1', 'i2', 'i4', 'u8'):
        top = np.iinfo(kind)
        a, b = (RNG.integers(top.min, top.max, s, dtype=kind, endpoint=True) for s in ((3, 4), (4,)))
        for op, fn in (('And', np.bitwise_and), ('Or', np.bitwise_or), ('Xor', np.bitwise_xor)):
            case('bitwise_%s_%s' % (op, kind), [node('Bitwise' + op, ['a', 'b'], ['y'])], {'a': a, 'b': b}, {'y': fn(a, b)})
        one('bitwise_not_' + kind, 'BitwiseNot', a, ~a)
    x, by = np.array([1, 200, 255, 129], 'u1'), np.array([7, 3, 0, 9], 'u1')
    for way, y in (('LEFT', [128, 64, 255, 0]), ('RIGHT', [0, 25, 255, 0])):
        case('shift_' + way, [node('BitShift', ['x', 'b'], ['y'], direction=way)], {'x': x, 'b': by}, {'y': np.array(y, 'u1')}, None, 11)
    z = f(3, 7)
    for exclusive in (0, 1):
        want = np.cumprod(z[:, ::-1].astype('f8'), 1)
        if exclusive:
            want = np.concatenate([np.ones((3, 1)), want[:, :-1]], 1)
        one('cum_prod_%d' % exclusive, 'CumProd', z, want[:, ::-1].copy(), 26, {'a': np.array(1, 'i8')}, ['x', 'a'], exclusive=exclusive, reverse=1)


# ---- spectra --------------------------------------------------------------------------------------------------------

def parts(z):
    return np.stack([z.real, z.imag], -1).astype('f4')


def spectra():
    x = f(2, 10, 3, 1)
    c = f(2, 10, 3, 2)
    z = c[..., 0] + 1j * c[..., 1]
    one('dft_real', 'DFT', x, parts(np.fft.fft(x[..., 0], axis=1)), 17, axis=1)
    one('dft_onesided', 'DFT', x, parts(np.fft.rfft(x[..., 0], axis=1)), 17, axis=1, onesided=1)
    one('dft_complex_inverse', 'DFT', c, parts(np.fft.ifft(z, axis=1)), 17, axis=1, inverse=1)
    one('dft_longer', 'DFT', x, parts(np.fft.fft(x[..., 0], 16, axis=1)), 20, {'n': np.array(16, 'i8'), 'a': np.array(-3, 'i8')}, ['x', 'n', 'a'])
    one('dft_shorter', 'DFT', c, parts(np.fft.fft(z, 6, axis=2 - 1)), 20, {'n': np.array(6, 'i8'), 'a': np.array(1, 'i8')}, ['x', 'n', 'a'])
    i = np.arange(8)
    for op, w in (('Hann', 0.5 - 0.5 * np.cos(2 * np.pi * i / 8)), ('Hamming', (25 - 21 * np.cos(2 * np.pi * i / 8)) / 46),
                  ('Blackman', 0.42 - 0.5 * np.cos(2 * np.pi * i / 8) + 0.08 * np.cos(4 * np.pi * i / 8))):
        v = f(3, 8)
        case('window_' + op, [node(op + 'Window', ['n'], ['w']), node('Mul', ['x', 'w'], ['y'])], {'x': v}, {'y': v * w}, {'n': np.array(8, 'i8')})


# ---- images ---------------------------------------------------------------------------------------------------------

def pixel(img, y, x):
    return img[:, y, x] if 0 <= y < img.shape[1] and 0 <= x < img.shape[2] else np.zeros(img.shape[0])


def bilinear(img, y, x):
    y0, x0 = math.floor(y), math.floor(x)
    return sum(pixel(img, y0 + i, x0 + j) * (1 - abs(y - y0 - i)) * (1 - abs(x - x0 - j)) for i in (0, 1) for j in (0, 1))


def cubic(img, y, x):
    def weight(d):
        d, a = abs(d), -0.75
        return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1 if d <= 1 else a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
    y0, x0 = math.floor(y), math.floor(x)
    return sum(pixel(img, y0 + i, x0 + j) * weight(y - y0 - i) * weight(x - x0 - j) for i in range(-1, 3) for j in range(-1, 3))


def deform(name, group, parts_, masked):
    x, w, b = f(1, 4, 6, 5), f(6, 4 // group, 3, 3), f(6)
    offset, mask = f(1, parts_ * 18, 3, 3), np.abs(f(1, parts_ * 9, 3, 3))
    y = np.zeros((1, 6, 3, 3))
    for o in range(6):
        for c in range(4 // group):
            channel = o // (6 // group) * (4 // group) + c
            part = channel // (4 // parts_)
            for t in range(9):
                for i in range(3):
                    for j in range(3):
                        at = (i * 2 - 1 + t // 3 + offset[0, (part * 9 + t) * 2, i, j], j * 2 - 1 + t % 3 + offset[0, (part * 9 + t) * 2 + 1, i, j])
                        y[0, o, i, j] += w[o, c, t // 3, t % 3] * bilinear(x[0, channel:channel + 1].astype('f8'), *at)[0] * (mask[0, part * 9 + t, i, j] if masked else 1)
    y += b[:, None, None]
    case(name, [node('DeformConv', ['x', 'w', 'o', 'b'] + (['m'] if masked else []), ['y'], strides=[2, 2], pads=[1, 1, 0, 0], group=group, offset_group=parts_)],
         {'x': x, 'o': offset, **({'m': mask} if masked else {})}, {'y': y.astype('f4')}, {'w': w, 'b': b}, 19)


def images():
    x, grid = f(1, 2, 5, 6), RNG.uniform(-1.3, 1.3, (1, 3, 4, 2)).astype('f4')
    for corners in (0, 1):
        y = np.zeros((1, 2, 3, 4))
        for i in range(3):
            for j in range(4):
                gx, gy = grid[0, i, j].astype('f8')
                at = ((gy + 1) / 2 * 4, (gx + 1) / 2 * 5) if corners else (((gy + 1) * 5 - 1) / 2, ((gx + 1) * 6 - 1) / 2)
                y[0, :, i, j] = cubic(x[0].astype('f8'), *at)
        case('grid_sample_cubic_%d' % corners, [node('GridSample', ['x', 'g'], ['y'], mode='bicubic', align_corners=corners)], {'x': x, 'g': grid}, {'y': y.astype('f4')}, None, 16)
    deform('deform_conv', 1, 1, False)
    deform('deform_conv_groups', 2, 1, True)
    deform('deform_conv_parts', 1, 2, True)
    p = f(2, 3, 6, 7)
    value, index = np.zeros((2, 3, 3, 3), 'f4'), np.zeros((2, 3, 3, 3), 'i8')
    for n, c, i, j in np.ndindex(2, 3, 3, 3):
        win = p[n, c, 2 * i:2 * i + 2, 2 * j:2 * j + 2]
        k = int(win.argmax())
        value[n, c, i, j], index[n, c, i, j] = win.max(), (n * 3 + c) * 42 + (2 * i + k // 2) * 7 + 2 * j + k % 2
    case('max_pool_indices', [node('MaxPool', ['x'], ['y', 'i'], kernel_shape=[2, 2], strides=[2, 2])], {'x': p}, {'y': value, 'i': index}, None, 12)
    u, at = f(1, 1, 2, 2), np.array([[[[0, 7], [8, 15]]]], 'i8')
    want = np.zeros(16, 'f4')
    want[at.ravel()] = u.ravel()
    case('max_unpool', [node('MaxUnpool', ['x', 'i'], ['y'], kernel_shape=[2, 2], strides=[2, 2])], {'x': u, 'i': at}, {'y': want.reshape(1, 1, 4, 4)}, None, 11)
    for size in (2, 3):
        m = f(4, size, size)
        one('det_%d' % size, 'Det', m, np.linalg.det(m.astype('f8')).astype('f4'), 11)
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], 'f4')
    case('nms', [node('NonMaxSuppression', ['b', 's', 'm', 'i', 't'], ['y'])], {'b': boxes, 's': np.array([[[0.9, 0.75, 0.6]]], 'f4')},
         {'y': np.array([[0, 0, 0], [0, 0, 2]], 'i8')}, {'m': np.array([2], 'i8'), 'i': np.array([0.5], 'f4'), 't': np.array([0], 'f4')}, 11)


# ---- losses ---------------------------------------------------------------------------------------------------------

def losses():
    x, t, w = f(3, 5, 2), RNG.integers(0, 5, (3, 2)), np.abs(f(5)) + 0.1
    p = x.astype('f8') - np.log(np.exp(x.astype('f8')).sum(1, keepdims=True))
    each = -np.take_along_axis(p, t[:, None], 1)[:, 0]
    skip = t != t[0, 0]
    one('loss_mean', 'SoftmaxCrossEntropyLoss', x, each.mean().astype('f4'), 13, {'t': t}, ['x', 't'])
    one('loss_none', 'SoftmaxCrossEntropyLoss', x, each.astype('f4'), 13, {'t': t}, ['x', 't'], reduction='none')
    one('loss_weights', 'SoftmaxCrossEntropyLoss', x, ((each * w[t]).sum() / w[t].sum()).astype('f4'), 13, {'t': t, 'w': w}, ['x', 't', 'w'])
    one('loss_ignored', 'SoftmaxCrossEntropyLoss', x, (each * skip).sum().astype('f4'), 13, {'t': t}, ['x', 't'], reduction='sum', ignore_index=int(t[0, 0]))


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
    moments = [node('ReduceMean', ['x'], ['m'], axes=[-1]), node('Mul', ['x', 'x'], ['q']), node('ReduceMean', ['q'], ['p'], axes=[-1]), node('Pow', ['m', 'two'], ['mm']),
               node('Sub', ['p', 'mm'], ['v'])]
    ends = [node('Sub', ['x', 'm'], ['d']), node('Sqrt', ['w'], ['s']), node('Div', ['d', 's'], ['n']), node('Mul', ['n', 'g'], ['o']), node('Add', ['o', 'b'], ['y'])]
    case('pattern_layer_norm_moments', moments + [node('Add', ['v', 'eps'], ['w'])] + ends, {'x': x}, {'y': norm * g + b}, {**k, 'g': g, 'b': b}, 13)
    case('pattern_layer_norm_limited', moments + [node('Max', ['v', 'zero'], ['u']), node('Add', ['u', 'eps'], ['w'])] + ends, {'x': x}, {'y': norm * g + b},
         {**k, 'zero': np.array(0, 'f4'), 'g': g, 'b': b}, 13)
    rms = x8 / np.sqrt((x8 * x8).mean(-1, keepdims=True) + 1e-3)
    case('pattern_rms_norm', [node('Mul', ['x', 'x'], ['q']), node('ReduceMean', ['q'], ['v'], axes=[2]), node('Add', ['eps', 'v'], ['w']), node('Sqrt', ['w'], ['s']),
                              node('Div', ['x', 's'], ['n']), node('Mul', ['g', 'n'], ['y'])], {'x': x}, {'y': rms * g}, {**k, 'g': g}, 13)
    scores, mask = f(2, 2, 4, 8), np.where(RNG.random((2, 1, 1, 8)) < 0.3, -1e4, 0).astype('f4')
    e = np.exp(scores.astype('f8') + mask)
    case('pattern_masked_softmax', [node('Add', ['x', 'mask'], ['a']), node('Softmax', ['a'], ['y'], axis=-1)], {'x': scores, 'mask': mask},
         {'y': e / e.sum(-1, keepdims=True)}, None, 13)


def all_say(runner, folder, only, text):
    """Whether the runner's lines about the cases with `only` in their names have the text."""
    out = subprocess.run([runner, folder, '--only', only, '--verbose'], capture_output=True, text=True, check=False).stdout
    lines = [line for line in out.splitlines() if ' test_' + only in line]
    wrong = [line for line in lines if text not in line]
    for line in wrong or ([] if lines else ['no case ran: ' + only]):
        print('not%s: %s' % (text, line))
    return bool(lines) and not wrong


def branch(nodes, outs, consts=()):
    """A graph inside a node: (name, element type, shape) of its outputs."""
    return b''.join(nodes) + data(2, 'b') + b''.join(data(5, c) for c in consts) + b''.join(data(12, info(*o)) for o in outs)


def choice(cond, outs, then, other):
    graphs = b''.join(data(5, data(1, k) + data(6, g) + num(20, 5)) for k, g in (('then_branch', then), ('else_branch', other)))
    return data(1, data(1, cond) + b''.join(data(2, o) for o in outs) + data(4, 'If') + graphs)


def branches():
    """The condition comes at run time: both sides, values from outside, constants inside, a branch in a branch, a condition that is computed."""
    x, k = f(2, 3), f(3)
    m = np.maximum(x, 0)
    then = branch([node('Add', ['m', 'k'], ['t']), node('Neg', ['x'], ['u'])], [('t', FLOAT, (2, 3)), ('u', FLOAT, (2, 3))], [pb('k', k)])
    other = branch([node('Mul', ['x', 'k'], ['t']), node('Identity', ['m'], ['u'])], [('t', FLOAT, (2, 3)), ('u', FLOAT, (2, 3))], [pb('k', 2 * k)])
    nodes = [node('Relu', ['x'], ['m']), choice('c', ['y', 'z'], then, other)]
    for c in (True, False):
        case('if_%d' % c, nodes, {'x': x, 'c': np.array(c)}, {'y': m + k if c else x * 2 * k, 'z': -x if c else m})
        case('if_one_element_%d' % c, nodes, {'x': x, 'c': np.array([c])}, {'y': m + k if c else x * 2 * k, 'z': -x if c else m})
    inner = branch([choice('d', ['i'], branch([node('Neg', ['x'], ['p'])], [('p', FLOAT, (2, 3))]), branch([node('Abs', ['x'], ['p'])], [('p', FLOAT, (2, 3))]))],
                   [('i', FLOAT, (2, 3))])
    limit = [node('ReduceSum', ['x'], ['s'], keepdims=0), node('Greater', ['s', 'zero'], ['c']), choice('c', ['y'], inner, branch([node('Sin', ['x'], ['q'])], [('q', FLOAT, (2, 3))]))]
    for sign in (1, -1):
        for d in (True, False):
            v = (sign * np.abs(x)).astype('f4')
            want = np.sin(v) if sign < 0 else -v if d else np.abs(v)
            case('if_in_if_%d_%d' % (sign, d), limit, {'x': v, 'd': np.array(d)}, {'y': want}, {'zero': np.array(0, 'f4')})


def body(nodes, ins, outs, consts=()):
    """A graph inside a node that has inputs: (name, element type, shape) of them."""
    return b''.join(nodes) + data(2, 'b') + b''.join(data(5, c) for c in consts) + b''.join(data(11, info(*i)) for i in ins) + b''.join(data(12, info(*o)) for o in outs)


def turns(op, ins, outs, graph, **attrs):
    return data(1, b''.join(data(1, i) for i in ins) + b''.join(data(2, o) for o in outs) + data(4, op) + data(5, data(1, 'body') + data(6, graph) + num(20, 5)) +
                b''.join(data(5, attr(k, v)) for k, v in attrs.items()))


def loops():
    """A known number of turns: carried values, sequences, values from outside, the turn's number, an end that comes early, a choice inside a turn."""
    x, v = f(2, 3), f(2, 3)
    row = ('v', FLOAT, (2, 3))
    head = [('i', INT64, ()), ('c', 9, ()), row]
    step = [node('Cast', ['i'], ['n'], to=1), node('Mul', ['v', 'x'], ['p']), node('Add', ['p', 'n'], ['w']), node('Identity', ['c'], ['d']), node('Neg', ['w'], ['s'])]
    graph = body(step, head, [('d', 9, ()), ('w', FLOAT, (2, 3)), ('s', FLOAT, (2, 3))])
    known = {'m': np.array(3, 'i8'), 'yes': np.array(True)}
    w, seen = v.astype('f8'), []
    for i in range(3):
        w = w * x + i
        seen.append(-w)
    case('loop', [turns('Loop', ['m', 'yes', 'a'], ['y', 'z'], graph)], {'x': x, 'a': v}, {'y': w, 'z': np.stack(seen)}, known)
    case('loop_without_condition', [turns('Loop', ['m', '', 'a'], ['y', ''], graph)], {'x': x, 'a': v}, {'y': w}, known)
    early = body([node('Add', ['v', 'x'], ['w']), node('Less', ['i', 'last'], ['d']), node('Mul', ['w', 'w'], ['s']), node('Neg', ['w'], ['t'])], head,
                 [('d', 9, ()), ('w', FLOAT, (2, 3)), ('s', FLOAT, (2, 3)), ('t', FLOAT, (2, 3))])
    sums = np.stack([v + (k + 1) * x.astype('f8') for k in range(3)])
    case('loop_ends_early', [turns('Loop', ['m', 'yes', 'a'], ['y', 'z', 'u'], early)], {'x': x, 'a': v}, {'y': sums[-1], 'z': sums ** 2, 'u': -sums},
         {'m': np.array(9, 'i8'), 'yes': np.array(True), 'last': np.array(2, 'i8')})
    for name, limit in (('nothing', ''), ('a_large_number', 'huge')):
        case('loop_until_its_condition_fails_with_%s' % name, [turns('Loop', [limit, 'yes', 'a'], ['y', 'z', 'u'], early)], {'x': x, 'a': v},
             {'y': sums[-1], 'z': sums ** 2, 'u': -sums}, {'huge': np.array(1 << 40, 'i8'), 'yes': np.array(True), 'last': np.array(2, 'i8')})
    same = body([node('Transpose', ['k'], ['kt'], perm=[1, 0]), node('MatMul', ['x', 'kt'], ['p']), node('Add', ['v', 'p'], ['w']), node('Identity', ['c'], ['d'])], head,
                [('d', 9, ()), ('w', FLOAT, (2, 3))])
    k = f(3, 3)
    case('loop_with_what_is_the_same_in_every_turn', [turns('Loop', ['m', 'yes', 'a'], ['y'], same)], {'x': x, 'a': v}, {'y': v + 5 * (x.astype('f8') @ k.T)},
         {'m': np.array(5, 'i8'), 'yes': np.array(True), 'k': k})
    many = body([node('Add', ['v', 'x'], ['w']), node('Identity', ['c'], ['d']), node('Identity', ['w'], ['s'])], head, [('d', 9, ()), ('w', FLOAT, (2, 3)), ('s', FLOAT, (2, 3))])
    case('loop_of_many', [turns('Loop', ['m', 'yes', 'a'], ['', 'z'], many)], {'x': x, 'a': v}, {'z': np.stack([v + (k + 1) * x.astype('f8') for k in range(70)])},
         {'m': np.array(70, 'i8'), 'yes': np.array(True)})
    pick = body([choice('q', ['w'], branch([node('Add', ['v', 'x'], ['e'])], [('e', FLOAT, (2, 3))]), branch([node('Sub', ['v', 'x'], ['e'])], [('e', FLOAT, (2, 3))])),
                 node('Identity', ['c'], ['d'])], head, [('d', 9, ()), ('w', FLOAT, (2, 3))])
    for q in (True, False):
        case('loop_with_if_%d' % q, [turns('Loop', ['m', 'yes', 'a'], ['y'], pick)], {'x': x, 'a': v, 'q': np.array(q)}, {'y': v + 3 * x if q else v - 3 * x}, known)
    s = f(4, 3)
    scan = body([node('Add', ['h', 't'], ['k']), node('Tanh', ['k'], ['o'])], [('h', FLOAT, (3,)), ('t', FLOAT, (3,))], [('k', FLOAT, (3,)), ('o', FLOAT, (3,))])
    sums = np.cumsum(s.astype('f8'), 0)
    case('scan', [turns('Scan', ['h', 's'], ['y', 'z'], scan, num_scan_inputs=1)], {'h': np.zeros(3, 'f4'), 's': s}, {'y': sums[-1], 'z': np.tanh(sums)})
    back = np.cumsum(s[::-1].astype('f8'), 0)
    case('scan_backward', [turns('Scan', ['h', 't'], ['y', 'z'], scan, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[-1],
                                 scan_output_directions=[1])], {'h': np.zeros(3, 'f4'), 't': np.ascontiguousarray(s.T)}, {'y': back[-1], 'z': np.tanh(back)[::-1].T})


def wide():
    """More tensors than a node takes."""
    parts = {'x%d' % i: f(2, 1 + i % 2, 2) for i in range(23)}
    names = [n for _ in range(6) for n in parts][:130]
    case('concat_of_130', [node('Concat', names, ['y'], axis=1)], parts, {'y': np.concatenate([parts[n] for n in names], 1)})
    case('sum_of_70', [node('Sum', ['x', 'a'] * 35, ['y'])], {'x': (x := f(2, 3)), 'a': (a := f(2, 3))}, {'y': 35 * (x.astype('f8') + a)})
    sizes = [1 + i % 3 for i in range(70)]
    x = f(sum(sizes), 2)
    cuts = np.split(x, np.cumsum(sizes)[:-1])
    case('split_into_70', [node('Split', ['x', 'sizes'], ['p%d' % i for i in range(70)], axis=0), node('Concat', ['p69', 'p0', 'p64', 'p63'], ['y'], axis=0)], {'x': x},
         {'y': np.concatenate([cuts[69], cuts[0], cuts[64], cuts[63]])}, {'sizes': np.array(sizes, 'i8')})


def dilated():
    """MaxPool with dilation: a few taps as slices, many dimension by dimension; strides that divide the dilation and that do not; padding; an end that nobody sees."""
    for name, shape, kernel, dilation, stride, pads in (('few', (1, 2, 9, 8), (2, 3), (2, 2), (1, 2), (1, 0, 1, 2)), ('many', (2, 3, 40, 37), (6, 7), (5, 3), (5, 2), (3, 4, 2, 0)),
                                                        ('many_3d', (1, 2, 12, 11, 13), (3, 3, 4), (3, 2, 2), (1, 2, 7), (0, 1, 2, 1, 0, 2)),
                                                        ('many_1d', (1, 2, 90), (20,), (4,), (3,), (7, 9))):
        n = len(kernel)
        x = f(*shape)
        padded = np.pad(x, [(0, 0), (0, 0)] + [(pads[k], pads[n + k]) for k in range(n)], constant_values=-np.inf)
        size = [(padded.shape[2 + k] - (kernel[k] - 1) * dilation[k] - 1) // stride[k] + 1 for k in range(n)]
        y = np.full(shape[:2] + tuple(size), -np.inf)
        for tap in np.ndindex(*kernel):
            at = tuple(slice(t * dilation[k], t * dilation[k] + (size[k] - 1) * stride[k] + 1, stride[k]) for k, t in enumerate(tap))
            y = np.maximum(y, padded[(slice(None), slice(None)) + at])
        one('max_pool_dilated_%s' % name, 'MaxPool', x, y.astype('f4'), kernel_shape=list(kernel), dilations=list(dilation), strides=list(stride), pads=list(pads))


def quantized_lstm():
    """Weights of 8 bits, turned, with a scale per direction, and with one per output."""
    t, n, i, h = 4, 2, 3, 5
    x, b = f(t, n, i), f(2, 8 * h) * 0.4
    w, r = RNG.integers(0, 256, (2, i, 4 * h)).astype('u1'), RNG.integers(-128, 128, (2, h, 4 * h)).astype('i1')
    for name, shape in (('direction', (2,)), ('output', (2, 4 * h))):
        ws, rs = (RNG.uniform(0.002, 0.005, shape).astype('f4') for _ in range(2))
        wz, rz = RNG.integers(100, 150, shape).astype('u1'), np.zeros(shape, 'i1')
        real = [((q.astype('f8') - z.reshape(2, 1, -1)) * s.reshape(2, 1, -1)).transpose(0, 2, 1) for q, s, z in ((w, ws, wz), (r, rs, rz))]
        y = np.zeros((t, 2, n, h))
        for d in range(2):
            hh = cc = np.zeros((n, h))
            for s in (range(t), reversed(range(t)))[d]:
                hh, cc = lstm_step(x[s], hh, cc, real[0][d], real[1][d], b[d, :4 * h] + b[d, 4 * h:])
                y[s, d] = hh
        case('lstm_with_8_bits_per_%s' % name, [ms('DynamicQuantizeLSTM', ['x', 'w', 'r', 'b', '', '', '', '', 'ws', 'wz', 'rs', 'rz'], ['y'], hidden_size=h,
                                                     direction='bidirectional')], {'x': x}, {'y': y},
             {'w': w, 'r': r, 'b': b, 'ws': ws, 'wz': wz, 'rs': rs, 'rz': rz}, 14)


def structure():
    x = f(2, 3)
    # a function of the model, called twice: y = (x + 1) * 2
    body = data(1, 'Twice') + data(4, 'a') + data(5, 'b') + b''.join(
        data(7, nd[2 if nd[1] < 128 else 3:]) for nd in (node('Constant', [], ['k'], value_float=1.0), node('Add', ['a', 'k'], ['s']), node('Add', ['s', 's'], ['b'])))
    body += data(9, data(1, '') + num(2, 18)) + data(10, 'mine')
    def call(i, o):
        return data(1, data(1, i) + data(2, o) + data(4, 'Twice') + data(7, 'mine'))
    case('function', [call('x', 'm'), call('m', 'y')], {'x': x}, {'y': ((x + 1) * 2 + 1) * 2}, None, 18, data(25, body))


def remembering():
    """A convolution that looks back, attention with a state: step by step, as the text of the operators says it."""
    b, c, t, k = 2, 3, 5, 4
    x, w, bias, past = f(b, c, t), f(c, 1, k), f(c), f(b, c, k - 1)
    for name, before, ins in (('past', past, ['x', 'w', 'b', 'p']), ('no_past', np.zeros_like(past), ['x', 'w', 'b'])):
        a = np.concatenate([before, x], 2)
        y = np.stack([(a[:, :, i:i + k] * w[:, 0]).sum(2) + bias for i in range(t)], 2)
        given = {'x': x, 'p': past} if name == 'past' else {'x': x}
        case('causal_conv_' + name, [node('CausalConvWithState', ins, ['y', 's'], activation='silu')], given, {'y': y * sigmoid(y), 's': a[:, :, t:]}, {'w': w, 'b': bias}, 26)
    heads, group, dk, dv = 2, 3, 4, 5
    q, key, v = f(b, t, heads * group * dk), f(b, t, heads * dk), f(b, t, heads * dv)
    decay, beta, state = -np.abs(f(b, t, heads * dk)), sigmoid(f(b, t, heads)), f(b, heads, dk, dv)
    for rule in ('linear', 'gated', 'delta', 'gated_delta'):
        s, out = state.astype('f8'), np.zeros((b, t, heads * group, dv))
        for i in range(t):
            kk, vv = key[:, i].reshape(b, heads, dk), v[:, i].reshape(b, heads, dv)
            if 'gated' in rule:
                s = s * np.exp(decay[:, i].reshape(b, heads, dk))[..., None]
            if 'delta' in rule:
                vv = beta[:, i][..., None] * (vv - np.einsum('bhkv,bhk->bhv', s, kk))
            s = s + kk[..., None] * vv[:, :, None]
            out[:, i] = np.einsum('bhk,bhkv->bhv', q[:, i].reshape(b, heads * group, dk), np.repeat(s, group, 1)) * 0.3
        extra = (['d'] if 'gated' in rule else ['']) + (['e'] if 'delta' in rule else [])
        given = {'q': q, 'k': key, 'v': v, 's': state, **({'d': decay} if 'gated' in rule else {}), **({'e': beta} if 'delta' in rule else {})}
        case('linear_attention_' + rule, [node('LinearAttention', ['q', 'k', 'v', 's'] + extra, ['y', 'z'], update_rule=rule, q_num_heads=heads * group, kv_num_heads=heads,
                                               scale=0.3)], given, {'y': out.reshape(b, t, -1), 'z': s}, None, 26)


def flexible():
    """Attention with graphs inside: scores are bent, heads of keys are shared."""
    q, k, v, limit = f(1, 4, 3, 8), f(1, 2, 5, 8), f(1, 2, 5, 6), np.array(2, 'f4')
    bend = body([node('Div', ['a', 'l'], ['h']), node('Tanh', ['h'], ['i']), node('Mul', ['i', 'l'], ['o'])], [('a', FLOAT, (1, 4, 3, 5))], [('o', FLOAT, (1, 4, 3, 5))],
                [pb('l', limit)])
    scores = limit * np.tanh(np.einsum('bhqd,bhkd->bhqk', q, np.repeat(k, 2, 1)) / np.sqrt(8) / limit)
    p = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    call = data(1, b''.join(data(1, i) for i in 'qkv') + data(2, 'y') + data(4, 'FlexAttention') + data(7, 'ai.onnx.preview') +
                data(5, data(1, 'score_mod') + data(6, bend) + num(20, 5)))
    case('flex_attention', [call], {'q': q, 'k': k, 'v': v}, {'y': np.einsum('bhqk,bhkv->bhqv', p, np.repeat(v, 2, 1))}, None, 26)


def whole_parts():
    """Bits of whole numbers, parts of shapes, two bits, statistics of a batch."""
    x = f(2, 3, 4)
    one('bit_cast', 'BitCast', np.array([-1, 5, -128], 'i1'), np.array([255, 5, 128], 'u1'), 26, to=2)
    case('split_shape', [node('Shape', ['x'], ['s']), node('Split', ['s'], ['a', 'b', 'c'], axis=0), node('Mul', ['b', 'c'], ['m']), node('Concat', ['a', 'm'], ['t'], axis=0),
                         node('Reshape', ['x', 't'], ['y'])], {'x': x}, {'y': x.reshape(2, 12)})
    case('loop_length_from_relu', [node('Relu', ['k'], ['r']), node('Cast', ['r'], ['n'], to=7), node('Expand', ['x', 'n'], ['y'])], {'x': f(1)[:1] * 0 + 2},
         {'y': np.full(3, 2, 'f4')}, {'k': np.array([3], 'f4')})
    case('two_bits', [node('Cast', ['x'], ['q'], to=26), node('Cast', ['q'], ['y'], to=1)], {'x': np.array([-2, -1, 0, 1, 1.9], 'f4')}, {'y': np.array([-2, -1, 0, 1, 1], 'f4')},
         None, 25)
    s, b, m, v = f(3), f(3), f(3), np.abs(f(3))
    mean, var = x.mean((0, 2)), x.var((0, 2))
    y = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5) * s[:, None] + b[:, None]
    case('batch_statistics', [node('BatchNormalization', ['x', 's', 'b', 'm', 'v'], ['y', 'mo', 'vo'], training_mode=1, momentum=0.75)], {'x': x},
         {'y': y, 'mo': m * 0.75 + mean * 0.25, 'vo': v * 0.75 + var * 0.25}, {'s': s, 'b': b, 'm': m, 'v': v}, 15)
    case('dropout_of_nothing', [node('Dropout', ['x', 'r', 't'], ['y', 'm'])], {'x': x}, {'y': x, 'm': np.ones(x.shape, '?')}, {'r': np.array(0, 'f4'), 't': np.array(True)}, 13)


def sequences():
    """Lists of tensors that a model makes and takes apart again."""
    x, y = f(5, 3), f(5, 3)
    split = node('SplitToSequence', ['x', 'n'], ['s'], axis=0)
    case('sequence_equal_parts', [split, node('SequenceAt', ['s', 'last'], ['y']), node('SequenceLength', ['s'], ['l']), node('Cast', ['l'], ['f'], to=1),
                                  node('ReduceSum', ['x'], ['t'], keepdims=0), node('Mul', ['f', 't'], ['z'])], {'x': x}, {'y': x[4:], 'z': 3 * x.sum()},
         {'n': np.array(2, 'i8'), 'last': np.array(-1, 'i8')})
    case('sequence_sizes', [split, node('SequenceErase', ['s', 'one'], ['r']), node('ConcatFromSequence', ['r'], ['y'], axis=0)], {'x': x}, {'y': x[[0, 3, 4]]},
         {'n': i64(1, 2, 2), 'one': np.array(1, 'i8')})
    case('sequence_rows', [node('SplitToSequence', ['x'], ['s'], axis=1, keepdims=0), node('ConcatFromSequence', ['s'], ['y'], axis=0, new_axis=1)], {'x': x}, {'y': x.T})
    case('sequence_insert', [node('SequenceConstruct', ['x', 'y'], ['s']), node('Neg', ['x'], ['m']), node('SequenceInsert', ['s', 'm', 'one'], ['t']),
                             node('SequenceInsert', ['t', 'y'], ['u']), node('ConcatFromSequence', ['u'], ['z'], axis=1)], {'x': x, 'y': y},
         {'z': np.concatenate([x, -x, y, y], 1)}, {'one': np.array(1, 'i8')})
    grow = body([node('Add', ['v', 'x'], ['w']), node('SequenceInsert', ['a', 'w'], ['b']), node('Identity', ['c'], ['d'])],
                [('i', INT64, ()), ('c', 9, ()), ('v', FLOAT, (5, 3)), ('a', FLOAT, ())], [('d', 9, ()), ('w', FLOAT, (5, 3)), ('b', FLOAT, ())])
    case('sequence_in_loop', [node('SequenceEmpty', [], ['e'], dtype=1), turns('Loop', ['n', 'yes', 'y', 'e'], ['v', 's'], grow),
                              node('ConcatFromSequence', ['s'], ['z'], axis=0, new_axis=1)], {'x': x, 'y': y}, {'z': np.stack([y + x, y + 2 * x, y + 3 * x])},
         {'n': np.array(3, 'i8'), 'yes': np.array(True)})


def grouped():
    """GroupQueryAttention as language models are exported: whole prompts, steps in a cache with room, caches that grow."""
    def attend(q, k, v, before, past_k, past_v, room, scale, angles=None):
        """q: [batch, sequence, heads, size]; returns the result and both caches."""
        batch, length, heads, size = q.shape
        group = heads // k.shape[2]
        caches = [np.zeros((batch, k.shape[2], room, size)) for _ in range(2)]
        out = np.zeros(q.shape)
        for b in range(batch):
            at = before[b] + np.arange(length)
            if angles is not None:
                c, s = np.cos(angles[at])[:, None], np.sin(angles[at])[:, None]
                q[b], k[b] = (np.concatenate([x[..., :size // 2] * c - x[..., size // 2:] * s, x[..., size // 2:] * c + x[..., :size // 2] * s], -1)
                              for x in (q[b], k[b]))
            for cache, old, new in ((caches[0], past_k, k), (caches[1], past_v, v)):
                if old is not None:
                    cache[b, :, :old.shape[2]] = old[b]
                cache[b, :, at] = new[b]
            for i in range(length):
                for h in range(heads):
                    e = caches[0][b, h // group, :at[i] + 1] @ q[b, i, h] * scale
                    p = np.exp(e - e.max())
                    out[b, i, h] = p @ caches[1][b, h // group, :at[i] + 1] / p.sum()
        return out.reshape(batch, length, -1), caches

    def one_case(name, batch, length, heads, kv, size, past, lengths, room, packed=False, rotary=False, scale=0.0, total=None):
        q, k, v = f(batch, length, heads, size), f(batch, length, kv, size), f(batch, length, kv, size)
        old = [f(batch, kv, past, size) if past else None for _ in range(2)]
        before = [n + 1 - length for n in lengths]
        angles = RNG.uniform(-3, 3, (room, size // 2)).astype('f4') if rotary else None
        y, caches = attend(q.astype('f8'), k.astype('f8'), v.astype('f8'), before, old[0], old[1], room, scale or size ** -0.5, angles)
        flat = [x.reshape(batch, length, -1) for x in (q, k, v)]
        ins = {'q': np.concatenate(flat, -1)} if packed else dict(zip('qkv', flat))
        ins.update({n: x for n, x in zip(('pk', 'pv'), old) if x is not None})
        ins['lens'] = np.array(lengths, 'i4')
        consts = {'total': np.array(total or max(lengths) + 1, 'i4')}
        if rotary:
            consts.update({'cos': np.cos(angles), 'sin': np.sin(angles)})
        names = ['q'] + (['', ''] if packed else ['k', 'v']) + (['pk', 'pv'] if past else ['', '']) + ['lens', 'total'] + (['cos', 'sin'] if rotary else [])
        attrs = {'num_heads': heads, 'kv_num_heads': kv, 'do_rotary': int(rotary)}
        if scale:
            attrs['scale'] = scale
        case(name, [ms('GroupQueryAttention', names, ['y', 'ck', 'cv'], **attrs)], ins, {'y': y.astype('f4'), 'ck': caches[0].astype('f4'), 'cv': caches[1].astype('f4')}, consts)

    one_case('grouped_prompt', 1, 5, 6, 2, 8, 0, [4], 5)
    one_case('grouped_step_with_room', 2, 1, 4, 2, 8, 9, [4, 7], 9)
    one_case('grouped_packed_rotary', 1, 3, 4, 1, 16, 6, [5], 6, packed=True, rotary=True, scale=0.25)
    one_case('grouped_growing', 1, 1, 2, 2, 8, 3, [3], 4, total=4)


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


def judge(parts_, only, text):
    """What the runner says of all cases, and whether it says `text` of some; also for another file's (onnx_ops_trained.py)."""
    for part in parts_:
        part()
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        baseline = os.path.join(folder, 'baseline.txt')
        with open(baseline, 'w') as out:
            out.write('passed %d\n' % len(CASES))
        status = subprocess.call([sys.argv[1], folder, '--baseline', baseline] + sys.argv[2:])
        return status or not all_say(sys.argv[1], folder, only, text)


def main():
    sys.exit(judge((elementwise, moving, products, quantized, norms, recurrent, microsoft, quantized_microsoft, unrolled, lengths, whole, spectra, images, losses,
                    patterns, structure, branches, loops, wide, dilated, quantized_lstm, remembering, flexible, whole_parts, sequences, grouped), 'pattern_', ' nodes=1 '))


if __name__ == '__main__':
    main()
