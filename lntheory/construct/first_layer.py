r"""The first layer: samples of any dimension onto the circle.

With ``num(x) = u . (x - o)`` and ``den(x) = 1 - w . (x - o)`` positive on all samples, the direction of
``(den, num)`` depends on the slope ``num / den`` alone: a projection of the samples from a centre (w != 0) or
along a direction (w = 0). It is injective on any distinct samples for almost every (u, w). In two or more
dimensions u can be chosen so that two given samples get the same slope: the first layer then merges a pair.

::

       num │      · ·              the order of the slopes is the order on the circle; the re-spacing
           │   ·  ·                slope -> kappa (slope + beta) is chosen afterwards
           │ · ·
           └──────────── den
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lntheory.construct import plane
from lntheory.construct.arithmetic import ROUNDING, Arithmetic, Array, Float64, floats

__all__ = ["FirstLayer", "Projection", "clearance", "first_layer", "powers_of_two", "projections", "slopes"]


@dataclass(frozen=True)
class Projection:
    """A first layer up to re-spacing: the numerator's and denominator's directions, and the pair to merge.

    Attributes
    ----------
    centre, u, w : ndarray, shape (n_features,)
    pair : (int, int) or None
        Samples that get one slope; None if all slopes are to differ.
    descending : bool
        Whether the walk along the circle starts at the largest slope.
    """

    centre: NDArray[np.float64]
    u: NDArray[np.float64]
    w: NDArray[np.float64]
    pair: tuple[int, int] | None
    descending: bool

    def rows(self, X: Array, arithmetic: Arithmetic) -> tuple[Array, Array]:
        """Weight (2, n_features) and bias (2,) of ``(den, num)``; `X` holds numbers of the arithmetic."""
        centre, u, w = (arithmetic.array(part) for part in (self.centre, self.u, self.w))
        if self.pair is not None:
            i, j = self.pair
            p, q = X[i] - centre, X[j] - centre
            difference = p / (1 - w @ p) - q / (1 - w @ q)
            # Remove the part of u that separates the pair; twice, since one pass leaves its own rounding.
            for _ in range(2):
                u = u - (u @ difference) / (difference @ difference) * difference
        one = arithmetic.array([1.0])[0]
        return np.stack([-w, u]), np.array([one + w @ centre, -(u @ centre)])


def powers_of_two(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two that scale the largest entry of every feature into [1/2, 1), or near it."""
    exponents = np.frexp(np.abs(X).max(axis=0))[1]
    factors: NDArray[np.float64] = np.ldexp(1.0, -np.maximum(exponents, -1000))
    return factors


def slopes(rows: tuple[Array, Array], X: Array) -> Array:
    """Slope num / den of every sample, shape (n_samples,), from the `rows` that `Projection.rows` gives."""
    den, num = (X @ rows[0].T + rows[1]).T
    ratio: Array = num / den
    return ratio


def projections(
    X: NDArray[np.float64],
    codes: NDArray[np.int64],
    movable: NDArray[np.bool_],
    merging: bool,
    rng: np.random.Generator,
) -> Iterator[Projection]:
    """Endless random projections of distinct samples; if `merging`, each merges a random movable pair.

    The features of X must have been scaled by `powers_of_two`. Directions are drawn for features of equal
    spread, so that the scale of the data has no influence. Half of the projections have a centre near a
    sample on the hull, which separates that sample from the others.
    """
    n_features = X.shape[1]
    centre = X[0] + (X - X[0]).mean(axis=0)
    spread = np.sqrt(np.mean(np.square(X - centre), axis=0))
    inverse = np.divide(1.0, spread, out=np.zeros(n_features), where=spread > 0)
    groups = [np.flatnonzero((codes == c) & movable) for c in np.unique(codes[movable])]
    groups = [group for group in groups if len(group) > 1]
    sizes = np.array([len(group) - 1 for group in groups], dtype=float)
    while True:
        u = rng.standard_normal(n_features) * inverse
        w = np.zeros(n_features)
        if rng.random() < 0.5:
            direction = rng.standard_normal(n_features) * inverse
            heights = (X - centre) @ direction
            top = heights.max() * (1 + 10 ** rng.uniform(-1.5, 1.0))
            w = direction / top if top > 0 else w
        pair = None
        if merging:
            group = groups[rng.choice(len(groups), p=sizes / sizes.sum())]
            i, j = rng.choice(group, size=2, replace=False)
            pair = (int(i), int(j))
        yield Projection(centre, u, w, pair, bool(rng.random() < 0.5))


def clearance(projection: Projection, X: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Smallest gap between neighbouring slopes of unequal label, divided by the range of all slopes.

    The result is 0 if there is no such gap or the slopes are not finite.
    """
    float64 = Float64()
    with float64.working():
        rows = projection.rows(X, float64)
        values = floats(slopes(rows, X))
        order = np.argsort(values, kind="stable")
        if projection.pair is not None:
            order = order[order != projection.pair[0]]
        gaps = np.diff(values[order])[codes[order][1:] != codes[order][:-1]]
        spread = values[order[-1]] - values[order[0]]
        share = float(gaps.min() / spread) if len(gaps) and spread > 0 else 0.0
    return share if np.isfinite(share) else 0.0


@dataclass(frozen=True)
class FirstLayer:
    """A first layer with its parameters rounded, and the images of the samples.

    Attributes
    ----------
    weight : array, shape (3, n_features)
    bias : array, shape (3,)
    planar : array, shape (n_samples, 2)
        Images in the plane under the rounded parameters; their directions are the points of the circle.
    errors : array, shape (n_samples,)
        Bounds on what the layer's own arithmetic adds to the errors of the directions' angles.
    """

    weight: Array
    bias: Array
    planar: Array
    errors: Array


def first_layer(
    X: NDArray[np.float64],
    scale: NDArray[np.float64],
    rows: Array,
    offsets: Array,
    arithmetic: Arithmetic,
    *,
    rounded: Callable[[Array], Array] | None = None,
    largest_exponent: int = 1000,
    rounding: float = ROUNDING,
) -> FirstLayer:
    """The layer that takes samples to ``rows @ (scale * x) + offsets`` in the plane.

    Parameters
    ----------
    X : ndarray of float64, shape (n_samples, n_features)
    scale : ndarray of float64, shape (n_features,)
        Powers of two that bring every feature near 1.
    rows, offsets : arrays, shapes (2, n_features) and (2,)
    arithmetic : Arithmetic
    rounded : callable, optional
        Rounds to numbers that a parameter of the net can hold; by default `arithmetic.rounded`.
    largest_exponent : int
        The largest weight is kept below 2 to this power.
    rounding : float
        Rounding error of the layer, in units of ``|W| |x| + |b|`` times the arithmetic's unit.
    """
    rounded = arithmetic.rounded if rounded is None else rounded
    columns, samples = plane.basis(arithmetic), arithmetic.array(X)
    weight, bias = columns @ rows, columns @ offsets
    # LN does not see a common factor; this one keeps the weights of tiny features from overflowing.
    excess = np.frexp(floats(np.abs(weight)))[1] + np.frexp(scale)[1]
    factor = arithmetic.array(np.ldexp(1.0, int(min(largest_exponent - excess.max(), 0))))
    weight, bias = rounded(weight * factor * arithmetic.array(scale)), rounded(bias * factor)
    planar = (samples @ weight.T + bias) @ columns
    terms = np.abs(samples) @ np.abs(weight).T + np.abs(bias)
    size = np.sqrt((planar * planar).sum(axis=1))
    errors = np.sqrt((terms * terms).sum(axis=1)) / size * (rounding * arithmetic.unit)
    return FirstLayer(weight, bias, planar, errors)
