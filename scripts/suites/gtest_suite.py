#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a client's gtest program, one process per test, and counts what passed, failed, was skipped or took too long.

    . SDK/bin/envsetup.sh
    gtest_suite.py [--match TEXT] [--limit SECONDS] [--tsv FILE] PROGRAM

PROGRAM is built by the client's own build against the installed tree. Ends with 1 when a test failed
or took too long, and with 2 when PROGRAM lists no test."""

import argparse
import os
import re
import signal
import subprocess
import sys

RESULTS = ("passed", "failed", "skipped", "timeout")


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
    return names


def judge(code, output):
    """A test that gtest never reported as run did not pass, whatever the exit status says."""
    if code != 0:
        return "failed"
    if "[  SKIPPED ]" in output:
        return "skipped"
    return "passed" if "[       OK ]" in output else "failed"


def run_test(program, name, limit):
    """The test is a process group of its own, so that a session that it started ends with it."""
    child = subprocess.Popen([program, "--gtest_filter=" + name], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return "timeout"
    return judge(child.returncode, output.decode(errors="replace"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--match", default="", help="only tests whose name contains this text")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each test")
    parser.add_argument("--tsv", help="file for one line per test: name, result")
    options = parser.parse_args()

    names = [n for n in list_tests(options.program, options.limit) if options.match in n]
    if not names:
        print(f"{options.program} lists no test that contains {options.match!r}", file=sys.stderr)
        return 2

    results = []
    for name in names:
        results.append((name, run_test(options.program, name, options.limit)))
        print(f"{results[-1][1]:8} {name}", flush=True)

    if options.tsv:
        with open(options.tsv, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\t{result}\n" for name, result in results)

    counts = {r: sum(result == r for _, result in results) for r in RESULTS}
    print(f"{len(results)} tests: " + ", ".join(f"{counts[r]} {r}" for r in RESULTS))
    return 1 if counts["failed"] or counts["timeout"] else 0


if __name__ == "__main__":
    sys.exit(main())
