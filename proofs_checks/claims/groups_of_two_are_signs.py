"""Groups of two output +-1 only, so that their Hessian and the amplification bound are zero."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import sympy as sp

from lntheory import exact
from lntheory.nonlinearity import amplification_bound

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.hessian import by_differentiation, grouped_rows, mean_squares, sum_of_squares
from ..tools.identities import identity, symbols


def proof(size: int) -> Evidence:
    """The squared outputs are 1 wherever LN is defined; the Hessian is 0 for all x, and the bound is 0 for
    every d."""
    x = symbols(f"x:{size}")
    mean = sum(x) / sp.Integer(size)
    variance = sum((v - mean) ** 2 for v in x) / size
    (d,) = symbols("d")
    g = d / size
    return combine(
        [
            *(identity((v - mean) ** 2 / variance, 1, "outputs are 1 or -1") for v in x),
            by_differentiation(size, 1, centre=True, claimed=sp.Integer(0)),
            by_differentiation(size, 3, centre=True, claimed=sp.Integer(0)),
            identity(sum_of_squares(3, sp.Integer(size - 1)), 0, "no second derivative"),
            identity(
                g * (d - 2 * g) / (d - 2),
                0,
                "the bound",
                value=f"bound {sp.simplify(g * (d - 2 * g) / (d - 2))}",
            ),
        ],
        claimed=f"so for groups of {size}",
    )


def examples(size: int) -> Iterator[Instance]:
    """The library's values for two to four groups."""
    row = [1, 5, -2, 7, 3, 0, 8, -1, 4, 9, 2, 6]
    for n_groups in (2, 3, 4):
        x = row[: size * n_groups]
        indicator = exact.hessian_indicator(x, norm="group_layer_norm", num_groups=n_groups)
        yield Instance(f"H at x = {x}", indicator, 0)
        yield Instance(f"ratio at x = {x}", exact.amplification(x, n_groups), 0)
        yield Instance(f"bound, d = {len(x)}", amplification_bound(len(x), n_groups), 0)


def _signs(size: int, drawn: tuple[list[int], int]) -> bool:
    row = drawn[0][:size]
    if len(set(row)) < 2:
        return True
    (variance,), mean = mean_squares(row), Fraction(sum(row), size)
    return exact.hessian_indicator(row) == 0 and all((v - mean) ** 2 == variance for v in row)


CLAIM = Claim(
    name="groups-of-two-are-signs",
    topic=Topic.NONLINEARITY,
    title="Groups of two are signs",
    statement="With groups of two features every output of LN-G is +1 or -1, so that its Hessian is zero "
    "wherever it is defined, and the amplification and its bound are 0.",
    latex=r"d/g = 2 \implies \mathrm{LN\text{-}G}(g; x) \in \{-1, 1\}^d,"
    r"\quad \mathcal H(\mathrm{LN\text{-}G}(g); x) = 0",
    hypotheses=("d/g = 2", "the two features of every group differ"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=2,
    proof=proof,
    examples=examples,
    property_test=Property(lambda: grouped_rows(min_size=3), _signs),
    twin=FalseTwin("The same holds for groups of three.", 3),
)
