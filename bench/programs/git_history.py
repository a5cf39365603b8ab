#!/usr/bin/env python3
"""Writes a repository's history as a stream for `git fast-import`: text files that grow, change and move.

Usage: git_history.py [COMMITS]      default: 500

Dates, names and contents follow from the commit's number, so that every object has the same name everywhere.
"""

import sys

FILES = 60
START = 1_600_000_000  # the first commit's time, seconds since 1970
WORDS = ("stone block course wall arch vault lintel mortar chisel quarry bed joint face edge corner span load "
         "thrust pier footing").split()


def sentence(number):
    """Five to twelve words and a figure; neighbouring numbers give quite different ones."""
    mixed = number * 2654435761 % 4294967296
    chosen = [WORDS[(mixed >> shift) % len(WORDS)] for shift in range(0, 5 + mixed % 8)]
    return f"{' '.join(chosen)} {mixed % 10007}"


def data(text):
    payload = text.encode()
    return b"data %d\n%s\n" % (len(payload), payload)


def write_history(commits, out):
    """Each commit rewrites a few lines of seven files, adds some, and now and then renames a file."""
    lines = {f: [sentence(f * 100_003 + n) for n in range(40 + f * 5)] for f in range(FILES)}
    place = {f: f"part{f % 6}/file{f}.txt" for f in range(FILES)}
    for commit in range(commits):
        touched = range(FILES) if commit == 0 else sorted({(commit * 7 + step * step) % FILES for step in range(7)})
        moves = []
        for f in touched:
            for change in range(commit % 4 + 1):
                lines[f][(commit * 31 + change * 17 + f) % len(lines[f])] = sentence(commit * 1009 + change * 101 + f)
            lines[f].insert(commit * 13 % len(lines[f]), sentence(commit * 7919 + f))
        if commit % 25 == 24:
            f, before = commit % FILES, place[commit % FILES]
            place[f] = f"part{commit // 25 % 6}/moved{commit}.txt"
            if before != place[f]:
                moves.append(f'R "{before}" "{place[f]}"\n'.encode())
        out.write(b"commit refs/heads/main\n")
        for role in (b"author", b"committer"):
            out.write(b"%s Mason <mason@example.invalid> %d +0000\n" % (role, START + commit * 3600))
        out.write(data(f"change {commit}\n\n{sentence(commit)}\n"))
        out.writelines(moves)
        for f in touched:
            out.write(f'M 100644 inline "{place[f]}"\n'.encode() + data("\n".join(lines[f]) + "\n"))
        if commit % 100 == 99:
            out.write(f"tag release-{commit // 100}\nfrom refs/heads/main\n".encode())
            out.write(b"tagger Mason <mason@example.invalid> %d +0000\n" % (START + commit * 3600))
            out.write(data(f"release {commit // 100}\n"))
    out.write(b"done\n")


if __name__ == "__main__":
    write_history(int(sys.argv[1]) if len(sys.argv) > 1 else 500, sys.stdout.buffer)
