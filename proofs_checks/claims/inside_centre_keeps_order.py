"""A centre inside the circle re-spaces its points but keeps their cyclic order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_plane import area, circle_point, counter_clockwise, cross, minus, times
from ..tools.solver import for_all

# Where the centre is, as a predicate of its power 1 - |o|^2.
Location = Callable[[Any], Any]


def proof(location: Location) -> Evidence:
    """Three points p, q, r of the circle, counter-clockwise; o = alpha p + beta q + gamma r, alpha + beta +
    gamma = 1.

    ```
         .-q-.          the turns det(p - o, q - o), det(q - o, r - o), det(r - o, p - o) are gamma, alpha,
         beta
       r   o   p        times the area of p q r. The directions follow each other counter-clockwise unless
       two of
         `---'          the three are <= 0, and two such cones beyond a vertex lie outside the circle.
    ```

    A cyclic order is one of triples. A multiplies every turn by det(A): a reflection reverses the order.
    """
    return combine(
        [_turns_add_up(), _turns_are_weights(), _power(), _two_negative_weights(location), _matrix()],
        claimed="the cyclic order is kept (reversed if det A < 0)",
    )


def _turns_add_up() -> Evidence:
    p, q, r, o = (symbols(f"{name}:2") for name in "pqro")
    u, v, w = minus(p, o), minus(q, o), minus(r, o)
    return identity(cross(u, v) + cross(v, w) + cross(w, u), area(p, q, r), "the turns add up to the area")


def _turns_are_weights() -> Evidence:
    p, q, r, (alpha, gamma) = symbols("p:2"), symbols("q:2"), symbols("r:2"), symbols("alpha gamma")
    o = tuple(alpha * p[i] + (1 - alpha - gamma) * q[i] + gamma * r[i] for i in range(2))
    left = sp.Matrix([cross(minus(q, o), minus(r, o)), cross(minus(p, o), minus(q, o))])
    return identity(
        left, sp.Matrix([alpha, gamma]) * area(p, q, r), "turns = barycentric weights times the area"
    )


def _power() -> Evidence:
    """1 - |o|^2 = alpha beta |p - q|^2 + beta gamma |q - r|^2 + gamma alpha |r - p|^2 on the unit circle."""
    t, (alpha, gamma) = symbols("t:3"), symbols("alpha gamma")
    beta = 1 - alpha - gamma
    p, q, r = (circle_point(value) for value in t)
    o = tuple(alpha * p[i] + beta * q[i] + gamma * r[i] for i in range(2))
    squares = [sum(v * v for v in minus(*pair)) for pair in ((p, q), (q, r), (r, p))]
    right = alpha * beta * squares[0] + beta * gamma * squares[1] + gamma * alpha * squares[2]
    return identity(1 - sum(v * v for v in o), right, "the power of o in barycentric coordinates")


def _two_negative_weights(location: Location) -> Evidence:
    """c = |p - q|, a = |q - r|, b = |r - p| <= a + c: alpha, gamma <= 0 leave no power that is allowed."""

    def statement(z3: Any) -> Any:
        alpha, gamma, a, b, c = z3.Reals("alpha gamma a b c")
        beta = 1 - alpha - gamma
        sides = z3.And(a > 0, b > 0, c > 0, b < a + c, a < b + c, c < a + b)
        power = alpha * beta * c * c + beta * gamma * a * a + gamma * alpha * b * b
        return z3.Implies(z3.And(sides, location(power)), z3.Or(alpha > 0, gamma > 0))

    return for_all(Theory.NRA, statement, "two weights <= 0 put o outside or on the circle")


def _matrix() -> Evidence:
    A, u, v = sp.Matrix(2, 2, symbols("a:4")), symbols("u:2"), symbols("v:2")
    images = [times(A.tolist(), vector) for vector in (u, v)]
    return identity(cross(*images), A.det() * cross(u, v), "det(A u, A v) = det(A) det(u, v)")


def examples(location: Location) -> Iterator[Instance]:
    """Twelve points of the circle seen from centres at which the claim is made."""
    points = [circle_point(Fraction(k, 3)) for k in (-30, -9, -5, -3, -2, -1, 0, 1, 2, 4, 7, 20)]
    for o in ((Fraction(1, 2), Fraction(1, 3)), (0, 0), (Fraction(-99, 100), 0), (2, 1), (Fraction(6, 5), 0)):
        if location(1 - o[0] * o[0] - o[1] * o[1]):
            yield Instance(f"triples in order from {tuple(map(str, o))}", _kept(points, o), 220)


def _kept(points: list[Any], o: Any) -> int:
    """The number of triples that are counter-clockwise as seen from o."""
    u = [minus(p, o) for p in points]
    return sum(counter_clockwise(u[i], u[j], u[k]) for k in range(len(u)) for j in range(k) for i in range(j))


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import fractions, invertible

    parameters = st.lists(fractions(), min_size=3, max_size=3, unique=True).map(sorted)
    return st.tuples(parameters, fractions(bound=2), fractions(bound=2), invertible(2))


def _holds(location: Location, drawn: Any) -> bool:
    t, x, y, A = drawn
    if not location(1 - x * x - y * y):
        return True
    u, v, w = (times(A, minus(circle_point(value), (x, y))) for value in t)
    if A[0][0] * A[1][1] < A[0][1] * A[1][0]:
        u, w = w, u
    return (0, 0) in (u, v, w) or counter_clockwise(u, v, w)


CLAIM: Claim[Location] = Claim(
    name="inside-centre-keeps-order",
    topic=Topic.CIRCLE,
    title="A centre inside the circle keeps the cyclic order",
    statement="The layer z -> A(z - o)/|A(z - o)| with |o| < 1 and A invertible keeps the cyclic order of "
    "points of the unit circle, reversed if det A < 0: it re-spaces, but reduces no runs.",
    latex=r"\lVert o\rVert < 1 \implies \text{the cyclic order of } z_1, \dots, z_m \text{ is kept}",
    hypotheses=("points of the unit circle", "|o| < 1", "A invertible"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda power: power > 0,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("A centre outside the circle keeps the cyclic order too.", lambda power: power < 0),
)
