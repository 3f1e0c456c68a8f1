#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a client's gtest program, one process per test, and counts what passed and what executed on QNN.

    . SDK/bin/envsetup.sh
    gtest_suite.py [--match TEXT] [--limit SECONDS] [--tsv FILE] [--logs FOLDER] PROGRAM

PROGRAM is built by the client's own build against the installed tree. Ends with 1 when a test failed
or took too long, and with 2 when PROGRAM lists no test, or none executed on QNN."""

import argparse
import re
import subprocess
import sys

import suite_run


def is_disabled(name):
    """gtest lists these and does not run them."""
    return any(part.startswith("DISABLED_") for part in re.split("[./]", name))


def list_tests(program, limit):
    """Full names, from lines "Suite." and, indented below them, "Test"; comments follow a '#'."""
    text = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True,
                          timeout=limit, check=True).stdout
    suite = ""
    names = []
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith("  ") and suite:
            names.append(suite + word.strip())
        elif re.fullmatch(r"\S+\.", word):
            suite = word
    return [name for name in names if not is_disabled(name)]


def judge(code, output):
    """A test that gtest never reported as run did not pass, whatever the exit status says."""
    if code != 0:
        return "failed"
    if "[  SKIPPED ]" in output:
        return "skipped"
    return "passed" if "[       OK ]" in output else "failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    suite_run.add_arguments(parser)
    options = parser.parse_args()

    names = [n for n in list_tests(options.program, options.limit) if options.match in n]
    if not names:
        print(f"{options.program} lists no test that contains {options.match!r}", file=sys.stderr)
        return 2
    cases = [suite_run.Case(n, [options.program, "--gtest_filter=" + n], judge) for n in names]
    return suite_run.run_all(cases, options.limit, options.tsv, logs=options.logs)


if __name__ == "__main__":
    sys.exit(main())
