# SPDX-License-Identifier: Apache-2.0
"""LiteRT (google-ai-edge/LiteRT): the gtest programs of its vendor folder for Qualcomm.

SUITE_BUILD is the folder of its CMake build, or bazel-bin. Each test program in a folder "qualcomm", or with qnn or
qualcomm in its name, is run, and those that its CMake build names otherwise."""

import os

import suite_built

BUILT = ""
DEVICES = ("all",)
DEFAULT = "all"
OTHER_NAMES = ("builder_test", "dump_graph_test", "dispatch_api_qualcomm_test")


def is_program(name, place):
    """What has an extension is an object, a list of arguments or a library."""
    if not name.endswith("_test"):
        return False
    return "qualcomm" in os.path.join(place, name) or "qnn" in name or name in OTHER_NAMES


def cases(folder, _device, limit):
    paths = suite_built.programs(folder, is_program)
    if not paths:
        raise SystemExit(f"{folder} holds no test program of LiteRT's folder vendors/qualcomm; build some of them first")
    return suite_built.gtest_cases(paths, limit)
