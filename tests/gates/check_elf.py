#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every built library and program must be, read from its ELF file.

    check_elf.py [--path FOLDER]... [--plain NAME]... LIBRARY... [--programs PROGRAM...]
    check_elf.py --self-test CC

Thread-local storage, of libraries only: static storage (DF_STATIC_TLS) takes room in a block of
fixed size that the C library does not always get back: after some dozen rounds of dlopen and
dlclose nothing opens any more. Ordinary storage (PT_TLS) is allocated on first use, and the C
library ends the process when that fails. base/per_thread.h has neither fault.

Hardening: all symbols are bound at load and their table is read-only then (BIND_NOW, RELRO), no
memory is writable and executable, the stack is not executable, programs load at any address, the
stack protector is in use, and on x86-64 shadow stacks are allowed and every exported function
begins with a landing pad (endbr64). --plain names a file that has no function with an array on
its stack, thus nothing that the stack protector would guard.

Reproducible builds: --path names a folder whose name no file may contain.
"""
import os
import struct
import subprocess
import sys
import tempfile

EM_X86_64, ET_DYN = 62, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7
PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
PF_X, PF_W = 1, 2
DT_TEXTREL, DT_FLAGS, DT_FLAGS_1 = 22, 30, 0x6FFFFFFB
DF_TEXTREL, DF_BIND_NOW, DF_STATIC_TLS, DF_1_NOW = 4, 8, 0x10, 1
SHT_DYNSYM, STT_FUNC, SHN_UNDEF = 11, 2, 0
NT_GNU_PROPERTY_TYPE_0, X86_FEATURE_1_AND, SHSTK = 5, 0xC0000002, 2
ENDBR64 = b"\xf3\x0f\x1e\xfa"


class Elf:
    """The parts of a 64-bit little-endian ELF file that the rules look at."""

    def __init__(self, data):
        self.data = data
        self.kind, self.machine = struct.unpack_from("<HH", data, 16)
        self.segments = list(self.read_segments())
        self.dynamic = dict(self.read_dynamic())
        self.symbols = list(self.read_symbols())

    def read_segments(self):
        offset, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for i in range(count):
            kind, flags, at, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", self.data, offset + i * size)
            yield kind, flags, at, address, length

    def read_dynamic(self):
        for kind, _, at, _, length in self.segments:
            if kind == PT_DYNAMIC:
                for entry in range(at, at + length, 16):
                    yield struct.unpack_from("<qQ", self.data, entry)

    def read_symbols(self):
        """(name, is a function, address or None when another library has it) of each dynamic symbol."""
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]
        for _, kind, _, _, at, length, link, _, _, entry in headers:
            if kind != SHT_DYNSYM:
                continue
            names = headers[link][4]
            for symbol in range(at, at + length, entry):
                name, info, _, section, address, _ = struct.unpack_from("<IBBHQQ", self.data, symbol)
                text = self.data[names + name:self.data.index(b"\0", names + name)].decode()
                yield text, info & 15 == STT_FUNC, address if section != SHN_UNDEF else None

    def has(self, kind):
        return any(segment[0] == kind for segment in self.segments)

    def bytes_at(self, address, count):
        for kind, _, at, start, length in self.segments:
            if kind == PT_LOAD and start <= address < start + length:
                return self.data[at + address - start:at + address - start + count]
        return b""

    def x86_features(self):
        """The bits of GNU_PROPERTY_X86_FEATURE_1_AND."""
        for kind, _, at, _, length in self.segments:
            end = at + length
            while kind == PT_NOTE and at + 12 <= end:
                name, size, note = struct.unpack_from("<III", self.data, at)
                body = at + 12 + (name + 3 & ~3)
                entry = body
                while note == NT_GNU_PROPERTY_TYPE_0 and entry + 12 <= body + size:
                    what, length_of, bits = struct.unpack_from("<III", self.data, entry)
                    if what == X86_FEATURE_1_AND:
                        return bits
                    entry += 8 + (length_of + 7 & ~7)
                at = body + (size + 7 & ~7 if note == NT_GNU_PROPERTY_TYPE_0 else size + 3 & ~3)
        return 0


def storage_faults(elf):
    if elf.has(PT_TLS):
        yield "has thread-local variables (PT_TLS); keep them in a block of base/per_thread.h"
    if elf.dynamic.get(DT_FLAGS, 0) & DF_STATIC_TLS:
        yield "has static thread-local storage (DF_STATIC_TLS); remove tls_model(\"initial-exec\")"


def segment_faults(elf, program):
    flags = elf.dynamic.get(DT_FLAGS, 0)
    if not flags & DF_BIND_NOW and not elf.dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW:
        yield "binds symbols late; link with -Wl,-z,now"
    if not elf.has(PT_GNU_RELRO):
        yield "has no PT_GNU_RELRO; link with -Wl,-z,relro"
    if DT_TEXTREL in elf.dynamic or flags & DF_TEXTREL:
        yield "has relocations in its code (DT_TEXTREL); compile all of it with -fPIC"

    stack = [segment[1] for segment in elf.segments if segment[0] == PT_GNU_STACK]
    if not stack or stack[0] & PF_X:
        yield "has an executable stack; link with -Wl,-z,noexecstack and look for assembler or nested functions"
    if any(kind == PT_LOAD and flags & PF_W and flags & PF_X for kind, flags, _, _, _ in elf.segments):
        yield "has memory that is writable and executable"
    if program and (elf.kind != ET_DYN or not elf.has(PT_INTERP)):
        yield "is not a position-independent program; build it with -Db_pie=true"


def code_faults(elf, plain):
    guarded = any(name == "__stack_chk_fail" for name, _, _ in elf.symbols)
    if not guarded and not plain:
        yield "never calls __stack_chk_fail; compile with -fstack-protector-strong, or say --plain"
    if guarded and plain:
        yield "calls __stack_chk_fail; take it from the list of --plain"

    if elf.machine != EM_X86_64:
        return
    if not elf.x86_features() & SHSTK:
        yield "does not allow shadow stacks (no SHSTK in .note.gnu.property); link with -Wl,-z,shstk"
    for name, function, address in elf.symbols:
        if function and address is not None and elf.bytes_at(address, 4) != ENDBR64:
            yield f"exports {name}, which does not begin with endbr64; compile with -fcf-protection"
            return


def faults(path, paths=(), plain=False, program=False):
    with open(path, "rb") as f:
        data = f.read()
    if data[:6] != b"\x7fELF\x02\x01":
        return ["is not a 64-bit little-endian ELF file"]

    elf = Elf(data)
    found = [] if program else list(storage_faults(elf))
    found += segment_faults(elf, program)
    found += code_faults(elf, plain)
    found += [f"contains the path {folder}; see path_args in meson.build" for folder in paths if folder.encode() in data]
    return found


GUARDED = "int scan(const char *s); int guarded(const char *s) { char word[64]; __builtin_strcpy(word, s); return scan(word); } "
HARD = ["-O1", "-fPIC", "-fstack-protector-strong", "-fcf-protection", "-Wl,-z,relro,-z,now,-z,noexecstack,-z,shstk"]
LIBRARY, PROGRAM = ["-shared"], ["-pie", "-Wl,--unresolved-symbols=ignore-all"]
MAIN = GUARDED + "int main(int n, char **v) { return guarded(v[n - 1]); }"

# Text, flags, arguments of faults() and what the one fault says; or None.
CASES = [
    (GUARDED, LIBRARY + HARD, {}, None),
    (MAIN, PROGRAM + HARD, {"program": True}, None),
    (GUARDED + "static __thread int word; int *lazy(void) { return &word; }", LIBRARY + HARD, {}, "PT_TLS"),
    (GUARDED, LIBRARY + HARD + ["-Wl,-z,lazy"], {}, "binds symbols late"),
    (GUARDED, LIBRARY + HARD + ["-Wl,-z,norelro"], {}, "no PT_GNU_RELRO"),
    (GUARDED, LIBRARY + HARD + ["-Wl,-z,execstack"], {}, "executable stack"),
    (MAIN, HARD + ["-no-pie", "-fno-pie", "-Wl,--unresolved-symbols=ignore-all"], {"program": True}, "position-independent"),
    (GUARDED, LIBRARY + HARD + ["-fno-stack-protector"], {}, "never calls __stack_chk_fail"),
    ("int plain(void) { return 1; }", LIBRARY + HARD, {}, "never calls __stack_chk_fail"),
    ("int plain(void) { return 1; }", LIBRARY + HARD, {"plain": True}, None),
    (GUARDED, LIBRARY + HARD, {"plain": True}, "from the list of --plain"),
    (GUARDED + "const char *at = \"/somewhere/built/x.c\";", LIBRARY + HARD, {"paths": ["/somewhere/built"]}, "the path /somewhere/built"),
]
X86_CASES = [
    (GUARDED, LIBRARY + [flag.replace(",-z,shstk", "") for flag in HARD], {}, "shadow stacks"),
    (GUARDED, LIBRARY + HARD + ["-fcf-protection=none"], {}, "endbr64"),
]
INITIAL = "static __thread __attribute__((tls_model(\"initial-exec\"))) int word; int *fixed(void) { return &word; }"


def built(cc, text, flags, name):
    subprocess.run(cc + ["-x", "c", "-", "-o", name] + flags, input=text, text=True, check=True)
    return name


def self_test(cc):
    """Files that break a rule each, and some that break none."""
    wrong = 0
    x86 = "x86_64" in subprocess.run(cc + ["-dumpmachine"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "built")
        for text, flags, arguments, wanted in CASES + (X86_CASES if x86 else []):
            got = faults(built(cc, text, flags, name), **arguments)
            if len(got) != (wanted is not None) or (wanted and wanted not in got[0]):
                print(f"self-test: {got} instead of {wanted} with {flags} in {text}")
                wrong += 1

        # One mistake that breaks two rules.
        got = faults(built(cc, GUARDED + INITIAL, LIBRARY + HARD, name))
        if len(got) != 2 or "DF_STATIC_TLS" not in got[1]:
            print(f"self-test: {got} for initial-exec")
            wrong += 1
    return wrong != 0


def main(arguments):
    if arguments[:1] == ["--self-test"]:
        return self_test(arguments[1:])

    bad, count, program = 0, 0, False
    paths, plain = [], set()
    rest = iter(arguments)
    for word in rest:
        if word == "--path":
            paths.append(next(rest))
        elif word == "--plain":
            plain.add(next(rest))
        elif word == "--programs":
            program = True
        else:
            count += 1
            for fault in faults(word, paths, os.path.basename(word) in plain, program):
                print(f"{word} {fault}")
                bad += 1
    print(f"{count} files, {bad} faults")
    return bad != 0 or count == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
