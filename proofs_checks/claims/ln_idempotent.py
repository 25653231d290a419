"""LN applied twice is LN."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identities, identity, symbols
from ..tools.identity_plus_ones import SIZE, IdentityPlusOnes

# The form is eps in sqrt(var + eps).


def proof(eps: Fraction) -> Evidence:
    """P is idempotent, and y = P x/sqrt(var + eps) has var(y) + eps = 1: the second LN changes nothing."""
    centering = IdentityPlusOnes(1, -1 / SIZE)
    return combine(
        chain(
            [identity((centering @ centering).pair(), centering.pair(), "P P = P for every d")],
            [_second_deviation(eps)],
            (_by_coordinates(eps, d) for d in range(2, 9)),
        ),
        claimed="LN(LN(x)) = LN(x)",
    )


def _second_deviation(eps: Fraction) -> Evidence:
    """In every dimension var(y) = v/(v + eps), v = var(x)."""
    (v,) = symbols("v", positive=True)
    e = sp.Rational(eps)
    return identity(v / (v + e) + e, 1, "var(y) + eps = 1")


def _by_coordinates(eps: Fraction, d: int) -> Evidence:
    x = symbols(f"x:{d}")
    mean = sum(x) / d
    variance = sum((v - mean) ** 2 for v in x) / d
    scaled = variance + sp.Rational(eps)  # y is (x - mean)/sqrt(scaled)
    centred = [v - mean for v in x]
    second = sum(v**2 for v in centred) / scaled / d
    return identities([(sum(centred), 0), (second + sp.Rational(eps), 1)], "coordinates, d <= 8")


def examples(eps: Fraction) -> Iterator[Instance]:
    """Rows whose standard deviation is rational, so that LN of them is rational as well."""
    for row in ([1, -1], [5, 5, 5, 9], [0, 0, 0, 0, 1, 1, 1, 1], [3, -3, 3, -3, 0, 0, 0, 0, 0, 0]):
        once = _normalized([sp.Integer(v) for v in row], eps)
        yield Instance(f"x = {row}", [sp.simplify(v) for v in _normalized(once, eps)], once)


def _normalized(row: list[Any], eps: Fraction) -> list[Any]:
    mean = sum(row) / sp.Integer(len(row))
    variance = sum((v - mean) ** 2 for v in row) / sp.Integer(len(row))
    return [sp.simplify((v - mean) / sp.sqrt(variance + sp.Rational(eps))) for v in row]


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import integer_vectors

    return st.integers(2, 12).flatmap(integer_vectors).filter(lambda row: len(set(row)) > 1)


def _holds(eps: Fraction, row: list[int]) -> bool:
    """Whether a second LN changes nothing, compared by the signs and squares of the entries,
    y_i^2 = u_i^2/(v + eps)."""
    mean = Fraction(sum(row), len(row))
    u = [v - mean for v in row]
    once = [w * w / (_mean_square(u) + eps) for w in u]
    twice = [square / (sum(once, Fraction(0)) / len(row) + eps) for square in once]
    return sum(u) == 0 and once == twice


def _mean_square(u: list[Fraction]) -> Fraction:
    return sum((w * w for w in u), Fraction(0)) / len(u)


CLAIM = Claim(
    name="ln-idempotent",
    topic=Topic.NORMALIZATION,
    title="LN is idempotent",
    statement="Layer normalization, without epsilon, of a layer-normalized vector is that vector.",
    latex=r"\mathrm{LN}(\mathrm{LN}(x)) = \mathrm{LN}(x)",
    hypotheses=("sigma(x) > 0", "epsilon = 0"),
    source="classical",
    kind=ClaimKind.EQUALITY,
    form=Fraction(0),
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("The same with epsilon = 1e-5.", Fraction(1, 100_000)),
)
