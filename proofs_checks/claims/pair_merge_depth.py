"""Two pairs a layer: 1 + ceil(k/2) layers for any distinct samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lntheory.vc import witness

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import deepest
from ..tools.merge_lemmas import halved, one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Depth = Callable[[Any, Any], Any]


def proof(depth: Depth) -> Evidence:
    """A generic lift to the circle, then two merges a layer (two-chords-one-centre); one point is cut off.

    What two chords merge besides (a chord of unequal labels on a line through their centre) is a coincidence
    of three lines, which a generic shape of the layer before breaks.
    """
    return _proof(depth, (3, 5, 6))


def deep(depth: Depth) -> Evidence:
    """All labelings of up to nine points."""
    return _proof(depth, (3, 4, 5, 6, 7, 8, 9))


def _proof(depth: Depth, sizes: tuple[int, ...]) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers, half = z3.Ints("m k L half")
        rarer = z3.And(k >= 1, 2 * k <= m, m == 4 * layers - 3, layers >= 2)
        return z3.Implies(z3.And(rarer, 2 * half >= k, 2 * half <= k + 1), 1 + half <= layers)

    line = [witness(m, 1) for m in sizes]
    collinear = [np.column_stack([p, 3 - 2 * p]) for p in line]
    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            halved(),
            for_all(Theory.LIA, count, "of 4L - 3 samples the rarer label has k with 1 + ceil(k/2) <= L"),
            deepest([*line, *collinear], depth, "pairs", "1 + ceil(k/2)"),
        ],
        claimed="at most 1 + ceil(k/2) layers",
    )


CLAIM = Claim(
    name="pair-merge-depth",
    topic=Topic.DEPTH,
    title="Two minority pairs a layer, any samples",
    statement="Two-class labels of any distinct samples, k of the rarer class, are fitted by a width-3 "
    "LN-Net of at most 1 + ceil(k/2) LN layers.",
    latex=r"L \le 1 + \lceil k/2 \rceil",
    hypotheses=("distinct samples of any dimension",),
    source="ours",
    kind=ClaimKind.UPPER,
    form=lambda m, k: 1 + (k + 1) // 2,
    proof=proof,
    deep=deep,
    twin=FalseTwin("At most ceil(k/2) - 1 layers suffice.", lambda m, k: max(0, (k + 1) // 2 - 1)),
)
