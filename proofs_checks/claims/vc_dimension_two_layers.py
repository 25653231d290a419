"""Two layers shatter thirteen points of the plane, more than merging pairs gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from lntheory import vc
from lntheory.exact.shattering import labeling

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Tally,
    Topic,
    Verdict,
    combine,
)
from ..tools.arrangement import fewest_runs, order_seen, some_centres

Points = Sequence[tuple[int, int]]

CONVEX = [(100, 0), (81, 59), (31, 95), (-30, 96), (-80, 60)]
CONVEX += [(-99, 1), (-82, -57), (-32, -94), (30, -95), (80, -61)]


def proof(points: Points) -> Evidence:
    """From some centre every labeling shows at most four runs. That centre is the first layer's, and four
    runs take one layer more.

    The centres are proposed in float64, the orders in which they see the points are decided exactly.
    """
    missing = _not_seen_in_four_runs(points)
    total = 2 ** (len(points) - 1)
    detail = f"each of {total} labelings, one a pair, shows at most four runs from some rational centre"
    if not len(missing):
        return Evidence(
            Method.EXHAUSTIVE,
            f"{total - len(missing)} of {total} labelings",
            str(total),
            Verdict.PROVED,
            detail,
        )
    labels = labeling(int(missing[0]), len(points)).tolist()
    runs = fewest_runs(points, labels)
    detail = f"labels {labels} show {runs} runs or more from every centre"
    verdict = Verdict.REFUTED if runs > 4 else Verdict.UNDECIDED
    return Evidence(
        Method.EXHAUSTIVE, f"{total - len(missing)} of {total} labelings", str(total), verdict, detail
    )


def deep(points: Points) -> Evidence:
    """A net for every labeling is built and certified as well."""
    with TemporaryDirectory() as folder:
        record = vc.build_lower_bound(2, 2, path=Path(folder, "r.json.gz"), n_samples=len(points))
    detail = f"{record.n_nets} nets of depth {record.deepest}, one a pair of labelings, certified"
    nets = Evidence(
        Method.EXHAUSTIVE,
        (f"{record.n_samples} points", Tally("certified net", record.n_nets)),
        str(len(points)),
        Verdict.PROVED,
        detail,
    )
    return combine([proof(points), nets], claimed=str(len(points)))


def _not_seen_in_four_runs(points: Points) -> NDArray[np.intp]:
    """The numbers of those labelings that no proposed centre shows in four runs."""
    n = len(points)
    seen = np.zeros(2 ** (n - 1), dtype=bool)
    seen[0] = True
    pieces = _labelings_of_four_runs(n)
    for order, centre in some_centres(points):
        numbers = (pieces << np.array(order)).sum(axis=1)
        numbers = np.minimum(numbers, 2**n - 1 - numbers)
        if seen[numbers].all() or order_seen(points, centre) != order:
            continue
        seen[numbers] = True
        if seen.all():
            break
    return np.flatnonzero(~seen)


def _labelings_of_four_runs(n: int) -> NDArray[np.int64]:
    """All labels around a circle of n places with two or four runs, one a complementary pair."""
    rows = []
    for cuts in (*combinations(range(1, n + 1), 2), *combinations(range(1, n + 1), 4)):
        bounds = [0, *cuts, n]
        rows.append([i % 2 for i, (a, b) in enumerate(pairwise(bounds)) for _ in range(b - a)])
    return np.array(rows, dtype=np.int64)


def examples(points: Points) -> Iterator[Instance]:
    """The points are more than merging two pairs a layer accounts for, 4L + 1."""
    yield Instance("points", len(points), 4 * 2 + 1, ">=")


CLAIM: Claim[Points] = Claim(
    name="vc-dimension-two-layers",
    topic=Topic.DEPTH,
    title="VC dimension at least 13 for two layers",
    statement="Width-3 LN-Nets with two LN layers shatter thirteen points of the plane.",
    latex=r"\mathrm{VCdim} \ge 13 \quad (L = 2,\ d \ge 2)",
    hypotheses=("d >= 2", "four runs are settled by one layer (the claim four-runs-one-layer)"),
    source="ours",
    kind=ClaimKind.LOWER,
    form=[(int(x), int(y)) for x, y in vc.THIRTEEN],
    proof=proof,
    deep=deep,
    examples=examples,
    twin=FalseTwin("They shatter ten points of a circle.", CONVEX),
)
