"""H(RMSNorm; x) = 3 (d - 1)/(d rms^4), for symbolic d."""

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
from ..tools.identity_plus_ones import SIZE

Coefficient = Callable[[Any], Any]


def proof(coefficient: Coefficient) -> Evidence:
    """RMSNorm is scaling alone: the projection is P = I, of rank d. For d <= 8 whole outputs are
    differentiated as well."""
    (square,) = symbols("q", positive=True)
    # RMSNorm = sqrt(d) n and |x|^2 = d rms^2.
    indicator = SIZE * sum_of_squares(3, SIZE) / (SIZE * square) ** 2
    return combine(
        [
            entry_formula(3),
            identity(
                indicator,
                coefficient(SIZE) / square**2,
                "contraction, for symbolic d",
                value=f"({sp.factor(indicator * square**2)})/rms^4",
            ),
            *(
                by_differentiation(d, 1, centre=False, claimed=coefficient(sp.Integer(d)))
                for d in range(1, 9)
            ),
        ],
        claimed=f"({sp.factor(coefficient(SIZE))})/rms^4",
    )


def examples(coefficient: Coefficient) -> Iterator[Instance]:
    """The formula against truncated power series, and against the library's own value."""
    for row in ([7], [1, 4], [1, 2, 3], [3, -1, 4, 1], [0, 0, 0, 0, 5]):
        claimed = _claimed(coefficient, row)
        yield Instance(f"x = {row}, power series", indicator_at(row, centre=False), claimed)
        yield Instance(f"x = {row}, library", exact.hessian_indicator(row, norm="rms_norm"), claimed)


def _claimed(coefficient: Coefficient, row: list[int]) -> Fraction:
    (square,) = mean_squares(row, centre=False)
    return Fraction(coefficient(Fraction(len(row)))) / square**2


CLAIM = Claim(
    name="hessian-of-rms-norm",
    topic=Topic.NONLINEARITY,
    title="Hessian indicator of RMSNorm",
    statement="The squared Frobenius norms of the Hessians of the outputs of RMSNorm sum to "
    "3 (d - 1)/(d rms^4).",
    latex=r"\mathcal H(\mathrm{RMSNorm}; x) = \frac{3(d-1)}{d\,\mathrm{rms}(x)^4}",
    hypotheses=("x is not 0",),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda d: 3 * (d - 1) / d,
    proof=proof,
    examples=examples,
    property_test=Property(
        lambda: grouped_rows(max_size=8, max_groups=1),
        lambda coefficient, drawn: indicator_at(drawn[0], centre=False) == _claimed(coefficient, drawn[0]),
    ),
    twin=FalseTwin("The indicator is 3 (d - 2)/(d rms^4), as that of LN.", lambda d: 3 * (d - 2) / d),
)
