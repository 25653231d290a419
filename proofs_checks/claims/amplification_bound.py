"""Splitting into g groups multiplies the indicator by at least g (d - 2g)/(d - 2), at every x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Property,
    Tally,
    Topic,
    Verdict,
    combine,
)
from ..tools.hessian import grouped_rows, sign
from ..tools.identities import identity, symbols

Bound = Callable[[Any, Any], Any]


def proof(bound: Bound) -> Evidence:
    """The ratio less the bound is a sum of terms that are visibly not negative.

    Write s = sigma^2, t_k = sigma_k^2, M for the mean of the groups' means m_k and V for their variance. Then

        H(LN-G)/H(LN) = (d - 2g)/(d - 2) sum_k (s/t_k)^2                       with s = mean of t_k + V
        (s/t)^2 - 1   = (t - s)^2 (2t + s)/(s t^2) + 2 (s - t)/s               (tangent of t^-2 at s)
        sum over k:     sum_k (s/t_k)^2 - g = sum_k (t_k - s)^2 (2 t_k + s)/(s t_k^2) + 2 g V/s.
    """
    d, g, s, t = symbols("d g s t", positive=True)
    between, above_two, above_three = symbols("V u w", nonnegative=True)  # u = d - 2g, w = d - 3
    least = (d - 2 * g) / (d - 2) * g
    tangent = (t - s) ** 2 * (2 * t + s) / (s * t**2)
    rest = 2 * g * between / s
    return combine(
        [
            identity(least, bound(d, g), "least value, where all t_k = s and V = 0", value=sp.factor(least)),
            _ratio(d, g, s),
            _total_variance(),
            identity((s / t) ** 2 - 1, tangent + 2 * (s - t) / s, "tangent of t^-2 at s"),
            sign(above_two / (1 + above_three), "nor the factor (d - 2g)/(d - 2)"),
            sign(tangent, "what lies above the tangent is not negative"),
            sign(rest, "nor what the variance of the means adds"),
            _attained(bound),
        ],
        claimed=f"least value {sp.factor(bound(d, g))}",
    )


def _ratio(d: Any, g: Any, s: Any) -> Evidence:
    """One group's part of the ratio of the indicators; as the parts add up, g may be a symbol."""
    (t,) = symbols("t", positive=True)
    part = 3 * (d / g - 2) / (d / g) / t**2
    whole = 3 * (d - 2) / d / s**2
    return identity(part / whole, (d - 2 * g) / (d - 2) * (s / t) ** 2, "ratio of the indicators")


def _total_variance() -> Evidence:
    """s = mean t_k + V for g groups of c: every sum over features or groups enters linearly, as a symbol.

    square: sum of all x_i^2; mean: M; means: sum of m_k^2.
    """
    c, g, square, mean, means = symbols("c g B M Q", positive=True)
    whole = square / (g * c) - mean**2
    within = (square / c - means) / g  # mean over k of (sum of squares)/c - m_k^2
    between = means / g - 2 * mean * mean + mean**2  # mean over k of (m_k - M)^2, as the m_k sum to g M
    return identity(whole, within + between, "law of total variance")


def _attained(bound: Bound) -> Evidence:
    """Equal groups attain the bound: here concrete rows, by the library's value. (For symbolic d this is the
    identity of the least value in `proof`.)"""
    attained = 0
    for row, n_groups in _EQUAL:
        ratio, claimed = exact.amplification(row, n_groups), _value(bound, row, n_groups)
        if ratio != claimed:
            detail = f"x = {row}, g = {n_groups}: ratio {ratio}, claimed least value {claimed}"
            return Evidence(Method.EXHAUSTIVE, f"ratio {ratio}", str(claimed), Verdict.REFUTED, detail)
        attained += 1
    rows = Tally("row that attains the bound", attained)
    return Evidence(Method.SYMBOLIC, rows, str(len(_EQUAL)), Verdict.PROVED, "attained by equal groups")


_EQUAL = [(list(range(size)) * n_groups, n_groups) for size in range(2, 7) for n_groups in (2, 3, 4)]


def _value(bound: Bound, row: list[int], n_groups: int) -> Fraction:
    return Fraction(bound(Fraction(len(row)), Fraction(n_groups)))


def examples(bound: Bound) -> Iterator[Instance]:
    """Rows with unequal groups."""
    for row, n_groups in [
        ([1, 2, 3, 1, 2, 4], 2),
        ([1, 2, 3, 11, 12, 13], 2),
        ([0, 0, 1, 10**6, 0, 0], 2),
        ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], 3),
        ([3, 1, 4, 1, 5, 9, 2, 6], 4),
    ]:
        ratio = exact.amplification(row, n_groups)
        yield Instance(f"x = {row}, g = {n_groups}", ratio, _value(bound, row, n_groups), ">=")


CLAIM = Claim(
    name="amplification-bound",
    topic=Topic.NONLINEARITY,
    title="Amplification by groups",
    statement="At every x, the indicator of LN-G with g groups is at least g (d - 2g)/(d - 2) times that of "
    "LN; equal groups attain it.",
    latex=r"\frac{\mathcal H(\mathrm{LN\text{-}G}(g); x)}{\mathcal H(\mathrm{LN}; x)}"
    r"\ge \frac{g\,(d-2g)}{d-2}",
    hypotheses=("d >= 3", "g divides d", "d/g >= 2", "sigma_k(x) > 0 for every group"),
    source="ours",
    kind=ClaimKind.TIGHT,
    form=lambda d, g: g * (d - 2 * g) / (d - 2),
    proof=proof,
    examples=examples,
    property_test=Property(
        lambda: grouped_rows(min_size=3),
        lambda bound, drawn: exact.amplification(*drawn) >= _value(bound, *drawn),
    ),
    twin=FalseTwin("It is at least g times that of LN.", lambda d, g: g),
)
