#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of the OpenCL programs as C arrays.

    embed_text.py OUTPUT ARGS KERNELS COMMON PROGRAM...     the programs in the order of enum gpu_source; A.cl+B.cl are one after the other
"""

import sys


def array(name, path):
    data = b"".join(open(part, "rb").read() for part in path.split("+")) + b"\0"
    lines = [", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24)]
    return "const char %s[] = {\n%s\n};\n" % (name, ",\n".join(lines))


def main(output, args, kernels, common, *programs):
    parts = ["/* Made by the build from the files of this folder. */\n", '#include "backend/gpu/gpu_launch.h"\n',
             array("gpu_text_args", args), array("gpu_text_kernels", kernels), array("gpu_text_common", common)]
    names = ["text_%d" % i for i in range(len(programs))]
    parts += ["static " + array(name, path) for name, path in zip(names, programs)]
    parts.append("const char *const gpu_texts[GPU_SOURCE_COUNT] = { %s };\n" % ", ".join(names))
    with open(output, "w") as f:
        f.write("\n".join(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
