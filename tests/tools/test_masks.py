#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention whose mask is a condition, from ONNX to libQnnHtp.so: the compiler makes one masked softmax of it, and the summary says so."""

import os
import sys

import numpy as np
import support

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

HEADS, ROWS, COLUMNS = 2, 4, 8
SAMPLES = 6


def softmax(x, keep):
    e = np.where(keep, np.exp(x - x.max(-1, keepdims=True)), 0)
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


class Masks(support.ToolTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(11)
        self.x = rng.normal(0, 2, (SAMPLES, 1, HEADS, ROWS, COLUMNS)).astype("f4")
        self.keep = rng.random((SAMPLES, 1, 1, ROWS, COLUMNS)) < .6
        self.keep[..., 0] = True

    def prepare(self, nodes, mask):
        """Converts, quantizes to 16 bits and prepares; returns the summary."""
        shape = (1, HEADS, ROWS, COLUMNS)
        constants = [("zero", np.zeros(1)), ("low", np.array([-20.0]))]
        tail = [make_onnx.node("ReduceMin", "least", ["x"], "m", axes=[3], keepdims=1),
                make_onnx.node("Add", "lower", ["m", "low"], "floor"),
                make_onnx.node("Where", "where", ["keep", "x", "floor"], "w"),
                make_onnx.node("Softmax", "softmax", ["w"], "y", axis=3)]
        model = make_onnx.model(nodes + tail, constants, [("x", shape), ("mask", (1, 1, ROWS, COLUMNS))], [("y", shape)])
        self.write("net.onnx", model)
        parts = [[self.write("%s/%d.raw" % (n, i), v[i].astype("f4").tobytes()) for n, v in (("x", self.x), ("mask", mask))] for i in range(SAMPLES)]
        self.write("list.txt", "".join("x:=%s mask:=%s\n" % (x, m) for x, m in parts))
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net.dlc", "--preserve_io", "layout")
        self.succeeds("qairt-quantizer", "--input_dlc", "net.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", "--act_bitwidth", "16")
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--dlc_path", "q.dlc", "--binary_file", "net", "--output_dir", "b")
        return self.succeeds("qnn-context-binary-utility", "--context_binary", "b/net.bin", "--summary")

    def check(self, summary):
        self.assertIn("1 masked softmax, recognised", summary)
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/net.bin", "--input_list", "list.txt", "--output_dir", "r")
        for i in range(SAMPLES):
            got = np.frombuffer(self.read("r", "Result_%d" % i, "y.raw"), np.float32).reshape(self.x[i].shape)
            keep = np.broadcast_to(self.keep[i], got.shape)
            self.assertTrue((got[~keep] == 0).all())
            self.assertLess(np.abs(got - softmax(self.x[i].astype("f8"), keep)).max(), 1e-3)

    def test_zeros_are_kept(self):
        self.check(self.prepare([make_onnx.node("Equal", "compare", ["mask", "zero"], "keep")], np.where(self.keep, 0, 1)))

    def test_others_are_kept(self):
        nodes = [make_onnx.node("Equal", "compare", ["mask", "zero"], "masked"), make_onnx.node("Not", "not", ["masked"], "keep")]
        self.check(self.prepare(nodes, np.where(self.keep, 1, 0)))

    def test_the_mask_is_the_condition(self):
        self.check(self.prepare([make_onnx.node("Cast", "flags", ["mask"], "keep", to=9)], np.where(self.keep, 1, 0)))


if __name__ == "__main__":
    support.main()
