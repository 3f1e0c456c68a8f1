# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch (pytorch/executorch): the tests of backends/qualcomm that its wheel brings along, by executorch_suite.py.

SUITE_BUILD is a virtual environment with the wheel and what its tests import (docs/clients-details.md). The tests share
what they load: one process loads it and forks one for each test."""

import os
import subprocess

BUILT = "bin/python"
DEVICES = ("htp", "gpu", "lpai")
DEFAULT = "htp"
CLASSES = "TestQNNFloatingPointOperator,TestQNNQuantizedOperator"
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "executorch_suite.py")
LOGS = os.path.abspath(os.path.join(HERE, "../../build-suites/executorch"))  # the tests want a folder for what they make


def run(folder, options):
    """All options of scripts/suites/run mean here what they mean there. Names of tests begin with their class."""
    command = [os.path.join(folder, BUILT), SCRIPT, "--class", CLASSES, "--backend", options.device,
               "--match", options.match, "--limit", str(int(options.limit)), "--logs", options.logs or LOGS]
    if options.first is not None:
        command += ["--count", str(options.first)]
    if options.tsv:
        command += ["--tsv", options.tsv]
    if options.list:
        command += ["--list"]
    return subprocess.run(command, check=False).returncode
