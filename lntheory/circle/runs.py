"""Runs of equal label around the circle, and the gaps between them.

::

             . a ~ a - .
          .'             '.              c, a a, b b b, a, counter-clockwise: four runs.
        b                  c ╮
        .                  . │ gap       The smallest gap is the least angle between neighbours of unequal
         b                '  │           label: the layers that follow have to tell those two apart, and
            ' b _ . _ a '    ╯           must not merge across it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lntheory.base.types import FloatArray
from lntheory.circle.plane import circle_points, polar_angles, space_coordinates
from lntheory.network import LNNet

__all__ = ["Arcs", "Labels", "arcs", "cyclic_order", "is_readable", "n_runs", "readout_arcs", "smallest_gap"]

Labels = NDArray[np.intp]
"""Class numbers, one for each point."""


class Arcs(NamedTuple):
    """Arcs of the circle, each of one label, counter-clockwise; angles in radians, ``starts <= ends``."""

    starts: FloatArray
    ends: FloatArray
    labels: Labels


def n_runs(labels: NDArray[Any] | Sequence[int]) -> int:
    """Number of maximal cyclic runs of equal labels; 1 if all are equal.

    `labels` are in their order around the circle, shape (n,).

    Examples
    --------
    >>> n_runs([0, 0, 1, 1, 0]), n_runs([2, 2])
    (2, 1)
    """
    values = np.asarray(labels)
    return max(1, int(np.count_nonzero(values != np.roll(values, 1))))


def is_readable(labels: NDArray[Any] | Sequence[int]) -> bool:
    """Whether affine scores can read labels in this cyclic order: no pattern ``a..b..a..b``.

    The classes' convex hulls are then disjoint polygons inscribed in the circle. C classes in C runs are
    always readable, and up to 2C - 2 runs can be.

    Examples
    --------
    >>> is_readable([1, 2, 1, 3]), is_readable([0, 1, 0, 1])
    (True, False)
    """
    values = np.asarray(labels)
    n_classes = len(np.unique(values))
    if n_runs(values) > max(1, 2 * n_classes - 2):
        return False
    # A class that is met again must be open; the classes opened after it are closed and may not return.
    open_classes: list[int] = []
    closed: set[int] = set()
    for label in values[values != np.roll(values, 1)].tolist():
        if label in closed:
            return False
        while label in open_classes and open_classes[-1] != label:
            closed.add(open_classes.pop())
        if label not in open_classes:
            open_classes.append(label)
    return True


def arcs(points: FloatArray, labels: Labels, reach: float = math.inf) -> Arcs:
    """The runs of equal label as arcs that hold their points.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
    labels : ndarray of int, shape (n,)
    reach : float
        Radians. No arc extends farther than `reach` beyond its points, and a run is split where neighbours
        are more than twice as far apart. By default neighbouring arcs meet halfway between their points.

    Returns
    -------
    Arcs

    Examples
    --------
    >>> z = circle_points(np.radians([0, 10, 90, 100]))
    >>> starts, ends, labels = arcs(z, np.array([0, 0, 1, 1]), reach=np.radians(6))
    >>> np.degrees(starts).round().tolist(), np.degrees(ends).round().tolist(), labels.tolist()
    ([-6.0, 84.0], [16.0, 106.0], [0, 1])
    """
    angles, following, around = _around(points, labels)
    last = np.union1d(np.flatnonzero(_changes(around)), np.flatnonzero(following - angles > 2 * reach))
    if len(last) == 0:
        return Arcs(np.array([-math.pi]), np.array([math.pi]), around[:1])
    middle = (angles + following)[last] / 2
    ends = np.minimum(middle, angles[last] + reach)
    starts = np.roll(np.maximum(middle, following[last] - reach), 1)
    starts[0] -= 2 * math.pi
    return Arcs(starts, ends, around[last])


def smallest_gap(points: FloatArray, labels: Labels) -> float:
    """The smallest angle (radians) between neighbours of unequal label; nan if all labels are equal.

    Examples
    --------
    >>> z = circle_points(np.radians([0, 10, 90, 100]))
    >>> math.degrees(smallest_gap(z, np.array([0, 0, 1, 1])))  # doctest: +ELLIPSIS
    80.0...
    """
    angles, following, around = _around(points, labels)
    gaps = (following - angles)[_changes(around)]
    return float(gaps.min()) if len(gaps) else math.nan


def cyclic_order(points: FloatArray, labels: Labels) -> Labels:
    """The indices of the points in their order around the circle, starting after the widest gap.

    Points at the same angle are in the order of their labels.

    Examples
    --------
    >>> cyclic_order(circle_points(np.radians([-20, 0, 20, -40])), np.zeros(4)).tolist()
    [3, 0, 1, 2]
    """
    angles = polar_angles(points)
    order = np.lexsort((labels, angles))
    gaps = np.diff(angles[order], append=angles[order[0]] + 2 * math.pi)
    rotated: Labels = np.roll(order, -int(np.argmax(gaps)) - 1)
    return rotated


def readout_arcs(net: LNNet, n_angles: int = 3600) -> Arcs:
    """The arcs of the circle to which a width-3 net's read-out gives each class, to ``2 pi / n_angles``."""
    circle = circle_points(np.linspace(-math.pi, math.pi, n_angles, endpoint=False))
    weight, bias = net.readout.weight.astype(np.float64), net.readout.bias.astype(np.float64)
    scores = space_coordinates(circle) @ weight.T + bias
    winners = net.winners(scores[:, 0] if scores.shape[1] == 1 else scores)
    return arcs(circle, np.asarray(winners, dtype=np.intp))


def _around(points: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray, Labels]:
    """The angles of the points, ascending; the angle of the next point for each; and the labels."""
    angles = polar_angles(points)
    order = np.lexsort((labels, angles))
    angles = angles[order]
    return angles, np.append(angles[1:], angles[0] + 2 * math.pi), labels[order]


def _changes(labels: Labels) -> NDArray[np.bool_]:
    """Whether the next label around the circle differs, for each label."""
    return np.asarray(labels != np.roll(labels, -1))
