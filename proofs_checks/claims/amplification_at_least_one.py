"""Splitting into groups of three or more never lowers the indicator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from lntheory.nonlinearity import amplification_bound

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Theory,
    Topic,
    combine,
)
from ..tools.identities import identity, symbols
from ..tools.solver import for_all


def proof(theory: Theory) -> Evidence:
    """The negation of g (d - 2g) >= d - 2 is unsatisfiable over the numbers of the theory.

    The factors (g - 1) (g (c - 2) - 2), c = d/g, show why: g >= 2 and c >= 3 make both at least 0 and g = 1
    makes the first 0, while 1 < g < 2/(c - 2) makes them differ in sign: no integer lies there.
    Applied to each group in place of all features it says that splitting groups further does not lower the
    indicator either.
    """
    g, c = symbols("g c")
    d = c * g
    excess = g * (d - 2 * g) / (d - 2) - 1
    return combine(
        [
            identity(
                excess,
                (g - 1) * (g * (c - 2) - 2) / (d - 2),
                "bound less one, in factors",
                value=sp.factor(excess),
            ),
            for_all(theory, lambda z3: _statement(z3, theory), "g (d - 2g) >= d - 2"),
        ],
        claimed=f"bound >= 1 over the {theory.numbers}",
    )


def _statement(z3: Any, theory: Theory) -> Any:
    """Over the integers d = g c, so that g divides d."""
    if theory.numbers == "integers":
        g, c = z3.Ints("g c")
        d = g * c
    else:
        g, d = z3.Reals("g d")
    return z3.Implies(z3.And(g >= 1, d >= 3 * g), g * (d - 2 * g) >= d - 2)


def examples(theory: Theory) -> Iterator[Instance]:
    """The bound at small d, over the numbers of the theory."""
    for d in range(3, 40):
        for g in range(1, d // 3 + 1):
            if d % g == 0:
                yield Instance(f"d = {d}, g = {g}", amplification_bound(d, g), 1, ">=")
    if theory.numbers == "reals":
        d, g = sp.Rational(19, 4), sp.Rational(3, 2)
        yield Instance(f"d = {d}, g = {g}", g * (d - 2 * g) / (d - 2), 1, ">=")


CLAIM = Claim(
    name="amplification-at-least-one",
    topic=Topic.NONLINEARITY,
    title="Groups never lower the indicator",
    statement="For integers g dividing d with d/g >= 3 the bound g (d - 2g)/(d - 2) is at least 1: LN-G is "
    "nowhere less nonlinear than LN, and splitting groups further, down to three features, never lowers the "
    "indicator.",
    latex=r"g \mid d,\ d/g \ge 3 \implies \frac{g\,(d-2g)}{d-2} \ge 1",
    hypotheses=("g and d are integers", "g divides d", "d/g >= 3"),
    source="paper, under a mild assumption; without it ours",
    kind=ClaimKind.LOWER,
    form=Theory.NIA,
    proof=proof,
    examples=examples,
    twin=FalseTwin("The bound is at least 1 for all real g >= 1 with d/g >= 3.", Theory.NRA),
)
