"""Merging only the rarer label: max(1, k - 1) layers for samples in general position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lntheory.vc import witness

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Theory, Topic, combine
from ..tools.labelings import deepest
from ..tools.merge_lemmas import one_point_is_cut_off, only_that_pair
from ..tools.solver import for_all

Depth = Callable[[Any, Any], Any]


def proof(depth: Depth) -> Evidence:
    """The first layer merges two of the k samples, later layers one each; a chord cuts one point off."""
    return _proof(depth, (4, 5, 7))


def deep(depth: Depth) -> Evidence:
    """All labelings of nine points as well."""
    return _proof(depth, (4, 5, 6, 7, 8, 9))


def _proof(depth: Depth, sizes: tuple[int, ...]) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers = z3.Ints("m k L")
        rarer = z3.And(k >= 1, 2 * k <= m, layers >= 1, m == 2 * layers + 3)
        return z3.Implies(rarer, z3.And(k - 1 <= layers, layers >= 1))

    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            for_all(Theory.LIA, count, "of 2L + 3 samples the rarer label has k with max(1, k - 1) <= L"),
            deepest([witness(m, 2) for m in sizes], depth, "minority-merge", "max(1, k - 1)"),
        ],
        claimed="at most max(1, k - 1) layers",
    )


CLAIM = Claim(
    name="minority-merge-depth-general-position",
    topic=Topic.DEPTH,
    title="One minority pair a layer",
    statement="Two-class labels with k samples of the rarer class are fitted by a width-3 LN-Net of at most "
    "max(1, k - 1) LN layers.",
    latex=r"L \le \max(1, k - 1)",
    hypotheses=("samples in general position in d >= 2 dimensions",),
    source="ours",
    kind=ClaimKind.UPPER,
    form=lambda m, k: max(1, k - 1),
    proof=proof,
    deep=deep,
    twin=FalseTwin("At most k - 2 layers suffice.", lambda m, k: max(0, k - 2)),
)
