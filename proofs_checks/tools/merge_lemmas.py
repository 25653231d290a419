"""The steps that every merging construction takes, proved once."""

from __future__ import annotations

from typing import Any

from ..claim import Evidence, Theory
from .identities import identity, symbols
from .solver import for_all

__all__ = ["halved", "one_point_is_cut_off", "only_that_pair"]


def only_that_pair() -> list[Evidence]:
    """A centre on the line of two points of a circle merges no third with them; other pairs rule out one
    centre each.

    So of the centres just beyond a, on the line b a, all but finitely many merge a and b and nothing else:
    the lines of two other points each meet that line in one point at most, for no third point is on it.
    """
    t = symbols("t:3")
    rows = [((1 - s**2) / (1 + s**2), 2 * s / (1 + s**2)) for s in t]
    (ax, ay), (bx, by), (cx, cy) = rows
    cross = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    product = 4 * (t[1] - t[0]) * (t[2] - t[0]) * (t[2] - t[1])
    for s in t:
        product = product / (1 + s**2)

    def once(z3: Any) -> Any:
        """Two centres a + p (a - b) and a + q (a - b) on a line other than that of a and b are the same."""
        px, qx, u, v, w, a1, a2, d1, d2 = z3.Reals("p q u v w a1 a2 d1 d2")
        at = [u * (a1 + s * d1) + v * (a2 + s * d2) + w == 0 for s in (px, qx)]
        not_the_line = u * d1 + v * d2 != 0
        return z3.Implies(z3.And(*at, not_the_line), px == qx)

    return [
        identity(cross, product, "no third point of a circle is on the line of two"),
        for_all(Theory.NRA, once, "another line meets that line at most once, if not parallel to it"),
    ]


def one_point_is_cut_off() -> Evidence:
    """The tangent at a point of the circle has every other point on one side; moved inwards a little it is a
    chord that separates the point from any finite set of others."""

    def strictly_inside(z3: Any) -> Any:
        ax, ay, zx, zy = z3.Reals("a_x a_y z_x z_y")
        unit = z3.And(ax * ax + ay * ay == 1, zx * zx + zy * zy == 1)
        other = z3.Or(ax != zx, ay != zy)
        return z3.Implies(z3.And(unit, other), ax * zx + ay * zy < 1)

    return for_all(Theory.NRA, strictly_inside, "a . z < a . a for other points z of the circle")


def halved() -> Evidence:
    """A layer makes k >= 4 points two fewer, three points two, and two points one: so ceil(k/2) layers leave
    one of k points."""

    def steps(z3: Any) -> Any:
        k, f, after, left = z3.Ints("k f after left")
        half = z3.And(2 * f >= k, 2 * f <= k + 1, 2 * after >= left, 2 * after <= left + 1)
        two = z3.Implies(z3.And(k >= 4, left == k - 2), f == after + 1)
        # 3 -> 2 -> 1: one more layer each than what is left needs, where one point needs none
        three = z3.Implies(z3.And(k == 3, left == 2), f == after + 1)
        last = z3.Implies(k == 2, f == 1)
        return z3.Implies(half, z3.And(two, three, last))

    return for_all(Theory.LIA, steps, "k -> k - 2, then 3 -> 2 -> 1, are ceil(k/2) layers")
