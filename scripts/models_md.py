#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/models.md: whole networks, converted and run, against the outputs of other engines.

    scripts/models_md.py BUILD [MODELS] [LIBRARY]

BUILD is a finished build folder; MODELS is ../shared/models when not given.
"""

import os
import subprocess
import sys

INTRO = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Models

Made by `scripts/models_md.py`; do not edit. Each network is converted by our front end, composed on libQnnCpu.so through the public interface, and run on
the inputs of `../shared/models`; its outputs are compared with those of the named engine. Streaming models run step by step, their state handed from
outputs to inputs.

* **Integer outputs** are compared in quanta (steps of the output's scale). The references scale an accumulator with two roundings, ours with one
  (docs/numerics.md). That is the whole difference for 8-bit convolutions and dense layers: `tests/models/tflite_rounding.py` computes the networks in
  exact integers and meets the reference bit for bit with two roundings, and us bit for bit with one. A softmax behind it makes a difference of one step
  of a logit visible as several steps of a probability. 16-bit references use multipliers of 16 bits.
* **Float outputs**: the largest error relative to the largest expected value. Networks with 8-bit weights and float activations (`hybrid`, `quant`) are
  computed in float here; their reference rounds activations to 8 bits on the way. ONNX networks of quantize/dequantize pairs are computed in fixed point
  here, and in float between the pairs by their reference.
* **Allowed** differences are in `tests/models/model_bounds.tsv`; the test `model-conformance` holds them.
"""

COLUMNS = ("model", "reference", "runs", "type", "values", "difference", "top-1", "")


def main():
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    build = sys.argv[1]
    models = sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "..", "shared", "models")
    library = sys.argv[3] if len(sys.argv) > 3 else os.path.join(build, "src/api/libQnnCpu.so")
    run = subprocess.run([os.path.join(build, "tests/models/model_conformance"), "--tsv", library, models,
                          os.path.join(root, "tests/models/model_bounds.tsv")], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        print(run.stdout + run.stderr)
        return 1
    rows = [line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 8]
    lines = [INTRO]
    for title, suffix in (("TFLite", False), ("ONNX", True)):
        lines += ["## %s\n" % title, "| " + " | ".join(COLUMNS) + " |", "|---|---|---|---|---|---|---|---|"]
        for r in rows:
            if r[0].endswith(".onnx") == suffix:
                verdict = r[7] if r[8] == "-" else "%s: %s" % (r[7], r[8].replace("|", "/"))
                lines.append("| " + " | ".join([r[0].replace(".tflite", "").replace(".onnx", "")] + r[1:7] + [verdict]) + " |")
        lines.append("")
    with open(os.path.join(root, "docs/models.md"), "w") as f:
        f.write("\n".join(lines))
    print("docs/models.md: %d models" % len(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
