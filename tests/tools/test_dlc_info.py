#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qairt-dlc-info: what it tells of a DLC is what the file was made from."""

import csv
import io
import os
import sys

import numpy as np
import support
from dlc_format import PREFIX, container
from test_dlc import model, params

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)


class DlcInfo(support.ToolTest):
    def table(self, *args):
        text = self.succeeds("qairt-dlc-info", *args, "-s", "nodes.csv")
        return text, list(csv.DictReader(io.StringIO(self.read("nodes.csv").decode())))

    def test_others_file(self):
        """y = transpose(x * k): 6 numbers are constants, and nothing is a sum of products."""
        records = {"dlc.metadata": "model-version=7 \"b\"\nconverter-command=by hand", "model": model(), "model.params": PREFIX + params()}
        self.write("m.dlc", container(records))
        text, rows = self.table("-i", "m.dlc", "-m")
        self.assertEqual([(r["Name"], r["Type"], r["Inputs"], r["Outputs"], r["Out Dims"], r["Parameters"], r["MACs"], r["Bytes"]) for r in rows],
                         [("mul", "ElementWiseMultiply", "x, k", "t", "[2,6]", "6", "0", "24 + 48"), ("perm", "Transpose", "t", "y", "[6,2]", "0", "0", "0 + 48")])
        for line in ("model-version=7 \"b\"", "converter-command=by hand", "Graph \"net\": 2 nodes", "Total parameters: 6", "Total MACs per inference: 0",
                     "Bytes of constants: 24", "Bytes of all outputs: 96", "  x: f32[2,6]", "  y: f32[6,2]", "Record model: %d bytes" % len(model())):
            self.assertIn(line + "\n", text)
        self.assertNotIn("Bytes", self.succeeds("qairt-dlc-info", "--input_dlc", "m.dlc"))

    def test_converted(self):
        """A convolution of 5x5 pixels, 3 to 4 channels, 2x2 window: 4*4*4 results of 12 products; 48 weights, 4 biases."""
        rng = np.random.default_rng(3)
        w, b = rng.normal(size=(4, 3, 2, 2)).astype(np.float32), rng.normal(size=4).astype(np.float32)
        nodes = [make_onnx.node("Conv", "conv, \"first\"", ["x", "w", "b"], "c", kernel_shape=[2, 2]), make_onnx.node("Relu", "relu", ["c"], "y")]
        self.write("m.onnx", make_onnx.model(nodes, [("w", w), ("b", b)], [("x", (1, 3, 5, 5))], [("y", (1, 4, 4, 4))]))
        self.succeeds("qairt-converter", "-i", "m.onnx", "-o", "m.dlc")
        text, rows = self.table("-i", "m.dlc", "-t")
        conv = [r for r in rows if r["Type"] == "Conv2d"]
        self.assertEqual([(r["Parameters"], r["MACs"]) for r in conv], [("52", str(4 * 4 * 4 * 12))])
        self.assertIn("Conv:conv, \"first\"", conv[0]["Source"])
        self.assertIn("Total MACs per inference: 768\n", text)

        self.write("list.txt", "x.raw\n")
        self.write("x.raw", rng.normal(size=(1, 5, 5, 3)).astype(np.float32).tobytes())
        self.succeeds("qairt-quantizer", "--input_dlc", "m.dlc", "--input_list", "list.txt", "--output_dlc", "q.dlc", "--use_per_channel_quantization")
        text = self.succeeds("qairt-dlc-info", "-i", "q.dlc", "-d")
        self.assertRegex(text, r"x: uq8\[1,5,5,3\], scale [0-9.e-]+, offset -[0-9]+\n")
        self.assertRegex(text, r"sq8\[2,2,3,4\], 4 scales along axis 3, ")

    def test_refused(self):
        self.fails("qairt-dlc-info", "-i", "none.dlc", says="none.dlc")
        self.fails("qairt-dlc-info", "-i", self.write("text.dlc", "no archive"), says="text.dlc")
        self.fails("qairt-dlc-info", "-m", says="--input_dlc")
        self.write("m.dlc", container({"model": model(), "model.params": PREFIX + params()}))
        self.fails("qairt-dlc-info", "-i", "m.dlc", "-s", "no/such/folder.csv", says="no/such/folder.csv")
        done = self.run_tool("qairt-dlc-info", "-i", "m.dlc", "-s", "n.csv", largest_file=16)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.write("m.dlc", container({"model": model().replace(b"Transpose", b"Transfers"), "model.params": PREFIX + params()}))
        self.fails("qairt-dlc-info", "-i", "m.dlc", says="Transfers")


if __name__ == "__main__":
    support.main()
