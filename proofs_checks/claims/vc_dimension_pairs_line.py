"""A lift and two minority pairs a layer: any 4L - 3 distinct points are shattered, on a line too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import shattered_up_to
from ..tools.merge_lemmas import halved, one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Samples = Callable[[int], int]


def proof(n_samples: Samples) -> Evidence:
    """At most 2L - 2 of 4L - 3 samples have the rarer label."""
    return _proof(n_samples, range(1, 3))


def deep(n_samples: Samples) -> Evidence:
    """The same up to three layers: 9 points and 256 pairs of labelings."""
    return _proof(n_samples, range(1, 4))


def _proof(n_samples: Samples, depths: range) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers, half = z3.Ints("m k L half")
        rarer = z3.And(layers >= 2, m == 4 * layers - 3, k >= 1, 2 * k <= m)
        return z3.Implies(z3.And(rarer, 2 * half >= k, 2 * half <= k + 1), 1 + half <= layers)

    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            halved(),
            for_all(Theory.LIA, count, "1 + ceil(k/2) <= L for every k <= (4L - 3)/2"),
            shattered_up_to(list(depths), 1, n_samples, "4L - 3"),
        ],
        claimed="at least 4L - 3",
    )


CLAIM = Claim(
    name="vc-dimension-pairs-line",
    topic=Topic.DEPTH,
    title="VC dimension at least 4L - 3 in any dimension",
    statement="Width-3 LN-Nets with L LN layers shatter any 4L - 3 distinct points.",
    latex=r"\mathrm{VCdim} \ge 4L - 3",
    hypotheses=("distinct points of any dimension; certified on a line",),
    source="ours",
    kind=ClaimKind.LOWER,
    form=lambda depth: 4 * depth - 3,
    proof=proof,
    deep=deep,
    twin=FalseTwin("They shatter 4L points of a line, for every L >= 1.", lambda depth: 4 * depth),
)
