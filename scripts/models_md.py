#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/models.md: whole networks, converted and run, against the outputs of other engines, and the memory they need.

    scripts/models_md.py BUILD [MODELS] [LIBRARY]

BUILD is a finished build folder; MODELS is ../shared/models when not given.
"""

import os
import subprocess
import sys
import tempfile

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

MEMORY = """## Memory

Scratch memory as LPAI has it: inputs, outputs, tensors and workspaces of kernels in one pool, nothing else counted, aligned to 64 bytes. **Ours** is the plan in the context
binary. **Bound** is what no order of the operators can do without; where both are equal, neither another order nor another plan is smaller. **As given**: our planner without a
choice of order. **Greedy**: the usual plan, largest tensor first into the smallest gap, in the order given and with nothing in place. **Persistent** memory
holds the states of recurrent operators and nothing besides. The test `plan-networks` holds these numbers.
"""

MEMORY_COLUMNS = ("model", "operators", "ours", "bound", "", "as given", "greedy", "greedy needs more by", "persistent")


def memory_table(build, models):
    """Rows of plan_networks --tsv: name, operators, scratch, bound, as given, greedy, persistent, milliseconds twice."""
    run = subprocess.run([os.path.join(build, "tests/models/plan_networks"), models, "--tsv"], capture_output=True, text=True, check=False)
    lines = [MEMORY, "| " + " | ".join(MEMORY_COLUMNS) + " |", "|---" * len(MEMORY_COLUMNS) + "|"]
    for r in (line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 8):
        ours, bound, given, greedy = (int(v) for v in r[2:6])
        lines.append("| %s | %s | %s | %s | %s | %s | %s | %.1f %% | %s |" % (
            r[0].replace(".tflite", "").replace(".onnx", ""), r[1], format(ours, ","), format(bound, ","), "minimal" if ours == bound else "open",
            format(given, ","), format(greedy, ","), 100.0 * (greedy - ours) / ours, format(int(r[6]), ",")))
    return lines + [""]


HTP = """## HTP

The same networks on libQnnHtp.so, in a session process, with all of the VTCM. **As given** is what libQnnCpu.so gives, bit for bit; so are **w8a8** and **w8a16**, the float networks quantized
by our quantizer (weights per channel, inputs and outputs float), calibrated on the very inputs that they are scored on, of which there are between one and forty: read these rows as what the arithmetic
loses, not as what a calibrated product would reach. **float16** is what float graphs compute in there, and **as given** has the graph option FLOAT32 ([htp-options.md](htp-options.md)). Every row gives the same bits with little VTCM and another optimization level. **dB** is the signal to noise ratio of the outputs against
the reference engine's, and **weights alone** that of the float network with the quantized constants of w8a16: what 8-bit weights cost in any engine ([quantization.md](quantization.md)); the test `htp-networks` holds
both (`tests/models/htp_bounds.tsv`). Cycles and the milliseconds of the three SoCs are estimates at full clock, without the call ([cost.md](cost.md)); VTCM is what the plan takes of the window, and
spill-fill the buffer for what does not fit, with 8 MiB of VTCM, and with 256 KiB or the next power of two that every operator fits into. llm/stories260K is a Llama of 260,000 parameters, 64 tokens at once (`tests/models/llm_model.py`
makes a graph of the checkpoint and computes it in float64); its top-1 are the 64 tokens of a story. The last column is this computer: best of 30 executions, {cpu};
other work was running at the same time, so it is an upper bound (docs/bench.md has figures to compare).
"""
HTP_COLUMNS = ("model", "form", "output", "dB", "weights alone", "top-1", "cycles, SM8550", "ms", "ms, SM8650", "ms, SM8750", "VTCM bytes", "spill-fill bytes", "with VTCM of", "spill-fill bytes", "ms here")
SOCS = ("SM8550", "SM8650", "SM8750")


def cpu_name():
    cores = len(os.sched_getaffinity(0))
    with open("/proc/cpuinfo") as f:
        names = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return "%s, %d cores" % (names[0] if names else "unknown", cores)


def htp_rows(build, models, root, soc):
    with tempfile.TemporaryDirectory() as made:
        subprocess.run(["/usr/bin/python3", os.path.join(root, "tests/models/llm_model.py"), models, made], check=False)
        rows = htp_run(build, models, root, soc) + htp_run(build, made, root, soc)
    return sorted(rows, key=lambda r: r[0].split("/")[0])


def htp_run(build, models, root, soc):
    """Rows of htp_networks --tsv: name, form, type, runs, decibel, top-1, cycles, ms, VTCM, spill-fill, the same with less VTCM, KiB of that, ms here, verdict."""
    run = subprocess.run([os.path.join(build, "tests/models/htp_networks"), "--tsv", os.path.join(build, "src/api"), models,
                          os.path.join(root, "tests/models/htp_bounds.tsv")], capture_output=True, text=True, check=False, env=dict(os.environ, OPENQNN_SOC=soc))
    rows = [line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 13]
    wrong = [r for r in rows if r[13] != "ok"]
    for r in wrong:
        print("%s, %s, %s: %s" % (soc, r[0], r[1], r[13]))
    return rows


def htp_table(build, models, root):
    tables = [htp_rows(build, models, root, soc) for soc in SOCS]
    lines = [HTP.format(cpu=cpu_name()), "| " + " | ".join(HTP_COLUMNS) + " |", "|---" * len(HTP_COLUMNS) + "|"]
    layers = [r for r in tables[0] if r[0].startswith("tflm-seanet-int16/")]
    weights = {r[0]: r[4] for r in tables[0] if r[1] == "w8"}
    for first, second, third in zip(*tables):
        if first in layers or first[1] == "w8":
            continue
        alone = weights[first[0]] if first[1].startswith("w8a") else "-"
        lines.append("| " + " | ".join([first[0].replace(".tflite", "").replace(".onnx", ""), first[1], first[2], first[4], alone, first[5], format(int(first[6]), ","), first[7], second[7],
                                        third[7], format(int(first[8]), ","), format(int(first[9]), ","), first[11] + " KiB", format(int(first[10]), ","), first[12]]) + " |")
    return lines + ["", "%d single layers of tflm-seanet-int16 (16-bit activations) give the bits of libQnnCpu.so, too." % len(layers), ""]


GPU = """## GPU

Float networks on libQnnGpu.so (OpenCL; measured on PoCL) against libQnnCpu.so with the inputs of the references, or a ramp where there are none: the largest difference in parts of the largest value of the
outputs. float32: as the network is, and with precision mode FP32. float16: modes FP16 and HYBRID, which store tensors inside the graph as float16 and add up in float32. `tests/models/gpu_networks.c --all --tsv` prints
the rows; `make check` runs all but the last two, in all four modes. Quantized networks are refused: the GPU backend computes in float.
"""


def gpu_table(build, models, root):
    """Rows of gpu_networks --tsv: name, values, differences in float32 and float16, and times, which are not for this page."""
    run = subprocess.run([os.path.join(build, "tests/models/gpu_networks"), "--all", "--tsv", os.path.join(build, "src/api"), models,
                          os.path.join(root, "tests/models/gpu_bounds.txt")], capture_output=True, text=True, check=False)
    lines = [GPU, "| network | values compared | float32 | float16 |", "|---|---|---|---|"]
    for r in ([cell.strip() for cell in line.split("|")] for line in run.stdout.splitlines() if line.count("|") == 8):
        differences = ["0" if v == "0.0e+00" else "— (its values leave the range of float16)" if "nan" in v else v for v in r[3:5]]
        lines.append("| " + " | ".join(r[1:3] + differences) + " |")
    return lines + [""]


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
    lines += htp_table(build, models, root) + gpu_table(build, models, root) + memory_table(build, models)
    with open(os.path.join(root, "docs/models.md"), "w") as f:
        f.write("\n".join(lines))
    print("docs/models.md: %d models" % len(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
