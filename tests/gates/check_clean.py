#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing in the tree depends on, or tells of, the machine it was written on; nothing is left unfinished without an owner.

    check_clean.py ROOT | --self-test

The patterns are put together from pieces, so that this file passes its own check.
"""

import os
import re

import gate

REGISTRIES = ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "crates" + ".io", "docker" + ".io", "ghcr" + ".io",
              "quay" + ".io", "gcr" + ".io", "anaconda" + ".org", "deb.debian" + ".org", "ruby" + "gems.org", "golang" + ".org/proxy")
LATER = "TO" + "DO|FIX" + "ME"

# name of the rule, pattern
RULES = (
    ("path of one machine", re.compile(r"(?<![\w.\-$}])/(?:" + "wo" + r"rk|ro" + r"ot|(?:home|Users)/\w+)/|/" + "bash" + "_jobs")),
    ("package registry", re.compile("|".join(re.escape(host) for host in REGISTRIES)
                                    + r"|https?://[\w.-]*(?:artifactory|nexus|registry|mirror)[\w-]*\.")),
    ("unfinished work without an owner", re.compile(r"(?<![`\w])(?:" + LATER + r")\b(?!\(\w+\))")),
    ("white space at the end of the line", re.compile(r"[ \t\r]+$")),
)
# Archives and packages of others, which slip in with "add everything"; and the most that one file may have.
FOREIGN = re.compile(r"\.(?:whl|zip|tar|t?gz|xz|zst|deb|rpm|jar|so|a|o|exe|dll)$")
MOST_BYTES = 1 << 20
SKIPPED = re.compile(r"/corpus/|^LICENSE$|\.(?:raw|bin|onnx|tflite|patch)$")


def check(root):
    failures = []
    for path in gate.tree_files(root):
        if FOREIGN.search(path) and "/corpus/" not in path:
            failures.append("%s: an archive or a program; the tree holds sources" % path)
        size = os.path.getsize(os.path.join(root, path))
        if size > MOST_BYTES:
            failures.append("%s: %d bytes; at most %d: generate it, or keep it elsewhere" % (path, size, MOST_BYTES))
        text = None if SKIPPED.search(path) else gate.read_text(root, path)
        for number, line in enumerate((text or "").split("\n"), 1):
            for rule, pattern in RULES:
                found = pattern.search(line)
                if found:
                    failures.append("%s:%d: %s: %r" % (path, number, rule, found.group(0)))
    return failures, []


CASES = [
    ("a clean tree", {
        "src/ir/ir.c": "/* A framework/working copy, $HOME/x, ${root}/" + "work/x. " + "TO" + "DO(anna): widen. */\n",
        "tests/fuzz/corpus/json/a": "trailing \n",
        "docs/use.md": "See https://example.org/ and /usr/lib/.\n"}, None),
    ("work path", {"docs/a.md": "see /" + "work/x\n"}, "path of one machine"),
    ("home path", {"docs/a.md": "see (/" + "home/anna/x)\n"}, "path of one machine"),
    ("root path", {"docs/a.md": "see `/" + "root/x`\n"}, "path of one machine"),
    ("registry", {"docs/a.md": "from " + "pypi" + ".org\n"}, "package registry"),
    ("mirror", {"scripts/a.sh": "curl https://my.art" + "ifactory.example.com/x\n"}, "package registry"),
    ("work without an owner", {"src/a.c": "/* TO" + "DO: widen */\n"}, "unfinished work"),
    ("trailing space", {"src/a.c": "int x; \n"}, "white space"),
    ("a package", {"numpy-2.0-py3-none-any.whl": "PK"}, "an archive or a program"),
    ("a large file", {"docs/a.svg": "x" * (1 << 20) + "y"}, "1048577 bytes"),
    ("carriage return", {"src/a.c": "int x;\r\n"}, "white space"),
]

if __name__ == "__main__":
    gate.run_gate(check, CASES)
