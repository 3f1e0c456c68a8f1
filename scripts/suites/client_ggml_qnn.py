# SPDX-License-Identifier: Apache-2.0
"""ggml-qnn, llama.cpp's backend for QNN (chraac/llama.cpp): test-backend-ops against each of its devices.

The program compares every operator that a device says it supports with ggml's CPU backend."""

import csv
import os
import re
import subprocess

import suite_build
import suite_run

DEVICES = ("qnn-npu", "qnn-gpu", "qnn-cpu")
DEFAULT = "qnn-npu"
NEEDS = "ggml/src/ggml-qnn/CMakeLists.txt"
ARCHIVES = ("ggml/src/libggml.a", "ggml/src/ggml-qnn/libggml-qnn.a", "ggml/src/ggml-qnn/qnn/libqnn-backend.a",
            "ggml/src/ggml-qnn/shared/libruntime-common.a", "ggml/src/libggml-cpu.a", "ggml/src/libggml-base.a")


def build(source, out, sdk):
    """Static, as the backend's registration is in an archive that a shared library would leave out. The
    test program needs ggml only; building it here saves llama.cpp's models."""
    os.makedirs(os.path.join(out, "bin"), exist_ok=True)  # into which the build copies the libraries of the SDK
    suite_build.cmake(source, out, "ggml", {
        "BUILD_SHARED_LIBS": "OFF", "GGML_QNN": "ON", "GGML_QNN_SDK_PATH": sdk, "GGML_QNN_ENABLE_CPU_BACKEND": "ON",
        "GGML_NATIVE": "OFF", "GGML_OPENMP": "OFF", "LLAMA_CURL": "OFF", "LLAMA_BUILD_COMMON": "OFF",
        "LLAMA_BUILD_TESTS": "OFF", "LLAMA_BUILD_EXAMPLES": "OFF", "LLAMA_BUILD_TOOLS": "OFF", "LLAMA_BUILD_SERVER": "OFF"})
    program = os.path.join(out, "bin/test-backend-ops")
    archives = [os.path.join(out, a) for a in ARCHIVES]
    suite_build.compile_program(os.path.join(source, "tests/test-backend-ops.cpp"), program,
                                [os.path.join(source, "ggml/include"), os.path.join(source, "ggml/src")], archives)


def judge(code, output):
    """What was chosen by its name may stand several times in the program's list."""
    counted = re.search(r"(\d+)/(\d+) tests passed", output)
    if code or not counted:
        return "failed"
    passed, run = map(int, counted.groups())
    return "skipped" if not run else "passed" if passed == run else "failed"


def cases(out, device, limit):
    program = os.path.join(out, "bin/test-backend-ops")
    text = subprocess.run([program, "support", "-b", device, "--output", "csv"], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, timeout=limit, check=True).stdout
    rows = csv.DictReader(line for line in text.splitlines() if line.startswith('"'))
    names = [f"{r['op_name']}({r['op_params']})" for r in rows if r["supported"] in ("yes", "1", "true")]
    return [suite_run.Case(n, [program, "test", "-b", device, "-o", n], judge) for n in dict.fromkeys(names)]
