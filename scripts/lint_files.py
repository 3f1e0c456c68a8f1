#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an analyser on each C file that a build folder compiles, and counts the files with findings.

    lint_files.py BUILD JOBS analyzer|tidy FOLDER...
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

ANALYZER = ["-fanalyzer", "-Werror", "-fdiagnostics-color=never"]

# What gcc 12 reports of code that is right: file, warning, reason.
ACCEPTED = [
    ("src/binary/binary_update.c", "null-dereference", "find_all has found each constant before put_together runs"),
    ("src/exec/program.c", "null-dereference", "joined counts commands of the step, so a last command exists"),
    ("src/base/handle.c", "null-dereference", "take_index allocates the slots whose numbers it gives"),
]
# Options of gcc that clang does not know.
TIDY_ARGUMENTS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-ignored-optimization-argument"]


def units(build, folders):
    """(source, command, folder of the build) of each C file below the folders, once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    seen = set()
    for entry in commands:
        source = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
        below = any(source.startswith(folder.rstrip("/") + "/") for folder in folders)
        if below and source.endswith(".c") and source not in seen:
            seen.add(source)
            yield source, entry["command"], entry["directory"]


def analyze(unit):
    source, command, folder = unit
    accepted = [f"-Wno-analyzer-{warning}" for file, warning, _ in ACCEPTED if file == source]
    words = [word for word in shlex.split(command) if word != "ccache"]
    words[words.index("-o") + 1] = os.devnull
    return subprocess.run(words + ANALYZER + accepted, cwd=folder, capture_output=True, text=True, check=False)


def tidy(unit, build):
    return subprocess.run(["clang-tidy", "-p", build, "--quiet", unit[0]] + TIDY_ARGUMENTS, capture_output=True, text=True, check=False)


def main(arguments):
    build, jobs, what, folders = arguments[0], int(arguments[1]), arguments[2], arguments[3:]
    work = list(units(build, folders))
    if not work:
        sys.exit(f"lint: {build} compiles nothing of {' '.join(folders)}")

    run = analyze if what == "analyzer" else lambda unit: tidy(unit, build)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for unit, result in zip(work, pool.map(run, work)):
            if result.returncode != 0:
                bad += 1
                print(f"{unit[0]}:\n{result.stdout}{result.stderr if what == 'analyzer' else ''}", flush=True)
    print(f"{what}: {len(work)} files, {bad} with findings")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
