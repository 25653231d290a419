"""Groups of four amplify by more than d/8."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory.nonlinearity import amplification_bound

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
from ..tools.identities import identity, symbols

Lower = Callable[[Any], Any]


def proof(lower: Lower) -> Evidence:
    """d^2/(8 (d - 2)) = d/8 + 1/4 + 1/(2 (d - 2)); the sign is decided for d = 4 + e, e >= 0."""
    (d,) = symbols("d")
    value = d**2 / (8 * (d - 2))
    return combine(
        [
            identity(
                value,
                d / 8 + sp.Rational(1, 4) + 1 / (2 * (d - 2)),
                "partial fractions",
                value=sp.apart(value, d),
            ),
            _positive(value - lower(d), d),
        ],
        claimed=f"> {lower(d)}",
    )


def _positive(difference: Any, d: Any) -> Evidence:
    """At d = 4 + e all coefficients are positive; if not, a d that refutes it is sought."""
    e = sp.Symbol("e", nonnegative=True)
    parts = [sp.Poly(part, e) for part in sp.fraction(sp.factor(difference.subs(d, 4 + e)))]
    if all(coefficient > 0 for part in parts for coefficient in part.all_coeffs()):
        return Evidence(
            Method.SYMBOLIC,
            f"{sp.factor(difference)} > 0",
            "> 0",
            Verdict.PROVED,
            "positive for every d >= 4",
        )
    wrong = next((k for k in range(4, 1000, 4) if difference.subs(d, k) <= 0), None)
    verdict = Verdict.UNDECIDED if wrong is None else Verdict.REFUTED
    return Evidence(Method.SYMBOLIC, sp.factor(difference), "> 0", verdict, f"not above at d = {wrong}")


def examples(lower: Lower) -> Iterator[Instance]:
    """The bound itself at multiples of four."""
    for d in (4, 8, 12, 64, 512, 768, 4096):
        yield Instance(f"d = {d}", Fraction(lower(Fraction(d))), amplification_bound(d, d // 4), "<")


CLAIM = Claim(
    name="amplification-above-eighth",
    topic=Topic.NONLINEARITY,
    title="Groups of four amplify by more than d/8",
    statement="If 4 divides d, groups of four multiply the indicator by more than d/8 at every x, in fact by "
    "more than d/8 + 1/4.",
    latex=r"4 \mid d \implies \frac{\mathcal H(\mathrm{LN\text{-}G}(d/4); x)}{\mathcal H(\mathrm{LN}; x)}"
    r" \ge \frac d8 + \frac14 + \frac1{2(d-2)} > \frac d8",
    hypotheses=("4 divides d",),
    source="paper (d/8); the remainder ours",
    kind=ClaimKind.LOWER,
    form=lambda d: d / 8 + Fraction(1, 4),
    proof=proof,
    examples=examples,
    twin=FalseTwin("It is more than d/8 + 1/2 for every such d.", lambda d: d / 8 + Fraction(1, 2)),
)
