"""The Hessian of x -> Px/|Px|, entry by entry and squared up, in every dimension."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Topic, combine
from ..tools.hessian import entry_formula, indicator_at, sum_of_squares
from ..tools.identities import identity


def proof(weight: int) -> Evidence:
    """The entries of the Hessian are derived for symbolic entries of P and u; the sum of their squares is a
    contraction that holds for a symbolic rank."""
    rank = sp.Symbol("D", positive=True)
    total = sp.expand(sum_of_squares(weight, rank))
    return combine(
        [
            entry_formula(weight),
            identity(
                total,
                3 * (rank - 1),
                "squares summed over all indices, for symbolic D",
                value=f"({sp.factor(total)})/|Px|^4",
            ),
        ],
        claimed="3 (D - 1)/|Px|^4",
    )


def examples(weight: int) -> Iterator[Instance]:
    """The sum against truncated power series: LN's outputs are sqrt(c) n, so its indicator is c times the
    sum, divided by S^2 with S = |u|^2."""
    for row in ([1, 5], [3, -1, 4], [2, 7, 1, 8, 2], [0, 0, 0, 0, 0, 1]):
        d = len(row)
        mean = Fraction(sum(row), d)
        for centre, rank in ((False, d), (True, d - 1)):
            square = sum((v - mean * centre) ** 2 for v in row)
            predicted = Fraction(d * int(sum_of_squares(weight, rank))) / square**2
            name = f"x = {row}, {'P = I - 11^T/d' if centre else 'P = I'}"
            yield Instance(name, indicator_at(row, centre=centre), predicted)


CLAIM = Claim(
    name="hessian-of-scaling",
    topic=Topic.NONLINEARITY,
    title="Hessian of scaling after a projection",
    statement="Let P be an orthogonal projection of rank D and n = Px/|Px|. The second derivatives of n are "
    "[3 n_i n_j n_k - (P_ij n_k + P_ik n_j + P_jk n_i)]/|Px|^2, and their squares sum to 3 (D - 1)/|Px|^4.",
    latex=r"\partial_j\partial_k n_i = \frac{3 n_i n_j n_k - (P_{ij}n_k + P_{ik}n_j + P_{jk}n_i)}"
    r"{\lVert Px\rVert^2},\qquad \sum_{i,j,k}(\partial_j\partial_k n_i)^2 = \frac{3(D-1)}{\lVert Px\rVert^4}",
    hypotheses=("P is symmetric, P P = P, tr P = D", "Px is not 0"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=3,
    proof=proof,
    examples=examples,
    twin=FalseTwin("The first term is 2 n_i n_j n_k.", 2),
)
