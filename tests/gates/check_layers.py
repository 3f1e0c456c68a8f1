#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every #include follows the arrows between folders, and enters a folder only through its one header.

    check_layers.py ROOT | --self-test
"""

import os
import re

import gate

# Who may include whom. base is open to all and listed nowhere; a folder may always include its own headers.
ARROWS = {
    "base": (),
    "ops": (),
    "profile": (),
    "ir": ("ops",),
    "binary": ("ops",),
    "kernels": ("ops",),
    "exec": ("binary", "kernels", "profile", "ops"),
    "prepare": ("ir", "binary", "kernels", "profile", "ops"),
    "rpc": ("exec", "binary", "profile"),
    "backend": ("prepare", "exec", "rpc", "ir", "ops", "binary", "kernels", "profile"),
    "api": ("backend", "ir", "ops", "binary", "profile", "rpc"),
    "convert": ("ir", "ops"),
}
# Files with an arrow of their own: a DLC is a model in a file, so the entry points for one need its reader, and the backend that
# makes one its writer.
FILE_ARROWS = {
    "src/api/QnnSystemDlc.c": ("convert",),
    "src/api/dlc_records.c": ("convert",),
    "src/api/QnnModelDlc.c": ("convert",),
    "src/backend/ir/dlc_backend.c": ("convert",),
}
# One file of the tools knows the cost model, which is arithmetic on a binary (tools/analysis/estimate.h).
TOOL_FILES = {"tools/analysis/estimate.c": ("prepare/cost.h", "backend/htp/htp_cost.h")}
# Programs are clients of the public API; these kinds may look inside.
TOOL_ARROWS = (("profile_viewer/trace_sources.c", ("convert",)), ("analysis", ("binary", "profile")), ("viewer", ("binary", "profile")), ("memory_map", ("binary",)), ("utility", ("binary", "profile")),
               ("converter", ("convert",)), ("quantizer", ("convert",)))

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]', re.M)


def is_public(root, target):
    """Whether an include names a header of include/, by the path of any of its search roots."""
    return (target.startswith("QNN/") or os.path.isfile(os.path.join(root, "include", target))
            or os.path.isfile(os.path.join(root, "include/QNN", target)))


def may_use_public(path):
    parts = path.split("/")
    return (parts[0] in ("tools", "examples") or path.startswith("src/api/")
            or (path.startswith("src/backend/") and parts[-1].endswith("_config.c")))


def entered_by_front_door(target):
    """base/ has a header per helper; every other folder one, named after it."""
    parts = target.split("/")
    return len(parts) == 2 and (parts[0] == "base" or parts[1] == parts[0] + ".h")


def check_src(path, target):
    """What is wrong with "target" included by a file of src/, or None."""
    own, parts = path.split("/")[1], target.split("/")
    if own not in ARROWS:
        return "src/%s is not a folder of the layout" % own
    if parts[0] not in ARROWS:
        return "includes are written from src/ and name a folder of it"
    if parts[0] == own:
        here = path.split("/")
        if own == "backend" and len(parts) > 2 and parts[1] != here[2]:
            return "a backend may not look into another backend, nor backend.c into any"
        return None
    if parts[0] != "base" and parts[0] not in ARROWS[own] + FILE_ARROWS.get(path, ()):
        return "%s may not include %s" % (own, parts[0])
    return None if entered_by_front_door(target) else "%s is private to its folder" % target


def check_tool(root, path, target):
    for place in ("tools", os.path.dirname(path)):
        if os.path.isfile(os.path.join(root, place, target)):
            return None
    if target in TOOL_FILES.get(path, ()):
        return None
    allowed = {"base"}
    for kind, folders in TOOL_ARROWS:
        if kind in path:
            allowed.update(folders)
    folder = target.split("/")[0]
    if folder not in allowed:
        return "this tool may not include %s" % folder
    return None if entered_by_front_door(target) else "%s is private to its folder" % target


def check_include(root, path, quote, target):
    if is_public(root, target):
        return None if may_use_public(path) else "only api/ and a backend's *_config.c include the public headers"
    if quote == "<":
        return None
    if path.startswith("src/"):
        return check_src(path, target)
    if path.startswith("tools/"):
        return check_tool(root, path, target)
    beside = os.path.isfile(os.path.join(root, os.path.dirname(path), target))
    return None if beside else "an example sees only the public headers and its own folder"


def check(root):
    failures = []
    for path in gate.tree_files(root):
        if not path.startswith(("src/", "tools/", "examples/")) or not path.endswith(gate.C_SUFFIXES + (".def", ".inc")):
            continue
        text = gate.read_text(root, path) or ""
        for match in INCLUDE.finditer(text):
            wrong = check_include(root, path, match[1], match[2])
            if wrong:
                line = text.count("\n", 0, match.start()) + 1
                failures.append('%s:%d: #include of "%s": %s' % (path, line, match[2], wrong))
    return failures, []


def inc(target):
    return '#include "%s"\n' % target


CASES = [
    ("arrows that point down", {
        "src/ops/ops.h": inc("base/status.h"),
        "src/exec/exec.c": inc("exec/exec.h") + inc("exec/bind.h") + inc("kernels/kernels.h") + "#include <stdio.h>\n",
        "src/kernels/matmul/matmul_ref.c": inc("kernels/matmul/matmul.h") + inc("kernels/matmul/matmul.def"),
        "src/backend/cpu/cpu.c": inc("backend/backend.h") + inc("backend/cpu/cpu_private.h") + inc("prepare/prepare.h"),
        "src/backend/htp/htp_config.c": "#include <QNN/HTP/QnnHtpGraph.h>\n",
        "src/api/QnnGraph.c": "#include <QNN/QnnGraph.h>\n" + inc("backend/backend.h"),
        "src/api/QnnSystemDlc.c": inc("convert/convert.h"),
        "tools/net_run/net_run.c": "#include <QNN/QnnInterface.h>\n" + inc("base/str.h") + inc("net_run/input_list.h"),
        "tools/net_run/input_list.h": "\n",
        "tools/profile_viewer/profile_viewer.c": inc("profile/profile.h")}, None),
    ("exec into ir", {"src/exec/exec.c": inc("ir/ir.h")}, "exec may not include ir"),
    ("api into the converters", {"src/api/QnnGraph.c": inc("convert/convert.h")}, "api may not include convert"),
    ("api into kernels", {"src/api/QnnGraph.c": inc("kernels/kernels.h")}, "api may not include kernels"),
    ("anything into api", {"src/backend/backend.c": inc("api/api.h")}, "backend may not include api"),
    ("upwards into a user", {"src/base/vec.c": inc("ops/ops.h")}, "base may not include ops"),
    ("private header", {"src/prepare/opt_fold.c": inc("ir/ir_edit.h")}, "private to its folder"),
    ("kernel family from outside", {"src/exec/exec.c": inc("kernels/matmul/matmul.h")}, "private to its folder"),
    ("backend into backend", {"src/backend/cpu/cpu.c": inc("backend/htp/htp.h")}, "another backend"),
    ("generic part into a backend", {"src/backend/backend.c": inc("backend/htp/htp.h")}, "another backend"),
    ("API types below api", {"src/exec/exec.c": "#include <QNN/QnnTypes.h>\n"}, "only api/"),
    ("API types by the short name", {"src/ir/ir.c": "#include <QnnTypes.h>\n", "include/QNN/QnnTypes.h": "\n"}, "only api/"),
    ("config file outside backend", {"src/exec/exec_config.c": "#include <QNN/QnnTypes.h>\n"}, "only api/"),
    ("relative include", {"src/exec/exec.c": inc("bind.h"), "src/exec/bind.h": "\n"}, "written from src/"),
    ("unknown folder", {"src/util/misc.c": inc("base/vec.h")}, "not a folder of the layout"),
    ("tool into the compiler", {"tools/net_run/net_run.c": inc("prepare/prepare.h")}, "may not include prepare"),
    ("tool that is no viewer", {"tools/net_run/net_run.c": inc("binary/binary.h")}, "may not include binary"),
    ("example into src", {"examples/c/client.c": inc("base/vec.h")}, "public headers"),
]

if __name__ == "__main__":
    gate.run_gate(check, CASES)
