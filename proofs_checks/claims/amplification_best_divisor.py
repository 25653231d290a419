"""The best number of groups among the divisors of d."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, pairwise

import sympy as sp

from lntheory.nonlinearity import amplification_bound, best_num_groups

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Topic,
    Verdict,
    combine,
)
from ..tools.hessian import sign
from ..tools.identities import identity, symbols

Sizes = tuple[int, ...]
"""The sizes that come before 7, 8, 9, ..., best first."""


def proof(first: Sizes) -> Evidence:
    """With c features a group the bound is d^2/(d - 2) times (c - 2)/c^2; the sizes are put in its order.

    phi(c) - phi(c + 1) = (c^2 - 3c - 2)/(c^2 (c + 1)^2), and at c = 4 + e the numerator is e^2 + 5e + 2: the
    order falls from 4 on for every c; 3 is placed by comparing numbers. So the first that divides d is best.
    """
    d, c, e = symbols("d c e", nonnegative=True)
    g = d / c
    numerator = c**2 - 3 * c - 2
    return combine(
        [
            _order(first),
            identity(g * (d - 2 * g) / (d - 2), d**2 / (d - 2) * (c - 2) / c**2, "bound for groups of c"),
            identity((c - 2) / c**2 - (c - 1) / (c + 1) ** 2, numerator / (c**2 * (c + 1) ** 2), "next size"),
            identity(numerator.subs(c, 4 + e), e**2 + 5 * e + 2, "numerator from c = 4 on"),
            sign(e**2 + 5 * e + 2, "it is positive", strict=True),
        ],
        claimed=" > ".join(map(str, (*first, 7, 8))) + " > ...",
    )


def _factor(size: int) -> Fraction:
    return Fraction(size - 2, size * size)


def _order(first: Sizes) -> Evidence:
    """The factors of the leading sizes fall strictly, down to that of 7. Size 6 may be left out: its factor
    is that of size 3, and 3 divides whatever 6 divides."""
    sizes = (*first, 7)
    factors = ", ".join(f"{_factor(size)} for groups of {size}" for size in sizes)
    wrong = next(((p, q) for p, q in pairwise(sizes) if not _factor(p) > _factor(q)), None)
    if wrong is None and set(first) == {3, 4, 5} and _factor(3) == _factor(6):
        detail = "3, 4, 5 and 6 compared as numbers"
        return Evidence(Method.SYMBOLIC, factors, "falling", Verdict.PROVED, detail)
    p, q = wrong or (0, 0)
    detail = f"not so: groups of {p} give {_factor(p)}, of {q} give {_factor(q)}, as at d = {sp.lcm(p, q)}"
    return Evidence(Method.SYMBOLIC, factors, "falling", Verdict.REFUTED, detail)


def chosen(first: Sizes, d: int) -> int:
    """The number of groups whose size is the first in the order that divides d."""
    return next(d // size for size in chain(first, range(7, d + 1)) if d % size == 0)


def examples(first: Sizes) -> Iterator[Instance]:
    """For every d up to 300, the largest bound over all divisors, and the library's own choice."""
    for d in range(3, 301):
        largest = max(amplification_bound(d, g) for g in range(1, d // 2 + 1) if d % g == 0)
        yield Instance(f"d = {d}", amplification_bound(d, chosen(first, d)), largest)
        yield Instance(f"d = {d}, library", best_num_groups(d), chosen(first, d))


CLAIM = Claim(
    name="amplification-best-divisor",
    topic=Topic.NONLINEARITY,
    title="The best number of groups",
    statement="Among the divisors of d >= 3 the bound g (d - 2g)/(d - 2) is largest for groups of c "
    "features, c the first of 4, 5, 3, 7, 8, 9, ... that divides d (groups of six tie with groups of three).",
    latex=r"\operatorname*{arg\,max}_{g \mid d} \frac{g\,(d-2g)}{d-2} = \frac dc,"
    r"\quad c = \text{first of } 4, 5, 3, 7, 8, 9, \dots \text{ that divides } d",
    hypotheses=("d >= 3",),
    source="ours",
    kind=ClaimKind.TIGHT,
    form=(4, 5, 3),
    proof=proof,
    examples=examples,
    twin=FalseTwin("Groups of three come before groups of five.", (4, 3, 5)),
)
