#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries and programs write files through base/file_write.h alone, so that a failure never costs the former file.

    check_writes.py ROOT | --self-test
"""

import re

import gate

FOLDERS = ("src/", "tools/")

# Files that write in another way, and why that loses nothing.
ALLOWED = {
    "src/base/file_write.c": "the one place",
    "src/base/line_append.c": "lines are appended, each by one write; the file is shared by processes",
    "src/api/saver/replay.h": "text of the program that a recording becomes; it stands alone",
}

# What opens a file to write it, or puts one in another's place.
RULES = (
    ("fopen for writing", re.compile(r'\bf(?:re)?open(?:64)?\s*\([^;]*?,\s*"[^"]*[wa+][^"]*"')),
    ("open for writing", re.compile(r"\bopen(?:at)?(?:64)?\s*\([^;]*?\bO_(?:CREAT|TRUNC|APPEND|TMPFILE)\b")),
    ("creat", re.compile(r"(?<![\w.>])creat(?:64)?\s*\(")),
    ("mkstemp", re.compile(r"\bmk(?:o)?stemps?(?:64)?\s*\(")),
    ("rename", re.compile(r"(?<![\w.>])rename(?:at2?)?\s*\(")),
    ("zip_open for writing", re.compile(r"\bzip_open\s*\([^;]*?\bZIP_(?:CREATE|TRUNCATE)\b")),
    ("gzopen", re.compile(r"\bgzopen(?:64)?\s*\(")),
    ("ofstream", re.compile(r"\bofstream\b")),
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def code_of(text):
    """The text with its comments as blanks, so that lines keep their numbers."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)


def check(root):
    failures = []
    for path in gate.tree_files(root):
        if not path.startswith(FOLDERS) or not path.endswith(gate.C_SUFFIXES) or path in ALLOWED:
            continue
        code = code_of(gate.read_text(root, path) or "")
        for rule, pattern in RULES:
            for found in pattern.finditer(code):
                line = code.count("\n", 0, found.start()) + 1
                failures.append("%s:%d: %s; write through base/file_write.h" % (path, line, rule))
    return failures, []


CASES = [
    ("a clean tree", {
        "src/base/file_write.c": "int fd = open(path, O_RDWR | O_CREAT | O_EXCL);\nrename(a, b);\n",
        "src/ir/ir.c": '/* fopen(path, "w") is not for us. */\nFILE *f = fopen(path, "rbe");\nint fd = open(path, O_RDONLY);\n',
        "tools/a/a.c": "file_write_all(path, data, size);\nt->creat(t);\nzip_open(path, ZIP_RDONLY, &code);\n",
        "tests/a.c": 'FILE *f = fopen("a", "w");\n'}, None),
    ("fopen", {"src/a.c": 'FILE *f = fopen(path, "wbe");\n'}, "src/a.c:1: fopen for writing"),
    ("fopen to update", {"src/a.c": 'int x;\nFILE *f = fopen(path,\n    "r+");\n'}, "src/a.c:2: fopen for writing"),
    ("open", {"tools/a.c": "int fd = open(path, O_WRONLY |\n    O_CREAT | O_TRUNC, 0666);\n"}, "tools/a.c:1: open for writing"),
    ("creat", {"src/a.c": "int fd = creat(path, 0666);\n"}, "creat"),
    ("mkostemp", {"src/a.c": "int fd = mkostemp(name, O_CLOEXEC);\n"}, "mkstemp"),
    ("rename", {"tools/a.c": "if (rename(a, b) != 0)\n"}, "rename"),
    ("zip", {"src/a.c": "zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);\n"}, "zip_open"),
    ("C++", {"tools/a.cpp": "std::ofstream out(path);\n"}, "ofstream"),
]

if __name__ == "__main__":
    gate.run_gate(check, CASES)
