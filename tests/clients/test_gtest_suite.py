#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/suites/gtest_suite.py tells apart tests that pass, fail, skip, crash, hang and never run, and
those that executed on QNN from those that did not. scripts/suites/run says what it was not given."""

import os
import stat
import subprocess
import sys
import tempfile

PROGRAM = """#!/bin/sh
# A program with gtest's interface: a list, and one test by name.
line() {
    printf '%s\\t%s\\t%s\\tfinalized=1\\tloaded=0\\texecuted=%s\\tfailed=%s\\n' $$ "$1" "$2" "$3" "$4" >> "$OPENQNN_COUNTS"
}
case $1 in
--gtest_list_tests) printf 'Main of a test program\\nA.\\n  Good\\n  DISABLED_Off\\n  Bad  # comment\\n  Skips\\n  Idle\\nB.\\n  Crashes\\n  Hangs\\n  Absent\\nMany/DISABLED_P.\\n  Runs/0  # GetParam() = 1\\n' ;;
*A.Good)
    line libQnnHtp.so begin 1 0; line libQnnHtp.so end 3 0
    line libQnnHtp.so begin 1 0; line libQnnHtp.so end 2 1
    line libQnnCpu.so begin 1 0; line libQnnCpu.so end 4 0
    echo '[       OK ] A.Good' ;;
*A.Bad) line libQnnHtp.so begin 1 0; line libQnnHtp.so end 1 0; echo '[  FAILED  ] A.Bad'; exit 1 ;;
*A.Skips) echo '[  SKIPPED ] A.Skips' ;;
*A.Idle) line libQnnHtp.so end 0 0; echo '[       OK ] A.Idle' ;;
*B.Crashes) line libQnnHtp.so begin 1 0; kill -SEGV $$ ;;
*B.Hangs) cat /dev/zero > /dev/null ;;
*B.Absent) echo '[==========] 0 tests ran.' ;;
esac
"""
WANTED = ["A.Good\tpassed\tlibQnnCpu.so:4 libQnnHtp.so:5\tlibQnnHtp.so:1", "A.Bad\tfailed\tlibQnnHtp.so:1\t-",
          "A.Skips\tskipped\t-\t-", "A.Idle\tpassed\t-\t-", "B.Crashes\tfailed\tlibQnnHtp.so:1\t-",
          "B.Hangs\ttimeout\t-\t-", "B.Absent\tfailed\t-\t-"]
SUMMARY = """7 tests: 2 passed, 3 failed, 1 skipped, 1 timeout
3 executed on QNN, of which 1 passed; 1 passed without an execution on QNN
executions: libQnnCpu.so:4 libQnnHtp.so:7
executions that failed: libQnnHtp.so:1
"""
SUITES = os.path.join(os.environ["OPENQNN_SOURCE_DIR"], "scripts/suites")


def run(script, *arguments, **more):
    return subprocess.run([sys.executable, os.path.join(SUITES, script), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)


def check_gtest(folder):
    program = os.path.join(folder, "program")
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    os.chmod(program, stat.S_IRWXU)

    table, logs = os.path.join(folder, "table.tsv"), os.path.join(folder, "logs")
    done = run("gtest_suite.py", "--limit", "3", "--tsv", table, "--logs", logs, program)
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stdout.endswith(SUMMARY), done.stdout
    with open(table, encoding="utf-8") as file:
        lines = [line.rsplit("\t", 1)[0] for line in file.read().splitlines()]
    assert lines == ["test\tresult\texecuted\tfailed executions", *WANTED], lines
    assert len(os.listdir(logs)) == 4, os.listdir(logs)

    assert run("gtest_suite.py", "--match", "Good", program).returncode == 0
    assert run("gtest_suite.py", "--match", "Nothing", program).returncode == 2
    assert run("gtest_suite.py", "--match", "Idle", program).returncode == 2  # passed, and shows nothing about QNN


def check_run(folder):
    bare = {key: value for key, value in os.environ.items() if key not in ("SUITE_SRC", "QNN_SDK_ROOT")}
    for arguments, wanted in (((), "SUITE_SRC"), (("--source", folder), "has no ggml/src/ggml-qnn")):
        done = run("run", "ggml-qnn", *arguments, env=bare)
        assert done.returncode == 1 and wanted in done.stderr, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_gtest(folder)
        check_run(folder)


if __name__ == "__main__":
    main()
