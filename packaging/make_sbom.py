#!/usr/bin/env python3
"""Writes the bill of materials of a release, as SPDX 2.3 in JSON: its files, what is inside of them, licenses.

The facts are THIRD_PARTY.md's, with the versions of the Debian packages that are installed here, and
packaging/rust/Cargo.lock's.

Run: packaging/make_sbom.py FOLDER OUTPUT     FOLDER has the files of the release
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import sys

from third_party import ROOT, linked, package_version

VERSION = re.search(r"project\(ashlar VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
PUBLIC_DOMAIN = {"licenseId": "LicenseRef-public-domain", "name": "Public domain",
                 "extractedText": "The author has put it into the public domain."}


def identifier(text: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")


def package(name: str, version: str, license: str, **more: object) -> dict[str, object]:
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "licenseDeclared": license,
            "licenseConcluded": license, "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, **more}


def purl(text: str) -> dict[str, object]:
    return {"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:{text}"}]}


def main() -> None:
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    packages, relations = [], []

    def relate(subject: str, relation: str, of: str) -> None:
        relations.append({"spdxElementId": identifier(subject) if subject != "SPDXRef-DOCUMENT" else subject,
                          "relationshipType": relation, "relatedSpdxElement": identifier(of)})

    files = sorted(path for path in folder.iterdir() if path != output)
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        packages.append(package(file.name, VERSION, "MIT", packageFileName=file.name,
                                checksums=[{"algorithm": "SHA256", "checksumValue": digest}]))
        relate("SPDXRef-DOCUMENT", "DESCRIBES", file.name)
    row = re.search(r"^\| \[uPlot\]\((\S+)\) \| (\S+) \| MIT", (ROOT / "THIRD_PARTY.md").read_text(), re.MULTILINE)
    packages.append(package("uPlot", row[2], "MIT", homepage=row[1]))
    wheel = next(file.name for file in files if file.suffix == ".whl")
    inside = sorted({library.license for library in linked()} - {"MIT"})
    for each in packages:
        if each["name"] == wheel:
            each["licenseConcluded"] = " AND ".join(["MIT", *(f"({license})" for license in inside)])
    for file in files:
        if file.name == wheel or file.name.startswith("ashlar-tools") or file.name == f"ashlar-{VERSION}.tar.gz":
            relate(file.name, "CONTAINS", "uPlot")
    for library in linked():
        for name in library.packages:
            version = package_version(name)
            packages.append(package(name, version, library.license, summary=library.name,
                                    **purl(f"deb/debian/{name}@{version}")))
            relate(wheel, "STATIC_LINK", name)
    lock = (ROOT / "packaging/rust/Cargo.lock").read_text()
    crate = next(file.name for file in files if file.suffix == ".crate")
    for name, version in re.findall(r'name = "(\S+)"\nversion = "(\S+)"\nsource', lock):
        packages.append(package(name, version, "MIT OR Apache-2.0", **purl(f"cargo/{name}@{version}")))
        relate(name, "OPTIONAL_DEPENDENCY_OF" if name == "allocator-api2" else "BUILD_DEPENDENCY_OF", crate)

    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    content = json.dumps(packages, sort_keys=True).encode()
    output.write_text(json.dumps({
        "spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "dataLicense": "CC0-1.0",
        "name": f"ashlar-{VERSION}",
        "documentNamespace": f"https://ashlar.invalid/spdx/{VERSION}/{hashlib.sha256(content).hexdigest()}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: ashlar-{VERSION}"]},
        "hasExtractedLicensingInfos": [PUBLIC_DOMAIN], "packages": packages, "relationships": relations,
    }, indent=1) + "\n")


if __name__ == "__main__":
    main()
