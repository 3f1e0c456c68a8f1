#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The last page of make check: tests, failures and skips of every stage, read from meson's JSON logs.

    check_summary.py --failed "stage stage" STAGE=LOG.json...

A skip is a test that exits 77, a cmocka test that calls skip(), or a line "SKIP: reason" of a test that goes on. A stage
that ran no test counts as failed: a check that checks nothing must not look green.
"""

import argparse
import json
import re
import sys

SKIP_LINE = re.compile(r"^\s*(?:SKIP:\s*(?P<reason>.*)|\[\s*SKIPPED\s*\]\s+(?P<test>[A-Za-z_].*))$")


def skips_of(result):
    """The reasons for skipping that one test printed, without repetitions."""
    reasons = []
    for line in (result.get("stdout", "") + "\n" + result.get("stderr", "")).splitlines():
        match = SKIP_LINE.match(line)
        if match and not re.match(r"\d+ test", match["test"] or ""):
            reason = (match["reason"] or match["test"]).strip()
            if reason not in reasons:
                reasons.append(reason)
    if result["result"] == "SKIP" and not reasons:
        lines = [line.strip() for line in result.get("stdout", "").splitlines() if line.strip()]
        reasons = [lines[-1] if lines else "no reason given"]
    return reasons


def read_log(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            return [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failed", default="", help="names of the stages whose command failed")
    parser.add_argument("stages", nargs="+", metavar="STAGE=LOG")
    args = parser.parse_args()

    failed = args.failed.split()
    rows, skips, bad = [], [], []
    for stage in args.stages:
        name, path = stage.split("=", 1)
        results = read_log(path)
        broken = [r["name"] for r in results if r["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]
        bad += ["%s: %s" % (name, test) for test in broken]
        before = len(skips)
        skips += [(name, r["name"], reason) for r in results for reason in skips_of(r)]
        if not results and name not in failed:
            failed.append(name)
        if not results:
            bad.append("%s: ran no test" % name)
        verdict = "FAILED" if name in failed or broken else "ok"
        rows.append((name, len(results), len(broken), len(skips) - before, sum(r["duration"] for r in results), verdict))

    print("%-10s %6s %7s %8s %8s" % ("stage", "tests", "failed", "skipped", "seconds"))
    for row in rows:
        print("%-10s %6d %7d %8d %8.1f  %s" % row)
    print()
    print("skipped: %d" % len(skips))
    for stage, test, reason in skips:
        print("  %s %s: %s" % (stage, test, reason))
    for line in bad:
        print("FAILED %s" % line)
    ok = not failed and not bad
    print("\ncheck: %s" % ("all good" if ok else "FAILED (%s)" % " ".join(failed or ["tests"])))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
