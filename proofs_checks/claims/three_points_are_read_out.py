"""Any labels of three distinct points of a circle can be read out; four alternating ones cannot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import sympy as sp

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
from ..tools.identities import identity, symbols
from ..tools.labelings import affinely_separable

ANGLES = (0.1, 0.9, 2.0, 3.5, 5.1)


def proof(n_points: int) -> Evidence:
    """Three points of a circle are affinely independent, so an affine function takes any values on them.

    In the coordinate t = tan(angle/2) twice the area of their triangle is a product of differences, zero only
    if two coincide; the coordinate misses one point of the circle, and a rotation puts that point elsewhere.
    """
    t = symbols("t:3")
    rows = [[1, (1 - s**2) / (1 + s**2), 2 * s / (1 + s**2)] for s in t]
    claimed = 4 * (t[1] - t[0]) * (t[2] - t[0]) * (t[2] - t[1]) / sp.prod([1 + s**2 for s in t])
    area = identity(sp.Matrix(rows).det(), claimed, "area = 4 prod(t_j - t_i)/prod(1 + t^2)")
    return combine(
        [area, _all_labelings(n_points)],
        claimed=f"all 2^{n_points}",
    )


def _all_labelings(n_points: int) -> Evidence:
    """Every labeling of concrete points, separated or not by an affine function, by exact linear algebra."""
    points = np.column_stack([np.cos(ANGLES[:n_points]), np.sin(ANGLES[:n_points])])
    labelings = list(product([0, 1], repeat=n_points))
    missing = [list(labels) for labels in labelings if not affinely_separable(points, labels)]
    computed = f"{len(labelings) - len(missing)} of {len(labelings)} labelings of {n_points} points"
    if missing:
        detail = f"labels {missing[0]} around the circle are not affinely separable"
        return Evidence(Method.EXHAUSTIVE, computed, "all", Verdict.REFUTED, detail)
    return Evidence(Method.EXHAUSTIVE, computed, "all", Verdict.PROVED, "all labelings of concrete points")


def examples(n_points: int) -> Iterator[Instance]:
    """The area of concrete triangles, exactly."""
    for t in ([0, 1, 2], [-3, sp.Rational(1, 2), 7]):
        rows = [[1, (1 - s**2) / (1 + s**2), 2 * s / (1 + s**2)] for s in map(sp.Rational, t)]
        claimed = 4 * (t[1] - t[0]) * (t[2] - t[0]) * (t[2] - t[1])
        scale = sp.prod([1 + sp.Rational(s) ** 2 for s in t])
        yield Instance(f"t = {t}", sp.Matrix(rows).det() * scale, claimed)


CLAIM = Claim(
    name="three-points-are-read-out",
    topic=Topic.DEPTH,
    title="Three points are settled by the read-out",
    statement="Any labels of three distinct points of a circle are given by affine scores.",
    latex=r"\det\begin{pmatrix}1 & z_i\end{pmatrix}_{i=1}^{3} "
    r"= \frac{4\prod_{i<j}(t_j-t_i)}{\prod_i(1+t_i^2)} \ne 0,\quad t = \tan(\theta/2)",
    hypotheses=("three distinct points of a circle",),
    source="paper, section 4",
    kind=ClaimKind.TIGHT,
    form=3,
    proof=proof,
    examples=examples,
    twin=FalseTwin("Any labels of four distinct points of a circle are given by affine scores.", 4),
)
