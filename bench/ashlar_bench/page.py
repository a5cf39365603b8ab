"""The overview as one HTML file that needs no network: the table of twelve lines and the charts."""

import html
import re
from string import Template

from . import overview

PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>ashlar beside other allocators</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #8886; text-align: left; white-space: nowrap; }
td:last-child { white-space: normal; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.behind td { background: #d9534f2e; }
figure svg { max-width: 100%; height: auto; }
h2 { font-size: 1.1rem; margin: 2rem 0 0; }
figure { margin: 0; }
footer { font-size: 0.9rem; opacity: 0.8; }
</style>
<h1>ashlar beside other allocators</h1>
<p>Less is better, except in the last chart. The C library's malloc is 1, and each figure is a geometric mean. The ratio
is ashlar's cost over the best peer's. Lines in which ashlar is behind are marked.</p>
<div class="wide"><table>
$table
</table></div>
$charts
<footer><p>$machine</p></footer>
</html>
""")


def row(cells, tag="td", behind=False):
    made = "".join(f"<{tag}{'' if column in overview.LEFT else ' class=number'}>"
                   f"{html.escape(cell.replace('**', ''))}</{tag}>" for column, cell in enumerate(cells))
    return f"<tr{' class=behind' if behind else ''}>{made}</tr>"


def inline(svg, number):
    """Without the XML declaration. Names inside are made unlike those of the page's other charts."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>chart{number}-", svg)
    return svg


def render(judged, machine, charts):
    """charts: [(caption, SVG text)]."""
    lines = [row(overview.HEADER, "th")]
    lines += [row(overview.cells(each), behind=each.ratio.verdict == "behind") for each in judged]
    figures = [f"<h2>{html.escape(caption[:1].upper() + caption[1:])}</h2><figure>{inline(svg, number)}</figure>"
               for number, (caption, svg) in enumerate(charts)]
    return PAGE.substitute(table="\n".join(lines), charts="\n".join(figures), machine=html.escape(machine))
