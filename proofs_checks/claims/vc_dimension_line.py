"""One minority pair a layer: any 2L + 1 distinct points are shattered, on a line too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import shattered_up_to
from ..tools.merge_lemmas import one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Samples = Callable[[int], int]


def proof(n_samples: Samples) -> Evidence:
    """At most k = L of 2L + 1 samples have the rarer label, and k layers fit them."""
    return _proof(n_samples, range(4))


def deep(n_samples: Samples) -> Evidence:
    """The same up to five layers: 11 points and 1,024 pairs of labelings."""
    return _proof(n_samples, range(6))


def _proof(n_samples: Samples, depths: range) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers = z3.Ints("m k L")
        return z3.Implies(z3.And(m == 2 * layers + 1, k >= 1, 2 * k <= m), 1 + (k - 1) <= layers)

    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            for_all(Theory.LIA, count, "k <= L for every k <= (2L + 1)/2"),
            shattered_up_to(list(depths), 1, n_samples, "2L + 1"),
        ],
        claimed="at least 2L + 1",
    )


CLAIM = Claim(
    name="vc-dimension-line",
    topic=Topic.DEPTH,
    title="VC dimension at least 2L + 1 in any dimension",
    statement="Width-3 LN-Nets with L LN layers shatter any 2L + 1 distinct points.",
    latex=r"\mathrm{VCdim} \ge 2L + 1",
    hypotheses=("distinct points of any dimension; certified on a line",),
    source="ours",
    kind=ClaimKind.LOWER,
    form=lambda depth: 2 * depth + 1,
    proof=proof,
    deep=deep,
    twin=FalseTwin("They shatter 2L + 3 points of a line, for every L >= 0.", lambda depth: 2 * depth + 3),
)
