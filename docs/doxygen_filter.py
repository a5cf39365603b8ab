#!/usr/bin/env python3
"""What Doxygen reads in place of a source file; line numbers stay.

- The head of a file, an ordinary comment in the source, is the file's description, as it stands there.
- Requires-clauses between a function's head and its body or `= default` go: Doxygen 1.9 loses its way there.

Run: doxygen_filter.py FILE
"""
import re
import sys


def with_head(text: str, name: str) -> str:
    """The text, its first comment a description of the file `name`."""
    start = f" @file {name} @verbatim"
    line_head = re.match(r"(?://[^\n]*\n)+", text)
    block_head = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    if line_head:
        lines = [line[2:] for line in line_head[0].splitlines()]
        lines[0] = start + lines[0]
        lines[-1] += " @endverbatim"
        return "".join(f"//!{line}\n" for line in lines) + text[line_head.end() :]
    if block_head:
        body = re.sub(r"\n \*", "\n", block_head[1])
        return f"/*!{start}{body}@endverbatim */" + text[block_head.end() :]
    return text


def without_clauses(text: str) -> str:
    """The text without the requires-clauses, on lines of their own, of functions that begin in the next line."""
    text = re.sub(r"\n *requires[^\n]*\n *= (default|delete);", r" = \1;\n\n", text)
    return re.sub(r"\n *requires[^\n]*\n( *\{)", r"\n\n\1", text)


path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    sys.stdout.write(without_clauses(with_head(file.read(), path)))
