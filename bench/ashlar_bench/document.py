"""Rewrites the generated parts of a hand-written document in place, between

    <!-- generated: NAME -->
    <!-- end -->
"""

import re

from .allocators import UserError

PART = re.compile(r"^(<!-- generated: ([\w-]+) -->\n)(.*?)^(<!-- end -->)$", re.M | re.S)


def names(text):
    return [match.group(2) for match in PART.finditer(text)]


def rewrite(text, parts):
    """Replaces each marked part; every marker must have a part of that name."""
    opened, found = len(re.findall(r"^<!-- generated: ", text, re.M)), names(text)
    if opened != len(found) or len(re.findall(r"^<!-- end -->$", text, re.M)) != len(found):
        raise UserError("a generated part has no end; each '<!-- generated: NAME -->' wants its own "
                        "'<!-- end -->' line")
    unknown = [name for name in found if name not in parts]
    if unknown:
        raise UserError(f"nothing makes the part {', '.join(unknown)}; there are {', '.join(parts)}")
    return PART.sub(lambda m: f"{m.group(1)}{parts[m.group(2)].strip()}\n{m.group(4)}", text)
