"""One minority pair a layer: the VC dimension on R^d, d >= 2, is at least 2L + 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import shattered_up_to
from ..tools.merge_lemmas import one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Samples = Callable[[int], int]


def proof(n_samples: Samples) -> Evidence:
    """At most k = L + 1 of 2L + 3 samples have the rarer label, and max(1, k - 1) layers fit them."""
    return _proof(n_samples, range(4))


def deep(n_samples: Samples) -> Evidence:
    """The same up to five layers: 13 points and 4,096 pairs of labelings."""
    return _proof(n_samples, range(6))


def _proof(n_samples: Samples, depths: range) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers = z3.Ints("m k L")
        rarer = z3.And(layers >= 1, m == 2 * layers + 3, k >= 1, 2 * k <= m)
        return z3.Implies(rarer, z3.And(k - 1 <= layers, layers >= 1))

    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            for_all(Theory.LIA, count, "max(1, k - 1) <= L for every k <= (2L + 3)/2"),
            shattered_up_to(list(depths), 2, n_samples, "2L + 3"),
        ],
        claimed="at least 2L + 3",
    )


CLAIM = Claim(
    name="vc-dimension-plane",
    topic=Topic.DEPTH,
    title="VC dimension at least 2L + 3 in two or more dimensions",
    statement="Width-3 LN-Nets with L LN layers shatter 2L + 3 points in general position in R^d, d >= 2.",
    latex=r"\mathrm{VCdim} \ge 2L + 3",
    hypotheses=("d >= 2", "points in general position; certified on points of a circle"),
    source="ours",
    kind=ClaimKind.LOWER,
    form=lambda depth: 2 * depth + 3,
    proof=proof,
    deep=deep,
    twin=FalseTwin(
        "They shatter some 2L + 4 points of the plane, for every L >= 0.", lambda depth: 2 * depth + 4
    ),
)
