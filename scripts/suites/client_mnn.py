# SPDX-License-Identifier: Apache-2.0
"""MNN (alibaba/MNN): backendTest.out, which compares each operator of a model on QNN with MNN's CPU backend, and
run_test.out, its unit tests.

SUITE_BUILD is the folder of a CMake build with MNN_QNN, MNN_BUILD_TOOLS and MNN_BUILD_TEST. The models are the .mnn files
below SUITE_MODELS (mnnconvert makes them of ONNX files); the device is the precision. Devices that begin with "unit" are
for run_test.out. It does not list its tests: their names are read from the source of the build, and those that the
program does not hold are left out. Most of these tests compute through MNN's expressions, which its QNN backend does not
support: MNN takes their inputs for constants, and its program ends with SIGSEGV (docs/clients-details.md)."""

import json
import os
import re

import suite_run

BUILT = "CMakeCache.txt"
UNIT_TESTS, MODEL_TEST = "run_test.out", "backendTest.out"
QNN = "5"  # the number of the forward type that the QNN backend registers
DEVICES = {"high": "1", "normal": "0", "low": "2", "unit-high": "1", "unit-normal": "0", "unit-low": "2"}
DEFAULT = "high"
TOLERANCE = "0.01"  # of the largest value of a tensor; MNN's own default is 0.05
REGISTERED = re.compile(r'^\s*MNNTestSuiteRegister\(\s*\w+\s*,\s*"([^"]+)"\s*\)', flags=re.M)
RESULT = re.compile(r'^TEST_CASE=(\{.*\})$', flags=re.M)


def source_of(folder):
    with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8") as file:
        return re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", file.read(), flags=re.M)[1]


def names(folder):
    """As the program's own choice of all tests: without those of speed, and those that want models from elsewhere."""
    found = set()
    for place, _, files in os.walk(os.path.join(source_of(folder), "test")):
        for name in files:
            if name.endswith(".cpp"):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    found.update(REGISTERED.findall(file.read()))
    with open(os.path.join(folder, UNIT_TESTS), "rb") as file:
        program = file.read()
    return sorted(n for n in found if n.encode() + b"\0" in program and "speed" not in n and "model" not in n)


def judge_unit(code, output):
    """The program ends with 0 where it has run nothing, also where the backend could not be made."""
    told = RESULT.search(output)
    counts = json.loads(told[1]) if told else {"failed": 0, "passed": 0}
    return "passed" if not code and counts["passed"] and not counts["failed"] else "failed"


def judge_model(code, output):
    """The program ends with 0 whatever it finds, and calls a model correct of which it compared nothing."""
    if code or not output.rstrip().endswith("Correct !") or "Can't compare tensor" in output:
        return "failed"
    return "passed" if "Correct for " in output else "failed"


def unit_cases(folder, precision):
    """A name stands for all tests that begin with it, so the others of these are skipped."""
    program, known = os.path.join(folder, UNIT_TESTS), names(folder)

    def command(name):
        others = ",".join(n for n in known if n != name and n.startswith(name))
        return ["env", "MNN_TEST_SKIP=" + others, program, name, QNN, precision, "1"]
    return [suite_run.Case(n, command(n), judge_unit) for n in known]


def model_cases(folder, precision):
    models = os.environ.get("SUITE_MODELS")
    if not models:
        raise SystemExit("SUITE_MODELS is not given: a folder with .mnn files, or use --device unit-high")
    models = os.path.abspath(models)
    found = [os.path.join(place, name) for place, _, files in os.walk(models) for name in files if name.endswith(".mnn")]
    program = os.path.join(folder, MODEL_TEST)
    return [suite_run.Case(os.path.relpath(m, models)[:-len(".mnn")], [program, m, QNN, TOLERANCE, precision], judge_model)
            for m in sorted(found)]


def cases(folder, device, _limit):
    wanted = UNIT_TESTS if device.startswith("unit-") else MODEL_TEST
    if not os.path.exists(os.path.join(folder, wanted)):
        raise SystemExit(f"{folder} has no {wanted}; build that target of MNN first")
    return (unit_cases if wanted == UNIT_TESTS else model_cases)(folder, DEVICES[device])
