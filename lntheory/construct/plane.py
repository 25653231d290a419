r"""The plane in which a width-3 LN-Net lives, in the numbers of a construction.

LN on R^3 centres onto the plane orthogonal to (1, 1, 1) and scales onto a circle of radius sqrt(3). In the
orthonormal coordinates `basis` of that plane, divided by sqrt(3), every layer after the first is planar::

    z on the unit circle  ──►  u = A z + c  ──►  u / |u|            c = -A o

        o ·                    seen from the centre o outside the circle, the points of the near arc
         `\ `·.                (between the two tangents) fall onto points of the far arc: the circle is
           `\..·´¯¯`·.         folded two-to-one onto an arc shorter than a half circle. A only re-spaces
             (         )       the directions; their order is o's alone.
              `·.___.·´

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
"""

from __future__ import annotations

import numpy as np

from lntheory.construct.arithmetic import Arithmetic, Array

__all__ = ["basis", "directions", "image", "space"]


def basis(arithmetic: Arithmetic) -> Array:
    """Orthonormal basis (as columns) of the plane orthogonal to (1, 1, 1), shape (3, 2)."""
    columns = arithmetic.array([[1.0, 1.0], [-1.0, 1.0], [0.0, -2.0]])
    scaled: Array = columns / np.sqrt(arithmetic.array([2.0, 6.0]))
    return scaled


def space(matrix: Array, offset: Array, arithmetic: Arithmetic) -> tuple[Array, Array]:
    """Weight (3, 3) and bias (3,) that do on R^3 what ``z -> matrix @ z + offset`` does in the plane."""
    columns = basis(arithmetic)
    return columns @ matrix @ columns.T / np.sqrt(arithmetic.array([3.0])), columns @ offset


def image(points: Array, weight: Array, bias: Array, arithmetic: Arithmetic) -> Array:
    """Where the layer LN(weight v + bias) of R^3 takes unit-circle points z, in the plane, shape (n, 2).

    The image is computed from the layer's own (rounded) parameters, since centring commutes with the plane's
    coordinates.
    """
    columns = basis(arithmetic)
    matrix = columns.T @ weight @ columns * np.sqrt(arithmetic.array([3.0]))
    return directions(points @ matrix.T + columns.T @ bias, arithmetic)


def directions(vectors: Array, arithmetic: Arithmetic) -> Array:
    """The rows divided by their lengths.

    The rows are rounded first: midpoints taken after the division would be off the circle by about the radii
    of the balls.
    """
    vectors = arithmetic.rounded(vectors)
    scaled: Array = vectors / np.sqrt((vectors * vectors).sum(axis=1))[:, None]
    return scaled
