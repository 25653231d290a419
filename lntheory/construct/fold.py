r"""One layer after the first: a centre o that merges two points of the circle, and the re-spacing after it.

Walk along the circle from the *cut*, the widest gap: the points in walking order are ``0, 1, ..., n - 1``.
Point a is to be merged onto point b further along. Its centre o lies on the line b a, just beyond a, where
the tangent at p meets it; p is `reach` away from a, towards b. Only the near arc around a is folded over, a
lands on b, and the circle is cut open anew at a::

      cut │ a   p                        b                         │
          │ •───┼──•────•─•───•────•─────•──────•────•──•──────•───│
          │  ╲  tangent                 ╱
          │   `·················>······´    a lands on b; the others keep their order, but for those
          │                                 caught in the near arc with a

The direction in which o sees a point, measured from the axis that leads from o through the circle's centre,
has slope s; its image is ``arctan(kappa s)``. A point's error is multiplied by the largest
``|d image / d angle|`` within that error, and one rounding of the layer's own arithmetic is added. (The
derivative at the point itself is not enough: the true place of a point close to o may be nearer to o.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory.construct.arithmetic import ROUNDING, Arithmetic, Array, floats

__all__ = ["Folds", "angle_between"]


def angle_between(p: Array, q: Array) -> Any:
    """Signed angle from p to q (float), accurate for neighbours however close."""
    cross = floats(np.asarray(p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]))
    dot = floats(np.asarray(p[..., 0] * q[..., 0] + p[..., 1] * q[..., 1]))
    return np.arctan2(cross, dot)


@dataclass(frozen=True)
class Folds:
    """K candidate folds of the same n points, seen from their centres.

    Attributes
    ----------
    a, b : ndarray of int, shape (K,)
        Merged points.
    centre, axis : array, shape (K, 2)
        o and the unit vector from it towards the circle's centre.
    along : array, shape (K, n)
        Distance of the points from o along the axis; positive where o sees them.
    slope : array, shape (K, n)
    facing : array, shape (K, n)
        ``|d slope / d angle| along**2``: how squarely o sees the circle there.
    sine : array, shape (K, n)
        ``|d along / d angle|``.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    centre: Array
    axis: Array
    along: Array
    slope: Array
    facing: Array
    sine: Array

    @classmethod
    def of(
        cls, points: Array, a: NDArray[np.int64], b: NDArray[np.int64], half: Array, sense: int
    ) -> Folds:  # fmt: skip
        """The folds that move a onto b; `half` is tan(reach / 2), and `sense` that of the walk."""
        start, chord = points[a], points[a] - points[b]
        chord = chord / _length(chord)[:, None]
        cos, sin = (1 - half * half) / (1 + half * half), sense * 2 * half / (1 + half * half)
        tangent = np.stack(
            [start[:, 0] * cos - start[:, 1] * sin, start[:, 1] * cos + start[:, 0] * sin], axis=1
        )
        # o = a + t chord with o . p = 1; 1 - a . p = 1 - cos(reach) without cancellation.
        t = 2 * half * half / (1 + half * half) / (tangent * chord).sum(axis=1)
        centre = start + t[:, None] * chord
        axis = -centre / _length(centre)[:, None]
        seen = points[None] - centre[:, None]
        along = seen[..., 0] * axis[:, None, 0] + seen[..., 1] * axis[:, None, 1]
        across = seen[..., 1] * axis[:, None, 0] - seen[..., 0] * axis[:, None, 1]
        facing = np.abs(seen[..., 0] * points[None, :, 0] + seen[..., 1] * points[None, :, 1])
        sine = np.abs(axis[:, None, 0] * points[None, :, 1] - axis[:, None, 1] * points[None, :, 0])
        return cls(a, b, centre, axis, along, across / along, facing, sine)

    def images(
        self, kappa: Array, errors: Array, arithmetic: Arithmetic, beta: Any = 0
    ) -> tuple[Array, Array]:
        """Slopes ``kappa (s + beta)`` (K, n) and error bounds of their angles; those of a are set to b's."""
        tangent = kappa[:, None] * (self.slope + beta)
        spread = 1 + tangent * tangent
        scale = (
            _at_least_one(kappa * (1 + abs(beta))) * (1 + _length(self.centre)) * (ROUNDING * arithmetic.unit)
        )
        nearer = errors * self.sine + errors * errors / 2
        along = self.along - nearer
        moved = errors * (self.facing + _length(self.centre)[:, None] * nearer) / (along * along)
        size = np.abs(tangent)
        moved = kappa[:, None] * moved
        bounds = moved / _at_least_one(1 + size * (size - moved)) + scale[:, None] / (along * np.sqrt(spread))
        bounds = np.where(along > 0, bounds, arithmetic.array([np.inf])[0])
        rows = np.arange(len(self.a))
        a, b = (rows, self.a), (rows, self.b)
        bounds[b] = np.where(bounds[a] <= bounds[b], bounds[b], bounds[a])  # for balls, <= is true if proved
        bounds[a], tangent[a] = bounds[b], tangent[b]
        return tangent, bounds

    def matrix(self, k: int, kappa: Any, beta: Any = 0) -> tuple[Array, Array]:
        """Planar matrix A (2, 2) and offset -A o of fold k with the re-spacing ``s -> kappa (s + beta)``."""
        axis = self.axis[k]
        across = np.array([-axis[1], axis[0]])
        rows = np.stack([axis, (across + axis * beta) * kappa])
        return rows, -(rows @ self.centre[k])


def _length(vectors: Array) -> Array:
    lengths: Array = np.sqrt((vectors * vectors).sum(axis=-1))
    return lengths


def _at_least_one(values: Array) -> Array:
    return np.where(floats(values) > 1, values, values * 0 + 1)
