#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the API and of sessions again and again, each time with one call failing: the n-th allocation, or the
n-th system call of a kind (torture.c). Such a test may fail. It must not crash, hang, leak or trip a sanitizer.

    torture.py BUILD [--tests REGEX] [--classes a,b] [--limit N | --seconds S] [--seed N] [--jobs N]

    --limit N      up to N calls of each class of each test fail in turn, spread over all of them (0: every one)
    --seconds S    instead: tests, classes and calls drawn at random, as many as the time allows
    --only T:IN:CLASS:N:ERRNO   one run, as a report printed it

Leaks are seen in a build with the address sanitizer; elsewhere the C library's checks of its heap are on.
"""

import argparse
import collections
import errno
import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

ERRORS = {  # in the order of torture.c: the class and what its calls may fail with
    "alloc": [errno.ENOMEM],
    "mmap": [errno.ENOMEM],
    "memfd_create": [errno.EMFILE, errno.ENOMEM],
    "socketpair": [errno.EMFILE],
    "read": [errno.EIO, errno.EINTR],
    "write": [errno.ENOSPC, errno.EINTR, errno.EIO],
    "rename": [errno.EACCES, errno.ENOSPC],
    "open": [errno.EMFILE, errno.EACCES],
    "ftruncate": [errno.ENOSPC],
    "poll": [errno.EINTR, errno.ENOMEM],
    "sendmsg": [errno.EPIPE, errno.EINTR, errno.ENOBUFS],
    "recvmsg": [errno.ECONNRESET, errno.EINTR],
    "thread": [errno.EAGAIN],
    "spawn": [errno.EAGAIN],
}
CLASSES = list(ERRORS)
ROWS = ["client", "session"]
SUITES = {"api", "rpc"}
# They count allocations themselves, take minutes on purpose, end a session by SIGBUS, or are no programs of ours.
LEFT_OUT = re.compile(r"test_leak|test_torture|test_lpai_alloc|thread_words|reopen|random|gpu|saver|test_fpu|test_htp_mem")
SLOW = 8.0  # seconds: a test that takes longer by itself is left out of samples
BROKEN = re.compile(rb"Test failed with exception.*|ERROR: \w*Sanitizer.*|[^\n]*runtime error:.*")

Test = collections.namedtuple("Test", "name command env")
Run = collections.namedtuple("Run", "test where kind at error")
Result = collections.namedtuple("Result", "run status output seconds")


def absolute(build, argument):
    path = os.path.join(build, argument)
    return os.path.realpath(path) if "/" in argument and os.path.exists(path) else argument


def tests_of(build, pattern):
    listed = subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True)
    found = []
    for t in json.loads(listed.stdout):
        program = t["cmd"][0]
        ours = SUITES & {s.split(":")[-1] for s in t["suite"]}
        if not ours or LEFT_OUT.search(t["name"]) or not re.search(pattern, t["name"]) or not os.access(program, os.X_OK):
            continue
        if not os.path.realpath(program).startswith(os.path.realpath(build)):
            continue
        env = t["env"] if isinstance(t["env"], dict) else {}
        command = [program] + [absolute(build, a) for a in t["cmd"][1:]]
        found.append(Test(t["name"], command, env))
    return found


class Torture:
    def __init__(self, build):
        self.build = os.path.realpath(build)
        self.library = os.path.join(self.build, "tests/torture/torture.so")
        options = subprocess.run(["meson", "introspect", "--buildoptions", build], check=True, capture_output=True)
        sanitizers = next(o["value"] for o in json.loads(options.stdout) if o["name"] == "b_sanitize")
        self.address = "address" in sanitizers
        self.base_seconds = {}

    def environment(self, run, counts):
        env = dict(os.environ, LD_PRELOAD=self.library, TORTURE_COUNTS=counts, **run.test.env)
        env.setdefault("OPENQNN_TEST_SCALE", "5")
        env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
        # The leak sanitizer traces the process at its end, sessions excepted: they may not be traced.
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0:allocator_may_return_null=1:handle_segv=2:handle_abort=2"
        env["MALLOC_CHECK_"] = "3"
        if "session" in run.test.name or "rpc" in run.test.command[0]:
            env["TORTURE_PROGRAM"] = "1"
        if run.kind is not None:
            env.update(TORTURE_FAIL=str(CLASSES.index(run.kind)), TORTURE_AT=str(run.at), TORTURE_ERRNO=str(run.error),
                       TORTURE_IN=run.where)
        return env

    @staticmethod
    def rest_of(process):
        """What a process prints that was told to end, and then has to."""
        try:
            return process.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0]

    def execute(self, run, limit):
        """Runs a test in a process group of its own, so that a hanging one goes with all its sessions."""
        counts = tempfile.NamedTemporaryFile(prefix="torture")
        counts.truncate(8 * len(ROWS) * len(CLASSES))
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="torture") as folder:
            # Output goes through a pipe: tests that limit the size of files would be stopped at their own messages.
            process = subprocess.Popen(run.test.command, env=self.environment(run, counts.name), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True)
            try:
                output, _ = process.communicate(timeout=limit)
                status = process.returncode
            except subprocess.TimeoutExpired:
                status = "hangs" if process.poll() is None else "leaves a process behind"
                os.killpg(process.pid, signal.SIGABRT)
                output = self.rest_of(process)
        with mmap.mmap(counts.fileno(), 0, prot=mmap.PROT_READ) as at:
            numbers = struct.unpack("%dQ" % (len(ROWS) * len(CLASSES)), at[:])
        rows = [dict(zip(CLASSES, numbers[i * len(CLASSES):])) for i in range(len(ROWS))]
        return Result(run, status, output, time.monotonic() - begin), rows

    def measure(self, test):
        """A run in which nothing fails: how long it takes, and how many calls of each class it makes."""
        result, rows = self.execute(Run(test, "client", None, 0, 0), 120)
        self.base_seconds[test.name] = result.seconds
        return result, rows

    def limit_of(self, test):
        return 30 + 10 * self.base_seconds.get(test.name, 1.0)


def verdict(result):
    """What is wrong with a run, or None. Any exit status is a failed test, which is allowed."""
    if isinstance(result.status, str):
        return result.status
    match = BROKEN.search(result.output)
    if match:
        line = result.output[match.start():].split(b"\n")[0]
        return line.decode(errors="replace")[:120]
    if result.status < 0:
        return "ends with signal %s" % signal.Signals(-result.status).name
    return None


def spread(total, limit):
    """Up to `limit` of the numbers below `total`, evenly."""
    if limit == 0 or total <= limit:
        return range(total)
    return sorted({i * total // limit for i in range(limit)})


def all_runs(test, rows, classes, limit):
    for where, counts in zip(ROWS, rows):
        for kind in classes:
            for k, at in enumerate(spread(counts[kind], limit)):
                yield Run(test, where, kind, at, ERRORS[kind][k % len(ERRORS[kind])])


def draw_runs(tests, measured, classes, dice):
    """For ever: a test, a class that it uses, a call, an error, all alike likely."""
    while True:
        test = dice.choice(tests)
        if test.name not in measured:
            yield test
            continue
        rows = measured[test.name]
        choices = [(where, kind) for where, counts in zip(ROWS, rows) for kind in classes if counts[kind]]
        if not choices:
            continue
        where, kind = dice.choice(choices)
        total = rows[ROWS.index(where)][kind]
        yield Run(test, where, kind, dice.randrange(total), dice.choice(ERRORS[kind]))


class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.runs = collections.Counter()
        self.failed = collections.Counter()
        self.findings = []

    def add(self, result):
        run = result.run
        with self.lock:
            self.runs[run.kind] += 1
            self.failed[run.kind] += result.status != 0
            wrong = verdict(result)
            if not wrong:
                return
            self.findings.append(run)
            name = "%s:%s:%s:%d:%d" % (run.test.name, run.where, run.kind, run.at, run.error)
            print("FOUND %s\n  --only %s" % (wrong, name))
            tail = result.output.decode(errors="replace").splitlines()[-60:]
            print("\n".join("    " + line for line in tail), flush=True)

    def table(self):
        print("%-14s %8s %14s" % ("class", "runs", "tests failed"))
        for kind in CLASSES:
            if self.runs[kind]:
                print("%-14s %8d %14d" % (kind, self.runs[kind], self.failed[kind]))
        print("torture: %d runs, %d findings" % (sum(self.runs.values()), len(self.findings)), flush=True)


def work(torture, source, lock, report, measured):
    while True:
        with lock:
            item = next(source, None)
        if item is None:
            return
        if isinstance(item, Test):
            result, rows = torture.measure(item)
            wrong = result.status not in (0, 77)
            if wrong:
                print("SKIP: %s fails by itself (%s)" % (item.name, result.status), flush=True)
            slow = result.seconds > SLOW
            measured[item.name] = [dict.fromkeys(CLASSES, 0)] * 2 if wrong or slow or result.status == 77 else rows
            continue
        report.add(torture.execute(item, torture.limit_of(item.test))[0])


def until(source, end):
    while time.monotonic() < end:
        yield next(source)


def every(torture, tests, classes, limit):
    for test in tests:
        result, rows = torture.measure(test)
        if result.status != 0:
            print("SKIP: %s does not pass by itself (%s)" % (test.name, result.status), flush=True)
            continue
        yield from all_runs(test, rows, classes, limit)


def one(tests, text):
    name, where, kind, at, error = text.rsplit(":", 4)
    test = next(t for t in tests if t.name == name)
    return Run(test, where, kind, int(at), int(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--tests", default="")
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TORTURE_SEED") or time.strftime("%Y%m%d", time.gmtime())))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    args = parser.parse_args()

    torture = Torture(args.build)
    tests = tests_of(args.build, args.tests)
    classes = args.classes.split(",")
    unknown = [c for c in classes if c not in ERRORS]
    if unknown or not tests:
        sys.exit("torture: %s; classes are %s" % ("no class " + unknown[0] if unknown else "no such test", " ".join(CLASSES)))
    report, measured = Report(), {}
    if args.only:
        result, _ = torture.execute(one(tests, args.only), 120)
        sys.stdout.write(result.output.decode(errors="replace"))
        print("torture: %s" % (verdict(result) or "status %s, nothing wrong" % result.status))
        return 1 if verdict(result) else 0

    print("torture: %d tests, %d classes, seed %d" % (len(tests), len(classes), args.seed), flush=True)
    if args.seconds:
        drawn = draw_runs(tests, measured, classes, random.Random(args.seed))
        source = until(drawn, time.monotonic() + args.seconds)
    else:
        source = every(torture, tests, classes, args.limit)
    lock = threading.Lock()
    workers = [threading.Thread(target=work, args=(torture, source, lock, report, measured)) for _ in range(args.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    report.table()
    return 1 if report.findings or not report.runs else 0


if __name__ == "__main__":
    sys.exit(main())
