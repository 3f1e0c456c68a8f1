#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts as C arrays.

    embed_text.py OUTPUT ARGS KERNELS COMMON PROGRAM...     the OpenCL programs in the order of enum gpu_source; A.cl+B.cl are one after the other
    embed_text.py OUTPUT NAME=FILE                          one text without its first line, the licence
"""

import sys


def joined(path):
    return b"".join(open(part, "rb").read() for part in path.split("+")) + b"\0"


def array(name, data):
    lines = [", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24)]
    return "const char %s[] = {\n%s\n};\n" % (name, ",\n".join(lines))


def main(output, args, kernels, common, *programs):
    parts = ["/* Made by the build from the files of this folder. */\n", '#include "backend/gpu/gpu_launch.h"\n',
             array("gpu_text_args", joined(args)), array("gpu_text_kernels", joined(kernels)), array("gpu_text_common", joined(common))]
    names = ["text_%d" % i for i in range(len(programs))]
    parts += ["static " + array(name, joined(path)) for name, path in zip(names, programs)]
    parts.append("const char *const gpu_texts[GPU_SOURCE_COUNT] = { %s };\n" % ", ".join(names))
    with open(output, "w") as f:
        f.write("\n".join(parts))


def one(output, name, path):
    data = open(path, "rb").read().split(b"\n", 1)[1] + b"\0"
    with open(output, "w") as f:
        f.write("/* Made by the build. */\nextern const char %s[];\n%s" % (name, array(name, data)))


if __name__ == "__main__":
    if "=" in sys.argv[2]:
        one(sys.argv[1], *sys.argv[2].split("=", 1))
    else:
        main(*sys.argv[1:])
