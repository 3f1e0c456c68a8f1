#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/suites/gtest_suite.py tells apart tests that pass, fail, skip, crash, hang and never run."""

import os
import stat
import subprocess
import sys
import tempfile

PROGRAM = """#!/bin/sh
# A program with gtest's interface: a list, and one test by name.
case $1 in
--gtest_list_tests) printf 'Main of a test program\\nA.\\n  Good\\n  Bad  # comment\\n  Skips\\nB.\\n  Crashes\\n  Hangs\\n  Absent\\n' ;;
*A.Good) echo '[       OK ] A.Good' ;;
*A.Bad) echo '[  FAILED  ] A.Bad'; exit 1 ;;
*A.Skips) echo '[  SKIPPED ] A.Skips' ;;
*B.Crashes) kill -SEGV $$ ;;
*B.Hangs) cat /dev/zero > /dev/null ;;
*B.Absent) echo '[==========] 0 tests ran.' ;;
esac
"""
WANTED = ["A.Good\tpassed", "A.Bad\tfailed", "A.Skips\tskipped", "B.Crashes\tfailed",
          "B.Hangs\ttimeout", "B.Absent\tfailed"]


def run(script, *arguments):
    return subprocess.run([sys.executable, script, "--limit", "3", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def main():
    script = os.path.join(os.environ["OPENQNN_SOURCE_DIR"], "scripts/suites/gtest_suite.py")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(program, stat.S_IRWXU)

        table = os.path.join(folder, "table.tsv")
        done = run(script, "--tsv", table, program)
        assert done.returncode == 1, (done.returncode, done.stderr)
        assert "6 tests: 1 passed, 3 failed, 1 skipped, 1 timeout" in done.stdout, done.stdout
        with open(table, encoding="utf-8") as file:
            assert file.read().splitlines() == WANTED

        assert run(script, "--match", "Good", program).returncode == 0
        assert run(script, "--match", "Nothing", program).returncode == 2


if __name__ == "__main__":
    main()
