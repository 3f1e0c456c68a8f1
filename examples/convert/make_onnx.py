#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model and samples to try the converters with: the digit recogniser of ../digits as a float ONNX file.

    make_onnx.py [FOLDER]        digits.onnx, samples/*.raw (float32 images) and samples.txt (their list) into FOLDER (default: .)

The weights are those of ../digits/model.bin as real numbers. Images are [1, 1, 16, 16], channels first, as most ONNX models have
them. An ONNX file is a protocol buffer; the few messages needed here are put together by hand, so that no package is needed.
"""

import os
import re
import sys
import tarfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "digits")
SIZE = 16


# ---- protocol buffers ----------------------------------------------------------------------------------------------------

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


# ---- ONNX ----------------------------------------------------------------------------------------------------------------

FLOAT, INTS, INT = 1, 7, 2      # TensorProto.FLOAT, AttributeProto.INTS and INT


def tensor(name, array):
    array = np.ascontiguousarray(array, np.float32)
    return b"".join(number(1, d) for d in array.shape) + number(2, FLOAT) + block(8, name) + block(9, array.tobytes())


def value(name, dims):
    shape = b"".join(block(1, number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, FLOAT) + block(2, shape)))


def attribute(name, v):
    if isinstance(v, int):
        return block(1, name) + number(3, v) + number(20, INT)
    return block(1, name) + b"".join(number(8, i) for i in v) + number(20, INTS)


def node(kind, name, inputs, output, **attributes):
    return (b"".join(block(1, i) for i in inputs) + block(2, output) + block(3, name) + block(4, kind)
            + b"".join(block(5, attribute(k, v)) for k, v in attributes.items()))


def model(nodes, constants, inputs, outputs):
    graph = (b"".join(block(1, n) for n in nodes) + block(2, "digits") + b"".join(block(5, tensor(*c)) for c in constants)
             + b"".join(block(11, value(*i)) for i in inputs) + b"".join(block(12, value(*o)) for o in outputs))
    return number(1, 8) + block(2, "make_onnx.py") + block(7, graph) + block(8, number(2, 13))


# ---- the digit recogniser --------------------------------------------------------------------------------------------------

def load_weights():
    """Real weights in ONNX order: filters [out, in, 3, 3], and the last layer [10, channel * row * column]."""
    with open(os.path.join(DIGITS, "digits_params.h"), encoding="utf-8") as file:
        text = file.read()
    scales = {name: np.array(re.findall(r"\{ ([-+.\de]+)f", body), np.float32)
              for name, body in re.findall(r"digits_(\w+)_scales\[\] = \{(.*?)\};", text, re.S)}
    one = {name.lower(): np.float32(v) for name, v in re.findall(r"DIGITS_(\w+)_SCALE ([-+.\de]+)f", text)}
    raw = {}
    with tarfile.open(os.path.join(DIGITS, "model.bin")) as tar:
        for name in ("w1", "w2", "w3"):
            raw[name] = np.frombuffer(tar.extractfile(name + ".raw").read(), np.int8)
        for name in ("b1", "b2", "b3"):
            raw[name] = np.frombuffer(tar.extractfile(name + ".raw").read(), np.int32)
    c1, c2, side = len(raw["b1"]), len(raw["b2"]), SIZE // 4
    out = {"w1": (raw["w1"].reshape(3, 3, 1, c1) * scales["w1"]).transpose(3, 2, 0, 1),
           "w2": (raw["w2"].reshape(3, 3, c1, c2) * scales["w2"]).transpose(3, 2, 0, 1),
           "w3": (raw["w3"].reshape(10, side, side, c2) * scales["w3"].reshape(-1, 1, 1, 1)).transpose(0, 3, 1, 2).reshape(10, -1)}
    for i, source in ((1, "x"), (2, "relu1"), (3, "relu2")):
        out["b%d" % i] = raw["b%d" % i] * (one[source] * scales["w%d" % i])
    return out


def digits_onnx():
    same, window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [node("Conv", "conv1", ["image", "w1", "b1"], "conv1_out", **same), node("Relu", "relu1", ["conv1_out"], "relu1_out"),
             node("MaxPool", "pool1", ["relu1_out"], "pool1_out", **window),
             node("Conv", "conv2", ["pool1_out", "w2", "b2"], "conv2_out", **same), node("Relu", "relu2", ["conv2_out"], "relu2_out"),
             node("MaxPool", "pool2", ["relu2_out"], "pool2_out", **window),
             node("Flatten", "flatten", ["pool2_out"], "flat", axis=1), node("Gemm", "fc", ["flat", "w3", "b3"], "logits", transB=1),
             node("Softmax", "softmax", ["logits"], "probabilities", axis=1)]
    return model(nodes, sorted(load_weights().items()), [("image", (1, 1, SIZE, SIZE))], [("probabilities", (1, 10))])


def test_images():
    """[n, 16, 16] numbers in 0..1; image i shows the digit i % 10."""
    return np.fromfile(os.path.join(DIGITS, "test_images.raw"), np.uint8).reshape(-1, SIZE, SIZE).astype(np.float32) / np.float32(255)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    os.makedirs(os.path.join(folder, "samples"), exist_ok=True)
    with open(os.path.join(folder, "digits.onnx"), "wb") as file:
        file.write(digits_onnx())
    paths = []
    for i, image in enumerate(test_images()):
        paths.append(os.path.join(folder, "samples", "%03d.raw" % i))
        image.tofile(paths[-1])
    with open(os.path.join(folder, "samples.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(paths) + "\n")
    print("wrote %s and %d samples" % (os.path.join(folder, "digits.onnx"), len(paths)))


if __name__ == "__main__":
    main()
