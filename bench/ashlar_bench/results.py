"""The raw rows: one for each result of each process, appended to a CSV as they come.

Lines of `# name: value`, first and last, say what holds for the whole run. A table can be made of a partial file.
"""

import csv

FIELDS = ("round", "allocator", "source", "case", "row", "kind", "unit", "value", "low", "high", "samples",
          "operations", "fact", "wall_s", "user_s", "system_s", "peak_rss_kib", "final_rss_kib", "harness_kib",
          "page_tables_kib", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
NUMBERS = ("value", "low", "high", *FIELDS[FIELDS.index("wall_s"):])
COUNTED = ("instructions", "system_calls", "hit_path")  # kinds of rows that untimed runs of their own made
FAILURE = "failure"  # a row of this kind has its message under `fact`


class Writer:
    """Appends rows and flushes each, so that an interrupted run leaves what it has measured."""

    def __init__(self, path, facts):
        self.file = open(path, "w", newline="", encoding="utf-8") if path else None
        if self.file:
            write_facts(self.file, facts)
            self.writer = csv.DictWriter(self.file, FIELDS, lineterminator="\n")
            self.writer.writeheader()

    def append(self, rows):
        if self.file:
            self.writer.writerows(rows)
            self.file.flush()

    def add_facts(self, facts):
        """What is known only at the end."""
        if self.file:
            write_facts(self.file, facts)

    def close(self):
        if self.file:
            self.file.close()


def write_facts(file, facts):
    for name, value in facts.items():
        file.write(f"# {name}: {value}\n")


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def parse(lines):
    """(facts, rows) of a CSV; fields that are numbers are floats, or None where empty."""
    facts, data = {}, []
    for line in lines:
        if line.startswith("# "):
            name, _, value = line[2:].rstrip("\n").partition(": ")
            facts[name] = value
        else:
            data.append(line)
    rows = list(csv.DictReader(data))
    if rows and not set(FIELDS) <= set(rows[0]):
        missing = [name for name in FIELDS if name not in rows[0]]
        raise ValueError(f"it has no column {', '.join(missing)}; was it written by run_bench.py?")
    for row in rows:
        row.update({name: number(row[name]) for name in NUMBERS})
    return facts, rows


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return parse(file)


def write(path, facts, rows):
    writer = Writer(path, facts)
    writer.append(rows)
    writer.close()
