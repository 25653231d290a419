"""The paper's projection-merge fits any labels of m distinct samples with at most max(1, m - 2) layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lntheory.vc import witness

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import deepest
from ..tools.merge_lemmas import only_that_pair
from ..tools.solver import for_all

Depth = Callable[[Any, Any], Any]


def proof(depth: Depth) -> Evidence:
    """A lift to m distinct points of the circle, then a merge a layer down to three, which are read out."""
    return _proof(depth, 5)


def deep(depth: Depth) -> Evidence:
    """All labelings of up to seven points."""
    return _proof(depth, 7)


def _proof(depth: Depth, most: int) -> Evidence:
    def count(z3: Any) -> Any:
        m = z3.Int("m")
        layers = 1 + m - 3
        return z3.Implies(m >= 4, layers <= m - 2)

    sets = [witness(m, dim) for m in range(2, most + 1) for dim in (1, 2)]
    sets += [np.column_stack([witness(m, 1), 2 * witness(m, 1)]) for m in (3, most)]
    return combine(
        [
            *only_that_pair(),
            for_all(Theory.LIA, count, "a lift and m - 3 merges are m - 2 layers, for every m >= 4"),
            deepest(sets, depth, "projection-merge", "max(1, m - 2)"),
        ],
        claimed="at most max(1, m - 2) layers",
    )


CLAIM = Claim(
    name="projection-merge-depth",
    topic=Topic.DEPTH,
    title="Projection-merge needs O(m) layers",
    statement="Any two-class labels of m distinct samples are fitted by a width-3 LN-Net of at most "
    "max(1, m - 2) LN layers.",
    latex=r"L \le \max(1, m - 2)",
    hypotheses=("m distinct samples of any dimension",),
    source="paper, theorem 2",
    kind=ClaimKind.UPPER,
    form=lambda m, k: max(1, m - 2),
    proof=proof,
    deep=deep,
    twin=FalseTwin("At most m - 3 layers suffice.", lambda m, k: max(0, m - 3)),
)
