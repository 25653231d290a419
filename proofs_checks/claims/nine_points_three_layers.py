"""Nine points in general position in the plane with a labeling that two layers do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lntheory import exact, shatter

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Topic,
    Verdict,
    combine,
)
from ..tools.arrangement import fewest_runs, is_in_general_position

Points = Sequence[tuple[int, int]]

LABELS = [1, 1, 1, 1, 0, 0, 0, 0, 0]
POINTS = [(20, 4), (0, 34), (30, 27), (23, 22), (5, 1), (25, 25), (38, 2), (8, 40), (23, 15)]
CONVEX = [(10, 0), (20, 3), (26, 11), (27, 21), (21, 30), (11, 34), (3, 29), (-1, 19), (1, 8)]


def proof(points: Points) -> Evidence:
    """Four positives, one of them inside the triangle of the rest.

    The read-out and the last layer realise what is in two arcs of the circle at most (the claim
    alternating-depth-lower-bound), that is, at most four cyclic runs. The first layer shows the points in the
    order in which its centre sees them, so depth two needs a centre that sees at most four runs; a singular
    first layer is a parallel projection, seen from infinity, or no more than a half-plane.
    """
    general = is_in_general_position(points)
    position = Evidence(
        Method.EXHAUSTIVE,
        f"general position: {general}",
        "True",
        Verdict.PROVED if general else Verdict.REFUTED,
        "no three points on a line, no three lines through disjoint pairs concurrent, no two parallel",
    )
    runs = fewest_runs(points, LABELS)
    detail = f"the centre in any cell of the 36 lines sees {runs} runs or more"
    verdict = Verdict.PROVED if runs > 4 else Verdict.REFUTED
    seen = Evidence(
        Method.EXHAUSTIVE, f"{runs} runs from the best centre", "more than 4 runs", verdict, detail
    )
    return combine([position, seen], claimed="more than 4 runs")


def examples(points: Points) -> Iterator[Instance]:
    """Three layers do, certified."""
    X = np.array(points, dtype=float)
    net = shatter(X, LABELS, method="pairs")
    yield Instance("margin", exact.certify(net, X, LABELS).margin, 0, ">=")
    yield Instance("layers", net.depth, 3)


CLAIM: Claim[Points] = Claim(
    name="nine-points-three-layers",
    topic=Topic.DEPTH,
    title="Nine points in general position may need three layers",
    statement="There are nine points in general position in the plane and a labeling with four positives "
    "that no width-3 LN-Net of two LN layers realises.",
    latex=r"\exists\, m = 9,\ k = 4:\ L > \lceil k/2 \rceil",
    hypotheses=("the plane; one of the four positives lies inside the triangle of the others",),
    source="ours",
    kind=ClaimKind.LOWER,
    form=POINTS,
    proof=proof,
    examples=examples,
    twin=FalseTwin("Nine points in convex position with four positives in a row need three layers.", CONVEX),
)
