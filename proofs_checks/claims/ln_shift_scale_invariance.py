"""LN does not see shifts and positive scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.identities import identities, identity, symbols
from ..tools.identity_plus_ones import SIZE, IdentityPlusOnes
from ..tools.solver import for_all

# Which scales a in LN(a x + b 1) = LN(x).
Scales = Callable[[Any], Any]


def proof(scales: Scales) -> Evidence:
    """P(a x + b 1) = a P x, and a/|a| = 1."""
    return combine(
        chain([_scale(scales), _shift()], (_by_coordinates(d) for d in range(2, 9))),
        claimed="LN(a x + b 1) = LN(x)",
    )


def _scale(scales: Scales) -> Evidence:
    def statement(z3: Any) -> Any:
        a, length = z3.Reals("a length")
        return z3.Implies(z3.And(scales(a), length >= 0, length * length == a * a), a == length)

    return for_all(Theory.NRA, statement, "a = sqrt(a^2)")


def _shift() -> Evidence:
    """P times 1 1^T is 0; a shift b 1 is b times a column of 1 1^T."""
    return identity(
        (IdentityPlusOnes(1, -1 / SIZE) @ IdentityPlusOnes(0, 1)).pair(),
        IdentityPlusOnes(0, 0).pair(),
        "P 1 = 0 for every d",
    )


def _by_coordinates(d: int) -> Evidence:
    """Centred values are multiplied by a, and the variance by a^2."""
    x, (a, b) = symbols(f"x:{d}"), symbols("a b")
    image = [a * v + b for v in x]
    mean, image_mean = sum(x) / d, sum(image) / d
    variance = sum((v - mean) ** 2 for v in x) / d
    image_variance = sum((v - image_mean) ** 2 for v in image) / d
    pairs = [(w - image_mean, a * (v - mean)) for v, w in zip(x, image, strict=True)]
    return identities([*pairs, (image_variance, a**2 * variance)], "coordinates, d <= 8")


def examples(scales: Scales) -> Iterator[Instance]:
    """Concrete rows and shifts, with those scales for which the claim is made."""
    for row in ([1, 2], [3, -1, 4], [2, 7, 1, 8]):
        for a, b in ((3, 5), (Fraction(1, 10**9), 10**9), (-2, 1)):
            if scales(a):
                yield Instance(
                    f"x = {row}, a = {a}, b = {b}", _signature([a * v + b for v in row]), _signature(row)
                )


def _signature(row: list[Any]) -> list[Any]:
    """LN(x) in exact terms: each entry's sign and square."""
    mean = Fraction(sum(row, Fraction(0)), len(row))
    u = [v - mean for v in row]
    total = sum((w * w for w in u), Fraction(0))
    return [(int(sp.sign(w.numerator)), len(row) * w * w / total) for w in u]


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import fractions, integer_vectors

    rows = st.integers(2, 12).flatmap(integer_vectors).filter(lambda row: len(set(row)) > 1)
    return st.tuples(rows, fractions(), fractions(bound=1000))


def _holds(scales: Scales, drawn: Any) -> bool:
    row, a, b = drawn
    return not scales(a) or _signature([a * v + b for v in row]) == _signature(row)


CLAIM: Claim[Scales] = Claim(
    name="ln-shift-scale-invariance",
    topic=Topic.NORMALIZATION,
    title="LN is invariant to shift and positive scale",
    statement="LN(a x + b 1) = LN(x) for every real b and every a > 0.",
    latex=r"\mathrm{LN}(ax + b\mathbf 1) = \mathrm{LN}(x)\quad (a > 0)",
    hypotheses=("sigma(x) > 0", "a > 0"),
    source="classical",
    kind=ClaimKind.EQUALITY,
    form=lambda a: a > 0,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("LN(a x + b 1) = LN(x) for every real b and every a other than 0.", lambda a: a != 0),
)
