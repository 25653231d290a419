"""SSR and LSSR enclosed between two float64: of exact samples, and of points known only as balls.

A certificate states both, before the first layer and after the last. They describe the net; the proof that
every sample gets its label does not depend on them.
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
    """SSR and LSSR of the samples, from their exact values; (None, None) if all samples coincide."""
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
    """SSR and LSSR of points after the last layer of `net`, known as balls: (lower, upper) of either.

    SSR is evaluated on the balls, and LSSR always lies in [0, SSR]. A closed form narrows the enclosure of
    LSSR where the total scatter in the `free_coordinates` is proved to be non-singular, and there are two
    classes or at most two free coordinates: 1 - (m₁ m₂/m) δ' S_t⁻¹ δ, or the least root of the quadratic
    det(S_w - x S_t). The result is (None, None) where the points are not proved to differ.
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
    """Sum of (x - mean)(x - mean)' over the rows x of `points`, shape (n_features, n_features)."""
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
    """Coordinates that determine the others: LN makes each group sum to zero, so its last is left out."""
    width = net.layers[-1].n_out
    if net.normalization.kind == "rms_norm":
        return list(range(width))
    size = width // (net.normalization.num_groups or 1)
    return [i for i in range(width) if i % size != size - 1]


def _least_ratio(
    within: arb_mat, total: arb_mat, classes: Sequence[arb_mat], kept: Sequence[int]
) -> arb | None:
    """A ball around the least eigenvalue of the pencil; None if no closed form here gives a finite one."""
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
            # Both roots are real, so the negative part of the discriminant's ball is rounding alone.
            least = half - (half * half - ratio.det()).nonnegative_part().sqrt()
        else:
            return None
    except ZeroDivisionError:  # the total scatter may be singular
        return None
    return least if least.is_finite() else None


def _column_sum(matrix: arb_mat, j: int) -> arb:
    return sum((matrix[i, j] for i in range(1, matrix.nrows())), matrix[0, j])


def unit_interval(ball: arb) -> Interval:
    """The ball's ends rounded outwards to float64 and cut to [0, 1], where the true value is known to lie."""
    return max(0.0, float_down(ball)), min(1.0, float_up(ball))
