#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quantizer's algorithms on trained networks: quantized from one part of the data, scored against the float network on another.

    quantize_networks.py MODELS_FOLDER        prints a table: signal to noise of the outputs in decibel, shift of their means in % of their deviation
"""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["OPENQNN_SOURCE_DIR"], "tests", "tools"))
import numpy as np
import support

MODELS = sys.argv.pop(1) if len(sys.argv) > 1 else ""
CALIBRATION, SCORED = 24, 32


def photo():
    return np.fromfile(os.path.join(MODELS, "vision", "sunflower_224x224.rgb"), np.uint8).reshape(224, 224, 3).astype(np.float32)


def crops(size, scale):
    """Pieces of a photograph in eight orientations: the upper part of the picture to calibrate, the lower one to score."""
    image = photo()

    def pieces(n, top, bottom):
        rng = np.random.default_rng(top + size)
        step = 2 if size <= 64 else 1
        for i in range(n):
            y, x = rng.integers(top, bottom - size * step + 1), rng.integers(0, 224 - size * step + 1)
            piece = image[y:y + size * step:step, x:x + size * step:step]
            piece = np.rot90(piece, i % 4)
            yield np.ascontiguousarray((piece[:, ::-1] if i & 4 else piece) * np.float32(scale))
    return list(pieces(CALIBRATION, 0, 112)), list(pieces(SCORED, 112, 224))


def mixtures(name):
    """Features that were recorded, mixed and disturbed."""
    folder = os.path.join(MODELS, "refs", name)
    known = [np.fromfile(os.path.join(folder, f), np.float32) for f in sorted(os.listdir(folder)) if f.startswith("in_")]
    rng = np.random.default_rng(11)
    deviation = np.std(known)

    def one():
        parts = rng.dirichlet(np.ones(len(known)))
        return (sum(p * k for p, k in zip(parts, known)) + rng.normal(0, deviation / 6, known[0].shape)).astype(np.float32)
    return [one() for _ in range(CALIBRATION)], [one() for _ in range(SCORED)]


NETWORKS = {
    "mlperf-tiny/ic_resnet8_float.tflite": lambda: crops(32, 1),
    "mlperf-tiny/vww_mobilenetv1_float.tflite": lambda: crops(96, 1 / 255),
    "mlperf-tiny/ad_autoencoder_float.tflite": lambda: mixtures("mlperf-tiny/ad_autoencoder_float"),
    "mlperf-tiny/kws_dscnn_float_hybrid.tflite": lambda: mixtures("mlperf-tiny/kws_dscnn_float_hybrid"),
}
WAYS = {
    "nearest": [],
    "cle": ["cle"],
    "bc": ["bc"],
    "cle+bc": ["cle", "bc"],
    "adaround": ["adaround"],
    "adaround+bc": ["adaround", "bc"],
    "amp": ["amp"],
}


class Networks(support.ToolTest):
    def score(self, dlc, n):
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", dlc, "--input_list", "scored.txt", "--output_dir", dlc + "_out")
        rows = []
        for i in range(n):
            folder = os.path.join(dlc + "_out", "Result_%d" % i)
            files = sorted(os.listdir(self.path(folder)))
            rows.append(np.concatenate([np.frombuffer(self.read(folder, f), np.float32) for f in files]))
        return np.array(rows, np.float64)

    def quantize(self, name, options):
        self.succeeds("qairt-quantizer", "--input_dlc", "float.dlc", "--output_dlc", name + ".dlc", "--input_list", "calibration.txt", "--bias_bitwidth", "32",
                      "--quiet", *options)
        return self.score(name + ".dlc", SCORED)

    def table(self, model, data):
        self.succeeds("qairt-converter", "-i", os.path.join(MODELS, model), "-o", "float.dlc")
        for kind, values in zip(("calibration", "scored"), data()):
            self.write(kind + ".txt", "".join(self.write("%s/%d.raw" % (kind, i), v.tobytes()) + "\n" for i, v in enumerate(values)))
        real = self.score("float.dlc", SCORED)
        found = {}
        per_channel = ["--use_per_channel_quantization", "--use_per_row_quantization"]
        for extra, options in (("", []), (", 4-bit weights", ["--weights_bitwidth", "4"] + per_channel)):
            for way, words in WAYS.items():
                got = self.quantize("q", options + (["--apply_algorithms"] + words if words else []))
                error = got - real
                decibel = 10 * np.log10((real ** 2).sum() / max((error ** 2).sum(), 1e-30))
                shift = np.abs(error.mean(0)).mean() / max(real.std(), 1e-30) * 100
                found[way + extra] = decibel, shift
                print("%-42s %-24s %7.2f dB  shift %7.3f %%" % (os.path.basename(model), way + extra, decibel, shift), flush=True)
        return found

    def test_tables(self):
        """One network on one half of a photograph proves little; all of them together must gain."""
        gain = {}
        for model, data in NETWORKS.items():
            found = self.table(model, data)
            for key, (decibel, shift) in found.items():
                way, _, extra = key.partition(",")
                nearest = found["nearest" + ("," + extra if extra else "")]
                gain.setdefault(way, []).append(decibel - nearest[0])
                if way == "bc" and nearest[1] > 2:
                    self.assertLess(shift, nearest[1], (model, key))
        for way, values in gain.items():
            print("%-12s gains %6.2f dB in the mean of %d, least %6.2f dB" % (way, np.mean(values), len(values), min(values)))
        self.assertGreater(np.mean(gain["bc"]), 3)
        self.assertGreater(np.mean(gain["adaround"]), 3)
        self.assertGreater(np.mean(gain["amp"]), 3)


if __name__ == "__main__":
    if not os.path.isdir(MODELS):
        print("SKIP: %s is not there" % (MODELS or "the folder of models"))
        sys.exit(77)
    support.main()
