"""Gaps between points of unequal label along an arc, divided by the errors of the points.

::

    labels     a   a   b   b   b   a        Every point is paired with the nearest one of unequal label
                   └───┘       └───┘        on either side. Errors differ, so the point of a run with the
               └───────┘   └───────┘        smallest gap / error need not be at its end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lntheory.construct.arithmetic import Array, floats

__all__ = ["arc_safety", "sense", "unequal_neighbours"]

SAFEST = 1e300
"""The safety of points that have no neighbours of unequal label."""


def sense(points: Array) -> int:
    """1 if points along an arc shorter than a half circle go counter-clockwise, else -1."""
    p, q = points[0], points[-1]
    return 1 if p[0] * q[1] - p[1] * q[0] > 0 else -1


def unequal_neighbours(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs ``i < j``: every point with the nearest one of unequal label before and after it.

    Examples
    --------
    >>> i, j = unequal_neighbours(np.array([0, 0, 1]))
    >>> list(zip(i.tolist(), j.tolist()))
    [(1, 2), (0, 2), (1, 2)]
    """
    at = np.flatnonzero(codes[1:] != codes[:-1])
    runs = np.searchsorted(at, np.arange(len(codes)))
    before, after = np.flatnonzero(runs > 0), np.flatnonzero(runs < len(at))
    return np.concatenate([at[runs[before] - 1], after]), np.concatenate([before, at[runs[after]] + 1])


def arc_safety(points: Array, errors: Array, codes: NDArray[np.int64]) -> float:
    """Smallest gap / error between points of unequal label along an arc; 0 if any are out of order.

    Parameters
    ----------
    points : array, shape (n, 2)
        Points of the unit circle in order along an arc shorter than a half circle, in either sense.
    errors : array, shape (n,)
        Bounds, or estimates, of the errors of their angles.
    codes : ndarray of int, shape (n,)
    """
    i, j = unequal_neighbours(codes)
    p, q = points[i], points[j]
    gaps = (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]) * sense(points)
    one = errors[i] * 0 + 1
    # The sine stands for the angle below a right angle; beyond, one is less than either.
    gaps = np.where((p * q).sum(axis=1) > 0, gaps, np.where(gaps > 0, one, -one))
    ratios = floats(gaps / (errors[i] + errors[j]))
    worst = float(ratios.min(initial=SAFEST))
    return max(worst, 0.0) if not np.isnan(ratios).any() else 0.0
