"""Construction and certificate: depth, numbers, proved margin, seconds."""

from __future__ import annotations

from collections.abc import Iterator

import lntheory
from benchmarks.page import Page, show, timed
from benchmarks.problems import SIZES, Problem, digits, planar
from lntheory import exact

TEXT = (
    "Random labels, `lntheory.shatter(X, y)` (minority-merge, seed 0), then `exact.certify`. *Safety* is the "
    "smallest ratio of a gap to the rounding errors beside it that the construction met, in the arithmetic "
    "it ended with; *margin* is proved. Processor seconds, median of 3."
)
HEADER = ("samples", "classes", "LN layers", "arithmetic", "safety", "margin ≥", "bits", "build s", "prove s")


def _row(problem: Problem) -> tuple[str, ...]:
    building, net = timed(lambda: lntheory.shatter(problem.X, problem.y))
    proving, proof = timed(lambda: exact.certify(net, problem.X, problem.y))
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
    rows = [_row(problem(size)) for problem in (planar, digits) for size in SIZES]
    yield Page("Construction and certificate", TEXT, HEADER, rows)
