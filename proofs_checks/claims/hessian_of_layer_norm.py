"""H(LN; x) = 3 (d - 2)/(d sigma^4), for symbolic d."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.hessian import (
    by_differentiation,
    entry_formula,
    grouped_rows,
    indicator_at,
    mean_squares,
    sum_of_squares,
)
from ..tools.identities import identity, symbols
from ..tools.identity_plus_ones import SIZE, IdentityPlusOnes

Coefficient = Callable[[Any], Any]


def proof(coefficient: Coefficient) -> Evidence:
    """LN is scaling after the centering projection, which has rank d - 1. For d <= 8 whole outputs are
    differentiated as well."""
    centering = IdentityPlusOnes(1, -1 / SIZE)
    (variance,) = symbols("v", positive=True)
    trace = SIZE * sum(centering.pair())
    # LN = sqrt(d) n and |Px|^2 = d sigma^2.
    indicator = SIZE * sum_of_squares(3, SIZE - 1) / (SIZE * variance) ** 2
    return combine(
        [
            entry_formula(3),
            identity((centering @ centering).pair(), centering.pair(), "P P = P"),
            identity(trace, SIZE - 1, "tr P = d - 1"),
            identity(
                indicator,
                coefficient(SIZE) / variance**2,
                "contraction, for symbolic d",
                value=f"({sp.factor(indicator * variance**2)})/sigma^4",
            ),
            *(by_differentiation(d, 1, centre=True, claimed=coefficient(sp.Integer(d))) for d in range(2, 9)),
        ],
        claimed=f"({sp.factor(coefficient(SIZE))})/sigma^4",
    )


def examples(coefficient: Coefficient) -> Iterator[Instance]:
    """The formula against truncated power series, and against the library's own value."""
    for row in ([1, 4], [1, 2, 3], [3, -1, 4, 1], [0, 0, 0, 0, 5], [10**20, 10**20 + 1, 10**20 + 3]):
        yield Instance(f"x = {row}, power series", indicator_at(row), _claimed(coefficient, row))
        yield Instance(f"x = {row}, library", exact.hessian_indicator(row), _claimed(coefficient, row))


def _claimed(coefficient: Coefficient, row: list[int]) -> Fraction:
    (variance,) = mean_squares(row)
    return Fraction(coefficient(Fraction(len(row)))) / variance**2


CLAIM = Claim(
    name="hessian-of-layer-norm",
    topic=Topic.NONLINEARITY,
    title="Hessian indicator of LN",
    statement="The squared Frobenius norms of the Hessians of the outputs of LN sum to "
    "3 (d - 2)/(d sigma^4).",
    latex=r"\mathcal H(\mathrm{LN}; x) = \sum_i \lVert\nabla^2 \mathrm{LN}_i(x)\rVert_F^2"
    r" = \frac{3(d-2)}{d\,\sigma^4}",
    hypotheses=("d >= 2", "sigma(x) > 0"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda d: 3 * (d - 2) / d,
    proof=proof,
    examples=examples,
    property_test=Property(
        lambda: grouped_rows(max_size=8, max_groups=1),
        lambda coefficient, drawn: indicator_at(drawn[0]) == _claimed(coefficient, drawn[0]),
    ),
    twin=FalseTwin(
        "The indicator is 3 (d - 1)/(d sigma^4), as if centering cost no dimension.",
        lambda d: 3 * (d - 1) / d,
    ),
)
