"""``"fold"`` and ``"auto"``: the shallowest net of several constructions, within a budget of work.

::

    up to QUICK samples:    pairs ──► fold, if it may be shallower ──► the shallowest
    more:    fold, if within the budget ──► it built a net: pairs up to its depth ──► the shallowest
                                        └─► it did not:     pairs ("fold"), minority-merge ("auto")
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from lntheory.base.types import FloatArray
from lntheory.bounds import most_sign_changes
from lntheory.construct.built import Built, Method
from lntheory.construct.pair_merge import PAIRS, guaranteed_by_pairs
from lntheory.construct.pair_merge.plans import CELLS
from lntheory.construct.problem import Codes, Problem
from lntheory.construct.projection_merge import MINORITY_MERGE
from lntheory.construct.target import PASSES, Target

__all__ = ["AUTO", "FOLD", "Portfolio", "why_no_shallower"]

QUICK = 300
"""Samples up to which two pairs a layer are merged in less time than fold search takes for a layer or two."""
AUTO_BUDGET = {"float64": 600, "float32": 2400}
"""Most units that ``"auto"`` spends by default; more in float32, where merges are hardly ever right."""
UNITS_A_BIT = {"float64": 1.3, "float32": 4.0}
"""Units of search that each bit of information in the labels is likely to take."""


class _DeepEnough(Exception):
    """A construction has reached the depth of a net that is built already."""


@dataclass(frozen=True)
class Portfolio:
    """Several constructions of one problem.

    Attributes
    ----------
    problem : Problem
    fallback : Method
        The construction of more than `QUICK` samples where the search builds no net.
    default_units : callable
        The units that the search may spend if the problem has no budget; 0 for no search.
    """

    problem: Problem
    fallback: Method
    default_units: Callable[[Problem], int]

    def run(self) -> Built:
        """The net of the construction taken; its account says which were tried.

        Merges get a copy of the generator, so their nets are those of the methods that only merge.
        """
        problem, start = self.problem, time.monotonic()
        merging = replace(problem, rng=copy.deepcopy(problem.rng))
        seed = int(problem.rng.integers(2**63))
        nets: dict[str, Built | None] = {}
        budget = self.default_units(problem) if problem.budget is None else problem.budget
        account: dict[str, Any] = {"units": 0, "runs": 0, "budget": budget}
        if problem.time_limit is not None:
            account["time_limit"] = float(problem.time_limit)
        if len(problem.X) <= QUICK:
            nets["pairs"] = PAIRS.build(merging)
        useful = nets.get("pairs")
        if useful is not None and not self.is_right(useful):
            useful = None
        if useful is not None and (why := why_no_shallower(problem.X, problem.codes, useful.depth)):
            account["untried"] = {"fold": why}
        elif not budget:
            account["untried"] = {"fold": f"would hardly end within {AUTO_BUDGET[problem.target]} units"}
        else:
            below = self.guaranteed + 1 if useful is None else useful.depth
            nets["fold"], spent = self._searched(seed, budget, below, start)
            account |= spent
        if len(problem.X) > QUICK:
            nets |= self._merged(nets.get("fold"), merging)
        return self.chosen(nets, account)

    @property
    def guaranteed(self) -> int:
        """A depth that pairs does not exceed; for more than `QUICK` samples the one in general position."""
        return PAIRS.guaranteed_depth(self.problem.class_sizes, len(self.problem.X) > QUICK)

    def is_right(self, built: Built) -> bool:
        """Whether the net is right in the target; for float64 every net of the merges counts as right."""
        problem = self.problem
        if problem.target == "float64":
            return True
        return built.is_carried(problem.X, problem.codes, Target.of(problem.target), passes=PASSES)

    def _searched(
        self, seed: int, budget: int, below: int, start: float
    ) -> tuple[Built | None, dict[str, int]]:  # fmt: skip
        """The net of fold search, None unless it is shallower than `below` and certified; its work."""
        from lntheory.construct.fold_search import fold_search  # numba takes seconds to load

        problem = self.problem
        limit = math.inf if problem.time_limit is None else start + problem.time_limit
        search = fold_search(
            problem.X, problem.codes, seed=seed, budget=budget, target=problem.target, below=below,
            n_jobs=problem.n_jobs, progress=problem.progress, should_stop=lambda: time.monotonic() >= limit,
        )  # fmt: skip
        proved = search.built is not None and search.built.is_proved(problem.X, problem.codes)
        return search.built if proved else None, {"units": search.units, "runs": search.runs}

    def _merged(self, fold: Built | None, merging: Problem) -> dict[str, Built | None]:
        """The merges of more than `QUICK` samples, given up once as deep as the net of the search."""
        if fold is None:
            return {self.fallback.name: self.fallback.build(merging)}

        def watch(done: int, total: int) -> None:
            if done >= fold.depth:
                raise _DeepEnough

        try:
            return {"pairs": PAIRS.build(replace(merging, progress=watch))}
        except _DeepEnough:
            return {"pairs": None}

    def chosen(self, nets: dict[str, Built | None], account: dict[str, Any]) -> Built:
        """The shallowest of the nets that are right in the target, or of all nets if none is.

        Of nets of equal depth that of the merges is taken.
        """
        built = {name: net for name, net in nets.items() if net is not None}
        right = {name: net for name, net in built.items() if self.is_right(net)}
        name, net = min((right or built).items(), key=lambda item: (item[1].depth, item[0] == "fold"))
        tried = {name: None if net is None else net.depth for name, net in nets.items()}
        target = self.problem.target if name in right else "float64"
        return replace(net, account={"construction": name, "tried": tried, **account, "target": target})


def why_no_shallower(X: FloatArray, codes: Codes, depth: int) -> str | None:
    """A reason why a net of fewer than `depth` layers is unlikely or impossible; None if there is none.

    It is assumed that no affine scores separate the classes. On a line the difference of two scores changes
    sign at most 2^L times at depth L. If there are few samples, of two features and two classes,
    `pair_merge` tries every first layer, and so finds a net of depth 1 if there is one.
    """
    varying = np.flatnonzero((X[0] != X).any(axis=0))
    if len(varying) == 1:
        along = codes[np.argsort(X[:, varying[0]])]
        changes = max(
            np.count_nonzero(np.diff(along[(along == c) | (along == e)]))
            for c, e in combinations(range(int(codes.max()) + 1), 2)
        )
        if changes > most_sign_changes(depth - 1):
            return "no net is shallower"
    if depth == 1:
        return "affine scores were tried"
    if depth == 2 and len(varying) == 2 and codes.max() == 1 and len(X) <= CELLS:
        return "all first layers were tried"
    return None


# ----------------------------------------------------------------------------------------------- the methods


def _likely_units(problem: Problem) -> int:
    """The units that random labels are likely to take; 0 if that is more than `AUTO_BUDGET`."""
    shares = np.bincount(problem.codes) / len(problem.codes)
    reckoned = UNITS_A_BIT[problem.target] * -(shares * np.log2(shares)).sum() * len(problem.codes)
    return math.ceil(reckoned) if reckoned <= AUTO_BUDGET[problem.target] else 0


def _all_units(problem: Problem) -> int:
    from lntheory.construct.fold_search import BUDGET  # numba takes seconds to load

    return BUDGET


def _auto(problem: Problem) -> Built:
    return Portfolio(problem, MINORITY_MERGE, _likely_units).run()


def _fold(problem: Problem) -> Built:
    return Portfolio(problem, PAIRS, _all_units).run()


AUTO = Method(
    name="auto",
    summary="the shallowest of several within a budget of work",
    build=_auto,
    guaranteed_depth=MINORITY_MERGE.guaranteed_depth,
    searches=True,
)
FOLD = Method(
    name="fold",
    summary="folds that bring many equal labels together, searched for: far shallower",
    build=_fold,
    guaranteed_depth=guaranteed_by_pairs,
    searches=True,
)
