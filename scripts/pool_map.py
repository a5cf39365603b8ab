#!/usr/bin/env python3
"""What the pools of an image take of RAM: the rows that ASHLAR_POOL_MAP left in it (ashlar/pool/pool_map.hpp).

usage: pool_map.py IMAGE.elf
"""
import pathlib
import struct
import sys
from typing import NamedTuple


class Section(NamedTuple):
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int


class Symbol(NamedTuple):
    name: str
    address: int
    size: int
    kind: int
    section: int


class Row(NamedTuple):
    name: str
    address: int
    bytes: int
    block_size: int
    stride: int
    capacity: int


class Image:
    """A 32-bit little-endian ELF file, as far as it is needed here."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x01\x01":
            raise SystemExit(f"pool_map: {path} is no 32-bit little-endian ELF file")
        table, = struct.unpack_from("<I", self.data, 32)
        entry, count, names = struct.unpack_from("<HHH", self.data, 46)
        headers = [struct.unpack_from("<10I", self.data, table + i * entry) for i in range(count)]
        self.sections = [Section(self.text(headers[names][4] + h[0]), h[1], h[3], h[4], h[5], h[6]) for h in headers]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def section(self, name):
        return next((s for s in self.sections if s.name == name), None)

    def size(self, name):
        section = self.section(name)
        return section.size if section else 0

    def symbols(self):
        table = next(s for s in self.sections if s.kind == 2)
        texts = self.sections[table.link].offset
        for at in range(table.offset, table.offset + table.size, 16):
            name, address, size, kind, _, section = struct.unpack_from("<IIIBBH", self.data, at)
            yield Symbol(self.text(texts + name), address, size, kind & 15, section)

    def pools(self):
        section = self.section(".ashlar_pool_map")
        for at in range(section.offset, section.offset + section.size, 52) if section else ():
            name, *figures = struct.unpack_from("<32s5I", self.data, at)
            yield Row(name.split(b"\0")[0].decode(), *figures)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    rows = list(Image(sys.argv[1]).pools())
    if not rows:
        raise SystemExit(f"pool_map: no pool of {sys.argv[1]} has ASHLAR_POOL_MAP, or the linker dropped the section: "
                         "KEEP(*(.ashlar_pool_map))")
    print(f"{'pool':<32} {'address':>10} {'bytes':>8} {'block':>6} {'stride':>6} {'blocks':>6} {'overhead':>8}")
    total = 0
    for i, row in enumerate(rows):
        in_blocks = sum(r.stride * r.capacity for r in rows if r.address == row.address)
        first = row.bytes != 0
        overhead = row.bytes - in_blocks if first and row.capacity else ""
        print(f"{row.name if first else '':<32} {f'0x{row.address:08x}' if first else '':>10} "
              f"{row.bytes if first else '':>8} {row.block_size or '':>6} {row.stride or '':>6} {row.capacity or '':>6} "
              f"{overhead:>8}")
        total += row.bytes
    print(f"{'total':<32} {'':>10} {total:>8}")


if __name__ == "__main__":
    main()
