# SPDX-License-Identifier: Apache-2.0
"""What the gates share: which files belong to the tree, how findings are shown, and how a gate proves that it can fail."""

import os
import re
import subprocess
import sys
import tempfile

C_SUFFIXES = (".c", ".h", ".cpp", ".hpp")


def tree_files(root):
    """Paths of the tree's files below root. git knows them best; an unpacked archive is walked."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, check=True).stdout.decode()
        if os.path.exists(os.path.join(root, ".git")):
            return sorted(p for p in set(out.split("\0")) if p and os.path.isfile(os.path.join(root, p)))
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "__pycache__") and not f.startswith("build")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def read_text(root, path):
    """The text of a file, or None when it is binary."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    return None if b"\0" in data[:8192] else data.decode("utf-8", errors="replace")


def is_table(text):
    """A file of rows or of generated lines, not of logic, says so in its first lines; limits of length are not for it."""
    return any(re.search(r"/\* table( \*/|:)|[Gg]enerated by |do not edit", line) for line in text.splitlines()[:5])


def blank_out(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_only(text):
    """C text with comments, strings and preprocessor lines blanked; every character stays on its line."""
    token = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    text = re.sub(token, blank_out, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank_out, text, flags=re.M)


def run_gate(check, cases):
    """Entry of a gate. check(root) returns (failures, warnings); cases are (name, {path: text}, expected failure or None)."""
    if len(sys.argv) != 2:
        sys.exit("usage: %s ROOT | --self-test" % os.path.basename(sys.argv[0]))
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(check, cases))
    failures, warnings = check(sys.argv[1])
    for line in warnings:
        print("warning: " + line)
    for line in failures:
        print("FAILED: " + line)
    print("%d failures, %d warnings" % (len(failures), len(warnings)))
    sys.exit(1 if failures else 0)


def self_test(check, cases):
    """Each case is a small tree: one that keeps the rules must pass, one that breaks a rule must be refused for that."""
    wrong = 0
    for name, files, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            failures, _ = check(root)
        good = not failures if expected is None else len(failures) == 1 and expected in failures[0]
        print("%s %s" % ("ok    " if good else "FAILED", name))
        if not good:
            print("       expected %r, got %r" % (expected, failures))
            wrong += 1
    return 1 if wrong else 0
