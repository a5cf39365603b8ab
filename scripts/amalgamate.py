#!/usr/bin/env python3
"""Writes ashlar_pools.hpp: the pools and arenas of ashlar as one header that needs nothing else.

It is <ashlar/freestanding.hpp> with all headers of the library that this includes, in their order. So it has
core, pool and arena, and no heap.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = re.compile(r"^\s*#\s*include\s+<(ashlar/[\w/]+\.(?:hpp|h))>")
SYSTEM = re.compile(r"^\s*#\s*include\s+(<[\w./]+>)")
OPENS = re.compile(r"^\s*#\s*if")
CLOSES = re.compile(r"^\s*#\s*endif")

HEAD = """\
// ashlar_pools.hpp: the pools and arenas of ashlar {version} in one header. C++20.
// Made by scripts/amalgamate.py. Change the headers that it was made from.
//
// A misuse of a pool or an arena is told to ashlar_fault, and blocks that are left at an end to ashlar_report.
// In one source file of a hosted program, define ASHLAR_POOLS_IMPLEMENTATION before you include this header.
// Then ashlar_fault writes a line to standard error and aborts. A freestanding program defines both functions
// itself, and memcpy and memset where its compiler asks for them.
//
{license}
#ifndef ASHLAR_POOLS_HPP
#define ASHLAR_POOLS_HPP
#if defined(ASHLAR_VERSION_MAJOR)
#error "A source file includes either ashlar_pools.hpp or the headers of ashlar, and not both."
#endif
"""

TAIL = """
#endif  // ASHLAR_POOLS_HPP

#if defined(ASHLAR_POOLS_IMPLEMENTATION) && !defined(ASHLAR_POOLS_IMPLEMENTED)
#define ASHLAR_POOLS_IMPLEMENTED
#include <cstdio>
#include <cstdlib>

extern "C" void ashlar_report(const ashlar::fault& what) noexcept {
  ashlar::line_writer<256> line;
  line << "ashlar: " << (what.call != nullptr ? what.call : "unknown call") << "(" << what.address
       << "): " << ashlar::describe(what.kind);
  if (what.pool != nullptr) line << ", " << what.pool;
  if (what.blocks != 0) line << ", blocks: " << what.blocks;
  line.end_line();
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}
extern "C" [[noreturn]] void ashlar_fault(const ashlar::fault& what) noexcept {
  ashlar_report(what);
  std::abort();
}
#endif  // ASHLAR_POOLS_IMPLEMENTATION
"""


class Amalgamation:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.everywhere: set[str] = set()  # included already, whatever the macros say
        self.sometimes: set[str] = set()  # included inside of a condition

    def once(self, name: str, conditional: bool) -> bool:
        """Whether `name` has to stand here, too."""
        if name in self.everywhere:
            return False
        if name in self.sometimes and name.startswith("ashlar/"):
            sys.exit(f"amalgamate: {name} is included inside of a condition and again: it would stand here twice")
        (self.sometimes if conditional else self.everywhere).add(name)
        return True

    def add(self, name: str, around: int = 0) -> None:
        """The text of a header, in `around` conditions."""
        self.lines.append(f"\n// ---- {name}")
        depth = around
        for line in (ROOT / name).read_text().splitlines():
            if OPENS.match(line):
                depth += 1
            elif CLOSES.match(line):
                depth -= 1
            own, system = OWN.match(line), SYSTEM.match(line)
            if line.strip() == "#pragma once":
                continue
            if own:
                if self.once(own[1], depth > 0):
                    self.add(own[1], depth)
            elif not system or self.once(system[1], depth > 0):
                self.lines.append(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    output = parser.parse_args().output
    whole = Amalgamation()
    whole.add("ashlar/freestanding.hpp")
    text = "\n".join(whole.lines)
    version = ".".join(re.search(rf"#define ASHLAR_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    license_text = "\n".join(f"// {line}".rstrip() for line in (ROOT / "LICENSE").read_text().splitlines())
    text = HEAD.format(version=version, license=license_text) + re.sub(r"\n{3,}", "\n\n", text) + TAIL
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)
    print(f"{len(text)} {output}")


if __name__ == "__main__":
    main()
