"""One layer in the plane: two half-planes, and a VC dimension of exactly 6."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lntheory import vc

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Theory,
    Topic,
    Verdict,
    combine,
)
from ..tools.orientations import axioms, orientations, unrealised
from ..tools.solver import for_all

MOST = 6
"""Points shattered by a certified record; of seven no orientation is."""


def proof(dimension: int) -> Evidence:
    """The labelings that one layer realises are those that two half-planes realise, and the orientations of
    the triples of points decide which those are.

    ```
         `.     .´
           `. .´     positive: n.u + h|u| > 0, u = A x + c, an arc of directions: the points between two rays
             o       from the centre, or outside of them; for singular A a strip, or outside of one
    ```

    An arc shorter than a half circle is a cone, the intersection of two open half-planes in x (their normals
    are the rows of A, turned); a longer one the complement of a closed such one, so a union. Strict signs are
    stable: shattered points may be moved into general position, and there only the orientations of triples
    count.
    """
    return combine(
        [_shattered(dimension), for_all(Theory.NRA, _cone, "an arc is an intersection of two half-planes"),
         axioms(), _none_of_more(dimension)],
        claimed=str(dimension),
    )  # fmt: skip


def _cone(z3: Any) -> Any:
    """x > c |u| exactly for u between the rays at angles -alpha and alpha, cos = c > 0, sin = s > 0."""
    x, y, r, c, s = z3.Reals("x y r c s")
    given = z3.And(r > 0, r * r == x * x + y * y, c > 0, s > 0, c * c + s * s == 1)
    return z3.Implies(given, (x > c * r) == z3.And(c * y + s * x > 0, s * x - c * y > 0))


def _shattered(dimension: int) -> Evidence:
    """A net for every labeling of six points is built and certified."""
    with TemporaryDirectory() as folder:
        record = vc.build_lower_bound(1, 2, path=Path(folder, "r.json.gz"), n_samples=MOST)
    verdict = Verdict.PROVED if record.n_samples <= dimension else Verdict.REFUTED
    detail = f"{record.n_samples} points shattered by {record.n_nets} certified nets, one a pair of labelings"
    return Evidence(
        Method.EXHAUSTIVE, f"{record.n_samples} points shattered", str(dimension), verdict, detail
    )


def _none_of_more(dimension: int) -> Evidence:
    """In each system of orientations of one point more some labeling is not that of two half-planes."""
    n_points = dimension + 1
    total = realised = 0
    for system in orientations(n_points):
        total += 1
        realised += unrealised(system, n_points) is None
    detail = f"each of the {total} orientations of {n_points} points leaves out a labeling (Kirchberger)"
    verdict = Verdict.PROVED if not realised else Verdict.REFUTED
    return Evidence(
        Method.EXHAUSTIVE,
        f"{realised} of {total} orientations of {n_points} points shattered",
        "0",
        verdict,
        detail,
    )


def examples(dimension: int) -> Iterator[Instance]:
    """The numbers of systems of up to six points, and of those of six points that two half-planes shatter."""
    counts = [sum(1 for _ in orientations(n)) for n in range(3, 7)]
    yield Instance("systems of 3, 4, 5, 6 points, as counted by others (OEIS A006245)", counts, [1, 2, 8, 62])
    shattered = sum(unrealised(system, 6) is None for system in orientations(6))
    yield Instance("systems of 6 points that are shattered", shattered, 1, ">=")


CLAIM = Claim(
    name="vc-dimension-one-layer",
    topic=Topic.DEPTH,
    title="VC dimension 6 for one layer in the plane",
    statement="The VC dimension of width-3 LN-Nets with one LN layer on the plane is 6: that of "
    "intersections and unions of two half-planes.",
    latex=r"\mathrm{VCdim} = 6 \quad (L = 1,\ d = 2)",
    hypotheses=("one score as read-out", "Kirchberger's theorem on separation by lines"),
    source="ours",
    kind=ClaimKind.TIGHT,
    form=MOST,
    proof=proof,
    examples=examples,
    twin=FalseTwin("It is 5.", 5),
)
