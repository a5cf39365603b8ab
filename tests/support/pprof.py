"""Profiles of pprof's format, and other protobuf messages, read without any code of ashlar's."""


def variable(data, at=0):
    """Returns: the number there, and where what follows begins."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """The fields of a message: (number, a number or bytes)."""
    at = 0
    while at < len(data):
        key, at = variable(data, at)
        assert key & 7 in (0, 1, 2), f"wire type {key & 7}"
        if key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            value, at = variable(data, at)
        if key & 7 == 2:
            assert at + value <= len(data), "a part is longer than what it is in"
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def inside(data, *path):
    """All fields of a message that have these numbers, one within the other."""
    found = [value for number, value in fields(data) if number == path[0]]
    return [each for value in found for each in inside(value, *path[1:])] if path[1:] else found


def numbers(data):
    """Those of a packed field."""
    at, found = 0, []
    while at < len(data):
        value, at = variable(data, at)
        found.append(value if value < 1 << 63 else value - (1 << 64))
    return found


OF_SAMPLES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "lifetime"]


class Profile:
    def __init__(self, data, types=OF_SAMPLES):
        parts = list(fields(data))
        self.texts = texts = [value.decode() for number, value in parts if number == 6]
        assert texts[0] == "", "the first text is the empty one"
        single = {number: value for number, value in parts if isinstance(value, int)}
        messages = [(number, dict(fields(value))) for number, value in parts if number in (1, 2, 3, 4, 5)]
        self.types = [texts[part[1]] for number, part in messages if number == 1]
        assert self.types == types, self.types
        self.shown_first, self.period = texts[single[14]], single[12]
        self.comments = [texts[value] for number, value in parts if number == 13]
        self.mappings, self.locations, functions = ({part[1]: part for number, part in messages if number == kind}
                                                    for kind in (3, 4, 5))
        assert len(self.locations) == sum(number == 4 for number, _ in messages), "a location is there twice"
        for mapping in self.mappings.values():
            assert mapping[2] < mapping[3] and texts[mapping[5]], mapping
        self.functions = {number: texts[part.get(2, 0)] for number, part in functions.items()}
        self.samples = [(numbers(part.get(1, b"")), numbers(part[2])) for number, part in messages if number == 2]
        labels = [dict(fields(part[3])) if 3 in part else None for number, part in messages if number == 2]
        assert all(texts[label[1]] == "tag" for label in labels if label)
        self.tags = [texts[label[2]] if label else None for label in labels]  # of each sample

    def sum(self, kind, *tags):
        """Of all samples, or of those with one of these tags."""
        at = self.types.index(kind)
        return sum(values[at] for (_, values), tag in zip(self.samples, self.tags) if not tags or tag in tags)

    def has(self, name):
        """Whether a function's name has this in it."""
        return any(name in each for each in self.functions.values())
