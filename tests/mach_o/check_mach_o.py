#!/usr/bin/env python3
"""Looks into the files for macOS, which nothing here can run, for what its loader looks for.

Usage: check_mach_o.py FOLDER MINOS CPU
FOLDER has libashlar.dylib, libashlar-malloc.dylib and libashlar-malloc-hardened.dylib. Each
- is for this processor and this macOS or newer,
- takes its thread-local objects from the system, without a compiler's emulation,
- takes nothing from another library than the system's own.
The two drop-in libraries replace exactly the functions of PAIRS, each by a function of their own, and take only those weakly
that an older macOS does not have. libashlar.dylib replaces none.
"""
import pathlib
import struct
import sys

CPUS = {"x86_64": 0x01000007, "arm64": 0x0100000C}
LC_SEGMENT_64, LC_SYMTAB, LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB = 0x19, 0x02, 0x0C, 0x80000018
LC_BUILD_VERSION, LC_DYLD_INFO, LC_DYLD_INFO_ONLY = 0x32, 0x22, 0x80000022
THREAD_LOCAL_VARIABLES = 0x13
SYSTEM = "/usr/lib/libSystem.B.dylib"
PAIRS = {"malloc", "calloc", "valloc", "aligned_alloc", "posix_memalign", "free", "realloc", "reallocf", "malloc_size",
         "malloc_good_size", "malloc_zone_free", "malloc_zone_realloc", "malloc_zone_from_ptr", "malloc_zone_batch_free",
         "malloc_zone_pressure_relief"}
SINCE_MACOS_14 = {"malloc_type_" + name for name in ("malloc", "calloc", "valloc", "aligned_alloc", "posix_memalign", "free",
                                                     "realloc", "zone_free", "zone_realloc")}


def fail(message: str) -> None:
    raise SystemExit(f"check_mach_o: {message}")


def text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode()


def uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


class Image:
    """What a Mach-O file of 64 bits says."""

    def __init__(self, path: pathlib.Path) -> None:
        self.data = path.read_bytes()
        magic, self.cpu, _, _, count, _, _, _ = struct.unpack_from("<8I", self.data)
        if magic != 0xFEEDFACF:
            fail(f"{path}: it is no Mach-O file of 64 bits")
        self.segments: list[tuple[int, int]] = []  # address, offset in the file
        self.sections: dict[tuple[str, str], tuple[int, int, int, int]] = {}  # address, bytes, offset, type
        self.libraries: list[str] = []
        self.symbols: list[tuple[str, int, int]] = []  # name, type, description
        self.minos = ""
        self.binds: dict[int, tuple[str, bool]] = {}  # address: name, weak
        at = 32
        for _ in range(count):
            command, size = struct.unpack_from("<2I", self.data, at)
            self._read(command, at)
            at += size

    def _read(self, command: int, at: int) -> None:
        if command == LC_SEGMENT_64:
            address, _, offset, _, _, _, sections = struct.unpack_from("<4Q3I", self.data, at + 24)
            self.segments.append((address, offset))
            for i in range(sections):
                s = at + 72 + 80 * i
                where, size, file_offset, _, _, _, flags = struct.unpack_from("<2Q5I", self.data, s + 32)
                key = (text(self.data[s + 16:s + 32]), text(self.data[s:s + 16]))
                self.sections[key] = (where, size, file_offset, flags & 0xFF)
        elif command in (LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB):
            self.libraries.append(text(self.data[at + struct.unpack_from("<I", self.data, at + 8)[0]:]))
        elif command == LC_BUILD_VERSION:
            version = struct.unpack_from("<I", self.data, at + 12)[0]
            self.minos = f"{version >> 16}.{version >> 8 & 0xFF}"
        elif command == LC_SYMTAB:
            table, count, strings, _ = struct.unpack_from("<4I", self.data, at + 8)
            for i in range(count):
                name, kind, _, description, _ = struct.unpack_from("<IBBHQ", self.data, table + 16 * i)
                self.symbols.append((text(self.data[strings + name:strings + name + 512]), kind, description))
        elif command in (LC_DYLD_INFO, LC_DYLD_INFO_ONLY):
            offset, size = struct.unpack_from("<2I", self.data, at + 16)
            self._read_binds(self.data[offset:offset + size])

    def _read_binds(self, code: bytes) -> None:
        """The loader's small program: which address gets which symbol."""
        at = address = 0
        name, weak = "", False
        while at < len(code):
            operation, immediate = code[at] & 0xF0, code[at] & 0x0F
            at += 1
            skip, times = 0, 0
            if operation == 0x20:  # ordinal of the library
                _, at = uleb(code, at)
            elif operation == 0x40:
                name, weak = text(code[at:]), immediate & 1 != 0
                at += len(name) + 1
            elif operation == 0x60:  # addend
                _, at = uleb(code, at)
            elif operation == 0x70:
                offset, at = uleb(code, at)
                address = self.segments[immediate][0] + offset
            elif operation == 0x80:
                offset, at = uleb(code, at)
                address = (address + offset) & (1 << 64) - 1
            elif operation == 0x90:
                times = 1
            elif operation == 0xA0:
                times = 1
                skip, at = uleb(code, at)
            elif operation == 0xB0:
                times, skip = 1, immediate * 8
            elif operation == 0xC0:
                times, at = uleb(code, at)
                skip, at = uleb(code, at)
            for _ in range(times):
                self.binds[address] = (name, weak)
                address = (address + 8 + skip) & (1 << 64) - 1

    def undefined(self) -> set[str]:
        return {name for name, kind, _ in self.symbols if kind & 0x0E == 0 and kind & 0xE0 == 0}


def check_pairs(path: pathlib.Path, image: Image) -> None:
    section = image.sections.get(("__DATA", "__interpose"))
    if section is None:
        fail(f"{path}: no section __DATA,__interpose: the loader replaces nothing")
    address, size, offset, _ = section
    own_code = image.sections["__TEXT", "__text"]
    found: dict[str, bool] = {}
    for at in range(0, size, 16):
        own = struct.unpack_from("<Q", image.data, offset + at)[0]
        if not own_code[0] <= own < own_code[0] + own_code[1]:
            fail(f"{path}: pair {at // 16} has no function of this library")
        if address + at + 8 not in image.binds:
            fail(f"{path}: pair {at // 16} has no function of the system")
        name, weak = image.binds[address + at + 8]
        found[name.removeprefix("_")] = weak
    if set(found) != PAIRS | SINCE_MACOS_14:
        fail(f"{path}: replaced, but not expected: {sorted(set(found) - PAIRS - SINCE_MACOS_14)}; "
             f"expected, but not replaced: {sorted((PAIRS | SINCE_MACOS_14) - set(found))}")
    weak = {name for name, is_weak in found.items() if is_weak}
    if weak != SINCE_MACOS_14:
        fail(f"{path}: weak or not otherwise than expected: {sorted(weak ^ SINCE_MACOS_14)}")


def check(path: pathlib.Path, minos: str, cpu: str, replaces: bool) -> None:
    image = Image(path)
    if image.cpu != CPUS[cpu]:
        fail(f"{path}: it is not for {cpu}")
    if image.minos != minos:
        fail(f"{path}: it is for macOS {image.minos} or newer, not {minos}")
    if image.libraries != [SYSTEM]:
        fail(f"{path}: it needs {image.libraries}, not {SYSTEM} alone")
    emulated = sorted(name for name, _, _ in image.symbols if "emutls" in name)
    variables = [s for s in image.sections.values() if s[3] == THREAD_LOCAL_VARIABLES and s[1] != 0]
    if emulated or not variables or "__tlv_bootstrap" not in image.undefined():
        fail(f"{path}: its thread-local objects are not the system's ({', '.join(emulated) or 'there are none'})")
    if replaces:
        check_pairs(path, image)
    elif ("__DATA", "__interpose") in image.sections:
        fail(f"{path}: it replaces functions")


def main() -> None:
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    folder, minos, cpu = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    check(folder / "libashlar.dylib", minos, cpu, replaces=False)
    for name in ("libashlar-malloc.dylib", "libashlar-malloc-hardened.dylib"):
        check(folder / name, minos, cpu, replaces=True)
    print(f"{len(PAIRS)} functions replaced, and {len(SINCE_MACOS_14)} where macOS has them")


if __name__ == "__main__":
    main()
