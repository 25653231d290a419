"""cos(pi x) on [-2, 2] turns too often for one LN layer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise, product
from typing import Any

import sympy as sp

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Property,
    Theory,
    Topic,
    Verdict,
    combine,
)
from ..tools.solver import for_all

# The form is the number of turning points that a function may have.

POINTS = (-2, -1, 0, 1, 2)
TARGET = (1, -1, 1, -1, 1)  # cos(pi x) there


def proof(n_turns: int) -> Evidence:
    """An error below 1 gives the values at -2, -1, 0, 1, 2 the signs + - + - +.

    With at most one stationary point (claim one-turning-point) a continuous function is monotone up to some
    place and monotone after it, so its five values change direction at most once. If it is constant on each
    side of an undefined point instead, two neighbours among the points lie on one side, of unlike signs.
    The constant 0 has error exactly 1.
    """
    ups_and_downs = [signs for signs in product((1, -1), repeat=4) if _changes(signs) <= n_turns]
    return combine(
        chain(
            (_directions(signs) for signs in ups_and_downs),
            [_two_constants(), _zero_has_error_one()],
        ),
        claimed="sup norm error >= 1, attained by 0",
    )


def _changes(signs: tuple[int, ...]) -> int:
    return sum(p != q for p, q in pairwise(signs))


def _directions(signs: tuple[int, ...]) -> Evidence:
    """Five values that go up and down (weakly) as the signs say are somewhere 1 or more off the target."""

    def statement(z3: Any) -> Any:
        f = z3.Reals(" ".join(f"f{i}" for i in range(5)))
        steps = [s * (f[i + 1] - f[i]) >= 0 for i, s in enumerate(signs)]
        close = [z3.And(v - t < 1, t - v < 1) for v, t in zip(f, TARGET, strict=True)]
        return z3.Implies(z3.And(steps), z3.Not(z3.And(close)))

    return for_all(Theory.LRA, statement, "values that change direction as rarely cannot come within 1")


def _two_constants() -> Evidence:
    """Wherever the undefined point is, two neighbours of the five lie on one side of it."""

    def statement(z3: Any) -> Any:
        place, left, right = z3.Reals("place left right")
        close = []
        for x, target in zip(POINTS, TARGET, strict=True):
            value = z3.If(place > x, left, right)
            close.append(z3.Or(place == x, z3.And(value - target < 1, target - value < 1)))
        return z3.Not(z3.And(close))

    return for_all(Theory.LRA, statement, "two constants on either side of an undefined point neither")


def _zero_has_error_one() -> Evidence:
    x = sp.Symbol("x", real=True)
    bounded = sp.simplify(1 - sp.cos(sp.pi * x) ** 2 - sp.sin(sp.pi * x) ** 2) == 0  # so |cos| <= 1
    verdict = Verdict.PROVED if bounded and sp.cos(0) == 1 else Verdict.UNDECIDED
    return Evidence(
        Method.SYMBOLIC, f"error {sp.Abs(sp.cos(0))} at 0", "1", verdict, "the constant 0 has error 1"
    )


def examples(n_turns: int) -> Iterator[Instance]:
    """The target changes direction more often than is allowed, and has the values of TARGET at the five
    points."""
    x = sp.Symbol("x", real=True)
    inner = sp.solveset(sp.sin(sp.pi * x), x, sp.Interval.open(-2, 2))
    yield Instance("turning points of cos(pi x) inside", n_turns, len(inner), "<")
    yield Instance("values of cos(pi x)", tuple(sp.cos(sp.pi * v) for v in POINTS), TARGET)


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import fractions

    values = st.lists(fractions(bound=1), min_size=5, max_size=5)
    # Half of the draws alternate: a test that meets only far-off values shows nothing.
    alternating = st.lists(st.integers(1, 3), min_size=5, max_size=5).map(
        lambda sizes: [s * t for s, t in zip(sizes, TARGET, strict=True)]
    )
    return st.one_of(values, alternating.map(lambda v: [sp.Rational(k, 2) for k in v]))


def _holds(n_turns: int, values: list[Any]) -> bool:
    """Values that change direction at most as often are somewhere 1 or more away from the target."""
    steps = [q - p for p, q in pairwise(values) if q != p]
    if sum(bool(p * q < 0) for p, q in pairwise(steps)) > n_turns:
        return True
    return any(abs(v - t) >= 1 for v, t in zip(values, TARGET, strict=True))


CLAIM = Claim(
    name="cosine-beyond-one-layer",
    topic=Topic.DEPTH,
    title="One LN layer cannot come within 1 of cos(pi x), whatever its width",
    statement="In the sup norm on [-2, 2] a network with one LN layer, of any width, is at least 1 away from "
    "cos(pi x): no closer than the constant 0.",
    latex=r"\inf_f \sup_{x \in [-2, 2]} \lvert f(x) - \cos \pi x\rvert = 1",
    hypotheses=(
        "one LN layer over all neurons, without epsilon",
        "where f is defined: undefined at one x at most",
    ),
    source="ours",
    kind=ClaimKind.TIGHT,
    form=1,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("The same for every function with at most three turning points.", 3),
)
