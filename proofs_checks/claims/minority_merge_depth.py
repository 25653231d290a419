"""Merging only the rarer label: k layers for any distinct samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lntheory.vc import witness

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import deepest
from ..tools.merge_lemmas import one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Depth = Callable[[Any, Any], Any]


def proof(depth: Depth) -> Evidence:
    """A generic lift to the circle, then k - 1 merges; one point is cut off by a chord."""
    return _proof(depth, (3, 5, 6))


def deep(depth: Depth) -> Evidence:
    """All labelings of up to eight points."""
    return _proof(depth, (3, 4, 5, 6, 7, 8))


def _proof(depth: Depth, sizes: tuple[int, ...]) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers = z3.Ints("m k L")
        return z3.Implies(z3.And(k >= 1, 2 * k <= m, m == 2 * layers + 1), 1 + (k - 1) <= layers)

    line = [witness(m, 1) for m in sizes]
    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            for_all(Theory.LIA, count, "of 2L + 1 samples the rarer label has k <= L"),
            deepest([*line, *(np.column_stack([p, 3 - 2 * p]) for p in line)], depth, "minority-merge", "k"),
        ],
        claimed="at most k layers",
    )


CLAIM = Claim(
    name="minority-merge-depth",
    topic=Topic.DEPTH,
    title="One minority pair a layer, any samples",
    statement="Two-class labels of any distinct samples, k of the rarer class, are fitted by a width-3 "
    "LN-Net of at most k LN layers.",
    latex=r"L \le k",
    hypotheses=("distinct samples of any dimension",),
    source="ours",
    kind=ClaimKind.UPPER,
    form=lambda m, k: k,
    proof=proof,
    deep=deep,
    twin=FalseTwin("At most k - 1 layers suffice for any distinct samples.", lambda m, k: max(0, k - 1)),
)
