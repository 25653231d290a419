"""The amplification bound is attained exactly where all groups share mean and variance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from lntheory import exact
from lntheory.nonlinearity import amplification_bound

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Property,
    Topic,
    Verdict,
    combine,
)
from ..tools.hessian import grouped_rows, mean_squares
from ..tools.identities import identity, symbols

Shared = frozenset[str]
"""What the groups must have in common: "mean", "variance"."""


def proof(shared: Shared) -> Evidence:
    """The excess over the bound is a sum of terms that are not negative; it vanishes iff each of them does.

    With s = sigma^2, t_k = sigma_k^2 and V the variance of the groups' means (see the amplification bound),
    for d > 2g the excess is a positive multiple of

        sum_k (t_k - s)^2 (2 t_k + s)/(s t_k^2) + 2 g V/s.
    """
    s, t, g = symbols("s t g", positive=True)
    (between,) = symbols("V", nonnegative=True)
    above = (t - s) ** 2 * (2 * t + s) / (s * t**2)
    # Groups that share the variance t have s = t + V, and V = 0 if they share the mean.
    spread = sp.Integer(0) if "mean" in shared else between
    whole = t + spread if "variance" in shared else s
    return combine(
        [
            identity((s / t) ** 2 - 1, above + 2 * (s - t) / s, "excess of one group"),
            _vanishes_only_at(above, t - s, "a group's term vanishes only where t_k = s"),
            _vanishes_only_at(2 * g * between / s, between, "the last vanishes only where V = 0"),
            identity((whole / t) ** 2 - 1, 0, f"no excess if groups share {' and '.join(sorted(shared))}"),
        ],
        claimed=f"iff all groups share {' and '.join(sorted(shared))}",
    )


def _vanishes_only_at(term: Any, zero: Any, text: str) -> Evidence:
    """The term is a power of `zero` times a positive factor, for positive symbols, and it is never
    negative."""
    cofactor = sp.factor(term)
    while cofactor.is_positive is None and sp.rem(sp.numer(cofactor), zero) == 0:
        cofactor = sp.factor(cofactor / zero)
    holds = cofactor.is_positive and term.is_nonnegative
    verdict = Verdict.PROVED if holds else Verdict.UNDECIDED
    return Evidence(Method.SYMBOLIC, f"({cofactor}) times a power of {zero}", "> 0", verdict, text)


def agree(shared: Shared, row: list[int], n_groups: int) -> bool:
    """Whether the groups of a row share what the form says."""
    size = len(row) // n_groups
    means = {sum(row[start : start + size]) for start in range(0, len(row), size)}
    variances = set(mean_squares(row, n_groups))
    return ("mean" not in shared or len(means) == 1) and ("variance" not in shared or len(variances) == 1)


def holds(shared: Shared, row: list[int], n_groups: int) -> bool:
    """Whether "the bound is attained" and the condition agree on a row."""
    attained = exact.amplification(row, n_groups) == amplification_bound(len(row), n_groups)
    return attained == agree(shared, row, n_groups)


def examples(shared: Shared) -> Iterator[Instance]:
    """Rows whose groups share mean and variance, one of the two, and neither."""
    for row in (
        [1, 2, 3, 3, 1, 2],  # the same entries
        [0, 0, 3, 2, 2, -1],  # reflected: mean 1, variance 2
        [0, 1, 5, 4, 3, -1, 2, -1, 5],  # one mean; variances 14/3, 14/3, 6
        [1, 2, 3, 11, 12, 13],  # one variance
        [1, 2, 3, 0, 2, 4],  # one mean
        [1, 2, 3, 4, 6, 9],
    ):
        n_groups = len(row) // 3
        yield Instance(f"x = {row}, g = {n_groups}", holds(shared, row, n_groups), True)


CLAIM = Claim(
    name="amplification-equality",
    topic=Topic.NONLINEARITY,
    title="When groups amplify least",
    statement="For groups of three or more, the amplification equals g (d - 2g)/(d - 2) iff all groups share "
    "mean and variance.",
    latex=r"\frac{\mathcal H(\mathrm{LN\text{-}G}(g); x)}{\mathcal H(\mathrm{LN}; x)} = \frac{g\,(d-2g)}{d-2}"
    r"\iff \mu_1 = \dots = \mu_g,\ \sigma_1 = \dots = \sigma_g",
    hypotheses=("g divides d", "d/g >= 3", "sigma_k(x) > 0 for every group"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=frozenset({"mean", "variance"}),
    proof=proof,
    examples=examples,
    property_test=Property(lambda: grouped_rows(min_size=3), lambda shared, drawn: holds(shared, *drawn)),
    twin=FalseTwin("The amplification is least iff all groups share the variance.", frozenset({"variance"})),
)
