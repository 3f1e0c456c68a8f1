#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files, functions, lines and parameter lists stay small, #if stays rare, every file has its licence line and a name of its own.

    check_size.py ROOT | --self-test
"""

import collections
import os
import re

import gate

FILE_LINES = 800            # tables aside
COLUMNS = 125               # as .clang-format has it
FUNCTION_LINES_WARN = 60
FUNCTION_LINES = 80
PARAMETERS = 7              # functions of the public API have the parameters the ABI gives them
IFS_PER_1000 = 2            # of the whole; a single file may have two however short it is

CODE_FOLDERS = ("src/", "tools/", "tests/", "bench/", "examples/")
LICENSED = (".c", ".h", ".cpp", ".hpp", ".def", ".inc", ".cl", ".py", ".sh", ".map", "meson.build", "meson_options.txt", "Makefile")
SPDX = "SPDX-License-Identifier: Apache-2.0"

Function = collections.namedtuple("Function", "name line lines parameters")


def count_parameters(text):
    """Parameters in the text between a function's parentheses."""
    if text.strip() in ("", "void"):
        return 0
    depth, commas = 0, 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        commas += char == "," and depth == 0
    return commas + 1


def close_of(code, start, pair):
    """Index behind the bracket that closes the one at start."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == pair[0]) - (code[at] == pair[1])
        if depth == 0:
            return at + 1
    return len(code)


def signature(head):
    """Name and parameter text when the text before a brace ends a function's head; None for types and initializers."""
    head = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", head)
    words = head.split() # long runs of blanks stand where comments were
    while words and words[-1] in ("const", "noexcept", "override"):
        words.pop()
    head = " ".join(words)
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += (head[at] == ")") - (head[at] == "(")
        if depth == 0:
            break
    name = re.search(r"([A-Za-z_]\w*)\s*$", head[max(0, at - 200):at]) if head.endswith(")") else None
    return (name[1], head[at + 1:-1]) if name else None


def functions(text):
    """The functions defined at the top level of a C file, also inside extern "C" and namespaces."""
    code, at, start, found = gate.code_only(text), 0, 0, []
    while at < len(code):
        char = code[at]
        if char in ";}":
            start = at + 1
        elif char == "{":
            head = code[start:at]
            if re.search(r"\bextern\s*$|\bnamespace\b[^=;]*$", head[-400:]):
                start = at + 1
            else:
                end = close_of(code, at, "{}")
                made = signature(head)
                if made:
                    line = code.count("\n", 0, at) + 1
                    found.append(Function(made[0], line, code.count("\n", at, end) + 1, count_parameters(made[1])))
                    start = end
                at = end - 1
        at += 1
    return found


def conditionals(text):
    """Number of #if lines, the include guard aside."""
    count = len(re.findall(r"^[ \t]*#[ \t]*if", text, flags=re.M))
    return count - 1 if re.search(r"^#ifndef (\w+)\n#define \1\b", text, flags=re.M) else count


def check_code(path, text, failures, warnings):
    lines = text.count("\n")
    if lines > FILE_LINES and not gate.is_table(text):
        failures.append("%s: %d lines; at most %d, or /* table */ in the first lines of a pure table" % (path, lines, FILE_LINES))
    for number, line in enumerate(text.splitlines() if not gate.is_table(text) else (), 1):
        if len(line) > COLUMNS:
            failures.append("%s:%d: %d columns; at most %d: make format shortens what was changed" % (path, number, len(line), COLUMNS))
    for f in functions(text) if not gate.is_table(text) else ():
        where = "%s:%d: %s" % (path, f.line, f.name)
        if f.lines > FUNCTION_LINES:
            failures.append("%s has %d lines; at most %d" % (where, f.lines, FUNCTION_LINES))
        elif f.lines > FUNCTION_LINES_WARN:
            warnings.append("%s has %d lines; aim at %d" % (where, f.lines, FUNCTION_LINES_WARN))
        if f.parameters > PARAMETERS and not f.name.startswith("Qnn"):
            failures.append("%s has %d parameters; at most %d, then a struct" % (where, f.parameters, PARAMETERS))


def check_conditionals(counted, failures):
    """counted: path -> (number of #if, lines), of src and tools."""
    total, lines = (sum(column) for column in zip(*counted.values())) if counted else (0, 0)
    if total * 1000 > IFS_PER_1000 * max(lines, 1000):
        failures.append("%d #if in %d lines of src and tools; at most %d per 1000 lines" % (total, lines, IFS_PER_1000))
    for path, (count, size) in counted.items():
        if count > max(IFS_PER_1000, IFS_PER_1000 * size // 1000):
            failures.append("%s: %d #if; use a table or a file of its own" % (path, count))


def check(root):
    failures, warnings, names, counted = [], [], collections.defaultdict(list), {}
    for path in gate.tree_files(root):
        text = gate.read_text(root, path)
        if text is None or "/corpus/" in path:
            continue
        name = os.path.basename(path)
        if name.endswith(LICENSED) and not any(SPDX in line for line in text.splitlines()[:2]):
            failures.append("%s: the first line must say %s" % (path, SPDX))
        if path.startswith(CODE_FOLDERS) and name.endswith(gate.C_SUFFIXES):
            check_code(path, text, failures, warnings)
        if path.startswith(("src/", "tools/")) and name != "meson.build":
            names[name].append(path)
            if name.endswith(gate.C_SUFFIXES):
                counted[path] = (conditionals(text), text.count("\n"))
    failures += ["file name used twice: %s" % ", ".join(paths) for paths in names.values() if len(paths) > 1]
    check_conditionals(counted, failures)
    return failures, warnings


HEAD = "/* %s */\n" % SPDX
LONG_BODY = "{\n" + "    work();\n" * FUNCTION_LINES + "}\n"
EIGHT = ", ".join("int a%d" % i for i in range(8))
ONE_IF = "#ifdef X\nint x;\n#endif\n"

CASES = [
    ("a tree within its budgets", {
        "src/ir/ir.h": HEAD + "#ifndef IR_H\n#define IR_H\nstruct ir;\nint ir_add(struct ir *g, void (*f)(int, int, int));\n#endif\n",
        "src/ir/ir.c": HEAD + "static const char *const names[] = { \"{\", \"(\" };\nint ir_add(struct ir *g)\n{\n    return 0;\n}\n",
        "src/ops/op_rows.c": "/* SPDX-License-Identifier: Apache-2.0 */\n/* table */\n" + "    ROW(1),\n" * 900,
        "src/api/QnnGraph.c": HEAD + "Qnn_ErrorHandle_t QnnGraph_executeAsync(" + EIGHT + ")\n{\n}\n",
        "tests/abi/facts.c": HEAD + "/* Generated by facts.py; do not edit. */\nint main(void)\n" + LONG_BODY,
        "src/base/meson.build": "# %s\n" % SPDX,
        "src/ops/meson.build": "# %s\n" % SPDX}, None),
    ("long file", {"src/ir/ir.c": HEAD + "int x;\n" * FILE_LINES}, "801 lines"),
    ("long line", {"src/ir/ir.c": HEAD + "/* " + "é" * (COLUMNS - 5) + " */\n"}, "126 columns"),
    ("long function", {"src/ir/ir.c": HEAD + "int ir_all(void)\n" + LONG_BODY}, "ir_all has 82 lines"),
    ("long function in a namespace", {"examples/x.cpp": HEAD + "namespace {\nint all()\n" + LONG_BODY + "}\n"}, "all has 82 lines"),
    ("long function after an initializer", {
        "tests/unit/a.c": HEAD + "static const struct row rows[] = { { 1 }, {} };\nstatic int all(void)\n" + LONG_BODY}, "all has 82 lines"),
    ("long function after macro calls", {"tests/unit/a.c": HEAD + "FACT(1, (2))\nFACT(3, 4)\nint all(void)\n" + LONG_BODY}, "all has 82 lines"),
    ("eight parameters", {"tools/x/x.c": HEAD + "static __attribute__((noinline)) int f(" + EIGHT + ")\n{\n}\n"}, "8 parameters"),
    ("three #if in one file", {
        "src/ir/ir.c": HEAD + ONE_IF * 3, "src/ir/ir_more.c": HEAD + "int x;\n" * 700, "src/ir/ir_most.c": HEAD + "int x;\n" * 790},
     "3 #if; use a table"),
    ("too many #if in the whole", {
        "src/ir/ir.c": HEAD + ONE_IF * 2, "src/ops/ops.c": HEAD + ONE_IF}, "3 #if in"),
    ("no licence line", {"src/ir/ir.c": "int x;\n"}, "the first line must say"),
    ("script without licence line", {"scripts/a.sh": "#!/bin/sh\necho\necho\n"}, "the first line must say"),
    ("one name twice", {"src/ir/dump.c": HEAD, "tools/x/dump.c": HEAD}, "file name used twice"),
]

if __name__ == "__main__":
    gate.run_gate(check, CASES)
