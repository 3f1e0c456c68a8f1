# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime (microsoft/onnxruntime, onnxruntime/onnxruntime-qnn): the tests of its QNN provider.

SUITE_BUILD is the folder of a build with the provider, where the test programs lie. They read test data and find
libQnn*.so beside them, so they are run there."""

import os

import suite_built

BUILT = ""
DEVICES = {"all": "", "htp": "QnnHTP", "cpu": "QnnCPU", "gpu": "QnnGPU", "ir": "QnnIR", "saver": "QnnSaver"}
DEFAULT = "all"
PROGRAMS = ("onnxruntime_provider_test", "onnxruntime_test_all")


def cases(folder, device, limit):
    """Tests of the other providers are in the same programs."""
    paths = suite_built.programs(folder, lambda name, place: name in PROGRAMS)
    if not paths:
        raise SystemExit(f"{folder} holds none of {', '.join(PROGRAMS)}")

    def is_wanted(name):
        return "qnn" in name.lower() and name.startswith(DEVICES[device])
    found = suite_built.gtest_cases(paths, limit, is_wanted)
    return [c._replace(command=["env", "-C", os.path.dirname(c.command[0]), *c.command]) for c in found]
