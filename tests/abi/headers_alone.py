#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every public header alone, twice in a row, as C11 and as C++17, with warnings as errors.

usage: headers_alone.py INCLUDE_DIR CC [CXX]

CC and CXX are one argument each and may hold a command with options. Only INCLUDE_DIR itself is on the
include path, as for a client that writes <QNN/QnnInterface.h>. exit 1 if a header fails.
"""
import concurrent.futures
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
    root, header, compiler, lang = job
    # A header of macros only is an empty unit, which ISO C forbids; hence the declaration.
    source = "#include <%s>\n#include <%s>\nextern int abi_alone;\n" % (header, header)
    cmd = shlex.split(compiler) + lang + WARN + ["-I", root, "-"]
    done = subprocess.run(cmd, input=source, capture_output=True, text=True)
    return header, lang[-1], done.returncode, done.stderr


def main(argv):
    if len(argv) < 2:
        print(__doc__)
        return 2
    root, compilers = argv[0], argv[1:3]
    headers = sorted(public_headers(root))
    jobs = [(root, h, cc, lang) for h in headers for cc, lang in zip(compilers, LANGS)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for header, std, code, err in pool.map(compile_alone, jobs):
            if code:
                failed += 1
                print("%s does not compile alone as %s:\n%s" % (header, std, err))
    if len(compilers) < 2:
        print("SKIP: no C++ compiler, C++17 left out")
    print("%d headers, %d compilations, %d failed" % (len(headers), len(jobs), failed))
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
