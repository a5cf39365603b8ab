#!/usr/bin/env python3
"""Builds the Debian packages and follows them: lintian, installation, use, removal.

They are installed by dpkg into an empty folder in place of the system's root, so nothing of this machine
changes and no privileges are needed. The programs of tests/consumer are built against what is there. Where the
test runs as root, apt installs them too, into a root that is this machine's with what changes in memory.

Run: packages_test.py --root CHECKOUT --work SCRATCH_FOLDER [--packages FOLDER] [--document PAGE]
With a folder, the packages in it are tested, and none are built.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from steps import emptied, read_arguments, run, write_row

PACKAGES = {"ashlar-malloc", "libashlar0.1", "libashlar-dev", "ashlar-tools"}
DROP_INS = ("libashlar-malloc.so", "libashlar-malloc-hardened.so")


# In a mount namespace of its own. {place} is an empty folder.
OVERLAY = """set -e
mount -t tmpfs tmpfs {place}
mkdir {place}/upper {place}/work {place}/system
mount -t overlay overlay -o lowerdir=/,upperdir={place}/upper,workdir={place}/work {place}/system
mount --rbind /dev {place}/system/dev
mount -t proc proc {place}/system/proc
mkdir {place}/system/debs
cp {debs} {place}/system/debs
exec chroot {place}/system bash -ec '{script}'
"""
APT = """cd /
begin=$(date +%s%N)
apt-get install -y --no-install-recommends /debs/*.deb
ashlar run -- bash -c true
echo "{first_result}$(( ($(date +%s%N) - begin) / 1000000 ))"
LD_PRELOAD=libashlar-malloc.so ASHLAR_STATS_FILE=/stats.json bash -c true
grep -q allocations /stats.json
for page in ashlar-record ashlar_trim; do [ ! -x /usr/bin/man ] || man -w $page; done
files=$(dpkg -L {packages})
apt-get purge -y {packages}
for file in $files; do [ ! -f $file ] || {{ echo "left: $file"; exit 1; }}; done
"""


def expect(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"packages: {what}")


class Root:
    """An empty folder that dpkg takes for the system's root."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        for folder in ("info", "updates", "triggers"):
            (path / "var/lib/dpkg" / folder).mkdir(parents=True)
        (path / "var/lib/dpkg/status").touch()
        # The packages' scripts run outside of the folder, and this machine's list of libraries is not theirs.
        self.programs = path.parent / "programs"
        self.programs.mkdir()
        stand_in = self.programs / "ldconfig"
        stand_in.write_text("#!/bin/sh\n")
        stand_in.chmod(0o755)

    def dpkg(self, *arguments: object) -> str:
        # What the packages depend on is on the machine and not in the folder.
        return run("dpkg", f"--root={self.path}", "--force-not-root", "--force-script-chrootless",
                   "--force-depends", *arguments,
                   PATH=f"{self.programs}:{os.environ['PATH']}:/usr/sbin:/sbin")

    def files(self) -> list[str]:
        """All that is there, but for dpkg's own records."""
        return sorted(str(p.relative_to(self.path)) for p in self.path.rglob("*")
                      if not p.is_relative_to(self.path / "var"))


def check_control(debs: list[pathlib.Path]) -> None:
    fields = {}
    for deb in debs:
        name, version, depends = (run("dpkg-deb", "-f", deb, field).strip()
                                  for field in ("Package", "Version", "Depends"))
        fields[name] = (version, depends)
    expect(set(fields) == PACKAGES, f"the packages are {sorted(fields)}")
    version = fields["libashlar-dev"][0]
    expect(f"libashlar0.1 (= {version})" in fields["libashlar-dev"][1], "libashlar-dev needs the library of its version")
    expect(f"ashlar-malloc (= {version})" in fields["ashlar-tools"][1], "ashlar-tools needs the drop-in of its version")
    for name in ("libashlar0.1", "ashlar-malloc", "ashlar-tools"):
        expect("libc6 (>=" in fields[name][1], f"{name} depends on no C library: {fields[name][1]}")
    expect("libstdc++" not in fields["ashlar-malloc"][1], "the drop-in brings a C++ library")


def check_consumers(checkout: pathlib.Path, work: pathlib.Path, libraries: pathlib.Path, prefix: pathlib.Path) -> None:
    consumer = checkout / "tests/consumer"
    modules = {"PKG_CONFIG_LIBDIR": str(libraries / "pkgconfig")}
    at_run_time = {"LD_LIBRARY_PATH": str(libraries)}
    for source, compiler, says in (("consumer.c", ("gcc", "-std=c99"), "consumer: c"),
                                   ("consumer.cpp", ("g++", "-std=c++20", "-pthread"), "consumer: c++")):
        flags = run("pkg-config", "--cflags", "--libs", "ashlar", **modules).split()
        expect(any(str(prefix) in flag for flag in flags), f"pkg-config leads elsewhere: {flags}")
        program = work / f"{source}.out"
        run(*compiler, "-Wall", "-Wextra", "-Werror", consumer / source, "-o", program, *flags)
        expect("[libashlar.so.0.1]" in run("readelf", "-d", program), f"{source} does not need libashlar.so.0.1")
        expect(run(program, **at_run_time).strip() == says, f"{source} does not say '{says}'")
    project = work / "project"
    project.mkdir()
    for name in ("consumer.c", "consumer.cpp", "classic.c", "classic.cpp"):
        shutil.copy(consumer / name, project)
    shutil.copy(consumer / "project.cmake.txt", project / "CMakeLists.txt")
    run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF")
    run("cmake", "--build", project / "build")
    for program, says in (("consumer_c", "consumer: c"), ("consumer_cpp", "consumer: c++"),
                          ("classic_c", "classic: c"), ("classic_cpp", "classic: c++")):
        expect(run(project / "build" / program).strip() == says, f"{program} does not say '{says}'")


def check_drop_ins(work: pathlib.Path, libraries: pathlib.Path) -> None:
    for name in DROP_INS:
        statistics = work / f"{name}.json"
        run("python3", "-c", "print(sum(len(str(i)) for i in range(100000)))",
            LD_PRELOAD=str(libraries / name), ASHLAR_STATS_FILE=str(statistics), PYTHONMALLOC="malloc")
        expect(statistics.exists(), f"python3 did not run on {name}")
        allocations = json.loads(statistics.read_text())["total"]["allocations"]
        expect(allocations > 10000, f"python3 on {name} had {allocations} allocations only")


def check_command(prefix: pathlib.Path) -> None:
    command = prefix / "bin/ashlar"
    text = run(command, "--help")
    expect("record" in text and "compare" in text, f"ashlar --help says: {text}")
    page = run("gzip", "-dc", prefix / "share/man/man1/ashlar-record.1.gz")
    expect("stacks" in page and ".SH NAME" in page, "the manual page has not what --help says")
    page = run("gzip", "-dc", prefix / "share/man/man3/ashlar.3.gz")
    expect("ashlar_prefault" in page, "the manual page of the C API lacks functions")
    for script in ("bash-completion/completions/ashlar", "zsh/vendor-completions/_ashlar",
                   "fish/vendor_completions.d/ashlar.fish"):
        expect("__complete" in (prefix / "share" / script).read_text(), f"{script} asks nobody")
    expect("gdb" in (prefix / "share/ashlar/ashlar_debugger.py").read_text(), "gdb has no commands")
    # By itself the command finds the drop-in library and the recorder of its own prefix.
    run(command, "run", "--", "python3", "-c", "pass")
    trace = prefix.parent.parent / "run.atrace"
    run(command, "record", "-o", trace, "--", "python3", "-c", "pass")
    expect(trace.stat().st_size > 0, "the trace is empty")


def check_apt(debs: list[pathlib.Path], work: pathlib.Path, document: pathlib.Path | None) -> None:
    if os.geteuid() != 0:
        print("not root, so apt has installed nothing")
        return
    place = work / "overlay"
    place.mkdir()

    def in_overlay(script: str) -> subprocess.CompletedProcess[str]:
        whole = OVERLAY.format(place=place, debs=" ".join(str(d.resolve()) for d in debs), script=script)
        return subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c", whole], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})

    if in_overlay("true").returncode != 0:
        print("no overlay may be mounted here, so apt has installed nothing")
        return
    first_result = "milliseconds to the first result: "
    result = in_overlay(APT.format(packages=" ".join(sorted(PACKAGES)), first_result=first_result))
    expect(result.returncode == 0, f"apt: ended with {result.returncode}:\n{result.stdout}")
    took = re.search(f"^{first_result}([0-9]+)$", result.stdout, re.M)
    expect(took is not None, f"apt: no time in\n{result.stdout}")
    write_row(document, "Debian packages", "apt install ./*.deb", "ashlar run -- bash -c true", int(took[1]) / 1000, debs)


def main() -> None:
    options = read_arguments(__doc__, packages="FOLDER", document="PAGE")
    work = options.work
    use = emptied(work / "use")

    if options.packages is None:
        run(options.root / "packaging/make_packages.sh", work / "build")
    debs = sorted((options.packages or work / "build").glob("*.deb"))
    check_control(debs)
    if shutil.which("lintian"):
        said = run("lintian", *debs).strip()
        expect(said == "", f"lintian says:\n{said}")
    else:
        print("no lintian here (Debian: apt-get install lintian)")

    root = Root(use / "root")
    root.dpkg("--install", *debs)
    prefix = root.path / "usr"
    libraries = next(prefix.glob("lib/*/libashlar-malloc.so")).parent
    check_consumers(options.root, use, libraries, prefix)
    check_drop_ins(use, libraries)
    check_command(prefix)
    root.dpkg("--purge", *sorted(PACKAGES))
    expect(root.files() == [], f"left after the purge: {root.files()}")
    check_apt(debs, use, options.document)
    shutil.rmtree(work)
    for deb in debs:
        print(f"{deb.name}: installed, used, purged")


if __name__ == "__main__":
    main()
