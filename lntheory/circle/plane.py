r"""The plane of width 3, and the point of the plane from which a layer looks.

LN on R^3 maps onto a circle of radius sqrt(3) in the plane orthogonal to (1, 1, 1). Points h of that plane
are given by

    z = (h . e1, h . e2) / sqrt(3),   e1 = (1, -1, 0) / sqrt(2),   e2 = (1, 1, -2) / sqrt(6),

the plane coordinates of h: an isometry, scaled so that the circle has radius 1. There a layer sends z to
the direction of A(z - o); two points whose line passes through the *centre* o, outside the segment between
them, are merged::

             . - ~ a ~ - .
          .'        \      '.              a and b see o in one direction: the layer maps them to one point
        ,            \       ,
        .             \      .        A(z - o)
         '.            \    .'      ───────────►     every line through o becomes one point of the new circle
            ' - . _ . - b '
                         \
                          o

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from lntheory.base.types import FloatArray
from lntheory.errors import InvalidInputError
from lntheory.network import Layer

__all__ = [
    "BASIS",
    "Centre",
    "circle_points",
    "layer_centre",
    "plane_coordinates",
    "polar_angles",
    "space_coordinates",
]

BASIS: FloatArray = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, -2.0]]) / np.sqrt([2.0, 6.0])
"""Columns e1 and e2: an orthonormal basis of the plane orthogonal to (1, 1, 1), shape (3, 2)."""
BASIS.setflags(write=False)


def plane_coordinates(points: ArrayLike) -> FloatArray:
    """Plane coordinates of points of R^3, shape (n, 3) -> (n, 2); LN's circle becomes the unit circle.

    Examples
    --------
    >>> h = np.array([[1.0, 0.0, -1.0]]) * np.sqrt(3 / 2)  # LN([1, 0, -1])
    >>> plane_coordinates(h).round(3).tolist()
    [[0.5, 0.866]]
    """
    coordinates: FloatArray = np.asarray(points, dtype=np.float64) @ BASIS / math.sqrt(3)
    return coordinates


def space_coordinates(points: ArrayLike) -> FloatArray:
    """The points of R^3 that have these plane coordinates, shape (n, 2) -> (n, 3).

    Examples
    --------
    >>> space_coordinates([[0.5, 3**0.5 / 2]]).round(3).tolist()
    [[1.225, 0.0, -1.225]]
    """
    points_of_space: FloatArray = math.sqrt(3) * (np.asarray(points, dtype=np.float64) @ BASIS.T)
    return points_of_space


def circle_points(angles: ArrayLike) -> FloatArray:
    """The points of the unit circle at these angles (radians), shape (n,) -> (n, 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def polar_angles(points: ArrayLike) -> FloatArray:
    """The angles of points of the plane, in radians from -pi to pi, shape (n, 2) -> (n,)."""
    z = np.asarray(points, dtype=np.float64)
    angles: FloatArray = np.arctan2(z[:, 1], z[:, 0])
    return angles


@dataclass(frozen=True)
class Centre:
    """The point from which a planar layer looks, possibly at infinity (a parallel projection).

    Attributes
    ----------
    direction : tuple of two floats
        Unit vector from the circle's middle towards the centre; (0, 0) if the centre is the middle itself.
    distance : float
        Distance from the circle's middle, in radii; infinite for a parallel projection.
    """

    direction: tuple[float, float]
    distance: float

    @property
    def point(self) -> FloatArray:
        """Plane coordinates of the centre, shape (2,); not finite if `distance` is infinite."""
        return np.array(self.direction) * self.distance


def layer_centre(layer: Layer) -> Centre | None:
    """The centre o of a 3 -> 3 layer that follows an LN: the point that it sends to zero variance.

    The centre is computed in rational arithmetic and rounded at the end.

    Returns
    -------
    Centre or None
        None if the layer maps the whole plane to one point, so that no centre exists.

    Raises
    ------
    InvalidInputError
        If the layer is not 3 -> 3.

    Examples
    --------
    >>> layer_centre(Layer(np.eye(3), [-1, 1, 0]))  # z -> direction of z - o
    Centre(direction=(1.0, 0.0), distance=0.816496580927726)
    """
    if layer.weight.shape != (3, 3):
        raise InvalidInputError(
            f"a centre belongs to a 3 -> 3 layer, this one is {layer.n_in} -> {layer.n_out}"
        )
    ((a, b), (c, d)), (p, q) = _rational_map(layer)
    determinant = a * d - b * c
    if determinant != 0:
        return _centre_at((b * q - d * p) / determinant, (c * p - a * q) / determinant)
    row = (a, b) if a or b else (c, d)
    return _parallel_projection(*row) if any(row) else None


# Coordinates u = (v . h) / |v|^2 along v = (1, -1, 0) and (1, 1, -2) keep everything rational.
_AXES = ((1, -1, 0), (1, 1, -2))
_SQUARES = (2, 6)


def _rational_map(layer: Layer) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The layer in the plane: u -> matrix u + offset."""
    weight = [[Fraction(value) for value in row] for row in layer.weight.tolist()]
    bias = [Fraction(value) for value in layer.bias.tolist()]
    image = [[_dot(axis, row) for row in weight] for axis in _AXES]  # of each axis
    matrix = [
        [_dot(axis, vector) / square for vector in image]
        for axis, square in zip(_AXES, _SQUARES, strict=True)
    ]
    offset = [_dot(axis, bias) / square for axis, square in zip(_AXES, _SQUARES, strict=True)]
    return matrix, offset


def _dot(a: Sequence[int], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=Fraction(0))


def _centre_at(u: Fraction, v: Fraction) -> Centre:
    largest = max(abs(u), abs(v))
    if largest == 0:
        return Centre((0.0, 0.0), 0.0)
    x, y = float(u / largest) * math.sqrt(2 / 3), float(v / largest) * math.sqrt(2)
    length = math.hypot(x, y)
    try:
        distance = length * float(largest)
    except OverflowError:
        distance = math.inf
    return Centre((x / length, y / length), distance)


def _parallel_projection(a: Fraction, b: Fraction) -> Centre:
    """The centre at infinity in the direction along which ``a u + b v`` is constant."""
    largest = max(abs(a), abs(b))
    x, y = float(-b / largest) * math.sqrt(2), float(a / largest) * math.sqrt(6)
    length = math.hypot(x, y)
    return Centre((x / length, y / length), math.inf)
