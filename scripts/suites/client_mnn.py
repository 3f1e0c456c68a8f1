# SPDX-License-Identifier: Apache-2.0
"""MNN (alibaba/MNN): run_test.out, which compares the operators of a backend with numbers of its own.

SUITE_BUILD is the folder of a CMake build with MNN_QNN and MNN_BUILD_TEST. The program does not list its tests: their
names are read from the source of the build, and those that the program does not hold are left out."""

import json
import os
import re

import suite_run

BUILT = "run_test.out"
QNN = "5"  # the number of the forward type that the QNN backend registers
DEVICES = {"npu-high": (QNN, "1"), "npu-normal": (QNN, "0"), "npu-low": (QNN, "2"), "cpu": ("0", "1")}
DEFAULT = "npu-high"
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
    with open(os.path.join(folder, BUILT), "rb") as file:
        program = file.read()
    return sorted(n for n in found if n.encode() + b"\0" in program and "speed" not in n and "model" not in n)


def judge(code, output):
    """The program ends with 0 where it has run nothing, also where the backend could not be made."""
    told = RESULT.search(output)
    counts = json.loads(told[1]) if told else {"failed": 0, "passed": 0}
    return "passed" if not code and counts["passed"] and not counts["failed"] else "failed"


def cases(folder, device, _limit):
    """A name stands for all tests that begin with it, so the others of these are skipped."""
    program, (backend, precision) = os.path.join(folder, BUILT), DEVICES[device]
    known = names(folder)

    def command(name):
        others = ",".join(n for n in known if n != name and n.startswith(name))
        return ["env", "MNN_TEST_SKIP=" + others, program, name, backend, precision, "1"]
    return [suite_run.Case(n, command(n), judge) for n in known]
