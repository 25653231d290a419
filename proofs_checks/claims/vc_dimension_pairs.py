"""Two minority pairs a layer: the VC dimension on R^d, d >= 2, is at least 4L + 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import shattered_up_to
from ..tools.merge_lemmas import halved, one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Samples = Callable[[int], int]


def proof(n_samples: Samples) -> Evidence:
    """At most 2L of 4L + 1 samples have the rarer label. The samples are in convex position, so that no four
    of them are a triangle and a point inside."""
    return _proof(n_samples, range(1, 3))


def deep(n_samples: Samples) -> Evidence:
    """The same up to three layers: 13 points and 4,096 pairs of labelings."""
    return _proof(n_samples, range(1, 4))


def _proof(n_samples: Samples, depths: range) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers, half = z3.Ints("m k L half")
        rarer = z3.And(layers >= 1, m == 4 * layers + 1, k >= 1, 2 * k <= m)
        return z3.Implies(z3.And(rarer, 2 * half >= k, 2 * half <= k + 1), half <= layers)

    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            halved(),
            for_all(Theory.LIA, count, "ceil(k/2) <= L for every k <= (4L + 1)/2"),
            shattered_up_to(list(depths), 2, n_samples, "4L + 1"),
        ],
        claimed="at least 4L + 1",
    )


CLAIM = Claim(
    name="vc-dimension-pairs",
    topic=Topic.DEPTH,
    title="VC dimension at least 4L + 1 in two or more dimensions",
    statement="Width-3 LN-Nets with L >= 1 LN layers shatter 4L + 1 points in convex position in the plane, "
    "so that their VC dimension on R^d, d >= 2, is at least 4L + 1.",
    latex=r"\mathrm{VCdim} \ge 4L + 1",
    hypotheses=("d >= 2", "points in convex and general position; certified on points of a circle"),
    source="ours",
    kind=ClaimKind.LOWER,
    form=lambda depth: 4 * depth + 1,
    proof=proof,
    deep=deep,
    twin=FalseTwin(
        "They shatter some 4L + 3 points of the plane, for every L >= 1.", lambda depth: 4 * depth + 3
    ),
)
