#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py NET_RUN GENERATOR BACKEND SYSTEM PACKAGE MODEL: the commands of README.md, and what comes out compared with the formula."""

import math
import os
import struct
import subprocess
import sys
import tempfile

net_run, generator, backend, system, package, model = (os.path.abspath(p) for p in sys.argv[1:])
TOLERANCE = 3e-3 if "Htp" in os.path.basename(backend) else 1e-6  # float16 around the operator; its own numbers are float32
X = [-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 8.0]
PACKAGES = ["--op_packages", package + ":own_operator_provider:CPU"]


def formula(x):
    elu = x if x > 0 else math.expm1(x)
    return -2 * math.tanh(elu / 2)


def outputs(folder):
    path = [os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.endswith(".raw")]
    assert len(path) == 1, path
    with open(path[0], "rb") as f:
        return struct.unpack("<8f", f.read())


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("x.raw", "wb") as f:
        f.write(struct.pack("<8f", *X))
    with open("list.txt", "w") as f:
        f.write("x.raw\n")
    run = [net_run, "--backend", backend, "--system_library", system, "--input_list", "list.txt"]
    subprocess.run(run + ["--model", model, "--output_dir", "a"] + PACKAGES, check=True)
    for x, y in zip(X, outputs("a")):
        assert abs(y - formula(x)) < TOLERANCE, (x, y, formula(x))
    subprocess.run([generator, "--backend", backend, "--model", model, "--binary_file", "own", "--output_dir", "b"] + PACKAGES, check=True)
    subprocess.run(run + ["--retrieve_context", "b/own.bin", "--output_dir", "c"] + PACKAGES, check=True)
    assert outputs("c") == outputs("a")
    # Without the package the graph is refused, and a sentence says what is missing.
    for what in (["--model", model], ["--retrieve_context", "b/own.bin"]):
        alone = subprocess.run(run + what + ["--output_dir", "d"], capture_output=True, text=True)
        assert alone.returncode != 0 and "examples.own" in alone.stderr + alone.stdout, alone
    for wrong, word in ((package + ":nothing", "nothing"), (package + ":own_operator_provider:HTP", "HTP"), (package, "path:provider")):
        bad = subprocess.run(run + ["--model", model, "--op_packages", wrong], capture_output=True, text=True)
        assert bad.returncode != 0 and word in bad.stderr + bad.stdout, bad
