"""H(LN-G(g); x) = 3 (c - 2)/c sum_k sigma_k^-4 with c = d/g, for symbolic d and g."""

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

Coefficient = Callable[[Any, Any], Any]


def proof(coefficient: Coefficient) -> Evidence:
    """A group's outputs depend on the group alone, so the indicator is the sum of those of LN on the groups,
    each of c = d/g features."""
    (variance,) = symbols("v", positive=True)
    n_groups = sp.Symbol("g", positive=True, integer=True)
    size = SIZE / n_groups
    indicator = size * sum_of_squares(3, size - 1) / (size * variance) ** 2
    cases = [(d, g) for d in range(2, 9) for g in range(1, d) if d % g == 0]
    return combine(
        [
            entry_formula(3),
            identity(
                indicator,
                coefficient(SIZE, n_groups) / variance**2,
                "a group's part, symbolic d and g",
                value=f"({sp.factor(indicator * variance**2)}) sum_k sigma_k^-4",
            ),
            *(
                by_differentiation(d // g, g, centre=True, claimed=coefficient(sp.Integer(d), sp.Integer(g)))
                for d, g in cases
            ),
        ],
        claimed=f"({sp.factor(coefficient(SIZE, n_groups))}) sum_k sigma_k^-4",
    )


def examples(coefficient: Coefficient) -> Iterator[Instance]:
    """The formula against truncated power series, and against the library's own value."""
    cases = [([1, 4, 2, 0], 2), ([1, 2, 3, 10, 20, 30], 2), ([3, -1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], 3)]
    for row, n_groups in cases:
        claimed = _claimed(coefficient, row, n_groups)
        indicator_value = exact.hessian_indicator(row, norm="group_layer_norm", num_groups=n_groups)
        yield Instance(f"x = {row}, g = {n_groups}, power series", indicator_at(row, n_groups), claimed)
        yield Instance(f"x = {row}, g = {n_groups}, library", indicator_value, claimed)


def _claimed(coefficient: Coefficient, row: list[int], n_groups: int) -> Fraction:
    total = sum((1 / variance**2 for variance in mean_squares(row, n_groups)), Fraction(0))
    return Fraction(coefficient(Fraction(len(row)), Fraction(n_groups))) * total


CLAIM = Claim(
    name="hessian-of-group-layer-norm",
    topic=Topic.NONLINEARITY,
    title="Hessian indicator of LN-G",
    statement="With g groups of c = d/g features of variances sigma_k^2, the squared Frobenius norms of the "
    "Hessians of the outputs of LN-G sum to 3 (c - 2)/c times the sum of sigma_k^-4.",
    latex=r"\mathcal H(\mathrm{LN\text{-}G}(g); x) = \frac{3(c-2)}{c}\sum_{k=1}^{g}\sigma_k^{-4},"
    r"\quad c = d/g",
    hypotheses=("g divides d", "d/g >= 2", "sigma_k(x) > 0 for every group"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda d, g: 3 * (d / g - 2) / (d / g),
    proof=proof,
    examples=examples,
    property_test=Property(
        grouped_rows,
        lambda coefficient, drawn: indicator_at(*drawn) == _claimed(coefficient, *drawn),
    ),
    twin=FalseTwin("The factor is 3 (d - 2)/d, as that of LN.", lambda d, g: 3 * (d - 2) / d),
)
