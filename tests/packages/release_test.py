#!/usr/bin/env python3
"""Builds a release twice, from clones in folders of different names and lengths, and compares the files byte for
byte. Looks at the bill of materials, by spdx-tools where they can be installed.

Run: release_test.py --root CHECKOUT --work SCRATCH_FOLDER
The clones have the last commit, not what is changed since.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

from steps import emptied, read_arguments, run

FOLDERS = ("a", "another-folder/with-a-longer-name")


def expect(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"release: {what}")


def check_bill(bill: pathlib.Path, work: pathlib.Path) -> None:
    document = json.loads(bill.read_text())
    stated = {p["packageFileName"]: p["checksums"][0]["checksumValue"] for p in document["packages"]
              if "packageFileName" in p}
    files = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in bill.parent.iterdir()
             if f.name not in (bill.name, "SHA256SUMS")}
    expect(stated == files, f"the bill of materials has {sorted(stated)}, the release {sorted(files)}")
    audit = work / "audit"
    run(sys.executable, "-m", "venv", audit, folder=work)
    if subprocess.run([audit / "bin/python", "-m", "pip", "install", "-q", "spdx-tools"], check=False,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        run(audit / "bin/pyspdxtools", "-i", bill, folder=work)
    else:
        print("no spdx-tools here (PyPI), so the bill of materials is only read as JSON")


def main() -> None:
    options = read_arguments(__doc__)
    work = emptied(options.work)
    if shutil.which("cargo") is None:
        print("no cargo here (Debian: cargo-web)")
        sys.exit(77)

    releases = []
    for name in FOLDERS:
        clone = work / name
        run("git", "clone", "--quiet", options.root, clone, folder=work)
        (clone / "build/results").mkdir(parents=True)
        (clone / "build/results/bench.csv").write_text("what was measured\n")
        # Objects that a cache kept would be equal in both.
        run(clone / "packaging/make_release.sh", folder=clone, CCACHE_DISABLE="1")
        release = clone / "build/release-files"
        run("sha256sum", "--check", "--quiet", "SHA256SUMS", folder=release)
        releases.append({file.name: file.read_bytes() for file in release.iterdir()})
    first, second = releases
    expect(set(first) == set(second), f"the files are {sorted(first)} and {sorted(second)}")
    different = sorted(name for name in first if first[name] != second[name])
    expect(not different, f"differ by the folder that they are built in: {', '.join(different)}")
    for kind in (".tar.gz", "-results.tar.gz", "-linux-x86_64.tar.gz", ".deb", ".whl", ".crate", ".hpp", ".spdx.json"):
        expect(any(name.endswith(kind) for name in first), f"there is no {kind}")
    check_bill(work / FOLDERS[0] / f"build/release-files/{next(n for n in first if n.endswith('.spdx.json'))}", work)
    shutil.rmtree(work)
    print(f"{len(first)} files, the same from both folders")


if __name__ == "__main__":
    main()
