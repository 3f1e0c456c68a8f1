#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write opdef_list.h: the operators and parameter names of the public operator header, for test_ops.c.

usage: gen_opdef_list.py opdef.json > opdef_list.h
"""
import json
import sys


def main():
    with open(sys.argv[1]) as f:
        ops = json.load(f)["ops"].values()
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* table: operators and parameter names of the public operator header; written by gen_opdef_list.py. */")
    print("static const struct {")
    print("    const char *op;")
    print("    const char *params[14];")
    print("    unsigned largest; /* largest value of any of its enumerations */")
    print("} opdef_list[] = {")
    for op in sorted(ops, key=lambda o: o["name"]):
        names = ", ".join(f'"{p}"' for p in op.get("params", {}).values())
        largest = max(op.get("values", {"": 0}).values())
        print(f'    {{"{op["name"]}", {{{names or "NULL"}}}, {largest}}},')
    print("};")


main()
