"""Construction and certificate: depth, numbers, proved margin, seconds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import lntheory
from benchmarks.page import Page, show, timed
from benchmarks.problems import Problem, problems
from lntheory import LNNet, exact

TEXT = (
    "Random labels, `lntheory.shatter(X, y, method='minority-merge')`, then `exact.certify`. *Safety* is the "
    "smallest ratio of a gap to the rounding errors beside it that the construction met, in the arithmetic "
    "it ended with; *margin* is proved. Processor seconds, median of 3 runs, or fewer once they come to 20 s."
)
HEADER = ("samples", "classes", "LN layers", "arithmetic", "safety", "margin ≥", "bits", "build s", "prove s")


class Shattered(NamedTuple):
    """A net, its proof, and what they took."""

    net: LNNet
    proof: exact.Certificate
    building: float
    proving: float


@cache
def shattered(problem: Problem) -> Shattered:
    """Build and certify; measured once for all pages."""
    building, net = timed(lambda: lntheory.shatter(problem.X, problem.y, method="minority-merge"))
    proving, proof = timed(lambda: exact.certify(net, problem.X, problem.y))
    return Shattered(net, proof, building, proving)


def _row(problem: Problem) -> tuple[str, ...]:
    net, proof, building, proving = shattered(problem)
    safety = (net.provenance or {}).get("safety")  # none at depth 0: nothing is merged
    return (
        problem.name,
        str(problem.n_classes),
        str(net.depth),
        net.arithmetic,
        "-" if safety is None else f"{safety:.1e}",
        f"{proof.margin:.1e}",
        str(proof.precision),
        show(building),
        show(proving),
    )


def pages() -> Iterator[Page]:
    """One page."""
    yield Page("Construction and certificate", TEXT, HEADER, [_row(problem) for problem in problems()])
