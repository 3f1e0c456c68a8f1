#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header brings the headers that clients get from it (includes.tsv).

usage: check_includes.py INCLUDE_DIR CC [FACTS]

The compiler says what a header reaches, directly or not. FACTS is the include graph of the ABI facts;
where it is there, the table must cover it.
"""
import json
import os
import shlex
import subprocess
import sys

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "includes.tsv")


def read_table():
    with open(TABLE, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return {header: brought.split() for header, brought in rows}


def reached(root, header, compiler):
    """The files that a header brings, as the compiler finds them."""
    command = shlex.split(compiler) + ["-x", "c", "-M", "-I", root, "-"]
    source = f"#include <QNN/{header}>\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return [os.path.normpath(word) for word in done.stdout.replace("\\\n", " ").split()[1:]]


def brings(files, root, name):
    ours = os.path.normpath(os.path.join(root, "QNN", name))
    return ours in files or (not os.path.exists(ours) and any(f.endswith("/" + name) for f in files))


def uncovered(table, facts):
    """Rows of the facts, by base names, that the table lacks. The definitions of UDO packages are not public."""
    with open(facts, encoding="utf-8") as f:
        graph = json.load(f)["includes"]
    for header, wanted in graph.items():
        have = {os.path.basename(name) for name in table.get(header, [])}
        for name in wanted:
            is_cxx_only = not name.endswith(".h")
            if not is_cxx_only and not name.startswith("Udo/") and os.path.basename(name) not in have:
                yield header, name


def main(argv):
    root, compiler = argv[0], argv[1]
    table = read_table()
    failed = 0

    for header, wanted in table.items():
        files = reached(root, header, compiler)
        if files is None:
            print(f"{header} does not exist or does not compile")
            failed += 1
            continue
        for name in wanted:
            if not brings(files, root, name):
                print(f"{header} does not bring {name}; clients that include only the first do not compile")
                failed += 1

    if len(argv) > 2 and os.path.exists(argv[2]):
        for header, name in uncovered(table, argv[2]):
            print(f"includes.tsv lacks {header} -> {name}")
            failed += 1
    else:
        print("SKIP: the include graph of the ABI facts is not beside the repository")

    print(f"{len(table)} headers, {failed} faults")
    return 1 if failed or not table else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
