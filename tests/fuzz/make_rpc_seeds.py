#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corpus of fuzz_rpc: the messages of a client that maps, loads, runs and leaves, and answers of a session.

    make_rpc_seeds.py FOLDER
"""

import os
import struct
import sys

MAGIC, REQUEST, RUN = 0x4351514F, 104, 255
HELLO, MAP, UNMAP, LOAD, AREA, UNLOAD, RESET, SCRATCH, SPILL, BACKUP, WEIGHTS = range(11)
STEP_REQUEST, STEP_RUN, STEP_REPLY, STEP_ANSWER = range(4)


def request(kind, body):
    head = struct.pack("<IIII", MAGIC, kind, 1, 0)
    return bytes([STEP_REQUEST]) + (head + body).ljust(REQUEST, b"\0")


def map_(offset=0, size=0, writable=1):
    return request(MAP, struct.pack("<QQI", offset, size, writable))


def by_id(kind, number=0):
    return request(kind, struct.pack("<I", number))


def load(scratch=(0, 0), persistent=(0, 0), spill=(0, 0)):
    """Of the first binary; pools are a mapping and an offset."""
    maps, offsets = zip(scratch, persistent, spill)
    return request(LOAD, struct.pack("<QII3I4x3Q", 0, 0, 0, *maps, *offsets))


def pool(kind, number, offset=0, program=0):
    return request(kind, struct.pack("<QII", offset, program, number))


def run(tensors, pause=0, step=0):
    """RUN bytes of the header from `cancel` on, then as many of the tensors."""
    head = struct.pack("<IIQQIIIII", 0, 0, 0, 0, pause, step, 7, 3, 1).ljust(RUN, b"\0")
    return bytes([STEP_RUN, RUN]) + head + b"".join(tensors)[:RUN].ljust(RUN, b"\0")


def tensor(number, offset, size):
    return struct.pack("<QQIII", offset, size, number, 0, 1).ljust(96, b"\0")


LOAD_FIRST = map_(writable=0) + map_() + load() + request(AREA, struct.pack("<QI", 0, 0))
# Scratch and persistent memory in the second mapping; then a third one for scratch.
LOAD_POOLS = map_(writable=0) + map_(size=4096) + map_(size=8192) + load((1, 0), (1, 1024), (2, 4096)) + request(
    AREA, struct.pack("<QI", 0, 0))
THREE = [tensor(1, 2048, 24), tensor(1, 2112, 24), tensor(1, 2176, 24)]
REPLY = struct.pack("<IIIIQQIIQQIII", MAGIC, MAP, 1, 0, 4096, 0, 1, 1, 5, 6, 7, 3, 4)

SEEDS = {
    "life": LOAD_FIRST + run([tensor(1, 0, 24), tensor(1, 64, 24), tensor(1, 128, 24)]) + by_id(RESET) + by_id(UNLOAD) + by_id(UNMAP, 1) + by_id(UNMAP, 0),
    "run": LOAD_FIRST + run([tensor(1, 0, 24), tensor(1, 100000, 24)]) + run([tensor(0xFFFFFFFF, 0, 24)]),
    "maps": map_(1, 5) + map_(4096, 100) + map_(0, 1 << 40) + map_(1 << 63, 1) + by_id(UNMAP, 99),
    "hello": request(HELLO, struct.pack("<IIIIQ", 1, 73, 2, 50, 1 << 32) + b"v1"),
    "pools": LOAD_POOLS + run(THREE) + pool(SCRATCH, 2, 64) + run(THREE) + by_id(UNMAP, 1) + by_id(RESET) + by_id(UNLOAD),
    "pools_refused": LOAD_POOLS + pool(SCRATCH, 2, 1) + pool(SCRATCH, 0) + load(persistent=(1, 4090)) + load((1, 0), (1, 0)),
    "buffers": LOAD_POOLS + pool(SPILL, 2) + pool(BACKUP, 2) + pool(WEIGHTS, 2, 4096) + run(THREE) + pool(WEIGHTS, 0) + pool(WEIGHTS, 2, 8190) + pool(
        WEIGHTS, 2, 1 << 63) + run(THREE) + by_id(UNMAP, 2) + by_id(UNLOAD) + by_id(UNMAP, 2),
    "pause": LOAD_FIRST + run(THREE, pause=1) + run(THREE, step=1) + run(THREE, step=99),
    "replies": bytes([STEP_REPLY]) + REPLY.ljust(128, b"\0") * 4,
    "answer": bytes([STEP_ANSWER]) + struct.pack("<IIQQQ", 0, 4, 1, 2, 3).ljust(64, b"x") + bytes([STEP_ANSWER]) + struct.pack("<II", 99, 9).ljust(64, b"y"),
}

if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, data in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(data)
