#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every public header alone, twice in a row, as C11 and as C++17, with warnings as errors; and every pair.

usage: headers_alone.py [--pairs] INCLUDE_DIR CC [CXX]

--pairs compiles, for each header, that one and behind it all others instead: so any two meet in both orders, in C
and in C++, in one compilation for each header where a compilation for each pair would be thirty times as many. The
compiler's message names the two that clash.

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


def compile_unit(root, unit, compiler, lang):
    """The compiler's messages; none where the headers compile in this order."""
    # A header of macros only is an empty unit, which ISO C forbids; hence the declaration.
    source = "".join("#include <%s>\n" % header for header in unit) + "extern int abi_alone;\n"
    cmd = shlex.split(compiler) + lang + WARN + ["-I", root, "-"]
    done = subprocess.run(cmd, input=source, capture_output=True, text=True)
    return done.stderr or "exit status %d" % done.returncode if done.returncode else ""


def each_first(headers):
    """Each header with all others behind it, in turns sorted forwards and backwards."""
    for i, first in enumerate(headers):
        others = headers[:i] + headers[i + 1:]
        yield (first, *(others[::-1] if i % 2 else others))


def main(argv):
    pairs = argv[:1] == ["--pairs"]
    argv = argv[pairs:]
    if len(argv) < 2:
        print(__doc__)
        return 2
    root, compilers = os.path.normpath(argv[0]), argv[1:3]
    headers = sorted(public_headers(root))
    units = list(each_first(headers)) if pairs else [(header, header) for header in headers]
    jobs = [(root, unit, cc, lang) for unit in units for cc, lang in zip(compilers, LANGS)]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(zip(jobs, pool.map(lambda job: compile_unit(*job), jobs)))
    failed = [(job, messages) for job, messages in results if messages]

    for (_, unit, _, lang), messages in failed[:5]:
        print("%s does not compile as %s%s:\n%s" % (unit[0], lang[-1], " with the others behind it" if pairs else "", messages))
    if len(compilers) < 2:
        print("SKIP: no C++ compiler, C++17 left out")
    print("%d headers, %d units, %d compilations, %d failed" % (len(headers), len(units), len(jobs), len(failed)))
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
