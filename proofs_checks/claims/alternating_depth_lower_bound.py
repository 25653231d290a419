"""Alternating labels in convex position need a depth that grows with the logarithm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

import lntheory

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Property,
    Theory,
    Topic,
    combine,
)
from ..tools.identities import identities, identity, symbols
from ..tools.rational_plane import area, circle_point, cross
from ..tools.solver import for_all

# The form is the number of arcs that the preimage of an arc consists of at most.


def proof(factor: int) -> Evidence:
    """Backwards from the read-out, whose positive points are one arc of the last circle.

    ```
      read-out      layer L        ...      layer 1
       1 arc   ◄──   <= 2 arcs  ◄──   ◄──   <= 2^L runs of the samples        floor(m/2) of them are needed
    ```

    An arc (open, shorter than a half circle) is a cone, {det(r1, u) > 0} and {det(u, r2) > 0}; its preimage
    under u = A z + c are two half-planes, met: two runs of points in convex position, met. A longer arc is
    the complement of a closed shorter one; of the circle without a point, or with a point where u = 0, at
    most the two points of a line are missing. Any A and c, singular ones included.
    """
    return combine(
        [
            *(_runs_meet(factor, n) for n in range(2, 7)),
            _runs_start_where_one_starts(),
            _half_planes(),
            _at_most_two_on_a_line(),
            _half_plane_takes_a_run(),
            _no_alternation(),
        ],
        claimed="depth >= ceil(log2(floor(m/2)))",
    )


def _half_planes() -> Evidence:
    """det(r, A z + c) is affine in z."""
    A, c, r = sp.Matrix(2, 2, symbols("a:4")), sp.Matrix(symbols("c:2")), symbols("r:2")
    z = sp.Matrix(symbols("z:2"))

    def value(point: sp.Matrix) -> Any:
        image = A * point + c
        return cross(r, (image[0], image[1]))

    gradient = [sp.diff(value(z), v) for v in z]
    affine = value(sp.zeros(2, 1)) + gradient[0] * z[0] + gradient[1] * z[1]
    constant = [sp.diff(g, v) for g in gradient for v in z]
    return identities([(value(z), affine), *((g, 0) for g in constant)], "det(r, A z + c) is affine in z")


def _at_most_two_on_a_line() -> Evidence:
    """On the circle an affine function is a quadratic in t = tan(angle/2) over 1 + t^2. So it has at most two
    zeros, or is zero everywhere."""
    a, b, c, t = symbols("a b c t")
    x, y = circle_point(t)
    quadratic = (c - a) * t**2 + 2 * b * t + (c + a)
    return identity(a * x + b * y + c, quadratic / (1 + t**2), "a line meets the circle at most twice")


def _half_plane_takes_a_run() -> Evidence:
    """The diagonals p r and q s of points that are counter-clockwise and in convex position cross."""
    p, q, r, s = (symbols(f"{name}:2") for name in "pqrs")
    weights = area(q, r, s), area(p, q, s), area(p, r, s), area(p, q, r)
    pairs = [(weights[0] * p[i] + weights[1] * r[i], weights[2] * q[i] + weights[3] * s[i]) for i in range(2)]
    return identities([*pairs, (weights[0] + weights[1], weights[2] + weights[3])], "diagonals cross")


def _no_alternation() -> Evidence:
    """So no half-plane, open or closed, takes p and r without one of q and s."""

    def statement(z3: Any) -> Any:
        k, g = z3.Reals("k0 k1 k2 k3"), z3.Reals("g_p g_r g_q g_s")
        balance = k[0] * g[0] + k[1] * g[1] == k[2] * g[2] + k[3] * g[3]
        opened = z3.And(g[0] > 0, g[1] > 0, g[2] <= 0, g[3] <= 0)
        closed = z3.And(g[0] >= 0, g[1] >= 0, g[2] < 0, g[3] < 0)
        return z3.Implies(z3.And([v > 0 for v in k] + [balance]), z3.Not(z3.Or(opened, closed)))

    return for_all(Theory.NRA, statement, "a half-plane takes one run of convex points")


def _runs_meet(factor: int, n: int) -> Evidence:
    """Two cyclic runs of n points start at most once each; their intersection and their union start at most
    `factor` times."""

    def statement(z3: Any) -> Any:
        one, two = ([z3.Bool(f"{name}{i}") for i in range(n)] for name in "pq")

        def starts(part: list[Any]) -> Any:
            return sum(z3.If(z3.And(part[i], z3.Not(part[i - 1])), 1, 0) for i in range(n))

        meeting = [z3.And(p, q) for p, q in zip(one, two, strict=True)]
        union = [z3.Or(p, q) for p, q in zip(one, two, strict=True)]
        given = z3.And(starts(one) <= 1, starts(two) <= 1)
        return z3.Implies(given, z3.And(starts(meeting) <= factor, starts(union) <= factor))

    return for_all(Theory.LIA, statement, f"two runs of up to 6 points meet in at most {factor}")


def _runs_start_where_one_starts() -> Evidence:
    """For any number of points. in1 and in2 say that a point lies in the one run and in the other; pre1 and
    pre2 say the same of the point before it."""

    def statement(z3: Any) -> Any:
        in1, in2, pre1, pre2 = z3.Bools("in1 in2 pre1 pre2")
        starts = z3.Or(z3.And(in1, z3.Not(pre1)), z3.And(in2, z3.Not(pre2)))
        meeting = z3.Implies(z3.And(in1, in2, z3.Not(z3.And(pre1, pre2))), starts)
        union = z3.Implies(z3.And(z3.Or(in1, in2), z3.Not(z3.Or(pre1, pre2))), starts)
        return z3.And(meeting, union)

    return for_all(
        Theory.LIA, statement, "for any number of points a run starts only where one of the two does"
    )


def least_depth(factor: int, m: int) -> float:
    """The number of layers after which there can be floor(m/2) runs; infinite if a layer multiplies them by
    1."""
    runs, depth = 1, 0
    while runs < m // 2:
        if factor == 1:
            return float("inf")
        runs, depth = runs * factor, depth + 1
    return depth


def formula(m: int) -> int:
    """ceil(log2(floor(m/2)))."""
    return (m // 2 - 1).bit_length()


def examples(factor: int) -> Iterator[Instance]:
    """The formula agrees with the recursion, and no net that the library builds is shallower."""
    agreeing = sum(least_depth(factor, m) == formula(m) for m in range(4, 2000))
    yield Instance("least L with 2^L >= floor(m/2) is the formula, 4 <= m < 2000", agreeing, 1996)
    for m in (4, 5, 6, 8, 9, 12):
        angles = 2 * np.pi * np.arange(m) / m
        X = np.column_stack([np.cos(angles), np.sin(angles)])
        yield Instance(f"{m} alternating points: depth built", lntheory.shatter(X, np.arange(m) % 2).depth,
                       least_depth(factor, m), ">=")  # fmt: skip


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import fractions, integer_vectors, matrices

    parameters = st.lists(fractions(), min_size=4, max_size=12, unique=True).map(sorted)
    return st.tuples(parameters, matrices(2, 2), integer_vectors(2), integer_vectors(2), integer_vectors(2))


def _holds(factor: int, drawn: Any) -> bool:
    """The runs of points of the circle whose images lie in a random open cone of less than half a turn."""
    parameters, A, c, r1, r2 = drawn
    inside = []
    for t in parameters:
        x, y = circle_point(t)
        u = (A[0][0] * x + A[0][1] * y + c[0], A[1][0] * x + A[1][1] * y + c[1])
        inside.append(cross(r1, u) > 0 and cross(u, r2) > 0)
    runs = sum(here and not inside[i - 1] for i, here in enumerate(inside)) or int(all(inside))
    return runs <= factor


CLAIM = Claim(
    name="alternating-depth-lower-bound",
    topic=Topic.DEPTH,
    title="m alternating points in convex position need ceil(log2(floor(m/2))) layers",
    statement="A width-3 LN-Net that gives two labels alternately to m >= 4 points of the plane in convex "
    "position has at least ceil(log2(floor(m/2))) LN layers.",
    latex=r"L \ge \lceil \log_2 \lfloor m/2 \rfloor \rceil",
    hypotheses=("m >= 4 points in convex position in the plane", "labels alternate around them", "width 3"),
    source="ours",
    kind=ClaimKind.LOWER,
    form=2,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("The preimage of an arc is one arc, so no number of layers is enough for m >= 4.", 1),
)
