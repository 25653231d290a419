"""Every way in which n points of the plane can be oriented, and which labelings two half-planes realise.

Of a point set in general position only the orientations of its triples (counter-clockwise or not) are kept::

      k                       chi(i, j, k) = 1: counter-clockwise
     ´ `.                     point 0 is a vertex of the hull and the others are numbered counter-clockwise
    i ── j                    around it, so chi(0, i, j) = 1 for i < j: any set can be numbered so

What orientations of points satisfy (Knuth, "Axioms and hulls", 1992): interiority and transitivity, two
identities of determinants (`axioms`). Systems of orientations that satisfy them may be more than those of
points: a statement that is proved of all of them is proved of all point sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from ..claim import Evidence
from .identities import identities, symbols
from .rational_plane import area, cross

__all__ = ["Orientations", "axioms", "orientations", "unrealised"]

Orientations = dict[tuple[int, int, int], bool]


def axioms() -> Evidence:
    """The two axioms follow from identities: where all other terms are positive, so is the one in
    question."""
    s, p, q, r = (symbols(f"{name}:2") for name in "spqr")
    t = symbols("t:2")
    interiority = area(p, q, r), area(t, q, r) + area(p, t, r) + area(p, q, t)
    transitivity = cross(s, q) * cross(p, r), cross(s, p) * cross(q, r) + cross(s, r) * cross(p, q)
    return identities([interiority, transitivity], "orientations of points satisfy Knuth's axioms")


def orientations(n_points: int) -> Iterator[Orientations]:
    """All systems with 0 on the hull, the others in order around it: 1, 2, 8, 62, 908 for n = 3, ..., 7."""
    yield from _extended({}, n_points)


def _extended(system: Orientations, n_points: int) -> Iterator[Orientations]:
    size = max((triple[2] for triple in system), default=1) + 1
    if size == n_points:
        yield system
        return
    choices = [(dict(system) | {(0, i, size): True for i in range(1, size)})]
    for triple in combinations(range(1, size), 2):
        choices = [
            grown
            for choice in choices
            for sign in (True, False)
            if _consistent(grown := choice | {(*triple, size): sign}, (*triple, size))
        ]
    for grown in choices:
        yield from _extended(grown, n_points)


def _consistent(system: Orientations, latest: tuple[int, int, int]) -> bool:
    """Whether the axioms hold for every four or five points, with the latest triple, that are all decided."""
    others = [i for i in range(latest[2]) if i not in latest]
    for more in (*combinations(others, 1), *combinations(others, 2)):
        points = sorted((*latest, *more))
        if all(triple in system for triple in combinations(points, 3)):
            check = _interiority if len(points) == 4 else _transitivity
            if not check(system, points):
                return False
    return True


def _sign(system: Orientations, a: int, b: int, c: int) -> bool:
    odd = (a > b) + (a > c) + (b > c)
    low, middle, high = sorted((a, b, c))
    return system[low, middle, high] == (odd % 2 == 0)


def _interiority(system: Orientations, points: list[int]) -> bool:
    return not any(
        _sign(system, t, q, r)
        and _sign(system, p, t, r)
        and _sign(system, p, q, t)
        and not _sign(system, p, q, r)
        for t, p, q, r in permutations(points)
    )


def _transitivity(system: Orientations, points: list[int]) -> bool:
    for t, s in permutations(points, 2):
        after = [p for p in points if p not in (t, s) and _sign(system, t, s, p)]
        if len(after) == 3 and any(
            _sign(system, t, p, q) and _sign(system, t, q, r) and not _sign(system, t, p, r)
            for p, q, r in permutations(after)
        ):
            return False
    return True


def unrealised(system: Orientations, n_points: int) -> int | None:
    """A labeling (as a bit mask) that neither the intersection nor the union of two half-planes realises.

    Two classes are separated by a line iff no four points have their Radon partition along the classes
    (Kirchberger). Positives are the intersection of two half-planes iff the negatives fall into two parts,
    each of which a line separates from all positives; a union is the complement of an intersection.
    """
    partitions = [_radon(system, four) for four in combinations(range(n_points), 4)]
    everything = (1 << n_points) - 1

    def separated(one: int, two: int) -> bool:
        return not any(
            (not p & ~one and not q & ~two) or (not q & ~one and not p & ~two) for p, q in partitions
        )

    def is_intersection(inside: int, outside: int) -> bool:
        part = outside
        while True:
            if separated(inside, part) and separated(inside, outside & ~part):
                return True
            if not part:
                return False
            part = (part - 1) & outside

    for labels in range(1 << (n_points - 1)):
        others = everything ^ labels
        if not is_intersection(labels, others) and not is_intersection(others, labels):
            return labels
    return None


def _radon(system: Orientations, four: tuple[int, int, int, int]) -> tuple[int, int]:
    """The Radon partition of four points, as two bit masks: a point and the triangle around it, or the ends
    of two diagonals that cross."""
    everything = sum(1 << i for i in four)
    for t in four:
        p, q, r = (i for i in four if i != t)
        if _sign(system, t, p, q) == _sign(system, t, q, r) == _sign(system, t, r, p):
            return 1 << t, everything ^ (1 << t)
    a = four[0]
    for b in four[1:]:
        c, d = (i for i in four[1:] if i != b)
        if _sign(system, a, b, c) != _sign(system, a, b, d) and _sign(system, c, d, a) != _sign(
            system, c, d, b
        ):
            return (1 << a) | (1 << b), (1 << c) | (1 << d)
    raise AssertionError("four points have a Radon partition")
