#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the abi_*.c files beside this script from the ABI facts.

usage: generate_abi_asserts.py [--check] [FACTS_DIR]

FACTS_DIR holds core.json, htp.json, ... (default: shared/abi beside the repository). The files written are
committed, so that the tests need no facts to build; run this again when the facts change. With --check
nothing is written: exit 1 if a committed file is not what the facts give, 77 (skip) if there are no facts.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
DEFAULT_FACTS = os.path.join(HERE, "..", "..", "..", "shared", "abi")
WIDTH = 110
OPAQUE = ("", "struct", "union", "enum", None)
BUILD_ID = "QNN_SDK_BUILD_ID"

# One translation unit each. The device and op-package headers of HTP, LPAI, GPU and CPU define structs of
# the same tag, so no two of these families share a unit.
TYPES = ("QnnCommon.h", "QnnTypes.h")
UNITS = {
    "abi_types.c": lambda fam, h: h in TYPES,
    "abi_core.c": lambda fam, h: fam == "core" and h not in TYPES and h != "QnnInterface.h",
    "abi_interface.c": lambda fam, h: h == "QnnInterface.h",
    "abi_opdef.c": lambda fam, h: fam == "opdef",
    "abi_htp.c": lambda fam, h: fam == "htp",
    "abi_lpai.c": lambda fam, h: fam == "lpai",
    "abi_gpu.c": lambda fam, h: fam == "gpu",
    "abi_cpu.c": lambda fam, h: fam in ("cpu", "ir", "saver"),
    "abi_system.c": lambda fam, h: fam == "system",
    "abi_model.c": lambda fam, h: fam == "model",
    "abi_rpc.c": lambda fam, h: fam == "rpc",
}

# What the facts only name: the packing of a FastRPC call word, the branch of QNN_SDK_BUILD_ID.
EXTRA_STATIC = {
    "abi_rpc.c": [
        "VALUE(REMOTE_SCALARS_MAKEX(5, 17, 200, 100, 9, 3), 0xB1C86493)",
        "VALUE(REMOTE_SCALARS_METHOD_ATTR(0xB1C86493), 5)",
        "VALUE(REMOTE_SCALARS_METHOD(0xB1C86493), 17)",
        "VALUE(REMOTE_SCALARS_INBUFS(0xB1C86493), 200)",
        "VALUE(REMOTE_SCALARS_OUTBUFS(0xB1C86493), 100)",
        "VALUE(REMOTE_SCALARS_INHANDLES(0xB1C86493), 9)",
        "VALUE(REMOTE_SCALARS_OUTHANDLES(0xB1C86493), 3)",
        "VALUE(REMOTE_SCALARS_LENGTH(0xB1C86493), 312)",
        "VALUE(REMOTE_SCALARS_MAKE(3, 1, 2), 0x03010200)",
    ],
}
EXTRA_RUN = {"abi_core.c": ['PREFIX(%s, "v2.48.")' % BUILD_ID]}


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_number(value):
    return "%dLL" % value if abs(value) > 0x7FFFFFFF else str(value)


def c_type(text):
    """The facts of C++ headers name tags without their keyword."""
    return "struct " + text if text.startswith("_Qnn") else text


def signature(fn):
    args = [p["type"] for p in fn["params"]] + (["..."] if fn.get("variadic") else [])
    return "%s (*)(%s)" % (fn["ret"], ", ".join(args) or "void")


def static_facts(head):
    skip = set(head.get("unchecked", ()))
    out = []
    for name, value in head.get("macros", {}).items():
        if isinstance(value, int) and name not in skip:
            out.append("VALUE(%s, %s)" % (name, c_number(value)))
    for name, macro in head.get("function_macros", {}).items():
        if "probe" in macro:
            probe = macro["probe"]
            out.append("VALUE(%s(%s), %s)" % (name, probe["args"], c_number(probe["value"])))
    for name, enum in head.get("enums", {}).items():
        if not name.startswith("anonymous"):
            out.append("ENUM(%s, %d)" % (name, enum["size"]))
        out += ["VALUE(%s, %s)" % (n, c_number(v)) for n, v in enum["values"].items()]
    for name, target in head.get("typedefs", {}).items():
        if target not in OPAQUE:
            out.append("TYPE(%s, %s)" % (name, c_type(target)))
    for name, fn in head.get("function_pointers", {}).items():
        out.append("TYPE(%s, %s)" % (name, signature(fn)))
    for name, struct in head.get("structs", {}).items():
        out += struct_facts(name, struct)
    for name, fn in head.get("functions", {}).items():
        out.append("FUNCTION(%s, %s)" % (name, signature(fn)))
    return out


def struct_facts(name, struct):
    out = ["STRUCT(%s, %d, %d)" % (name, struct["size"], struct["align"])]
    if struct.get("tag"):
        out.append("TYPE(%s, %s %s)" % (name, struct.get("kind", "struct"), struct["tag"]))
    for field in struct["fields"]:
        place = "%s, %s, %d, %d" % (name, field["name"], field["offset"], field["size"])
        if field["type"] in OPAQUE or field.get("type_unchecked"):
            out.append("PLACE(%s)" % place)
        else:
            out.append("FIELD(%s, %s)" % (place, field["type"]))
    return out


def init_check(path, value):
    if value is None or value == 0:
        return "ZERO(%s)" % path
    if isinstance(value, str):
        return "SAYS(%s, %s)" % (path, c_string(value))
    if isinstance(value, float):
        return "REAL(%s, %r)" % (path, value)
    return "IS(%s, %s)" % (path, c_number(value))


def run_facts(head):
    skip = set(head.get("unchecked", ()))
    out = []
    for name, value in head.get("macros", {}).items():
        if isinstance(value, str) and name not in skip:
            out.append("STRING(%s, %s)" % (name, c_string(value)))
    for name, value in head.get("identifier_macros", {}).items():
        if name not in skip:
            out.append("EXPANDS(%s, %s)" % (name, c_string(value)))
    for name, init in head.get("initializers", {}).items():
        checks = " ".join(init_check(p, v) for p, v in init["values"].items())
        out.append("INIT(%s, %s, %s)" % (init["type"], name, checks))
    return out


def packed(facts, indent):
    """As many facts per line as fit; a longer fact is broken at its blanks."""
    lines, line = [], indent
    for fact in facts:
        if len(line) + len(fact) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = indent
        while len(line) + len(fact) > WIDTH and " " in fact:
            cut = fact.rfind(" ", 0, WIDTH - len(line))
            if cut < 0:
                break
            lines.append(line + fact[:cut])
            line, fact = indent + "    ", fact[cut + 1:]
        line += fact + " "
    return lines + ([line.rstrip()] if line.strip() else [])


def unit_text(unit, heads):
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "/* Generated by generate_abi_asserts.py; do not edit. What clients rely on in these headers. */",
           '#include "abi_assert.h"', ""]
    out += ['#include "%s"' % h for h, _ in heads]
    for name, head in heads:
        facts = static_facts(head)
        if facts:
            out += ["", "/* %s */" % name] + packed(facts, "")
    if unit in EXTRA_STATIC:
        out += [""] + packed(EXTRA_STATIC[unit], "")
    out += ["", "int main(void)", "{"]
    for name, head in heads:
        facts = run_facts(head)
        if facts:
            out += ["    /* %s */" % name] + packed(facts, "    ")
    out += packed(EXTRA_RUN.get(unit, []), "    ")
    out += ['    return abi_result("%s");' % unit, "}", ""]
    return "\n".join(out)


def load(facts_dir):
    heads = []
    for entry in sorted(os.listdir(facts_dir)):
        if entry.endswith(".json"):
            with open(os.path.join(facts_dir, entry), encoding="utf-8") as f:
                data = json.load(f)
            heads += [(data["family"], h, facts) for h, facts in data.get("headers", {}).items()]
    return heads


def main(argv):
    check = "--check" in argv
    rest = [a for a in argv if a != "--check"]
    facts_dir = rest[0] if rest else DEFAULT_FACTS
    if not os.path.isfile(os.path.join(facts_dir, "core.json")):
        print("SKIP: no ABI facts in %s" % facts_dir)
        return 77
    heads = load(facts_dir)
    stale = 0
    for unit, wanted in UNITS.items():
        text = unit_text(unit, [(h, facts) for fam, h, facts in heads if wanted(fam, h)])
        path = os.path.join(HERE, unit)
        if not check:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        else:
            with open(path, encoding="utf-8") as f:
                if f.read() != text:
                    print("%s is not what the facts give: run generate_abi_asserts.py" % unit)
                    stale += 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
