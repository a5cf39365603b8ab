#!/usr/bin/env python3
"""Proves of an image that it has no heap and no writable data but its pools.

Reads symbols and sections: no malloc, free, sbrk, operator new or delete, exception or printf; every object in .data
and .bss is a pool of the image's map (ASHLAR_POOL_MAP), and their sizes are that of the sections, to the byte.

usage: check_image.py IMAGE.elf [--allow REGEX] [--also NAME]... [--constructors]
  --allow REGEX   symbols that are no heap here, such as an operator new that ends in a fault
  --also NAME     a writable object that is no pool, by a part of its symbol
  --constructors  static constructors are allowed
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from pool_map import Image  # noqa: E402

HEAP = re.compile(r"_?(malloc|free|calloc|realloc|memalign|aligned_alloc|reallocarray)(_r)?$|_?sbrk(_r)?$|__malloc_\w+$")
PRINT = re.compile(r"_?v?[fs]?n?i?printf(_r)?$|_?(puts|fwrite|fputs)(_r)?$")
RUNTIME = re.compile(r"__cxa_(?!pure_virtual)\w+$|_Unwind_\w+$|__gxx_personality\w*$")
OPERATORS = re.compile(r"_Zn[wa]j|_Zd[la]Pv(j|$)")
FORBIDDEN = (HEAP, PRINT, RUNTIME, OPERATORS)
OBJECT = 1  # a symbol's kind


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image")
    parser.add_argument("--allow", type=re.compile, default=re.compile("(?!)"))
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("--constructors", action="store_true")
    arguments = parser.parse_args()
    image = Image(arguments.image)
    symbols = list(image.symbols())
    wrong = []

    wrong += [f"{s.name} is in the image" for s in symbols
              if any(f.match(s.name) for f in FORBIDDEN) and not arguments.allow.fullmatch(s.name)]

    rows = list(image.pools())
    pools = {row.address: row.bytes for row in rows if row.bytes}
    writable = [i for i, s in enumerate(image.sections) if s.name in (".data", ".bss")]
    known = 0
    for s in symbols:
        if s.section not in writable or s.kind != OBJECT:
            continue
        if pools.get(s.address) == s.size or any(name in s.name for name in arguments.also):
            known += s.size
        else:
            wrong.append(f"{s.name} is writable ({s.size} bytes) and no pool")
    sections = image.size(".data") + image.size(".bss")
    if known != sections:
        wrong.append(f".data and .bss are {sections} bytes, pools and what was allowed {known}")
    if image.size(".init_array") and not arguments.constructors:
        wrong.append("a static constructor runs (.init_array is not empty)")
    if not rows:
        wrong.append("no pool is in the map: nothing would be proved")

    if wrong:
        raise SystemExit(f"{arguments.image}:\n  " + "\n  ".join(wrong))
    print(f"no heap in {len(symbols)} symbols; {len(pools)} pools are {sum(pools.values())} of {sections} writable bytes")


if __name__ == "__main__":
    main()
