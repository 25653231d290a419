r"""Affine read-out of labels on the circle whose classes' hulls do not cross.

One class at a time: some class occupies a single run. A chord cut through the gaps at the run's two ends
separates it from everything else. Score the others first, recursively; then ::

      . ´ a ` .           score_c = score_q + M * (signed distance to the chord, positive on c's side)
    a           b
   ─ ─ ─ ─ ─ ─ ─ ─        for any class q of the rest. Off c's side the distance is negative, so c loses to q
    c           b         and hence to the winner. On c's side a large enough M wins.
      ` . c . ´

"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory.construct.arithmetic import Arithmetic, Array, floats
from lntheory.construct.circle import basis, is_readable

__all__ = ["planar_readout", "readout"]


def planar_readout(points: Array, labels: NDArray[np.int64], n_classes: int) -> tuple[Array, Array]:
    """Affine scores whose argmax is the label of every point.

    Parameters
    ----------
    points : array, shape (n, 2)
        Points of the unit circle in cyclic order (either sense).
    labels : ndarray of int, shape (n,)
        Readable labels (`circle.is_readable`); every class occurs.
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
    kept = np.arange(len(labels))
    order: list[tuple[int, Array, Any, NDArray[np.int64], NDArray[np.int64]]] = []
    while len(np.unique(labels[kept])) > 1:
        leaf = _single_run_class(labels[kept])
        normal, offset = _chord(points[kept], labels[kept] == leaf)
        own, kept = kept[labels[kept] == leaf], kept[labels[kept] != leaf]
        order.append((leaf, normal, offset, own, kept))
    weight = np.tile(points[0] * 0, (n_classes, 1))  # zeros of the points' own kind of number
    bias = weight[:, 0].copy()
    scored = [int(labels[kept[0]])]
    for leaf, normal, offset, own, _ in reversed(order):
        distances = points[own] @ normal - offset
        scores = points[own] @ weight[scored].T + bias[scored]
        # The class q that c has to beat by the least factor M; 1 suffices where the others already lose.
        needed = [_largest((scores - scores[:, [j]]) / distances[:, None]) for j in range(len(scored))]
        j = int(np.argmin(needed))
        factor = max(1.0, 2.0 * needed[j])
        weight[leaf] = weight[scored[j]] + factor * normal
        bias[leaf] = bias[scored[j]] - factor * offset
        scored.append(leaf)
    return weight, bias


def readout(
    points: Array, labels: NDArray[np.int64], n_classes: int, arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """`planar_readout` as scores on layer-normalized points of R^3, rounded to the arithmetic's parameters.

    Two classes get one row, positive = class 1.
    """
    weight, bias = planar_readout(points, labels, n_classes)
    if n_classes == 2:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    columns = basis(arithmetic) / np.sqrt(arithmetic.array([3.0]))
    return arithmetic.rounded(weight @ columns.T), arithmetic.rounded(bias)


def _single_run_class(labels: NDArray[np.int64]) -> int:
    """A class that forms one cyclic run, the rarest such."""
    starts = labels[labels != np.roll(labels, 1)]
    classes, counts = np.unique(starts, return_counts=True)
    single = classes[counts == 1]
    return int(min(single, key=lambda c: (np.count_nonzero(labels == c), c)))


def _chord(points: Array, own: NDArray[np.bool_]) -> tuple[Array, Any]:
    """Unit normal and offset of the chord through the gaps at the ends of the run `own`."""
    first = int(np.flatnonzero(own & ~np.roll(own, 1))[0])
    run = int(np.count_nonzero(own))
    turned, sense = np.roll(points, -first, axis=0), _sense(points)
    start = _middle(turned[-1], turned[0], sense)
    end = _middle(turned[run - 1], turned[run], sense)
    along = end - start
    normal = _unit(np.array([-along[1], along[0]]))
    offset = start @ normal
    return (normal, offset) if turned[0] @ normal > offset else (-normal, -offset)


def _sense(points: Array) -> int:
    """1 if the cyclic order is counter-clockwise, else -1: all turns but at most one are below pi."""
    following = np.roll(points, -1, axis=0)
    turns = floats(points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0])
    return 1 if len(points) < 3 or np.count_nonzero(turns > 0) > np.count_nonzero(turns < 0) else -1


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


def _largest(ratios: Array) -> float:
    return float(floats(ratios).max(initial=0.0))
