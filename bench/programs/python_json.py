"""A JSON round trip: many small objects are made, written as text, parsed again and compared.

Usage: python_json.py [OBJECTS]      default: 120000

The same numbers in every run: no clock, no hash seed, no random source.
"""

import json
import sys


def make_record(number):
    return {
        "id": number,
        "name": "record %d" % number,
        "price": number * 37 % 10007 / 100,
        "tags": ["tag%d" % (number * factor % 97) for factor in range(1, 1 + number % 5)],
        "parent": {"id": number // 2, "open": number % 3 == 0},
    }


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 120000
    records = [make_record(number) for number in range(count)]
    text = json.dumps(records)
    parsed = json.loads(text)
    if parsed != records:
        sys.exit("the round trip changed the data")
    by_tag = {}
    for record in parsed:
        for tag in record["tags"]:
            by_tag.setdefault(tag, []).append(record["id"])
    print(len(text), len(by_tag), sum(len(ids) for ids in by_tag.values()))


if __name__ == "__main__":
    main()
