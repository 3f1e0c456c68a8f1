#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights with one scale per block, from a model (MatMulNBits of com.microsoft) and from encodings (LPBQ), through every form that a converted model
has: source and library, DLC, and quantized activations."""
import json
import os
import sys

import numpy as np

import support

sys.path.insert(0, os.path.join(support.SOURCE, "tests/fuzz"))
sys.path.insert(0, os.path.join(support.SOURCE, "examples/convert"))
import make_onnx  # noqa: E402
from make_onnx_seeds import FLOAT, data, model, num, tensor, attr  # noqa: E402

N, K, BLOCK = 24, 64, 16


def packed_model():
    r = np.random.default_rng(5)
    packed = r.integers(0, 256, (N, K // BLOCK, BLOCK // 2)).astype(np.uint8)
    scale = r.uniform(.01, .1, (N, K // BLOCK)).astype(np.float32)
    w = (np.stack([packed & 15, packed >> 4], -1).reshape(N, K // BLOCK, BLOCK) - 8.) * scale[..., None]
    attrs = dict(K=K, N=N, bits=4, block_size=BLOCK)
    body = b"".join(data(1, i) for i in ("x", "w", "s")) + data(2, "y") + data(4, "MatMulNBits") + b"".join(data(5, attr(k, v)) for k, v in attrs.items())
    consts = [tensor("w", 2, packed.shape, raw=packed.tobytes()), tensor("s", FLOAT, (scale.size,), raw=scale.tobytes())]
    m = model([data(1, body + data(7, "com.microsoft"))], [("x", FLOAT, (1, K))], [("y", FLOAT, (1, N))], consts, 18)
    return m + data(8, data(1, "com.microsoft") + num(2, 1)), w.reshape(N, K)


class BlockWeights(support.ToolTest):
    def setUp(self):
        super().setUp()
        onnx, self.w = packed_model()
        self.write("m.onnx", onnx)
        self.x = np.random.default_rng(6).normal(size=(8, K)).astype(np.float32)
        self.write("x.txt", "".join(self.write("x%d.raw" % i, x.tobytes()) + "\n" for i, x in enumerate(self.x)))

    def results(self, folder):
        return np.stack([np.frombuffer(self.read(folder, "Result_%d" % i, "y.raw"), np.float32) for i in range(len(self.x))])

    def library(self, name, folder):
        self.succeeds("qnn-model-lib-generator", "-c", name + ".cpp", "-b", name + ".bin", "-l", name, "-o", "lib")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--model", "lib/x86_64-linux-clang/lib%s.so" % name, "--input_list", "x.txt", "--output_dir", folder)
        return self.results(folder)

    def test_model(self):
        self.succeeds("qnn-onnx-converter", "-i", "m.onnx", "-o", "m.cpp")
        self.assertIn("SFIXED_POINT_4", self.read("m.cpp").decode())
        want = self.x @ self.w.T
        np.testing.assert_allclose(self.library("m", "plain"), want, rtol=1e-4, atol=1e-5)
        self.succeeds("qairt-converter", "-i", "m.onnx", "-o", "m.dlc")
        self.assertLess(os.path.getsize(self.path("m.dlc")), N * K * 4)  # not as floats
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "m.dlc", "--input_list", "x.txt", "--output_dir", "dlc")
        np.testing.assert_array_equal(self.results("dlc"), self.results("plain"))

    def test_quantized_activations(self):
        self.succeeds("qnn-onnx-converter", "-i", "m.onnx", "-o", "q.cpp", "--input_list", "x.txt", "--act_bw", "16")
        got, want = self.library("q", "quantized"), self.x @ self.w.T
        self.assertGreater(10 * np.log10((want ** 2).sum() / ((got - want) ** 2).sum()), 60)

    def test_encodings_in_sources(self):
        """LPBQ that an encodings file asks for: the library gives what the DLC gives."""
        self.write("digits.onnx", make_onnx.digits_onnx())
        self.write("x.txt", "".join(self.write("d%d.raw" % i, x.tobytes()) + "\n" for i, x in enumerate(make_onnx.test_images()[:8])))
        w = make_onnx.load_weights()["w3"]
        scale = (np.abs(w).max(1) / 7 / 4).tolist()
        one = {"name": "w3", "enc_type": "LPBQ", "dtype": "INT", "bw": 8, "compressed_bw": 4, "is_sym": True, "block_size": w.shape[1] // 4, "scale": scale,
               "offset": [-128] * len(w), "per_block_int_scale": [4] * (4 * len(w))}
        self.write("o.json", json.dumps({"version": "1.0.0", "activation_encodings": [], "param_encodings": [one]}))
        self.succeeds("qnn-onnx-converter", "-i", "digits.onnx", "-o", "d.cpp", "--input_list", "x.txt", "--quantization_overrides", "o.json", "--act_bw", "16")
        self.assertIn("expansion(", self.read("d.cpp").decode())
        self.succeeds("qnn-model-lib-generator", "-c", "d.cpp", "-b", "d.bin", "-l", "d", "-o", "lib")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--model", "lib/x86_64-linux-clang/libd.so", "--input_list", "x.txt", "--output_dir", "lib_out")
        self.succeeds("qairt-converter", "-i", "digits.onnx", "-o", "f.dlc")
        self.succeeds("qairt-quantizer", "--input_dlc", "f.dlc", "--output_dlc", "d.dlc", "--input_list", "x.txt", "--quantization_overrides", "o.json", "--act_bw", "16")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "d.dlc", "--input_list", "x.txt", "--output_dir", "dlc_out")
        for i in range(8):
            self.assertEqual(self.read("lib_out", "Result_%d" % i, "probabilities.raw"), self.read("dlc_out", "Result_%d" % i, "probabilities.raw"))


if __name__ == "__main__":
    support.main()
