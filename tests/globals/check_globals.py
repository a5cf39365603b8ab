"""Reads the symbols of object files, and fails when one is a writable global that is not listed.

A source is named by its room: what is behind <target>.dir/ in the path of its object.
Run: check_globals.py OBJDUMP LIST OBJECT...
"""

import fnmatch
import re
import subprocess
import sys

WRITABLE = re.compile(r"\.(data|bss|tdata|tbss)(\.|$)|\*COM\*$")
CONSTANT = re.compile(r"\.data\.rel\.ro(\.|$)|\.data\.rel\.local\.DW\.ref\.")
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+ (?:\.hidden )?(.+)$")


def read_list(path):
    """Returns: (source, name) of each line."""
    entries = []
    for line in open(path, encoding="utf-8"):
        if line.startswith("#") or not line.strip():
            continue
        parsed = re.match(r"^(\S+) (\S+): \S", line)
        if parsed is None:
            sys.exit(f"{path}: no source, name and reason: {line}")
        entries.append(parsed.groups())
    return entries


def globals_of(objdump, object_file):
    """Returns: the names of the object's writable globals, without their namespaces."""
    text = subprocess.run([objdump, "-t", "-C", object_file], check=True, capture_output=True,
                          text=True).stdout
    for line in text.splitlines():
        symbol = SYMBOL.match(line)
        if symbol is None:
            continue
        flags, section, name = symbol.groups()
        is_name = flags[5] not in "df"  # neither a section's nor a file's
        if is_name and WRITABLE.match(section) and not CONSTANT.match(section):
            yield re.search(r"[^:]*$", name)[0]


def main():
    objdump, list_file, *objects = sys.argv[1:]
    allowed = read_list(list_file)
    used, wrong, count = set(), [], 0
    for object_file in objects:
        source = re.search(r"\.dir/(?:\./)?(.*)\.o$", object_file)[1]
        for name in globals_of(objdump, object_file):
            count += 1
            entry = next((e for e in allowed
                          if fnmatch.fnmatch(source, e[0]) and fnmatch.fnmatch(name, e[1])), None)
            if entry is None:
                wrong.append(f"{source} has a writable global: {name}")
            used.add(entry)
    wrong += [f"listed, but not there: {e[0]} {e[1]}" for e in allowed if e not in used]
    if wrong:
        sys.exit("\n".join(sorted(set(wrong))))
    print(f"{count} writable globals in {len(objects)} objects, all listed")


main()
