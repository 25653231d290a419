"""A view of labelled points from every centre: one for each cell of the lines through two of them.

The cyclic order of the directions in which points are seen changes only where the centre crosses the line
through two of them, so finitely many centres show all orders. Every cell has a vertex on its border (the
lines are not all parallel), so it is enough to step from every vertex into every sector between the lines
that meet there, exactly. A centre on a line sees no fewer runs than one just beside it, if it merges equal
labels only; and a centre at infinity sees the order of one far away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import combinations, pairwise

import numpy as np

from lntheory.construct.pair_merge import view_centres

from .rational_plane import Vector, cross, dot

__all__ = ["centres", "fewest_runs", "is_in_general_position", "order_seen", "some_centres"]

Line = tuple[int, int, int]


def _line(p: Vector, q: Vector) -> Line:
    return p[1] - q[1], q[0] - p[0], p[0] * q[1] - p[1] * q[0]


def _at(line: Line, point: Vector) -> Fraction:
    return Fraction(line[0] * point[0] + line[1] * point[1] + line[2])


def _meeting(one: Line, two: Line) -> Vector | None:
    w = one[0] * two[1] - one[1] * two[0]
    if w == 0:
        return None
    return (
        Fraction(one[1] * two[2] - one[2] * two[1], w),
        Fraction(one[2] * two[0] - one[0] * two[2], w),
    )


def _turn(p: Vector, q: Vector) -> int:
    """Compare two directions by their angle, counter-clockwise from (1, 0)."""
    upper = [(v[1] < 0 or (v[1] == 0 and v[0] < 0)) for v in (p, q)]
    if upper[0] != upper[1]:
        return int(upper[0]) - int(upper[1])
    turned = cross(p, q)
    return int(turned < 0) - int(turned > 0)


def centres(points: Sequence[tuple[int, int]]) -> Iterator[Vector]:
    """A rational point in every cell of the arrangement (most cells more than once)."""
    lines = [_line(p, q) for p, q in combinations(points, 2)]
    vertices = {v for one, two in combinations(lines, 2) if (v := _meeting(one, two)) is not None}
    for vertex in vertices:
        values = [_at(line, vertex) for line in lines]
        through = {(line[1], -line[0]) for line, value in zip(lines, values, strict=True) if value == 0}
        rays = sorted([*through, *((-x, -y) for x, y in through)], key=cmp_to_key(_turn))
        for p, q in pairwise([*rays, rays[0]]):
            if cross(p, q) <= 0:
                continue  # one direction twice
            step = p[0] + q[0], p[1] + q[1]
            slopes = [line[0] * step[0] + line[1] * step[1] for line in lines]
            limits = [abs(v / s) for v, s in zip(values, slopes, strict=True) if v != 0 and s != 0]
            length = min(limits, default=Fraction(2)) / 2
            yield vertex[0] + length * step[0], vertex[1] + length * step[1]


def order_seen(points: Sequence[tuple[int, int]], centre: Vector) -> list[int]:
    """Indices of the points in the counter-clockwise order in which the centre sees them, exactly."""
    by_angle = cmp_to_key(_turn)
    views = [(x - centre[0], y - centre[1]) for x, y in points]
    order = sorted(range(len(points)), key=lambda i: by_angle(views[i]))
    assert all(cross(views[i], views[j]) != 0 or dot(views[i], views[j]) < 0 for i, j in pairwise(order))
    return order


def some_centres(points: Sequence[tuple[int, int]]) -> Iterator[tuple[list[int], Vector]]:
    """Every order of the points that some proposed centre shows in float64, with such a centre; `order_seen`
    decides whether the centre really shows it."""
    planar = np.array(points, dtype=np.float64)
    proposed = view_centres(planar)
    towards = planar[None] - proposed[:, None]
    angles = np.mod(np.arctan2(towards[..., 1], towards[..., 0]), 2 * np.pi)
    orders, first = np.unique(np.argsort(angles, axis=1), axis=0, return_index=True)
    for order, at in zip(orders.tolist(), first.tolist(), strict=True):
        yield order, (Fraction(proposed[at, 0]), Fraction(proposed[at, 1]))


def fewest_runs(points: Sequence[tuple[int, int]], labels: Sequence[int]) -> int:
    """The fewest cyclic runs of labels in which any centre sees the points (in general position)."""
    fewest = len(points)
    for centre in centres(points):
        seen = [labels[i] for i in order_seen(points, centre)]
        fewest = min(fewest, sum(label != seen[i - 1] for i, label in enumerate(seen)))
    return fewest


def is_in_general_position(points: Sequence[tuple[int, int]]) -> bool:
    """Whether no three points are on a line, no two lines through disjoint pairs of points are parallel, and
    no three such lines are concurrent."""
    lines = [((i, j), _line(points[i], points[j])) for i, j in combinations(range(len(points)), 2)]
    if any(_at(line, points[k]) == 0 for pair, line in lines for k in range(len(points)) if k not in pair):
        return False
    meetings: dict[Vector, set[tuple[int, int]]] = {}
    for (pair, one), (other, two) in combinations(lines, 2):
        if set(pair) & set(other):
            continue
        vertex = _meeting(one, two)
        if vertex is None:
            return False
        meetings.setdefault(vertex, set()).update((pair, other))
    return all(len(pairs) == 2 for pairs in meetings.values())
