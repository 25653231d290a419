"""Over real g the amplification bound is largest at groups of four."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory.nonlinearity import amplification_bound

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Topic, combine
from ..tools.identities import identity, symbols

Best = Callable[[Any], Any]


def proof(best: Best) -> Evidence:
    """Completing the square: B(g*) - B(g) = 2 (g - g*)^2/(d - 2), positive for d > 2 but at g = g*."""
    d, g = symbols("d g")
    scaled = g * (d - 2 * g)  # the bound times d - 2 > 0
    largest = scaled.subs(g, best(d))
    stationary = f"largest at g = {sp.solve(sp.diff(scaled, g), g)[0]}"
    return combine(
        [
            identity(
                sp.diff(scaled, g).subs(g, best(d)), 0, "the derivative vanishes there", value=stationary
            ),
            identity(largest - scaled, 2 * (g - best(d)) ** 2, "completing the square"),
            identity(largest, d**2 / 8, "the largest value", value=f"value {sp.factor(largest / (d - 2))}"),
        ],
        claimed=f"largest at g = {best(d)}, value {sp.factor(largest / (d - 2))}",
    )


def examples(best: Best) -> Iterator[Instance]:
    """The bound at the best g against the bounds at all divisors, for those d that the best g divides."""
    for d in range(4, 200):
        g = Fraction(best(Fraction(d)))
        if g.denominator == 1 and d % g == 0:
            largest = max(amplification_bound(d, k) for k in range(1, d // 2 + 1) if d % k == 0)
            yield Instance(f"d = {d}", amplification_bound(d, int(g)), largest)


CLAIM = Claim(
    name="amplification-best-real-groups",
    topic=Topic.NONLINEARITY,
    title="Groups of four are best",
    statement="As a function of real g the bound g (d - 2g)/(d - 2) is largest at g = d/4, and only there; "
    "its value is d^2/(8 (d - 2)).",
    latex=r"\max_{g \in \mathbb R} \frac{g\,(d-2g)}{d-2} = \frac{d^2}{8(d-2)}, \quad\text{at } g = d/4",
    hypotheses=("d > 2",),
    source="paper; the exact value ours",
    kind=ClaimKind.TIGHT,
    form=lambda d: d / 4,
    proof=proof,
    examples=examples,
    twin=FalseTwin("The bound is largest at g = d/3.", lambda d: d / 3),
)
