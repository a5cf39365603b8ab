"""Source text is parsed to a tree, rewritten, printed and parsed again; then words are counted and sorted.

Usage: python_objects.py [FUNCTIONS]      default: 600

Every node, name, list and tuple is an object of its own, and few live as long as the tree: the opposite of
python_json.py, whose records all live to the end. The same numbers in every run: no clock, no random source.
"""

import ast
import gc
import hashlib
import sys

FUNCTION = """
def handle_{n}(first, second={n}, *rest, **named):
    total = {{"name_{n}": first, "other_{m}": [second, *rest]}}
    for index, value in enumerate(rest):
        if value % {d} == 0 and named.get("key_{m}", {n} * {m} + 1) > index:
            total["name_{n}"] += value * ({n} + {m} - {d})
        elif (index, value) in ((1, {m}), (2, {d}), (3, 4 * {n})):
            total.setdefault(f"found {{value}} of {n}", []).append(lambda x: x + value)
    return sorted(total.items(), key=lambda pair: (len(pair[0]), pair[0]))
"""


class FoldConstants(ast.NodeTransformer):
    """Replaces sums, differences and products of constants by their value, and renames the functions."""

    OPERATIONS = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__}

    def visit_BinOp(self, node):
        self.generic_visit(node)
        operation = self.OPERATIONS.get(type(node.op))
        sides = (node.left, node.right)
        if operation and all(isinstance(side, ast.Constant) and isinstance(side.value, int) for side in sides):
            value = operation(node.left.value, node.right.value)
            if value >= 0:  # a negative number is printed as a minus sign and a constant: another tree
                return ast.copy_location(ast.Constant(value), node)
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.name = "renamed_" + node.name
        return node


def count_phrases(text):
    """How often each pair of neighbouring words occurs, and after which words each word comes."""
    words = text.split()
    pairs, before = {}, {}
    for left, right in zip(words, words[1:]):
        pairs[left, right] = pairs.get((left, right), 0) + 1
        before.setdefault(right, set()).add(left)
    return sorted(pairs.items(), key=lambda item: (-item[1], item[0])), before


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    source = "".join(FUNCTION.format(n=n, m=n * 37 % 1009, d=n % 7 + 2) for n in range(count))
    tree = FoldConstants().visit(ast.parse(source))
    text = ast.unparse(tree)
    again = ast.parse(text)
    if ast.dump(again) != ast.dump(tree):
        sys.exit("the printed tree parses to another one")
    code = compile(again, "generated", "exec")
    nodes = sum(1 for _ in ast.walk(again))
    del tree, again
    collected = gc.collect()
    pairs, before = count_phrases(text)
    digest = hashlib.sha256(repr((text, pairs)).encode()).hexdigest()[:16]
    print(count, nodes, len(code.co_consts), len(pairs), len(before), collected >= 0, digest)


if __name__ == "__main__":
    main()
