"""The parts of a page that commands write: each between `<!-- generated: NAME -->` and `<!-- end -->`."""
import sys


def split(page: str, name: str) -> tuple[str, str, str]:
    """The page up to the part, the part, and the rest. Ends the process when it has no such part."""
    begin, end = f"<!-- generated: {name} -->\n", "<!-- end -->"
    head, mark, rest = page.partition(begin)
    if not mark or end not in rest:
        sys.exit(f"the page has no part '{begin.strip()}' ... '{end}'")
    part, end, rest = rest.partition(end)
    return head + mark, part, end + rest


def replaced(page: str, name: str, text: str) -> str:
    head, _, rest = split(page, name)
    return f"{head}{text.rstrip()}\n{rest}"
