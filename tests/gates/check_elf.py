#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every built library must be, read from its ELF headers.

    check_elf.py LIBRARY...
    check_elf.py --self-test CC

A library with static thread-local storage (DF_STATIC_TLS) takes room in a block of fixed size that
the C library does not always get back: after some dozen rounds of dlopen and dlclose nothing opens
any more. Ordinary thread-local storage (PT_TLS) is allocated on first use, and the C library ends
the process when that fails. base/per_thread.h has neither fault.
"""
import struct
import subprocess
import sys
import tempfile

PT_DYNAMIC, PT_TLS = 2, 7
DT_FLAGS, DF_STATIC_TLS = 30, 0x10


def program_headers(data):
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags, at, _, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", data, offset + i * size)
        yield kind, flags, at, length


def dynamic_entries(data, at, length):
    for entry in range(at, at + length, 16):
        yield struct.unpack_from("<qQ", data, entry)


def faults(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:6] != b"\x7fELF\x02\x01":
        return ["is not a 64-bit little-endian ELF file"]

    found = []
    for kind, _, at, length in program_headers(data):
        if kind == PT_TLS:
            found.append("has thread-local variables (PT_TLS); keep them in a block of base/per_thread.h")
        if kind == PT_DYNAMIC:
            flags = dict(dynamic_entries(data, at, length)).get(DT_FLAGS, 0)
            if flags & DF_STATIC_TLS:
                found.append("has static thread-local storage (DF_STATIC_TLS); remove tls_model(\"initial-exec\")")
    return found


def self_test(cc):
    """Libraries that break a rule each, and one that breaks none."""
    cases = {
        "int plain(void) { return 1; }": 0,
        "static __thread int word; int *lazy(void) { return &word; }": 1,
        "static __thread __attribute__((tls_model(\"initial-exec\"))) int word; int *fixed(void) { return &word; }": 2,
    }
    for text, wanted in cases.items():
        with tempfile.NamedTemporaryFile(suffix=".so") as library:
            subprocess.run(cc + ["-shared", "-fPIC", "-x", "c", "-", "-o", library.name], input=text, text=True, check=True)
            got = faults(library.name)
        if len(got) != wanted:
            print(f"self-test: {len(got)} faults instead of {wanted}: {got} in {text}")
            return 1
    return 0


def main(arguments):
    if arguments[:1] == ["--self-test"]:
        return self_test(arguments[1:])

    bad = 0
    for path in arguments:
        for fault in faults(path):
            print(f"{path} {fault}")
            bad += 1
    print(f"{len(arguments)} libraries, {bad} faults")
    return bad != 0 or not arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
