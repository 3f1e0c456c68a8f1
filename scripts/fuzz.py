#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing: builds the targets of tests/fuzz with clang and libFuzzer and runs them in turn.

    fuzz.py [--build DIR] [--corpus DIR] [--seconds N | --runs N] [--targets "a b"] [--seed N] [--jobs N] [--shrink]

What the targets find worth keeping grows in --corpus, a folder per target, from one run to the next; the committed seeds in
tests/fuzz/corpus are read, never written. --shrink first replaces each grown corpus by the smallest one that reaches as much.
Inputs that crash, hang or trip a sanitizer are left in DIR/findings. Ends with status 1 when there was one.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILERS = {"CC": "clang-14", "CXX": "clang++-14"}
OPTIONS = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1", "-Ddebug=true", "-Dwerror=false",
           "-Dfuzz_engine=libfuzzer", "-Dbench=false"]
RESTARTS = 5  # after a finding the target goes on, so that one defect does not hide the others
TIMEOUT = 60  # seconds for one input
RSS_MB = 3072

Target = collections.namedtuple("Target", "name program max_len")
Outcome = collections.namedtuple("Outcome", "target inputs corpus edges findings")


def build(folder):
    env = dict(os.environ)
    for name, program in COMPILERS.items():
        cached = ["ccache"] if shutil.which("ccache") else []
        env.setdefault(name, " ".join(cached + [program]))
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        subprocess.run(["meson", "setup", folder, *OPTIONS], cwd=ROOT, env=env, check=True)
    listed = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], check=True, capture_output=True, text=True)
    wanted = re.findall(r"^(tests/fuzz/(?:fuzz_\w+|libfuzz_package\.so)|src/api/libQnn(?:Cpu|Htp|Lpai|System)\.so): ", listed.stdout, re.M)
    subprocess.run(["ninja", "-C", folder, *wanted], check=True)


def targets_of(folder, wanted):
    listed = subprocess.run(["meson", "introspect", "--tests", folder], check=True, capture_output=True)
    found = []
    for t in json.loads(listed.stdout):
        name = t["name"]
        if not name.startswith("fuzz-") or (wanted and name[5:] not in wanted):
            continue
        max_len = next(a for a in t["cmd"] if a.startswith("-max_len="))
        found.append(Target(name[5:], t["cmd"][0], max_len))
    unknown = set(wanted) - {t.name for t in found}
    if unknown:
        sys.exit("fuzz: no target %s" % " ".join(sorted(unknown)))
    return found


def environment(folder):
    env = dict(os.environ, OPENQNN_LIB_DIR=os.path.join(folder, "src/api"))
    env.setdefault("OPENQNN_ISA", "avx2")  # faster kernels are not instrumented
    env["ASAN_OPTIONS"] = "allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1"
    env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    return env


def seeds_of(target):
    return os.path.join(ROOT, "tests/fuzz/corpus", target.name)


def run_once(target, args, folder, corpus, limit, log):
    """One process; it ends at its limit or at the first finding. Returns the text of its log."""
    findings = os.path.join(folder, "findings", target.name + "-")
    os.makedirs(os.path.dirname(findings), exist_ok=True)
    command = [target.program, target.max_len, "-seed=%d" % args.seed, "-timeout=%d" % TIMEOUT, "-print_final_stats=1",
               "-rss_limit_mb=%d" % RSS_MB, "-malloc_limit_mb=1000000", "-close_fd_mask=2", "-use_value_profile=0", "-reload=0",
               "-artifact_prefix=" + findings, limit, corpus, seeds_of(target)]
    with open(log, "wb") as out:
        status = subprocess.run(command, env=environment(folder), stdout=out, stderr=subprocess.STDOUT, cwd=folder).returncode
    with open(log, encoding="utf-8", errors="replace") as text:
        return status, text.read()


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(target, args, folder):
    corpus = os.path.join(args.corpus, target.name)
    log = os.path.join(folder, "fuzz-%s.log" % target.name)
    os.makedirs(corpus, exist_ok=True)
    inputs, findings, edges, kept = 0, 0, 0, 0
    end = time.monotonic() + args.seconds
    for _ in range(RESTARTS):
        left = max(1, int(end - time.monotonic()))
        limit = "-runs=%d" % args.runs if args.runs else "-max_total_time=%d" % left
        status, text = run_once(target, args, folder, corpus, limit, log)
        inputs += max(last_number(r"stat::number_of_executed_units:\s*(\d+)", text), last_number(r"#(\d+)\s", text))
        edges = max(edges, last_number(r"cov: (\d+)", text))
        kept = max(kept, last_number(r"corp: (\d+)", text))
        if status == 0:
            break
        findings += 1
        what = re.search(r"(ERROR: \w+: .*|.*runtime error: .*|ALARM: .*|.*deadly signal.*)", text)
        left_in = re.search(r"Test unit written to (\S+)", text)
        print("FOUND %s: %s\n      %s" % (target.name, what[1] if what else "status %d, see %s" % (status, log),
                                          left_in[1] if left_in else ""), flush=True)
        if args.runs or time.monotonic() >= end:
            break
    return Outcome(target.name, inputs, kept, edges, findings)


def shrink(target, args, folder):
    corpus = os.path.join(args.corpus, target.name)
    if not os.path.isdir(corpus):
        return
    small = corpus + ".small"
    shutil.rmtree(small, ignore_errors=True)
    os.makedirs(small)
    subprocess.run([target.program, target.max_len, "-merge=1", "-close_fd_mask=2", small, corpus, seeds_of(target)],
                   env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, check=True)
    shutil.rmtree(corpus)
    os.rename(small, corpus)


def main():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build-libfuzzer"))
    parser.add_argument("--corpus", default=os.path.join(cache, "openqnn-fuzz"))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--targets", default="")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--shrink", action="store_true")
    args = parser.parse_args()
    args.corpus = os.path.abspath(args.corpus)

    folder = os.path.abspath(args.build)
    build(folder)
    targets = targets_of(folder, args.targets.split())
    how = "%d inputs" % args.runs if args.runs else "%d s" % args.seconds
    print("fuzz: %d targets, %s each, seed %d, corpus %s" % (len(targets), how, args.seed, args.corpus), flush=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        if args.shrink:
            list(pool.map(lambda t: shrink(t, args, folder), targets))
        outcomes = list(pool.map(lambda t: fuzz(t, args, folder), targets))

    print("%-12s %10s %8s %8s %9s" % ("target", "inputs", "corpus", "edges", "findings"))
    for o in outcomes:
        print("%-12s %10d %8d %8d %9d" % o)
    total = sum(o.findings for o in outcomes)
    print("fuzz: %d inputs, %d findings%s" % (sum(o.inputs for o in outcomes), total,
                                              "; they are in " + os.path.join(folder, "findings") if total else ""))
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
