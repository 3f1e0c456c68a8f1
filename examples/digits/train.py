#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digit recogniser of the demo and writes everything the demo needs. Python and numpy, no data from elsewhere.

    train.py [FOLDER]        writes digits_params.h, model.bin, images/ and test_images.raw into FOLDER (default: where this file is)

Images are drawn: every digit is a few strokes whose points are moved at random, then turned, sheared, scaled, shifted, drawn with a
pen of random width, and covered with noise. The network is conv-relu-pool-conv-relu-pool-fc-softmax. It is trained in float32,
then quantized: unsigned 8-bit activations, signed 8-bit weights with a scale per output channel, 32-bit biases. quantized_forward()
is the arithmetic of docs/numerics.md in numpy; the tests compare the tools with it bit by bit.
"""

import io
import os
import sys
import tarfile

import numpy as np

SIZE = 16
CHANNELS = (8, 16)
TRAIN, TEST, EPOCHS, BATCH = 8000, 2000, 8, 50
SHOWN, STORED = 10, 100     # images for the demo, and for the tests


# ---- images ------------------------------------------------------------------------------------------------------------

def arc(cx, cy, rx, ry, start, stop, n=9):
    """Points of a part of an ellipse; angles in turns, clockwise from the right, y points down."""
    t = np.linspace(start, stop, n) * 2 * np.pi
    return np.stack([cx + rx * np.cos(t), cy + ry * np.sin(t)], 1)


def line(*points):
    return np.array(points, float)


# Strokes in the unit square.
GLYPHS = [
    [arc(.5, .5, .28, .38, 0, 1, 15)],
    [line((.36, .28), (.54, .12), (.54, .88))],
    [arc(.5, .34, .25, .22, -.45, .08), line((.72, .44), (.28, .86), (.75, .86))],
    [arc(.47, .31, .23, .19, -.42, .25), arc(.47, .69, .26, .19, -.25, .42)],
    [line((.62, .88), (.62, .12), (.24, .64), (.78, .64))],
    [line((.72, .13), (.33, .13), (.30, .47)), arc(.48, .65, .25, .22, -.36, .38)],
    [line((.62, .12), (.40, .36), (.27, .62)), arc(.49, .66, .23, .22, -.5, .5, 12)],
    [line((.26, .13), (.75, .13), (.42, .88))],
    [arc(.5, .31, .20, .18, 0, 1, 12), arc(.5, .69, .25, .20, 0, 1, 12)],
    [arc(.51, .34, .23, .22, 0, 1, 12), line((.74, .36), (.70, .64), (.50, .88))],
]


def draw(digit, rng):
    """One image of SIZE x SIZE float32 numbers in 0..1."""
    angle, shear = rng.normal(0, .2), rng.normal(0, .2)
    sx, sy = rng.uniform(.6, 1.1, 2)
    shift = rng.uniform(-.12, .12, 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ np.array([[sx, shear], [0, sy]])
    starts, ends = [], []
    for stroke in GLYPHS[digit]:
        moved = (stroke + rng.normal(0, .03, stroke.shape) - .5) @ matrix.T + .5 + shift
        starts.append(moved[:-1])
        ends.append(moved[1:])
    a, b = np.concatenate(starts), np.concatenate(ends)
    grid = (np.arange(SIZE) + .5) / SIZE
    p = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 1, 2)
    along = np.clip(((p - a) * (b - a)).sum(-1) / np.maximum(((b - a) ** 2).sum(-1), 1e-9), 0, 1)
    distance = np.sqrt((((a + along[..., None] * (b - a)) - p) ** 2).sum(-1)).min(1)
    ink = np.clip(1 - (distance - rng.uniform(.025, .055)) * SIZE * .8, 0, 1) * rng.uniform(.55, 1)
    return np.clip(ink + rng.normal(0, .13, ink.shape), 0, 1).reshape(SIZE, SIZE).astype(np.float32)


def make_images(n, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 10
    return np.stack([draw(d, rng) for d in labels])[..., None], labels


# ---- the network in float ------------------------------------------------------------------------------------------------

def columns(x):
    """3x3 neighbourhoods with zero padding: [n, h, w, 9 * c], in the order of HWIO filters."""
    n, h, w, c = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.stack([padded[:, i:i + h, j:j + w] for i in range(3) for j in range(3)], 3).reshape(n, h, w, 9 * c)


def columns_back(d, shape):
    n, h, w, c = shape
    d = d.reshape(n, h, w, 9, c)
    padded = np.zeros((n, h + 2, w + 2, c), d.dtype)
    for k in range(9):
        padded[:, k // 3:k // 3 + h, k % 3:k % 3 + w] += d[:, :, :, k]
    return padded[:, 1:-1, 1:-1]


def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def pool_back(d, x, y):
    def spread(v):
        return v.repeat(2, 1).repeat(2, 2)
    mask = x == spread(y)
    return spread(d) * mask / spread(pool_count(mask))


def pool_count(mask):
    n, h, w, c = mask.shape
    return mask.reshape(n, h // 2, 2, w // 2, 2, c).sum((2, 4))


def new_parameters(rng):
    def normal(fan_in, *shape):
        return (rng.normal(0, np.sqrt(2 / fan_in), shape)).astype(np.float32)
    c1, c2 = CHANNELS
    flat = (SIZE // 4) ** 2 * c2
    return {"w1": normal(9, 9, c1), "b1": np.zeros(c1, np.float32), "w2": normal(9 * c1, 9 * c1, c2), "b2": np.zeros(c2, np.float32),
            "w3": normal(flat, flat, 10), "b3": np.zeros(10, np.float32)}


def forward(p, x):
    """Every tensor of the network, by name."""
    t = {"x": x}
    t["cols1"] = columns(x)
    t["relu1"] = np.maximum(t["cols1"] @ p["w1"] + p["b1"], 0)
    t["pool1"] = pool(t["relu1"])
    t["cols2"] = columns(t["pool1"])
    t["relu2"] = np.maximum(t["cols2"] @ p["w2"] + p["b2"], 0)
    t["pool2"] = pool(t["relu2"])
    t["logits"] = t["pool2"].reshape(len(x), -1) @ p["w3"] + p["b3"]
    e = np.exp(t["logits"] - t["logits"].max(1, keepdims=True))
    t["probabilities"] = e / e.sum(1, keepdims=True)
    return t


def gradients(p, t, labels):
    g, n = {}, len(labels)
    d = t["probabilities"].copy()
    d[np.arange(n), labels] -= 1
    d /= n
    g["w3"], g["b3"] = t["pool2"].reshape(n, -1).T @ d, d.sum(0)
    d = (d @ p["w3"].T).reshape(t["pool2"].shape)
    d = pool_back(d, t["relu2"], t["pool2"]) * (t["relu2"] > 0)
    g["w2"], g["b2"] = np.tensordot(t["cols2"], d, ((0, 1, 2), (0, 1, 2))), d.sum((0, 1, 2))
    d = columns_back(d @ p["w2"].T, t["pool1"].shape)
    d = pool_back(d, t["relu1"], t["pool1"]) * (t["relu1"] > 0)
    g["w1"], g["b1"] = np.tensordot(t["cols1"], d, ((0, 1, 2), (0, 1, 2))), d.sum((0, 1, 2))
    return g


def train(images, labels):
    rng = np.random.default_rng(3)
    p = new_parameters(rng)
    m = {k: np.zeros_like(v) for k, v in p.items()}
    v = {k: np.zeros_like(w) for k, w in p.items()}
    step, total = 0, EPOCHS * (len(images) // BATCH)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        for at in range(0, len(images), BATCH):
            pick = order[at:at + BATCH]
            g = gradients(p, forward(p, images[pick]), labels[pick])
            step += 1
            rate = .004 * (1 - step / (total + 1))
            for k in p:     # Adam
                m[k] = .9 * m[k] + .1 * g[k]
                v[k] = .999 * v[k] + .001 * g[k] ** 2
                p[k] = (p[k] - rate * (m[k] / (1 - .9 ** step)) / (np.sqrt(v[k] / (1 - .999 ** step)) + 1e-8)).astype(np.float32)
        print("epoch %d: accuracy on 1000 training images %.3f" % (epoch + 1, accuracy(forward(p, images[:1000])["logits"], labels[:1000])))
    return p


def accuracy(scores, labels):
    return float((scores.argmax(1) == labels).mean())


# ---- the network in 8 bits -------------------------------------------------------------------------------------------------

def quantize_parameters(p, t):
    """Encodings of activations from the tensors t, quantized weights and biases. real = (q + offset) * scale."""
    q = {"scale": {"x": np.float32(1 / 255)}, "offset": {"x": 0}}
    for name in ("relu1", "relu2"):
        q["scale"][name], q["offset"][name] = np.float32(t[name].max() / 255), 0
    low, high = float(t["logits"].min()), float(t["logits"].max())
    q["scale"]["logits"] = np.float32((high - low) / 255)
    q["offset"]["logits"] = int(np.rint(low / q["scale"]["logits"]))
    q["scale"]["probabilities"], q["offset"]["probabilities"] = np.float32(1 / 256), 0
    for i, source in ((1, "x"), (2, "relu1"), (3, "relu2")):
        w, b = p["w%d" % i], p["b%d" % i]
        scale = (np.abs(w).max(0) / 127).astype(np.float32)
        q["scale"]["w%d" % i] = scale
        q["w%d" % i] = np.clip(np.rint(w / scale), -127, 127).astype(np.int8)
        q["scale"]["b%d" % i] = (np.float64(q["scale"][source]) * np.float64(scale)).astype(np.float32)
        q["b%d" % i] = np.rint(b / q["scale"]["b%d" % i]).astype(np.int32)
    return q


def requantize(acc, q, layer, source, target):
    m = (np.float64(q["scale"][source]) * np.float64(q["scale"]["w%d" % layer]) / np.float64(q["scale"][target])).astype(np.float32)
    steps = np.rint(acc.astype(np.float32) * m)
    return np.clip(steps - q["offset"][target], 0, 255).astype(np.int32)


def quantized_logits(q, x):
    """uint8 images [n, SIZE, SIZE, 1] to uint8 logits [n, 10]."""
    x = x.astype(np.int64)
    h = pool(requantize(columns(x) @ q["w1"].astype(np.int64) + q["b1"], q, 1, "x", "relu1")).astype(np.int64)
    h = pool(requantize(columns(h) @ q["w2"].astype(np.int64) + q["b2"], q, 2, "relu1", "relu2")).astype(np.int64)
    return requantize(h.reshape(len(x), -1) @ q["w3"].astype(np.int64) + q["b3"], q, 3, "relu2", "logits").astype(np.uint8)


def quantize_images(images):
    return np.clip(np.rint(images / np.float32(1 / 255)), 0, 255).astype(np.uint8)


# ---- files -----------------------------------------------------------------------------------------------------------------

def write_header(path, q):
    def number(v):
        return np.format_float_scientific(np.float32(v), unique=True) + "f"

    with open(path, "w") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by train.py: encodings of the tensors of the digit recogniser. */\n")
        f.write("#ifndef DIGITS_PARAMS_H\n#define DIGITS_PARAMS_H\n\n")
        f.write("enum { DIGITS_SIZE = %d, DIGITS_C1 = %d, DIGITS_C2 = %d };\n\n" % ((SIZE,) + CHANNELS))
        for name in ("x", "relu1", "relu2", "logits", "probabilities"):
            f.write("#define DIGITS_%s_SCALE %s\n#define DIGITS_%s_OFFSET %d\n"
                    % (name.upper(), number(q["scale"][name]), name.upper(), q["offset"][name]))
        for name in ("w1", "w2", "w3"):
            values = ["{ %s, 0 }" % number(v) for v in q["scale"][name]]
            rows = [", ".join(values[i:i + 4]) for i in range(0, len(values), 4)]
            f.write("\nstatic Qnn_ScaleOffset_t digits_%s_scales[] = {\n    %s,\n};\n" % (name, ",\n    ".join(rows)))
        f.write("\n#endif\n")


def write_archive(path, files):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, array in files.items():
            data = array.tobytes()
            info = tarfile.TarInfo(name + ".raw")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def write_images(folder, images, labels):
    os.makedirs(os.path.join(folder, "images"), exist_ok=True)
    for i in range(SHOWN):
        images[i].tofile(os.path.join(folder, "images", "digit_%d.raw" % labels[i]))
    quantize_images(images[:STORED]).tofile(os.path.join(folder, "test_images.raw"))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    images, labels = make_images(TRAIN, 1)
    p = train(images, labels)
    q = quantize_parameters(p, forward(p, images[:1000]))
    images, labels = make_images(TEST, 2)
    print("test set of %d images: float32 %.2f %%, quantized %.2f %%"
          % (TEST, 100 * accuracy(forward(p, images)["logits"], labels), 100 * accuracy(quantized_logits(q, quantize_images(images)), labels)))
    write_header(os.path.join(folder, "digits_params.h"), q)
    fc = np.ascontiguousarray(q["w3"].T)    # FullyConnected takes [out, in]
    write_archive(os.path.join(folder, "model.bin"),
                  {"w1": q["w1"], "b1": q["b1"], "w2": q["w2"], "b2": q["b2"], "w3": fc, "b3": q["b3"]})
    write_images(folder, images, labels)


if __name__ == "__main__":
    main()
