"""Prometheus's text format."""
import re


def parse_metrics(text):
    """Prometheus's text format, strictly: name -> (type, {labels: value}). Each line is one of its forms."""
    families, name, kind = {}, None, None
    helped = None
    for line in text.splitlines():
        if found := re.fullmatch(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\n]+", line):
            helped = found[1]
            assert helped not in families, line
        elif found := re.fullmatch(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)", line):
            name, kind = found.groups()
            assert name == helped and (kind == "counter") == name.endswith("_total"), line
            families[name] = (kind, {})
        else:
            found = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9.e+-]+)', line)
            assert found and found[1] == name, line
            label = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
            assert not found[2] or re.fullmatch(rf"{label}(?:,{label})*", found[2]), line
            labels = tuple((n, re.sub(r"\\(.)", lambda sign: "\n" if sign[1] == "n" else sign[1], v))
                           for n, v in re.findall(label, found[2] or ""))
            assert labels not in families[name][1], line
            families[name][1][labels] = int(found[3]) if found[3].isdigit() else float(found[3])
    assert families
    return families
