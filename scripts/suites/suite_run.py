# SPDX-License-Identifier: Apache-2.0
"""Runs the test cases of a client, one process each, and counts results and executions on QNN.

A client that finds no backend computes everything itself and passes its tests. So the libraries are
asked what they executed: OPENQNN_COUNTS (docs/clients-add.md) names a file to which each of them appends."""

import collections
import os
import signal
import subprocess
import tempfile
import time

RESULTS = ("passed", "failed", "skipped", "timeout")

# judge(exit status, output) gives one of RESULTS but timeout.
Case = collections.namedtuple("Case", "name command judge")
Outcome = collections.namedtuple("Outcome", "name result executed failed seconds")


def read_counts(path):
    """Executions, and failed ones, by library. The last line of a library in a process has its totals,
    except that a library that was opened again begins anew after its line "end"."""
    begun = {}
    executed, failed = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            pid, library, state, *fields = line.rstrip("\n").split("\t")
            values = dict(field.split("=") for field in fields)
            if state == "begin":
                begun[pid, library] = values
                continue
            begun.pop((pid, library), None)
            executed[library] += int(values["executed"])
            failed[library] += int(values["failed"])
    for (_, library), values in begun.items():  # killed, or ended without destructors: at least so many
        executed[library] += int(values["executed"])
    return +executed, +failed


def run_case(case, limit, folder):
    """The process is in a group of its own, so that a session that it started ends with it."""
    start = time.monotonic()
    with tempfile.NamedTemporaryFile(prefix="counts-") as counts:
        child = subprocess.Popen(case.command, cwd=folder, env={**os.environ, "OPENQNN_COUNTS": counts.name},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            output, _ = child.communicate(timeout=limit)
            text = output.decode(errors="replace")
            result = case.judge(child.returncode, text)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
            text = output.decode(errors="replace")
            result = "timeout"
        executed, failed = read_counts(counts.name)
    return Outcome(case.name, result, executed, failed, time.monotonic() - start), text


def describe(counter):
    return " ".join(f"{library}:{n}" for library, n in sorted(counter.items())) or "-"


def summary(outcomes):
    """What passed, and apart from it what executed on QNN."""
    counts = collections.Counter(o.result for o in outcomes)
    on_qnn = [o for o in outcomes if o.executed]
    passed = sum(o.result == "passed" for o in on_qnn)
    total = sum((o.executed for o in outcomes), collections.Counter())
    failed = sum((o.failed for o in outcomes), collections.Counter())
    lines = [f"{len(outcomes)} tests: " + ", ".join(f"{counts[r]} {r}" for r in RESULTS),
             f"{len(on_qnn)} executed on QNN, of which {passed} passed; "
             f"{counts['passed'] - passed} passed without an execution on QNN",
             f"executions: {describe(total)}"]
    if failed:
        lines.append(f"executions that failed: {describe(failed)}")
    return "\n".join(lines)


def status(outcomes):
    """Of the command: where no test executed on QNN, nothing was shown about QNN."""
    if any(o.result in ("failed", "timeout") for o in outcomes):
        return 1
    return 0 if any(o.executed for o in outcomes) else 2


def write_table(path, outcomes):
    with open(path, "w", encoding="utf-8") as file:
        file.write("test\tresult\texecuted\tfailed executions\tseconds\n")
        file.writelines(f"{o.name}\t{o.result}\t{describe(o.executed)}\t{describe(o.failed)}\t{o.seconds:.1f}\n"
                        for o in outcomes)


def run_all(cases, limit, table=None, folder=None, logs=None):
    """Prints a line per test and the summary. `logs`: a folder for the output of tests that did not pass."""
    outcomes = []
    for case in cases:
        outcome, text = run_case(case, limit, folder)
        outcomes.append(outcome)
        print(f"{outcome.result:8} {sum(outcome.executed.values()):5} {outcome.name}", flush=True)
        if logs and outcome.result not in ("passed", "skipped"):
            os.makedirs(logs, exist_ok=True)
            with open(os.path.join(logs, f"{len(outcomes):05}.log"), "w", encoding="utf-8") as file:
                file.write(f"{case.name}\n{' '.join(case.command)}\n\n{text}")
    if table:
        write_table(table, outcomes)
    print(summary(outcomes))
    return status(outcomes)


def add_arguments(parser):
    parser.add_argument("--match", default="", help="only tests whose name contains this text")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each test")
    parser.add_argument("--tsv", help="file for one line per test: name, result, executions by library, seconds")
    parser.add_argument("--logs", help="folder for the output of tests that did not pass")
