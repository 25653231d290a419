"""On a line the VC dimension is at most 2^L + 1, which is exact for one, two and three layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import sympy as sp

from lntheory import vc

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
from ..tools.identities import identities, symbols
from ..tools.rational_plane import cross

Bound = Callable[[int], int]


def proof(bound: Bound) -> Evidence:
    """Backwards from the read-out, whose positive points are one arc of the last circle.

    Each layer but the first at most doubles the arcs (the claim alternating-depth-lower-bound), so that
    2^(L - 1) arcs of the first circle, with 2^L ends, decide; each end is passed at most once along the line.
    Labels that alternate along m points change sign m - 1 times, so m - 1 <= 2^L.
    """
    return _proof(bound, (1, 2))


def deep(bound: Bound) -> Evidence:
    """The same for three layers too: 9 points and 256 pairs of labelings."""
    return _proof(bound, (1, 2, 3))


def _proof(bound: Bound, depths: tuple[int, ...]) -> Evidence:
    return combine(
        [_ends_are_passed_once(), *(_exact(bound, depth) for depth in depths)],
        claimed=", ".join(f"{bound(depth)} at L = {depth}" for depth in depths),
    )


def _ends_are_passed_once() -> Evidence:
    """An end r of an arc is where det(r, a x + c), affine in x, changes sign."""
    a, c, r, (x,) = symbols("a:2"), symbols("c:2"), symbols("r:2"), symbols("x")
    value = cross(r, (a[0] * x + c[0], a[1] * x + c[1]))
    slope = sp.diff(value, x)
    return identities(
        [(value, value.subs(x, 0) + slope * x), (sp.diff(slope, x), 0)],
        "each of the 2^L ends of the arcs is passed at most once along the line",
    )


def _exact(bound: Bound, depth: int) -> Evidence:
    """A net for every labeling of 2^L + 1 points is built and certified; the bound has to be that number."""
    with TemporaryDirectory() as folder:
        most = vc.build_lower_bound(
            depth, 1, path=Path(folder, "r.json.gz"), n_samples=2**depth + 1
        ).n_samples
    verdict = Verdict.PROVED if most == bound(depth) else Verdict.REFUTED
    detail = f"{most} points of a line are shattered at L = {depth}, and {most + 1} alternating ones are not"
    return Evidence(Method.EXHAUSTIVE, f"{most} at L = {depth}", str(bound(depth)), verdict, detail)


def examples(bound: Bound) -> Iterator[Instance]:
    """How often a set of 2^(L-1) arcs of six points of a circle can change along the line, by brute force."""
    for depth in (1, 2):
        changes = 0
        for inside in product([0, 1], repeat=6):
            arcs = sum(inside[i] and not inside[i - 1] for i in range(6)) or int(all(inside))
            if arcs <= 2 ** (depth - 1):
                changes = max(changes, sum(inside[i] != inside[i + 1] for i in range(5)))
        yield Instance(f"L = {depth}: points that alternate", changes + 1, bound(depth))


CLAIM: Claim[Bound] = Claim(
    name="vc-dimension-on-a-line",
    topic=Topic.DEPTH,
    title="VC dimension 3, 5 and 9 on a line",
    statement="The VC dimension of width-3 LN-Nets with L >= 1 LN layers on a line is at most 2^L + 1, and "
    "is that for L = 1, 2, 3.",
    latex=r"\mathrm{VCdim} \le 2^L + 1,\quad = 3, 5, 9 \text{ for } L = 1, 2, 3",
    hypotheses=("samples of one feature",),
    source="ours",
    kind=ClaimKind.TIGHT,
    form=lambda depth: 2**depth + 1,
    proof=proof,
    deep=deep,
    examples=examples,
    twin=FalseTwin("It is 2^L.", lambda depth: 2**depth),
)
