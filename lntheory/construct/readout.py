r"""Affine read-out of labels on the circle whose classes' hulls do not cross.

Walk once around the circle from the start of a run of some class, the *root*. The span of a class reaches
from its first point to its last. As hulls do not cross, two spans are nested or apart, so the spans form a
tree: the parent of a class is the class of the innermost span around its own; the root's span is the whole
walk. The chord of a class goes through the gaps at the two ends of its span ::

      . ´ a ` .
    a ───────── a         score_c = score_parent(c) + (signed distance to c's chord, positive over c's span)
    b           d
    b ───────── d         a point of class t lies over the spans on the way from the root to t, and over no
      c ─── c             other: t collects all the positive distances, every other class a part of them and
      ` . e . ´           negative ones. So t wins, by at least its distance to one chord.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lntheory.circle.runs import is_readable
from lntheory.construct.arithmetic import Arithmetic, Array, floats
from lntheory.construct.plane import basis

__all__ = ["margin", "planar_readout", "readout"]


def planar_readout(points: Array, labels: NDArray[np.int64], n_classes: int) -> tuple[Array, Array]:
    """Affine scores whose argmax is the label of every point.

    Parameters
    ----------
    points : array, shape (n, 2)
        Points of the unit circle in cyclic order (either sense).
    labels : ndarray of int, shape (n,)
        Readable labels (`is_readable`); every class occurs.
    n_classes : int

    Returns
    -------
    weight : array, shape (n_classes, 2)
    bias : array, shape (n_classes,)

    Examples
    --------
    >>> angles = np.array([0.0, 1.0, 2.0, 4.0])
    >>> points = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> weight, bias = planar_readout(points, np.array([0, 1, 0, 2]), 3)
    >>> np.argmax(points @ weight.T + bias, axis=1).tolist()
    [0, 1, 0, 2]
    """
    assert is_readable(labels)
    n = len(labels)
    start = int(np.argmax(labels != np.roll(labels, 1)))
    points, walk, sense = np.roll(points, -start, axis=0), np.roll(labels, -start).tolist(), _sense(points)
    last = {label: i for i, label in enumerate(walk)} | {walk[0]: n}
    weight = np.tile(points[0] * 0, (n_classes, 1))  # zeros of the points' own kind of number
    bias = weight[:, 0].copy()
    open_spans, met = [walk[0]], {walk[0]}
    for i, label in enumerate(walk):
        while last[open_spans[-1]] < i:
            open_spans.pop()
        if label not in met:
            before = _middle(points[i - 1], points[i], sense)
            after = _middle(points[last[label]], points[(last[label] + 1) % n], sense)
            along = after - before
            normal = _unit(np.array([along[1], -along[0]]) * sense)
            parent = open_spans[-1]
            weight[label] = weight[parent] + normal
            bias[label] = bias[parent] - before @ normal
            open_spans.append(label)
            met.add(label)
    return weight, bias


def readout(
    points: Array, labels: NDArray[np.int64], n_classes: int, arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """`planar_readout` as scores on layer-normalized points of R^3, rounded to the arithmetic's parameters.

    The weight has shape (n_classes, 3). Two classes get a single row, whose score is positive for class 1.
    """
    weight, bias = planar_readout(points, labels, n_classes)
    if n_classes == 2:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    columns = basis(arithmetic) / np.sqrt(arithmetic.array([3.0]))
    return arithmetic.rounded(weight @ columns.T), arithmetic.rounded(bias)


def margin(
    points: Array,
    labels: NDArray[np.int64],
    errors: Array,
    scores: tuple[Array, Array],
    arithmetic: Arithmetic,
) -> float:
    """Smallest ratio of the right score's lead to what errors of the points' angles can change in it.

    The result is 0 if the ratio is undefined.
    """
    weight, bias = scores
    if len(weight) == 1:
        weight, bias = np.concatenate([weight * 0, weight]), np.concatenate([bias * 0, bias])
    columns = basis(arithmetic) * np.sqrt(arithmetic.array([3.0]))
    values = points @ (weight @ columns).T + bias
    rows = np.arange(len(values))
    leads = values[rows, labels][:, None] - values
    # A score's derivative by the angle is its gradient's part along the circle: small near a short chord.
    turned = np.stack([-points[:, 1], points[:, 0]], axis=1) @ (weight @ columns).T
    along = np.abs(turned[rows, labels][:, None] - turned)
    size = np.sqrt((weight * weight).sum(axis=1)) + np.abs(bias)
    doubled = 2 * errors[:, None]
    slack = along * doubled + 4 * size.max() * (doubled * doubled + 4 * arithmetic.unit)
    ratios = floats(leads / slack)
    ratios[rows, labels] = np.inf
    return float(ratios.min()) if not np.isnan(ratios).any() else 0.0


def _sense(points: Array) -> int:
    """1 if the cyclic order is counter-clockwise, else -1: the sign of the inscribed polygon's area."""
    sides = points - points[0]
    following = np.roll(sides, -1, axis=0)
    return 1 if (sides[:, 0] * following[:, 1] - sides[:, 1] * following[:, 0]).sum() > 0 else -1


def _middle(p: Array, q: Array, sense: int) -> Array:
    """The middle of the arc that leads from p to q in the given sense."""
    total = p + q
    if float(floats(np.abs(total)).max()) < 1e-6:  # antipodal, or nearly
        return np.array([-p[1], p[0]]) * sense
    short = (p[0] * q[1] - p[1] * q[0]) * sense > 0
    return _unit(total if short else -total)


def _unit(vector: Array) -> Array:
    scaled: Array = vector / np.sqrt(np.array([vector @ vector], dtype=vector.dtype))
    return scaled
