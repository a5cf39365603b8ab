"""The parts of a page that commands write: each between `<!-- generated: NAME -->` and `<!-- end -->`."""
import re
import sys

PART = re.compile(r"^(<!-- generated: ([\w -]+) -->\n)(.*?)^(?=<!-- end -->$)", re.M | re.S)


def parts(page: str) -> dict[str, str]:
    """The text of each part. Ends the process where one has no end of its own."""
    found = {name: text for _, name, text in PART.findall(page)}
    if not len(found) == len(re.findall(r"^<!-- generated: ", page, re.M)) == len(re.findall(r"^<!-- end -->$", page, re.M)):
        sys.exit("each '<!-- generated: NAME -->' wants its own '<!-- end -->' line")
    return found


def replaced(page: str, name: str, text: str) -> str:
    """Ends the process where the page has no such part."""
    if name not in parts(page):
        sys.exit(f"the page has no part '<!-- generated: {name} -->'")
    return PART.sub(lambda part: f"{part[1]}{text.strip()}\n" if part[2] == name else part[0], page)


def rewritten(page: str, texts: dict[str, str]) -> str:
    """All parts are replaced. Ends the process where one has no text."""
    for name in parts(page):
        if name not in texts:
            sys.exit(f"nothing makes the part '{name}'; there are {', '.join(texts)}")
        page = replaced(page, name, texts[name])
    return page
