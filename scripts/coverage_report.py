#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage by folder, and what is covered least, from the counts that a build with gcov has left.

    coverage_report.py BUILD [--least N]

Files are joined over all places that compile them, tests that include a source among them: a line counts as run when one of them ran it. Functions that
no test calls are named, the longest first, N (5) of each folder.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Source:
    """Counts of one source file: lines, branches of lines, functions by name."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()
        self.functions = collections.Counter()
        self.lengths = {}

    def add(self, entry):
        for line in entry["lines"]:
            self.lines[line["line_number"]] += line["count"]
            for i, branch in enumerate(line["branches"]):
                self.branches[line["line_number"], i] += branch["count"]
        for function in entry["functions"]:
            self.functions[function["name"]] += function["execution_count"]
            self.lengths[function["name"]] = function["end_line"] - function["start_line"] + 1


def name_in_tree(name, build):
    """The path of a source below the root, or None for headers of the system."""
    for start in (build, ROOT):
        path = os.path.relpath(os.path.normpath(os.path.join(start, name)), ROOT)
        if path.startswith(("src/", "tools/")) and os.path.exists(os.path.join(ROOT, path)):
            return path
    return None


def read_counts(notes):
    """What gcov says of the object of one file of notes."""
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", os.path.basename(notes)]
    text = subprocess.run(command, cwd=os.path.dirname(notes), capture_output=True, check=False).stdout
    return [json.loads(line)["files"] for line in text.decode().splitlines() if line.startswith("{")]


def collect(build):
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcno")]
    sources = collections.defaultdict(Source)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(read_counts, notes):
            for entry in (entry for files in found for entry in files):
                path = name_in_tree(entry["file"], build)
                if path:
                    sources[path].add(entry)
    return sources


def folder_of(path):
    parts = path.split("/")
    return "/".join(parts[:3 if parts[1] == "backend" and len(parts) > 3 else 2]) if parts[0] == "src" else parts[0]


def share(counter):
    """Covered, all."""
    return sum(count > 0 for count in counter.values()), len(counter)


def percent(covered, total):
    return f"{100 * covered / total:.1f} %" if total else "-"


def totals(sources, what):
    pairs = [share(getattr(source, what)) for source in sources]
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def report(sources, least):
    folders = collections.defaultdict(dict)
    for path, source in sources.items():
        folders[folder_of(path)][path] = source

    print("| folder | lines | | branches | | functions |")
    print("|---|---:|---:|---:|---:|---:|")
    for folder in sorted(folders) + ["all"]:
        files = sources.values() if folder == "all" else folders[folder].values()
        lines, branches, functions = (totals(files, what) for what in ("lines", "branches", "functions"))
        print(f"| {folder} | {lines[1]} | {percent(*lines)} | {branches[1]} | {percent(*branches)} | {percent(*functions)} |")

    print("\nLongest functions that no test calls:")
    for folder in sorted(folders):
        never = [(source.lengths[name], name, path) for path, source in folders[folder].items()
                 for name, count in source.functions.items() if not count]
        for length, name, path in sorted(never, reverse=True)[:least]:
            print(f"  {path}: {name}, {length} lines")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--least", type=int, default=5, help="functions to name in each folder")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    sources = collect(build)
    if not sources:
        raise SystemExit(f"coverage: {build} has no counts; build it with -Db_coverage=true, and run tests")
    report(sources, options.least)


if __name__ == "__main__":
    main()
