# SPDX-License-Identifier: Apache-2.0
"""Writes small ONNX files, one per kind of operator and of stored data: make_onnx_seeds.py FOLDER. The protobuf encoding is written out here, so that
nothing but Python is needed."""
import os
import struct
import sys

FLOAT, UINT8, INT8, INT32, INT64, BOOL = 1, 2, 3, 6, 7, 9


def varint(v):
    v &= (1 << 64) - 1
    out = b''
    while True:
        out += bytes([v & 127 | (128 if v > 127 else 0)])
        v >>= 7
        if not v:
            return out


def num(field, v):
    return varint(field << 3) + varint(v)


def data(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def tensor(name, elem, dims, raw=None, ints=None, floats=None):
    t = b''.join(num(1, d) for d in dims) + num(2, elem) + data(8, name)
    if raw is not None:
        t += data(9, raw)
    if ints is not None:
        t += data(7 if elem == INT64 else 5, b''.join(varint(v) for v in ints))
    if floats is not None:
        t += data(4, struct.pack('<%df' % len(floats), *floats))
    return t


def attr(name, v):
    a = data(1, name)
    if isinstance(v, float):
        return a + varint(2 << 3 | 5) + struct.pack('<f', v) + num(20, 1)
    if isinstance(v, int):
        return a + num(3, v) + num(20, 2)
    if isinstance(v, str):
        return a + data(4, v) + num(20, 3)
    if isinstance(v, bytes):
        return a + data(5, v) + num(20, 4)
    if v and isinstance(v[0], str):
        return a + b''.join(data(9, i) for i in v) + num(20, 8)
    return a + b''.join(num(8, i) for i in v) + num(20, 7)


def node(op, ins, outs, **attrs):
    n = b''.join(data(1, i) for i in ins) + b''.join(data(2, o) for o in outs) + data(4, op)
    return data(1, n + b''.join(data(5, attr(k, v)) for k, v in attrs.items()))


def info(name, elem, dims):
    shape = b''.join(data(1, data(2, d) if isinstance(d, str) else num(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, num(1, elem) + data(2, shape)))


def model(nodes, ins, outs, consts=(), opset=13):
    g = b''.join(nodes) + data(2, 'g') + b''.join(data(5, c) for c in consts)
    g += b''.join(data(11, info(*i)) for i in ins) + b''.join(data(12, info(*o)) for o in outs)
    return num(1, 8) + data(8, data(1, '') + num(2, opset)) + data(7, g)


def f32(name, dims):
    n = 1
    for d in dims:
        n *= d
    return tensor(name, FLOAT, dims, floats=[i * 0.1 - 0.3 for i in range(n)])


def graph_node(op, ins, outs, graphs, **attrs):
    """A node with graphs: name -> (nodes, inputs, outputs)."""
    n = b''.join(data(1, i) for i in ins) + b''.join(data(2, o) for o in outs) + data(4, op)
    for name, (nodes, inner_ins, inner_outs) in graphs.items():
        g = b''.join(nodes) + data(2, 'b') + b''.join(data(11, info(*i)) for i in inner_ins) + b''.join(data(12, info(*o)) for o in inner_outs)
        n += data(5, data(1, name) + data(6, g) + num(20, 5))
    return data(1, n + b''.join(data(5, attr(k, v)) for k, v in attrs.items()))


X4, X2 = ('x', FLOAT, [1, 2, 5, 5]), ('x', FLOAT, [2, 3])
Y = ('y', FLOAT, [])
SEEDS = {
    'conv': model([node('Conv', ['x', 'w', 'b'], ['c'], pads=[1, 1, 1, 1]), node('Relu', ['c'], ['r']), node('MaxPool', ['r'], ['y'], kernel_shape=[2, 2])],
                  [X4], [Y], [f32('w', [3, 2, 3, 3]), f32('b', [3])]),
    'conv_transpose': model([node('ConvTranspose', ['x', 'w'], ['y'], strides=[2, 2], output_padding=[1, 1])], [X4], [Y], [f32('w', [2, 1, 3, 3])]),
    'reshape': model([node('Shape', ['x'], ['s']), node('Gather', ['s', 'i'], ['d']), node('Unsqueeze', ['d', 'z'], ['u']),
                      node('Concat', ['u', 'm'], ['t'], axis=0), node('Reshape', ['x', 't'], ['y'])], [X4], [Y],
                     [tensor('i', INT64, [], ints=[1]), tensor('z', INT64, [1], ints=[0]), tensor('m', INT64, [1], ints=[-1])]),
    'slice': model([node('Slice', ['x', 's', 'e', 'a', 'p'], ['y'])], [X4], [Y],
                   [tensor('s', INT64, [2], ints=[-1, 0]), tensor('e', INT64, [2], ints=[-9, 3]), tensor('a', INT64, [2], ints=[2, 3]),
                    tensor('p', INT64, [2], ints=[-1, 2])]),
    'gemm': model([node('Gemm', ['x', 'w', 'b'], ['y'], transB=1, alpha=0.5)], [X2], [Y], [f32('w', [4, 3]), f32('b', [4])]),
    'einsum': model([node('Einsum', ['x', 'w'], ['y'], equation='ij,kj->ik')], [X2], [Y], [f32('w', [4, 3])]),
    'qdq': model([node('QuantizeLinear', ['x', 's', 'z'], ['q']), node('DequantizeLinear', ['q', 's', 'z'], ['d']),
                  node('DequantizeLinear', ['w', 't', 'o'], ['v'], axis=0), node('Conv', ['d', 'v'], ['c']), node('QuantizeLinear', ['c', 's', 'z'], ['p']),
                  node('DequantizeLinear', ['p', 's', 'z'], ['y'])], [X4], [Y],
                 [tensor('s', FLOAT, [], floats=[0.1]), tensor('z', UINT8, [], raw=b'\x80'), tensor('t', FLOAT, [3], floats=[0.1, 0.2, 0.3]),
                  tensor('o', INT8, [3], raw=b'\0\0\0'), tensor('w', INT8, [3, 2, 1, 1], raw=bytes([1, 2, 3, 250, 5, 6]))]),
    'resize': model([node('Resize', ['x', '', 's'], ['y'], mode='linear')], [X4], [Y], [tensor('s', FLOAT, [4], floats=[1, 1, 1.5, 2])]),
    'lstm': model([node('LSTM', ['x', 'w', 'r'], ['y'], hidden_size=2)], [('x', FLOAT, [3, 1, 2])], [Y], [f32('w', [1, 8, 2]), f32('r', [1, 8, 2])]),
    'norm': model([node('BatchNormalization', ['x', 'g', 'b', 'm', 'v'], ['n']), node('LayerNormalization', ['n', 'l'], ['y'])], [X4], [Y],
                  [f32('g', [2]), f32('b', [2]), f32('m', [2]), tensor('v', FLOAT, [2], floats=[1, 2]), f32('l', [5])], 17),
    'attention': model([node('Attention', ['q', 'k', 'v'], ['y'], is_causal=1)], [(n, FLOAT, [1, 2, 3, 4]) for n in 'qkv'], [Y], (), 23),
    'split': model([node('Split', ['x', 's'], ['a', 'b'], axis=1), node('Add', ['a', 'b'], ['y'])], [X4], [Y], [tensor('s', INT64, [2], ints=[1, 1])]),
    'fold': model([node('ConstantOfShape', ['s'], ['c'], value=tensor('', INT64, [1], ints=[3])), node('Range', ['o', 'l', 'd'], ['r']),
                   node('Mul', ['c', 'r'], ['m']), node('Cast', ['m'], ['f'], to=FLOAT), node('Add', ['x', 'f'], ['y'])], [('x', FLOAT, [4])], [Y],
                  [tensor('s', INT64, [1], ints=[4]), tensor('o', INT64, [], ints=[0]), tensor('l', INT64, [], ints=[4]), tensor('d', INT64, [], ints=[1])]),
    'where': model([node('Greater', ['x', 'w'], ['g']), node('Where', ['g', 'x', 'w'], ['y'])], [X2], [Y], [f32('w', [3])]),
    'reduce': model([node('ReduceMean', ['x'], ['m'], axes=[2, 3], keepdims=0), node('Softmax', ['m'], ['y'], axis=-1)], [X4], [Y]),
    'if': model([graph_node('If', ['c'], ['y'], {'then_branch': ([node('Neg', ['x'], ['a'])], [], [('a', FLOAT, [2, 3])]),
                                                 'else_branch': ([node('Abs', ['x'], ['a'])], [], [('a', FLOAT, [2, 3])])})], [X2, ('c', BOOL, [])], [Y]),
    'loop': model([graph_node('Loop', ['m', '', 'x'], ['y', 'z'], {'body': ([node('Add', ['v', 'v'], ['w']), node('Identity', ['c'], ['d']), node('Neg', ['w'], ['s'])],
                                                                           [('i', INT64, []), ('c', BOOL, []), ('v', FLOAT, [2, 3])],
                                                                           [('d', BOOL, []), ('w', FLOAT, [2, 3]), ('s', FLOAT, [2, 3])])})],
                  [X2], [Y, ('z', FLOAT, [])], [tensor('m', INT64, [], ints=[3])]),
    'scan': model([graph_node('Scan', ['h', 'x'], ['', 'y'], {'body': ([node('Add', ['h', 't'], ['k']), node('Tanh', ['k'], ['o'])],
                                                                      [('h', FLOAT, [3]), ('t', FLOAT, [3])], [('k', FLOAT, [3]), ('o', FLOAT, [3])])},
                               num_scan_inputs=1)], [('h', FLOAT, [3]), X2], [Y]),
    'remembering': model([node('CausalConvWithState', ['x', 'w', 'b', 'p'], ['c', 's'], activation='silu'), node('Transpose', ['c'], ['t'], perm=[0, 2, 1]),
                          node('LinearAttention', ['t', 't', 't', '', 'd', 'e'], ['y', 'z'], q_num_heads=2, kv_num_heads=2)],
                         [('x', FLOAT, [1, 4, 3]), ('p', FLOAT, [1, 4, 2]), ('d', FLOAT, [1, 3, 2]), ('e', FLOAT, [1, 3, 1])], [Y, ('s', FLOAT, [])], [f32('w', [4, 1, 3]), f32('b', [4])], 26),
    'flexible': model([graph_node('FlexAttention', ['q', 'k', 'v'], ['y'], {'score_mod': ([node('Tanh', ['a'], ['b'])], [('a', FLOAT, [1, 2, 3, 3])], [('b', FLOAT, [1, 2, 3, 3])])})],
                      [('q', FLOAT, [1, 2, 3, 4]), ('k', FLOAT, [1, 1, 3, 4]), ('v', FLOAT, [1, 1, 3, 4])], [Y], (), 26),
    'sequence': model([node('SplitToSequence', ['x', 'n'], ['s'], axis=1), node('SequenceAt', ['s', 'o'], ['a']), node('SequenceInsert', ['s', 'a', 'o'], ['t']),
                       node('SequenceErase', ['t', 'o'], ['u']), node('SequenceLength', ['u'], ['l']), node('ConcatFromSequence', ['u'], ['y'], axis=0, new_axis=0)], [X2], [Y],
                      [tensor('n', INT64, [], ints=[1]), tensor('o', INT64, [], ints=[1])]),
    'statistics': model([node('BatchNormalization', ['x', 'g', 'g', 'g', 'g'], ['y', 'm', 'v'], training_mode=1), node('BitCast', ['i'], ['j'], to=12)],
                        [X4, ('i', INT32, [3])], [Y, ('m', FLOAT, []), ('j', 12, [])], [f32('g', [2])], 26),
    'symbols': model([node('Relu', ['x'], ['y'])], [('x', FLOAT, ['batch', 3])], [Y]),
    'unknown': model([node('NoSuchThing', ['x'], ['a']), node('Loop', ['a'], ['y'])], [X2], [Y]),
    'empty': b'',
}

if __name__ == '__main__':
    os.makedirs(sys.argv[1], exist_ok=True)
    for seed, content in SEEDS.items():
        with open(os.path.join(sys.argv[1], seed + '.onnx'), 'wb') as f:
            f.write(content)
