#!/usr/bin/env python3
"""Compares ashlar/ashlar.cppm with the headers: the module exports each name that a header declares which
<ashlar/ashlar.hpp> or <ashlar/freestanding.hpp> names, outside of the namespaces `detail`.

Run: module_names.py CHECKOUT           ends with an error that says what is missing or too much
     module_names.py CHECKOUT --write   writes the file anew
"""
import pathlib
import re
import sys

UMBRELLAS = ("ashlar/freestanding.hpp", "ashlar/ashlar.hpp")
NOT_FOR_USERS = {"ashlar/freestanding.hpp", "ashlar/core/config.hpp"}
INCLUDE = re.compile(r"^#include <(ashlar/[\w/]+\.hp?p?)>")
OPENS = re.compile(r"^namespace ([\w:]+) \{")
NO_BRACES = re.compile(r"//.*|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'")
# The sources are formatted, so a declaration of a namespace begins in the first column.
TYPE = re.compile(r"^(?:class|struct|enum class|concept)(?: \[\[\w+\]\])?(?: alignas\([^;]*\))? (\w+)(?! *<)(?:$|[ ;:])")
ALIAS = re.compile(r"^using (?:std::pmr::)?(\w+)(?: =|;)")
OBJECT = re.compile(r"^(?:template <.*> )?inline (?:constexpr|constinit) [\w:]+ (\w+) =")
FUNCTION = re.compile(r"^(?=[a-z\[])(?!template|static_assert|class|struct|enum|using|namespace|concept|extern)"
                      r"[\w\[\]:<>*&., ]+?[ *&](operator==|\w+)\(")
HEAD = """\
// ashlar.cppm: all of <ashlar/ashlar.hpp> as a C++20 module: `import ashlar;`. Macros and the C API are in the headers alone.
// Made by scripts/module_names.py --write, which also compares it with the headers.
module;
#include <ashlar/ashlar.hpp>
export module ashlar;

export using ::operator new;  // placement_new.hpp: new (pool) T
export using ::operator delete;
"""


def declared(root: pathlib.Path) -> dict[str, set[str]]:
    """Each namespace's names, by its whole name."""
    found: dict[str, set[str]] = {}
    for umbrella in UMBRELLAS:
        for line in (root / umbrella).read_text().splitlines():
            include = INCLUDE.match(line)
            if include and include[1] not in NOT_FOR_USERS:
                add_header(root / include[1], found)
    return found


def add_header(path: pathlib.Path, found: dict[str, set[str]]) -> None:
    around: list[tuple[str, int]] = []  # the namespaces, and how many braces are open before each
    depth = 0
    for line in path.read_text().splitlines():
        opens = OPENS.match(line)
        if opens:
            around.append((opens[1], depth))
        elif around and "detail" not in "::".join(name for name, _ in around).split("::"):
            declared_name = TYPE.match(line) or ALIAS.match(line) or OBJECT.match(line) or FUNCTION.match(line)
            if declared_name:
                found.setdefault("::".join(name for name, _ in around), set()).add(declared_name[1])
        code = NO_BRACES.sub("", line)
        depth += code.count("{") - code.count("}")
        while around and depth == around[-1][1]:
            around.pop()


def module(names: dict[str, set[str]]) -> str:
    text = HEAD
    for space in sorted(names):
        text += f"\nexport namespace {space} {{\n"
        text += "".join(f"using {space}::{name};\n" for name in sorted(names[space]))
        text += f"}}  // namespace {space}\n"
    return text


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    file = root / "ashlar/ashlar.cppm"
    made = module(declared(root))
    if "--write" in sys.argv[2:]:
        file.write_text(made)
        return
    there = set(file.read_text().splitlines())
    wanted = set(made.splitlines())
    for line in sorted(wanted - there):
        print(f"module: ashlar.cppm lacks: {line}")
    for line in sorted(there - wanted):
        print(f"module: ashlar.cppm has what no public header declares: {line}")
    if there != wanted:
        sys.exit("module: scripts/module_names.py CHECKOUT --write renews ashlar/ashlar.cppm")
    print(f"module: {sum(map(len, declared(root).values()))} names, as the headers have them")


if __name__ == "__main__":
    main()
