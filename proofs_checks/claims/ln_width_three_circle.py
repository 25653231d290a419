"""Three neurons: LN maps onto a circle, and is the direction map of the plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Topic, combine
from ..tools.identities import identities, identity, symbols

# The form is the squared radius of the circle.

BASIS = sp.Matrix([[1, 1], [-1, 1], [0, -2]]) * sp.diag(1 / sp.sqrt(2), 1 / sp.sqrt(6))
"""Columns: an orthonormal basis of the plane orthogonal to (1, 1, 1)."""


def proof(square: int) -> Evidence:
    """LN maps into the circle; it maps onto the circle, for the circle's points are their own images; and
    LN(E u) = sqrt(3) E u/|u|."""
    return combine(
        [_into(square), _onto(square), _planar(square)],
        claimed=f"LN(R^3) = the circle of radius sqrt({square}) in the plane orthogonal to (1, 1, 1)",
    )


def _into(square: int) -> Evidence:
    x = symbols("x:3")
    mean = sum(x) / 3
    variance = sum((v - mean) ** 2 for v in x) / 3
    length = sum((v - mean) ** 2 for v in x) / variance
    return identities([(sum(v - mean for v in x), 0), (length, square)], "LN(x) lies on the circle")


def _onto(square: int) -> Evidence:
    """y = (a, b, -a - b) with |y|^2 = square has variance 1, so LN(y) = y; b is a root of that equation."""
    a, b = symbols("a b")
    y = (a, b, -a - b)
    variance = sum(v * v for v in y) / 3
    on_circle = sp.Poly(sum(v * v for v in y) - square, b)
    left = sp.rem(sp.Poly(variance, b), on_circle).as_expr()
    return identity(left, 1, "a point of the circle has variance 1")


def _planar(square: int) -> Evidence:
    """E' E = I and E has mean 0, so LN(E u) = E u/sigma with 3 sigma^2 = |u|^2: radius times E u/|u|."""
    u = sp.Matrix(symbols("u:2"))
    image = BASIS * u
    pairs = [(sum(image), 0), (sp.expand(image.dot(image)), u.dot(u)), (3 * u.dot(u) / u.dot(u), square)]
    return identities(pairs, "the planar form u -> u/|u|")


def examples(square: int) -> Iterator[Instance]:
    """Squared lengths of LN of concrete rows, and a point that is its own image."""
    for row in ([1, 2, 4], [0, 0, 1], [-5, 3, 10**6]):
        mean = sp.Rational(sum(row), 3)
        variance = sum((v - mean) ** 2 for v in row) / 3
        yield Instance(f"|LN({row})|^2", sum((v - mean) ** 2 for v in row) / variance, square)
    angle: Any = sp.pi / 7
    point = sp.sqrt(square) * BASIS * sp.Matrix([sp.cos(angle), sp.sin(angle)])
    yield Instance("variance of a point of the circle", sp.simplify(point.dot(point) / 3), 1)


CLAIM = Claim(
    name="ln-width-three-circle",
    topic=Topic.NORMALIZATION,
    title="Three neurons: LN maps onto a circle",
    statement="LN maps R^3, without the diagonal, onto the circle of radius sqrt(3) in the plane orthogonal "
    "to (1, 1, 1); in an orthonormal basis of that plane it is u -> sqrt(3) u/|u|.",
    latex=r"\mathrm{LN}(\mathbb R^3 \setminus \mathbb R\mathbf 1)"
    r" = \{y : \mathbf 1^\top y = 0,\ \lVert y\rVert^2 = 3\}",
    hypotheses=("the three neurons are not all equal",),
    source="paper",
    kind=ClaimKind.EQUALITY,
    form=3,
    proof=proof,
    examples=examples,
    twin=FalseTwin("The circle has radius 1.", 1),
)
