#!/usr/bin/env python3
"""Writes a problem for an SMT solver (SMT-LIB 2) in three parts, none of which has a solution.

Usage: smt_problem.py [PIGEONS [BITS [WRITES]]]      default: 8 10 8

Each part is a theorem's negation, so that the right answer to every `(check-sat)` is `unsat`:
- PIGEONS pigeons do not fit in one hole less with one a hole (propositional search and learnt clauses);
- a prime number of BITS bits has no two factors above one (bit vectors turned into a circuit);
- WRITES writes to an array at different places give the same array in either order (terms and equalities).
"""

import sys


def pigeons(count):
    holes = range(count - 1)
    yield from (f"(declare-const p_{p}_{h} Bool)" for p in range(count) for h in holes)
    yield from (f"(assert (or {' '.join(f'p_{p}_{h}' for h in holes)}))" for p in range(count))
    yield from (f"(assert (not (and p_{p}_{h} p_{q}_{h})))"
                for h in holes for q in range(count) for p in range(q))


def largest_prime_below(limit):
    return next(n for n in range(limit - 1, 1, -1) if all(n % divisor for divisor in range(2, int(n ** 0.5) + 1)))


def factors(bits):
    """The product has room for all its bits, so that it cannot wrap around to the prime."""
    yield from (f"(declare-const {name} (_ BitVec {2 * bits}))" for name in "ab")
    yield from (f"(assert (and (bvult (_ bv1 {2 * bits}) {name}) (bvult {name} (_ bv{2 ** bits} {2 * bits}))))"
                for name in "ab")
    yield f"(assert (= (bvmul a b) (_ bv{largest_prime_below(2 ** bits)} {2 * bits})))"


def writes(count):
    """The index and element types have no members of their own, so only the axioms of arrays help."""
    yield from ("(declare-sort Place 0)", "(declare-sort Thing 0)", "(declare-const start (Array Place Thing))")
    yield from (f"(declare-const i{n} Place)\n(declare-const v{n} Thing)" for n in range(count))
    yield f"(assert (distinct {' '.join(f'i{n}' for n in range(count))}))"
    forward = backward = "start"
    for n in range(count):
        forward = f"(store {forward} i{n} v{n})"
        backward = f"(store {backward} i{count - 1 - n} v{count - 1 - n})"
    yield f"(assert (not (= {forward} {backward})))"


def problem(pigeon_count, bits, write_count):
    for part in (pigeons(pigeon_count), factors(bits), writes(write_count)):
        yield "(push 1)"
        yield from part
        yield "(check-sat)\n(pop 1)"


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:4]]
    print("\n".join(problem(*(given + [8, 10, 8][len(given):]))))
