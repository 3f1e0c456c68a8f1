#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every public header alone, twice in a row, as C11 and as C++17, with warnings as errors; and every pair.

usage: headers_alone.py [--pairs] INCLUDE_DIR CC [CXX]

--pairs compiles each pair of headers instead: as C in one order, as C++ in the other. A pair of which one
brings the other is the same as that one alone and is left out.

CC and CXX are one argument each and may hold a command with options. Only INCLUDE_DIR itself is on the
include path, as for a client that writes <QNN/QnnInterface.h>. exit 1 if a header fails.
"""
import concurrent.futures
import itertools
import os
import shlex
import subprocess
import sys

WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
LANGS = [["-x", "c", "-std=c11"], ["-x", "c++", "-std=c++17"]]


def public_headers(root):
    for folder, _, files in os.walk(root):
        for name in files:
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(folder, name), root)


def compile_alone(job):
    root, unit, compiler, lang = job
    # A header of macros only is an empty unit, which ISO C forbids; hence the declaration.
    source = "#include <%s>\n#include <%s>\nextern int abi_alone;\n" % unit
    cmd = shlex.split(compiler) + lang + WARN + ["-I", root, "-"]
    done = subprocess.run(cmd, input=source, capture_output=True, text=True)
    return unit, lang[-1], done.returncode, done.stderr


def brought(root, header, compiler):
    """The public headers that a header brings."""
    cmd = shlex.split(compiler) + ["-x", "c", "-M", "-I", root, os.path.join(root, header)]
    done = subprocess.run(cmd, capture_output=True, text=True)
    words = done.stdout.replace("\\\n", " ").split()[1:]
    return {os.path.relpath(os.path.normpath(word), root) for word in words}


def pairs_of(root, headers, compiler):
    reach = {header: brought(root, header, compiler) for header in headers}
    for first, second in itertools.combinations(headers, 2):
        if second not in reach[first] and first not in reach[second]:
            yield first, second


def main(argv):
    pairs = argv[:1] == ["--pairs"]
    argv = argv[pairs:]
    if len(argv) < 2:
        print(__doc__)
        return 2
    root, compilers = os.path.normpath(argv[0]), argv[1:3]
    headers = sorted(public_headers(root))
    units = [(header, header) for header in headers]
    if pairs:
        units = list(pairs_of(root, headers, compilers[0]))
    jobs = [(root, unit if lang is LANGS[0] else unit[::-1], cc, lang) for unit in units for cc, lang in zip(compilers, LANGS)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for unit, std, code, err in pool.map(compile_alone, jobs):
            if code:
                failed += 1
                print("%s does not compile as %s:\n%s" % (" with ".join(dict.fromkeys(unit)), std, err))
    if len(compilers) < 2:
        print("SKIP: no C++ compiler, C++17 left out")
    print("%d headers, %d units, %d compilations, %d failed" % (len(headers), len(units), len(jobs), failed))
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
