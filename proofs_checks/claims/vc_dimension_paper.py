"""The paper's lower bound: the VC dimension of width-3 LN-Nets with L LN layers is at least L + 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import shattered_up_to
from ..tools.merge_lemmas import only_that_pair
from ..tools.solver import for_all

Samples = Callable[[int], int]


def proof(n_samples: Samples) -> Evidence:
    """m = L + 2 samples need at most max(1, m - 2) layers, which is L for L >= 1. For small L a net for every
    labeling is built and certified."""
    return _proof(n_samples, range(5))


def deep(n_samples: Samples) -> Evidence:
    """The same up to ten layers: 12 points and 2,048 pairs of labelings."""
    return _proof(n_samples, range(11))


def _proof(n_samples: Samples, depths: range) -> Evidence:
    def count(z3: Any) -> Any:
        m, layers = z3.Ints("m L")
        return z3.Implies(z3.And(layers >= 2, m == layers + 2), 1 + (m - 3) <= layers)

    return combine(
        [
            *only_that_pair(),
            for_all(Theory.LIA, count, "a lift and m - 3 merges are L layers for m = L + 2 samples"),
            shattered_up_to(list(depths), 2, n_samples, "L + 2"),
        ],
        claimed="at least L + 2",
    )


CLAIM = Claim(
    name="vc-dimension-paper",
    topic=Topic.DEPTH,
    title="VC dimension at least L + 2",
    statement="Width-3 LN-Nets with L LN layers shatter some L + 2 points.",
    latex=r"\mathrm{VCdim} \ge L + 2",
    hypotheses=("samples in the plane",),
    source="paper, theorem 3",
    kind=ClaimKind.LOWER,
    form=lambda depth: depth + 2,
    proof=proof,
    deep=deep,
    twin=FalseTwin("They shatter some L + 4 points of the plane, for every L >= 0.", lambda depth: depth + 4),
)
