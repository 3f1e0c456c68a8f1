#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small language model as an ONNX file, as exporters write them, with the text that it tells.

    llm_model.py MODELS OUT        MODELS/llm/stories260K.bin -> OUT/llm/stories260K.onnx, OUT/refs/index.tsv and the vectors beside it

The checkpoint is that of a Llama: RMS norms, rotated queries and keys, fewer heads of keys and values than of queries, a gated layer. `tell` computes it in float64 as the
definition has it, pairs of neighbours rotated, and tells a story greedily from the first token on; the graph has the exporters' form, rotated halves and the norms written out, and is given the story:
after every token it has to expect the same next one.
"""

import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
from make_onnx_seeds import FLOAT, INT32, INT64, model, node, tensor  # noqa: E402

TOKENS, FIRST, EPSILON = 64, 1, 1e-5


class Checkpoint:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.dim, self.hidden, self.layers, self.heads, self.kv_heads, self.vocabulary, self.positions = struct.unpack("<7i", f.read(28))
            self.data = np.frombuffer(f.read(), "<f4")
        self.at, self.size = 0, self.dim // self.heads
        kv = self.kv_heads * self.size
        self.embedding = self.take(self.vocabulary, self.dim)
        self.norm_attention = self.take(self.layers, self.dim)
        self.wq, self.wk, self.wv = (self.take(self.layers, n, self.dim) for n in (self.dim, kv, kv))
        self.wo = self.take(self.layers, self.dim, self.dim)
        self.norm_ffn = self.take(self.layers, self.dim)
        self.w1 = self.take(self.layers, self.hidden, self.dim)
        self.w2 = self.take(self.layers, self.dim, self.hidden)
        self.w3 = self.take(self.layers, self.hidden, self.dim)
        self.norm_last = self.take(self.dim)
        self.cos, self.sin = (self.take(self.positions, self.size // 2) for _ in range(2))

    def take(self, *shape):
        n = int(np.prod(shape))
        self.at += n
        return self.data[self.at - n:self.at].reshape(shape)


# ---- the definition ---------------------------------------------------------------------------------------------------

def rms(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gain


def turn(x, cos, sin):
    """Neighbours are real and imaginary part."""
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * (cos + 1j * sin)[:, None]
    return np.stack((z.real, z.imag), -1).reshape(x.shape)


def logits(c, tokens):
    n = len(tokens)
    x = c.embedding[tokens].astype("f8")
    cos, sin = c.cos[:n].astype("f8"), c.sin[:n].astype("f8")
    hidden = np.triu(np.full((n, n), -np.inf), 1)
    for i in range(c.layers):
        h = rms(x, c.norm_attention[i])
        q = turn((h @ c.wq[i].T).reshape(n, c.heads, c.size), cos, sin)
        k = turn((h @ c.wk[i].T).reshape(n, c.kv_heads, c.size), cos, sin).repeat(c.heads // c.kv_heads, 1)
        v = (h @ c.wv[i].T).reshape(n, c.kv_heads, c.size).repeat(c.heads // c.kv_heads, 1)
        score = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(c.size) + hidden
        p = np.exp(score - score.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhd->ihd", p, v).reshape(n, c.dim) @ c.wo[i].T
        h = rms(x, c.norm_ffn[i])
        gate = h @ c.w1[i].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ c.w3[i].T)) @ c.w2[i].T
    return rms(x, c.norm_last) @ c.embedding.T.astype("f8")


def tell(c):
    tokens = [FIRST]
    while len(tokens) < TOKENS:
        tokens.append(int(logits(c, np.array(tokens))[-1].argmax()))
    return np.array(tokens, "i4")


# ---- the graph --------------------------------------------------------------------------------------------------------

class Graph:
    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def const(self, x):
        self.count += 1
        name = "c%d" % self.count
        x = np.ascontiguousarray(x)
        self.constants.append(tensor(name, {"f": FLOAT, "i": INT64}[x.dtype.kind], x.shape, raw=x.astype("<f4" if x.dtype.kind == "f" else "<i8").tobytes()))
        return name

    def op(self, kind, *ins, out=None, **attrs):
        self.count += 1
        name = out or "t%d" % self.count
        self.nodes.append(node(kind, [i if isinstance(i, str) else self.const(i) for i in ins], [name], **attrs))
        return name

    def linear(self, x, w):
        return self.op("MatMul", x, w.T)

    def norm(self, x, gain):
        mean = self.op("ReduceMean", self.op("Pow", x, np.float32(2)), axes=[-1], keepdims=1)
        scale = self.op("Div", np.float32(1), self.op("Sqrt", self.op("Add", mean, np.float32(EPSILON))))
        return self.op("Mul", gain, self.op("Mul", x, scale))

    def split_heads(self, x, heads, size):
        return self.op("Transpose", self.op("Reshape", x, np.array([1, TOKENS, heads, size])), perm=[0, 2, 1, 3])

    def rotate(self, x, cos, sin, size):
        first = self.op("Slice", x, np.array([0]), np.array([size // 2]), np.array([3]))
        second = self.op("Slice", x, np.array([size // 2]), np.array([size]), np.array([3]))
        turned = self.op("Concat", self.op("Neg", second), first, axis=3)
        return self.op("Add", self.op("Mul", x, cos), self.op("Mul", turned, sin))

    def repeat(self, x, c):
        """Every head of keys and values serves several queries."""
        times = c.heads // c.kv_heads
        wide = self.op("Expand", self.op("Unsqueeze", x, np.array([2])), np.array([1, c.kv_heads, times, TOKENS, c.size]))
        return self.op("Reshape", wide, np.array([1, c.heads, TOKENS, c.size]))


def halves(w, heads):
    """Rows so ordered that neighbours become the two halves of a head."""
    size = w.shape[0] // heads
    return w.reshape(heads, size // 2, 2, -1).transpose(0, 2, 1, 3).reshape(w.shape)


def build(c):
    g = Graph()
    cos, sin = (g.const(np.concatenate([t[:TOKENS]] * 2, 1)[None, None]) for t in (c.cos, c.sin))
    mask = g.const(np.triu(np.full((TOKENS, TOKENS), -1e4, "f4"), 1)[None, None])
    x = g.op("Unsqueeze", g.op("Gather", c.embedding, "tokens"), np.array([0]))
    for i in range(c.layers):
        h = g.norm(x, c.norm_attention[i])
        q = g.rotate(g.split_heads(g.linear(h, halves(c.wq[i], c.heads)), c.heads, c.size), cos, sin, c.size)
        k = g.rotate(g.split_heads(g.linear(h, halves(c.wk[i], c.kv_heads)), c.kv_heads, c.size), cos, sin, c.size)
        v = g.repeat(g.split_heads(g.linear(h, c.wv[i]), c.kv_heads, c.size), c)
        score = g.op("Mul", g.op("MatMul", q, g.op("Transpose", g.repeat(k, c), perm=[0, 1, 3, 2])), np.float32(1 / np.sqrt(c.size)))
        p = g.op("Softmax", g.op("Add", score, mask), axis=-1)
        a = g.op("Reshape", g.op("Transpose", g.op("MatMul", p, v), perm=[0, 2, 1, 3]), np.array([1, TOKENS, c.dim]))
        x = g.op("Add", x, g.linear(a, c.wo[i]))
        h = g.norm(x, c.norm_ffn[i])
        gate = g.linear(h, c.w1[i])
        x = g.op("Add", x, g.linear(g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), g.linear(h, c.w3[i])), c.w2[i]))
    g.op("Reshape", g.linear(g.norm(x, c.norm_last), c.embedding), np.array([TOKENS, c.vocabulary]), out="logits")
    return model(g.nodes, [("tokens", INT32, [TOKENS])], [("logits", FLOAT, [TOKENS, c.vocabulary])], g.constants, 17)


def main():
    source = os.path.join(sys.argv[1], "llm", "stories260K.bin")
    if not os.path.isfile(source):
        print("SKIP: %s is not there" % source)
        return 77
    folder = os.path.join(sys.argv[2], "refs", "llm", "stories260K")
    os.makedirs(folder, exist_ok=True)
    os.makedirs(os.path.join(sys.argv[2], "llm"), exist_ok=True)
    c = Checkpoint(source)
    story = tell(c)
    with open(os.path.join(sys.argv[2], "llm", "stories260K.onnx"), "wb") as f:
        f.write(build(c))
    story.tofile(os.path.join(folder, "in_s0_0.bin"))
    logits(c, story).astype("f4").tofile(os.path.join(folder, "expected_s0_0.bin"))
    with open(os.path.join(sys.argv[2], "refs", "index.tsv"), "w") as f:
        f.write("llm/stories260K.onnx\t0\tin\t0\tint32\t%d\ttokens\tnumpy\n" % TOKENS)
        f.write("llm/stories260K.onnx\t0\texpected\t0\tfloat32\t%dx%d\tlogits\tnumpy\n" % (TOKENS, c.vocabulary))
    if len(sys.argv) > 3:  # a program to run on OUT: its path, then its arguments, OUT where it says so
        return os.spawnv(os.P_WAIT, sys.argv[3], [a.replace("@OUT@", sys.argv[2]) for a in sys.argv[3:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
