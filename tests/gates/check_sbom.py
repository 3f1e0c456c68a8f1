#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials that scripts/sbom writes: what SPDX 2.3 requires, and whether it tells the truth about a build.

    check_sbom.py SBOM BUILD
    check_sbom.py --self-test
"""
import copy
import hashlib
import json
import os
import re
import subprocess
import sys

REQUIRED = {
    "document": ["spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "files", "relationships"],
    "package": ["SPDXID", "name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"],
    "file": ["SPDXID", "fileName", "checksums", "licenseConcluded", "copyrightText"],
}
RELATIONS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "DYNAMIC_LINK", "BUILD_TOOL_OF"}


def missing(kind, entry):
    return [f"{kind} {entry.get('name') or entry.get('fileName')} has no {field}" for field in REQUIRED[kind] if not entry.get(field)]


def form_faults(doc):
    """What any reader of SPDX expects."""
    found = missing("document", doc)
    if found:
        return found
    for package in doc["packages"]:
        found += missing("package", package)
    for file in doc["files"]:
        found += missing("file", file)
        if not any(c["algorithm"] == "SHA1" for c in file.get("checksums", [])):
            found.append(f"file {file.get('fileName')} has no SHA1, which SPDX requires")

    names = [entry.get("SPDXID", "") for entry in [doc] + doc["packages"] + doc["files"]]
    found += [f"{name} is not a valid SPDXID" for name in names if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name)]
    if len(set(names)) != len(names):
        found.append("an SPDXID is used twice")
    for r in doc["relationships"]:
        ends = {r["spdxElementId"], r["relatedSpdxElement"]}
        if not ends <= set(names) or r["relationshipType"] not in RELATIONS:
            found.append(f"relationship {r} names what is not there")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", doc["creationInfo"].get("created", "")):
        found.append("the time of creation is not YYYY-MM-DDThh:mm:ssZ")
    if doc["spdxVersion"] != "SPDX-2.3" or doc["dataLicense"] != "CC0-1.0":
        found.append("version or licence of the document is not what SPDX 2.3 wants")
    return found


def truth_faults(doc, built):
    """built: path in the installation -> (bytes, number of libraries that the file needs)."""
    found = []
    listed = {file["fileName"].removeprefix("./"): file for file in doc["files"]}
    found += [f"{name} is not listed" for name in sorted(set(built) - set(listed))]
    found += [f"{name} is listed, but is not installed" for name in sorted(set(listed) - set(built))]
    for name in sorted(set(built) & set(listed)):
        data, needs = built[name]
        sums = {c["algorithm"]: c["checksumValue"] for c in listed[name]["checksums"]}
        if sums.get("SHA256") != hashlib.sha256(data).hexdigest():
            found.append(f"{name} has another SHA256")
        linked = sum(r["spdxElementId"] == listed[name]["SPDXID"] and r["relationshipType"] == "DYNAMIC_LINK" for r in doc["relationships"])
        if needs and not linked:
            found.append(f"{name} needs {needs} libraries, none of which is named")
    return found


def read_built(build):
    """The ELF files of an installation, found by the names that meson gives them rather than by scripts/sbom."""
    targets = json.loads(subprocess.run(["meson", "introspect", build, "--targets"], capture_output=True, check=True).stdout)
    built = {}
    for target in targets:
        if not target["installed"] or target["type"] not in ("shared library", "executable"):
            continue
        path, place = target["filename"][0], target["install_filename"][0]
        with open(path, "rb") as file:
            data = file.read()
        dynamic = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        built[place] = (data, len(re.findall(r"^\s+NEEDED", dynamic, flags=re.M)))
    return built


def relative_names(built, doc):
    """Paths below the prefix, which the document's names end with."""
    names = [file["fileName"].removeprefix("./") for file in doc["files"]]
    return {next((n for n in names if path.endswith("/" + n)), path): value for path, value in built.items()}


GOOD = {
    "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "x-1",
    "documentNamespace": "https://spdx.org/spdxdocs/x-1", "creationInfo": {"created": "2026-01-02T03:04:05Z", "creators": ["Tool: x"]},
    "packages": [{"SPDXID": "SPDXRef-Package-" + name, "name": name, "versionInfo": "1", "downloadLocation": "NOASSERTION",
                  "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "NOASSERTION"} for name in ("x", "z")],
    "files": [{"SPDXID": "SPDXRef-File-a", "fileName": "./lib/a.so", "licenseConcluded": "MIT", "copyrightText": "NOASSERTION",
               "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(b"a").hexdigest()},
                             {"algorithm": "SHA256", "checksumValue": hashlib.sha256(b"a").hexdigest()}]}],
    "relationships": [{"spdxElementId": "SPDXRef-File-a", "relationshipType": "DYNAMIC_LINK", "relatedSpdxElement": "SPDXRef-Package-z"}],
}
BUILT = {"lib/a.so": (b"a", 1)}

# What is done to a good document, and what the one fault says.
CASES = [
    (lambda doc: None, None),
    (lambda doc: doc.pop("dataLicense"), "has no dataLicense"),
    (lambda doc: doc["packages"][1].pop("versionInfo"), "has no versionInfo"),
    (lambda doc: doc["files"][0]["checksums"].pop(0), "no SHA1"),
    (lambda doc: doc["packages"][0].update(SPDXID="SPDXRef-Package-z"), "used twice"),
    (lambda doc: doc["packages"][0].update(SPDXID="SPDXRef_x"), "not a valid SPDXID"),
    (lambda doc: doc["relationships"].append(dict(GOOD["relationships"][0], relatedSpdxElement="SPDXRef-Package-q")), "not there"),
    (lambda doc: doc["creationInfo"].update(created="yesterday"), "time of creation"),
    (lambda doc: doc["files"][0]["checksums"][1].update(checksumValue="0"), "another SHA256"),
    (lambda doc: doc["relationships"].clear() or doc["relationships"].append(
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Package-x"}), "none of which"),
    (lambda doc: doc["files"].append(dict(GOOD["files"][0], SPDXID="SPDXRef-File-b", fileName="./lib/b.so")), "is not installed"),
]


def self_test():
    wrong = 0
    for change, wanted in CASES:
        doc = copy.deepcopy(GOOD)
        change(doc)
        got = form_faults(doc) or truth_faults(doc, BUILT)
        if len(got) != (wanted is not None) or (wanted and wanted not in got[0]):
            print(f"self-test: {got} instead of {wanted}")
            wrong += 1
    return wrong != 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 2:
        sys.exit(__doc__)
    sbom, build = arguments
    texts = [subprocess.run([sys.executable, sbom, build], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    doc = json.loads(texts[0])
    found = form_faults(doc) or truth_faults(doc, relative_names(read_built(build), doc))
    if texts[0] != texts[1]:
        found.append("two runs on the same build write different texts")
    for fault in found:
        print(fault)
    print(f"{len(doc.get('files', []))} files, {len(doc.get('packages', []))} packages, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
