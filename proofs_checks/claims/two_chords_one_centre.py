"""Two chords of the circle are merged by one centre exactly if they do not cross."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.identities import identities, identity, symbols
from ..tools.rational_plane import Vector, circle_point, cross, dot, minus, same_direction
from ..tools.solver import for_all

# For which values of (a - c)(a - d)(b - c)(b - d) the chords a b and c d are merged: positive, not crossing.
Merged = Callable[[Any], Any]


def proof(merged: Merged) -> Evidence:
    """The lines' meeting point o = (x, y)/w in homogeneous coordinates, of the ends t = tan(angle/2).

    ```
         a ·──────· b
     o ·  (        )          |o| > 1 iff x^2 + y^2 > w^2 iff the chords do not cross
         c ·──────· d         then o is outside both segments, for those lie in the disc
    ```

    At infinity (w = 0) the same: the projection along the chords.
    """
    a, b, c, d = t = symbols("a b c d")
    x, y, w = _meeting(_line(a, b), _line(c, d))
    product = (a - c) * (a - d) * (b - c) * (b - d)
    on_both = [(u * x + v * y, w * k) for u, v, k in (_line(a, b), _line(c, d))]
    p = circle_point(t[0])
    through = [(u * p[0] + v * p[1], k) for u, v, k in (_line(a, b), _line(c, a))]
    return combine(
        [
            identities(through, "the line through two points of the circle"),
            identities(on_both, "the meeting point"),
            identity(x**2 + y**2 - w**2, 4 * product, "|o|^2 - 1 = 4 (a - c)(a - d)(b - c)(b - d)/w^2"),
            _power_of_a_point(),
            for_all(Theory.NRA, lambda z3: _outside(z3, merged), "merged iff they do not cross"),
        ],
        claimed="merged iff the chords do not cross",
    )


def _power_of_a_point() -> Evidence:
    """(p - o).(q - o) = |o|^2 - 1 for the ends p, q of a chord through o: one direction iff o is outside."""
    s, a, b = symbols("s a b")
    p, q = circle_point(a), circle_point(b)
    o = tuple(p[i] + s * (q[i] - p[i]) for i in range(2))
    return identity(dot(minus(p, o), minus(q, o)), o[0] ** 2 + o[1] ** 2 - 1, "the power of o is |o|^2 - 1")


def _outside(z3: Any, merged: Merged) -> Any:
    """Ends of each chord in one direction from a finite o iff its power 4 product/w^2 is positive."""
    product, w, power = z3.Reals("product w power")
    return z3.Implies(
        z3.And(w != 0, product != 0, power * w * w == 4 * product), (power > 0) == merged(product)
    )


def _line(s: Any, t: Any) -> tuple[Any, Any, Any]:
    """u x + v y = k through the points of parameters s and t."""
    return 1 - s * t, s + t, 1 + s * t


def _meeting(one: tuple[Any, Any, Any], two: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    w = one[0] * two[1] - one[1] * two[0]
    return one[2] * two[1] - one[1] * two[2], one[0] * two[2] - one[2] * two[0], w


def examples(merged: Merged) -> Iterator[Instance]:
    """All ways to pair four points of the circle: two of the three merge."""
    ends = [sp.Rational(n, 3) for n in (-7, -1, 2, 5)]
    for i in range(1, 4):
        a, b, (c, d) = ends[0], ends[i], [ends[j] for j in range(1, 4) if j != i]
        expected = bool(merged((a - c) * (a - d) * (b - c) * (b - d)))
        yield Instance(f"chords {a}, {b} and {c}, {d}", _are_merged(a, b, c, d), expected)


def _are_merged(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether the layer with the lines' meeting point as its centre merges both pairs, exactly."""
    x, y, w = _meeting(_line(a, b), _line(c, d))

    def seen(t: Any) -> Vector:
        """(1 - p.z, q.z): up to a linear map z - o, and the parallel projection if o is at infinity."""
        z, size = circle_point(t), x * x + y * y
        return 1 - w * (x * z[0] + y * z[1]) / size, x * z[1] - y * z[0]

    return all(same_direction(seen(s), seen(t)) and cross(seen(s), seen(t)) == 0 for s, t in ((a, b), (c, d)))


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import fractions

    return st.lists(fractions(), min_size=4, max_size=4, unique=True)


def _holds(merged: Merged, drawn: list[Fraction]) -> bool:
    a, b, c, d = drawn
    if _meeting(_line(a, b), _line(c, d))[:2] == (0, 0):  # two diameters: they cross in the middle
        return not merged((a - c) * (a - d) * (b - c) * (b - d))
    return _are_merged(a, b, c, d) == bool(merged((a - c) * (a - d) * (b - c) * (b - d)))


CLAIM: Claim[Merged] = Claim(
    name="two-chords-one-centre",
    topic=Topic.CIRCLE,
    title="One layer merges two chords iff they do not cross",
    statement="Of four points of the circle, one layer merges the first two and the last two exactly if the "
    "two chords do not cross; its centre is where their lines meet, outside the circle or at infinity.",
    latex=r"\lVert o \rVert^2 - 1 = \frac{4(a-c)(a-d)(b-c)(b-d)}{w^2},\quad t = \tan(\theta/2)",
    hypotheses=("four distinct points of the circle",),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda product: product > 0,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("One layer merges any two disjoint chords.", lambda product: product * product > 0),
)
