#!/usr/bin/env python3
"""Looks into the files for FreeBSD, which nothing here can run, for what its loader looks for.

Usage: check_elf.py FOLDER RELEASE CPU PROGRAM
FOLDER has libashlar.so, libashlar-malloc.so and libashlar-malloc-hardened.so. Each
- is an ELF file of 64 bits for this processor,
- needs no library but the system's own,
- refers to names of versions that this release has, and to others weakly,
- has its thread-local objects beside the program's own, so that no access allocates.
The two drop-in libraries define FAMILY, and have no copy of a C++ library. PROGRAM is for this release and its loader.
"""
import pathlib
import re
import subprocess
import sys

MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
SYSTEM = {"libc.so.7", "libthr.so.3"}
# The versions of FreeBSD's symbols, and the first release that has all of them.
VERSIONS = {"FBSD_1.0": 7, "FBSD_1.1": 8, "FBSD_1.2": 9, "FBSD_1.3": 10, "FBSD_1.4": 11, "FBSD_1.5": 12, "FBSD_1.6": 13,
            "FBSD_1.7": 14, "FBSD_1.8": 15}
# Who has none of these does without: an unwinder, a sanitizer, a C++ library, a recorder. A program has environ.
WEAK = re.compile(r"environ|_Unwind_\w+|__interceptor_\w+|__sanitizer_\w+|__tsan_\w+|__asan_\w+|__lsan_\w+|__cxa_\w+"
                  r"|__gxx_personality_v0|_ZTVSt9bad_alloc|_ZTISt9bad_alloc|_ZNSt9bad_allocD1Ev|_ZSt15get_new_handlerv"
                  r"|_ZSt9terminatev|ashlar_\w+|dlsym|_ZSt4cout|_ZNSo5writeEPKcl|_ZNSt3__1\w+")
FAMILY = {"malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc",
          "malloc_usable_size", "_Znwm", "_ZdlPv", "_ZnwmSt11align_val_t", "_ZdlPvmSt11align_val_t"}
CXX_LIBRARY = {"__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0"}


def fail(message: str) -> None:
    raise SystemExit(f"check_elf: {message}")


def readelf(path: pathlib.Path, *options: str) -> str:
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def symbols(text: str) -> list[tuple[str, str, str]]:
    """Name with its version, binding, section; of all tables of symbols that readelf has written."""
    found = re.findall(r"^ *\d+: [0-9a-f]+ +\S+ \S+ +(\S+) +\S+ +(\S+) (\S+)", text, re.M)
    return [(name, binding, section) for binding, section, name in found]


def check(path: pathlib.Path, release: int, cpu: str, replaces: bool) -> None:
    header = readelf(path, "-h")
    if "ELF64" not in header or MACHINES[cpu] not in header:
        fail(f"{path}: it is not for {cpu}")
    dynamic = readelf(path, "-d")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if not needed or not needed <= SYSTEM:
        fail(f"{path}: it needs {sorted(needed)}, not some of {sorted(SYSTEM)} alone")
    if "STATIC_TLS" not in dynamic:
        fail(f"{path}: its thread-local objects may be allocated late")
    dynamic_symbols = symbols(readelf(path, "--dyn-syms"))
    for name, binding, section in dynamic_symbols:
        if section != "UND":
            continue
        plain, _, version = name.partition("@")
        if binding == "WEAK" and version == "":
            if not WEAK.fullmatch(plain):
                fail(f"{path}: it refers weakly to {plain}, which is not expected")
        elif VERSIONS.get(version, 1000) > release:
            fail(f"{path}: FreeBSD {release} lacks {name}")
    if not replaces:
        return
    defined = {name.partition("@")[0] for name, _, section in dynamic_symbols if section not in ("UND", "ABS")}
    if not FAMILY <= defined:
        fail(f"{path}: it does not define {sorted(FAMILY - defined)}")
    inside = {name for name, _, section in symbols(readelf(path, "-s")) if section != "UND"} & CXX_LIBRARY
    if inside:
        fail(f"{path}: it has a copy of a C++ library: {sorted(inside)}")


def check_program(path: pathlib.Path, release: int) -> None:
    if "/libexec/ld-elf.so.1" not in readelf(path, "-l"):
        fail(f"{path}: its loader is not FreeBSD's")
    # A note of the owner FreeBSD says for which release it is: 14.0 is 1400000 and some.
    text = readelf(path, "-n")
    found = re.search(r"FreeBSD\s+0x\w+\s+NT_VERSION.*?data: ((?:[0-9a-f]{2} ?)+)", text, re.S)
    found = found or re.search(r"FreeBSD\s+0x\w+\s+NT_FREEBSD_ABI_TAG[^\n]*?: ((?:[0-9a-f]{2} ?)+)", text, re.S)
    number = int.from_bytes(bytes.fromhex(found[1].replace(" ", ""))[:4], "little") if found else 0
    if number // 100000 != release:
        fail(f"{path}: it is for release {number}, not {release}")


def main() -> None:
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    folder, release, cpu, program = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
    check(folder / "libashlar.so", release, cpu, replaces=False)
    for name in ("libashlar-malloc.so", "libashlar-malloc-hardened.so"):
        check(folder / name, release, cpu, replaces=True)
    check_program(program, release)
    print(f"{len(FAMILY)} functions are replaced, and nothing is referred to that FreeBSD {release} lacks")


if __name__ == "__main__":
    main()
