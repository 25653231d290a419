"""The plane of width 3 in exact arithmetic: rational points, on the unit circle too.

```
z on the unit circle ──► A (z - o) ──► its direction
```

Directions are compared by cross and dot products, so no length is ever taken. The verbs work on numbers, on
sympy symbols and on z3 constants alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "Vector",
    "area",
    "circle_point",
    "counter_clockwise",
    "cross",
    "dot",
    "minus",
    "same_direction",
    "times",
]

Vector = tuple[Any, Any]


def circle_point(t: Any) -> Vector:
    """The point ((1 - t^2), 2 t)/(1 + t^2) of the unit circle: counter-clockwise as t grows."""
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


def minus(p: Vector, q: Vector) -> Vector:
    """p - q."""
    return p[0] - q[0], p[1] - q[1]


def times(A: Sequence[Sequence[Any]], p: Vector) -> Vector:
    """A p."""
    return A[0][0] * p[0] + A[0][1] * p[1], A[1][0] * p[0] + A[1][1] * p[1]


def cross(p: Vector, q: Vector) -> Any:
    """det(p, q): positive if q is counter-clockwise of p by less than half a turn."""
    return p[0] * q[1] - p[1] * q[0]


def dot(p: Vector, q: Vector) -> Any:
    """p . q."""
    return p[0] * q[0] + p[1] * q[1]


def area(p: Vector, q: Vector, r: Vector) -> Any:
    """Twice the signed area of the triangle p q r: positive if counter-clockwise."""
    return cross(minus(q, p), minus(r, p))


def same_direction(u: Vector, v: Vector) -> bool:
    """Whether u/|u| = v/|v|.

    Examples
    --------
    >>> same_direction((1, 2), (3, 6)), same_direction((1, 2), (-1, -2))
    (True, False)
    """
    return bool(cross(u, v) == 0 and dot(u, v) > 0)


def counter_clockwise(u: Vector, v: Vector, w: Vector) -> bool:
    """Whether three directions, no two of them equal, follow each other counter-clockwise.

    Two of the three turns are then less than half a turn; of antipodal directions one turn is exactly half.

    Examples
    --------
    >>> counter_clockwise((1, 0), (0, 1), (-1, 0)), counter_clockwise((1, 0), (-1, 0), (0, 1))
    (True, False)
    """
    turns = [cross(u, v), cross(v, w), cross(w, u)]
    positive, negative = sum(turn > 0 for turn in turns), sum(turn < 0 for turn in turns)
    return bool(positive > negative if 0 not in turns else positive == 2)
