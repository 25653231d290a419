"""SSR and LSSR as pairs of float64 that enclose them: of samples, and of points that are themselves enclosed.

A certificate states both, before the first layer and after the last. They describe the net; that every sample
gets its label does not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from lntheory.base.rounding import float_down, float_up, rounded_outward
from lntheory.base.types import FloatArray
from lntheory.errors import DegenerateInputError
from lntheory.exact import separability
from lntheory.network.net import LNNet

__all__ = ["Interval", "enclosed_ssr_of_points", "enclosed_ssr_of_samples", "total_scatter", "unit_interval"]

Interval = tuple[float, float]


def enclosed_ssr_of_samples(X: FloatArray, labels: Sequence[Any]) -> tuple[Interval | None, Interval | None]:
    """SSR and LSSR of the samples, from their exact values; None if they all coincide."""
    try:
        ssr, lssr = separability.ssr(X, labels), separability.lssr(X, labels)
    except DegenerateInputError:
        return None, None
    lower, upper = (
        (lssr, lssr) if not isinstance(lssr, separability.AlgebraicEnclosure) else (lssr.lower, lssr.upper)
    )
    return rounded_outward(ssr, ssr), rounded_outward(lower, upper)


def enclosed_ssr_of_points(
    net: LNNet, points: Sequence[Sequence[arb]], right: NDArray[np.intp]
) -> tuple[Interval | None, Interval | None]:
    """SSR and LSSR of enclosed points: [lower, upper], rounded outwards.

    SSR is evaluated on the balls. LSSR lies in [0, SSR]; where the total scatter of the points is proved to
    be non-singular (after LN in the coordinates that are left when one of each group, which sum to zero, is
    dropped) and there are two classes, or at most two coordinates, the closed form narrows that:
    1 - (m₁ m₂/m) δ' S_t⁻¹ δ, or the least root of the quadratic det(S_w - x S_t).
    """
    balls = arb_mat([list(row) for row in points])
    total = total_scatter(balls)
    whole = _trace(total)
    if not whole > 0:
        return None, None
    members = [np.flatnonzero(right == k) for k in np.unique(right)]
    if len(members) == 1:
        return (1.0, 1.0), (1.0, 1.0)
    classes = [arb_mat([list(points[i]) for i in group.tolist()]) for group in members]
    within = sum((total_scatter(group) for group in classes[1:]), total_scatter(classes[0]))
    ssr = unit_interval(_trace(within) / whole)
    kept = free_coordinates(net)
    least = _least_ratio(_minor(within, kept), _minor(total, kept), classes, kept)
    lower, upper = (0.0, 1.0) if least is None else unit_interval(least)
    return ssr, (lower, min(upper, ssr[1]))


def total_scatter(points: arb_mat) -> arb_mat:
    """Sum of (x - mean)(x - mean)'."""
    count = points.nrows()
    ones = arb_mat(1, count, [1] * count)
    means = (ones * points) * (arb(1) / count)
    centred = points - ones.transpose() * means
    return centred.transpose() * centred


def _trace(matrix: arb_mat) -> arb:
    return sum((matrix[i, i] for i in range(1, matrix.nrows())), matrix[0, 0])


def _minor(matrix: arb_mat, kept: Sequence[int]) -> arb_mat:
    return arb_mat([[matrix[i, j] for j in kept] for i in kept])


def free_coordinates(net: LNNet) -> list[int]:
    """Coordinates that determine the others: LN makes every group sum to zero, so its last one is dropped."""
    width = net.layers[-1].n_out
    if net.normalization.kind == "rms_norm":
        return list(range(width))
    size = width // (net.normalization.num_groups or 1)
    return [i for i in range(width) if i % size != size - 1]


def _least_ratio(
    within: arb_mat, total: arb_mat, classes: Sequence[arb_mat], kept: Sequence[int]
) -> arb | None:
    """Ball of the least eigenvalue of the pencil, or None if no closed form of ours proves one."""
    try:
        if len(classes) == 2:
            counts = [group.nrows() for group in classes]
            means = [
                [arb(1) / n * _column_sum(g, j) for j in kept] for n, g in zip(counts, classes, strict=True)
            ]
            delta = arb_mat([[a - b] for a, b in zip(*means, strict=True)])
            weight = arb(counts[0] * counts[1]) / sum(counts)
            least = 1 - weight * (delta.transpose() * total.solve(delta))[0, 0]
        elif len(kept) == 1:
            least = within[0, 0] / total[0, 0]
        elif len(kept) == 2:
            ratio = total.solve(within)
            half = (ratio[0, 0] + ratio[1, 1]) / 2
            # Both roots are real, so what a ball says of a negative discriminant is rounding.
            least = half - (half * half - ratio.det()).nonnegative_part().sqrt()
        else:
            return None
    except ZeroDivisionError:  # the total scatter may be singular
        return None
    return least if least.is_finite() else None


def _column_sum(matrix: arb_mat, j: int) -> arb:
    return sum((matrix[i, j] for i in range(1, matrix.nrows())), matrix[0, j])


def unit_interval(ball: arb) -> Interval:
    return max(0.0, float_down(ball)), min(1.0, float_up(ball))
