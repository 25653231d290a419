"""Points of the circle, and their directions from a centre before and after a layer's shape is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lntheory.base.types import FloatArray
from lntheory.construct.arithmetic import Arithmetic, Array
from lntheory.construct.problem import Codes

FINALISTS = 6
"""Number of folds of a layer for which more than one shape is tried."""
SAFE, ENOUGH = 4.0, 2.0**10
"""Smallest gap / error accepted; and the gap / error from which on no further first layer is tried."""


class Stuck(Exception):
    """No fold keeps unequal labels apart in this arithmetic."""


@dataclass(frozen=True)
class Views:
    """n points as seen from K centres: directions, before the shape A is chosen.

    Attributes
    ----------
    vectors : array, shape (K, n, 2)
        The directions, of any length; the images of the two ends of a merged pair are equal.
    errors : array, shape (K, n)
        Bounds of the errors of the directions' angles.
    noise : array, shape (K, n)
        Bounds on what rounding adds to a vector, divided by the norm of the layer's matrix.
    pairs : ndarray of int, shape (K, 2, 2)
        Up to two pairs of points that are merged, the first of a pair onto the second; -1 for no pair.
    """

    vectors: Array
    errors: Array
    noise: Array
    pairs: Codes

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, chosen: Any) -> Views:
        """The views with these indices."""
        return Views(self.vectors[chosen], self.errors[chosen], self.noise[chosen], self.pairs[chosen])

    def merged(self) -> Views:
        """The same views, with both ends of every merged pair in one direction, with the larger error."""
        vectors, errors = self.vectors.copy(), self.errors.copy()
        for side in (0, 1):
            rows = np.flatnonzero(self.pairs[:, side, 0] >= 0)
            a, b = self.pairs[rows, side, 0], self.pairs[rows, side, 1]
            vectors[rows, a] = vectors[rows, b]
            worse = errors[rows, a] > errors[rows, b]
            errors[rows, b] = np.where(worse, errors[rows, a], errors[rows, b])
            errors[rows, a] = errors[rows, b]
        return replace(self, vectors=vectors, errors=errors)

    def order(self, arithmetic: Arithmetic) -> Codes:
        """Counter-clockwise order of the directions, shape (K, n)."""
        x, y = self.vectors[..., 0], self.vectors[..., 1]
        if self.vectors.dtype != object:
            return np.argsort(np.arctan2(y, x), axis=1, kind="stable")
        slopes, behind = arithmetic.rounded(y / x), x < 0
        orders = np.argsort(slopes, axis=1, kind="stable")
        for order, back in zip(orders, behind, strict=True):
            order[:] = np.concatenate([order[~back[order].astype(bool)], order[back[order].astype(bool)]])
        return orders


def cross(p: Array, q: Array) -> Array:
    """The cross product of vectors of the plane, along the last axis."""
    area: Array = p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]
    return area


def lengths_of(vectors: Array) -> Array:
    """The lengths of vectors along the last axis."""
    x, y = vectors[..., 0], vectors[..., 1]
    sizes: Array = np.sqrt(x * x + y * y if vectors.shape[-1] == 2 else (vectors * vectors).sum(axis=-1))
    return sizes


def dot(p: Array, q: Array) -> Array:
    """The inner product of vectors of the plane, along the last axis."""
    product: Array = p[..., 0] * q[..., 0] + p[..., 1] * q[..., 1]
    return product


def lines_through(p: Array, q: Array) -> Array:
    """The lines through points p and q (..., 2), in homogeneous coordinates (..., 3).

    Examples
    --------
    >>> lines_through(np.array([0.0, 1.0]), np.array([1.0, 1.0])).tolist()  # 0 x + 1 y - 1 = 0
    [0.0, 1.0, -1.0]
    """
    return np.stack([p[..., 1] - q[..., 1], q[..., 0] - p[..., 0], cross(p, q)], axis=-1)


def meeting_point(first: Array, second: Array) -> Array:
    """The points where lines meet, in homogeneous coordinates (..., 3)."""
    (a, b, c), (d, e, f) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)


@dataclass(frozen=True)
class ShapedViews:
    """Views with a shape: the error bounds and order of a layer's images, their score and gap / error."""

    shape: Array
    errors: Array
    order: Codes
    score: FloatArray
    safety: FloatArray


def shaped(views: Views, shape: Array, order: Codes, codes: Codes, arithmetic: Arithmetic) -> ShapedViews:
    """The images of the directions under ``shape`` (K, 2, 2), of positive determinant, and their quality.

    The error of an angle is multiplied by ``det A / |A v|^2`` for unit vectors v, at its largest within the
    error.
    """
    (a, b), (c, d) = np.moveaxis(shape, (1, 2), (0, 1))
    determinant, norm = (a * d - b * c)[:, None], np.sqrt(a * a + b * b + c * c + d * d)[:, None]
    x, y = views.vectors[..., 0], views.vectors[..., 1]
    images = np.stack([a[:, None] * x + b[:, None] * y, c[:, None] * x + d[:, None] * y], axis=-1)
    size = lengths_of(images)
    nearest = size / lengths_of(views.vectors) - norm * views.errors
    errors = determinant * views.errors / (nearest * nearest) + norm * views.noise / size
    errors = np.where(nearest > 0, errors, arithmetic.array([np.inf])[0])
    at = np.take_along_axis(images / size[..., None], order[..., None], axis=1)
    bound = np.take_along_axis(errors, order, axis=1)
    return ShapedViews(shape, errors, order, *judged(at, bound, codes[order]))


def judged(points: Array, errors: Array, codes: Codes) -> tuple[FloatArray, FloatArray]:
    """Score, and smallest gap / error, of K arrangements of points (K, n, 2) in cyclic order; both (K,).

    The gap of every point to the nearest one of unequal label on either side counts, since the point of a run
    with the smallest gap / error need not be at its end, and the next layer may bring it there. If two points
    of unequal label coincide, the score is -inf and the ratio 0.
    """
    n, rows = codes.shape[1], np.arange(len(codes))[:, None]
    last = codes != np.roll(codes, -1, axis=1)  # whether the point is the last of its run
    places = np.where(np.tile(last, 2), np.arange(2 * n), -1)
    before = np.maximum.accumulate(places, axis=1)[:, n - 1 : -1] % n
    places = np.where(np.tile(last, 2), np.arange(2 * n), 2 * n)
    after = (np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1][:, :n] + 1) % n
    total, worst = errors[:, 0] * 0, errors[:, 0] * 0
    fine = np.ones(len(codes), dtype=bool)
    for p, q, other in ((points[rows, before], points, before), (points, points[rows, after], after)):
        gaps = np.where(dot(p, q) > 0, np.abs(cross(p, q)), p[..., 0] * 0 + 1)
        fine &= (gaps > 0).all(axis=1).astype(bool)
        gaps = np.where(gaps > 0, gaps, gaps * 0 + 1)
        ratios = (errors + errors[rows, other]) / gaps
        total = total + ratios.sum(axis=1)
        worst = np.where(ratios.max(axis=1) > worst, ratios.max(axis=1), worst)
    narrow = np.where(last, 1 / gaps, gaps * 0).sum(axis=1)
    score = -3 * _log2(total) - _log2(narrow)
    score[~fine | np.isnan(score)] = -np.inf
    safety = np.exp2(np.clip(-_log2(worst), -1000, 1000))
    safety[~np.isfinite(score)] = 0.0
    return score, safety


def _log2(values: Array) -> FloatArray:
    """Logarithms to base 2 as floats; the numbers themselves may be too small or too large for floats."""
    if values.dtype != object:
        return np.asarray(np.log2(values), dtype=np.float64)
    logs = [float(v.mid().log()) if v.mid() > 0 else (-np.inf if v.mid() == 0 else np.nan) for v in values]
    return np.array(logs, dtype=np.float64) / float(np.log(2.0))


def evenly_spread(views: Views, arithmetic: Arithmetic) -> Array:
    """The shapes (K, 2, 2) that make the directions nearly isotropic, by three steps of Tyler's iteration."""
    shape = np.broadcast_to(arithmetic.array(np.eye(2)), (len(views), 2, 2))
    vectors = views.vectors
    for _ in range(3):
        unit = vectors / lengths_of(vectors)[..., None]
        n = arithmetic.array([float(unit.shape[1])])[0]
        a = (unit[..., 0] * unit[..., 0]).sum(axis=1) / n
        b = (unit[..., 0] * unit[..., 1]).sum(axis=1) / n
        c = (unit[..., 1] * unit[..., 1]).sum(axis=1) / n
        low = np.sqrt(np.where(a > 0, a, a * 0 + 1))
        rest = c - b * b / a
        tiny = arithmetic.unit * c
        high = np.sqrt(np.where(rest > tiny, rest, tiny))
        zero = a * 0
        step = np.stack([np.stack([high, zero], -1), np.stack([-b / low, low], -1)], axis=1)
        shape = arithmetic.rounded((step[:, :, :, None] * shape[:, None]).sum(axis=2))
        vectors = np.stack([dot(shape[:, None, i], views.vectors) for i in (0, 1)], axis=-1)
    scaled: Array = shape / np.sqrt((shape * shape).sum(axis=(1, 2)))[:, None, None]
    return scaled


SHAPES = np.array(
    [np.eye(2)]
    + [
        np.diag([stretch, 1 / stretch]) @ [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]
        for stretch in (1.2, 1.6, 2.4)
        for t in np.linspace(0, np.pi, 8, endpoint=False)
    ]
)
"""Shapes (25, 2, 2) that are applied to the even one in turn: the identity, and stretches along 8 axes."""


def best_view(
    views: Views, left: Codes, order: Codes, codes: Codes, arithmetic: Arithmetic
) -> tuple[int, ShapedViews]:
    """The index of the view with the best score, and its best shape; raises `Stuck` if none is safe.

    Views after which the labels can be read out (`left` is 0) are preferred.
    """
    even = shaped(views, evenly_spread(views, arithmetic), order, codes, arithmetic)
    usable = np.isfinite(even.score) & (even.safety >= SAFE)
    if not usable.any():
        raise Stuck
    rank = np.where(usable, even.score, -np.inf) + np.where(usable & (left == 0), 1e6, 0.0)
    best: tuple[float, int, ShapedViews] | None = None
    finalists = np.argsort(-rank, kind="stable")[: FINALISTS if views.vectors.dtype != object else 1]
    for k in finalists[np.isfinite(rank[finalists])]:
        one = np.full(len(SHAPES), k)
        turned = arithmetic.array(SHAPES)
        shapes = (turned[:, :, :, None] * even.shape[one][:, None]).sum(axis=2)
        tried = shaped(views.take(one), arithmetic.rounded(shapes), order[one], codes, arithmetic)
        s = int(np.argmax(np.where(tried.safety >= SAFE, tried.score, -np.inf)))
        value = float(tried.score[s]) + (1e6 if left[k] == 0 else 0.0)
        if best is None or value > best[0]:
            row = slice(s, s + 1)
            chosen = ShapedViews(
                tried.shape[s], tried.errors[s], tried.order[s], tried.score[row], tried.safety[row]
            )  # fmt: skip
            best = (value, int(k), chosen)
    assert best is not None
    return best[1], best[2]


@dataclass(frozen=True)
class CirclePoints:
    """Representatives on the circle, counter-clockwise; `errors` bound the errors of their angles.

    `samples` holds the index of the sample that each point represents.
    """

    points: Array
    codes: Codes
    samples: Codes
    errors: Array

    @property
    def counts(self) -> Codes:
        """The number of points of each class, shape (C,)."""
        return np.bincount(self.codes)

    @property
    def safety(self) -> float:
        """Smallest gap / error between points of unequal label; 0 if two of them coincide."""
        return float(judged(self.points[None], self.errors[None], self.codes[None])[1][0])

    def after(
        self, images: Array, errors: Array, order: Codes, pairs: Codes, arithmetic: Arithmetic
    ) -> CirclePoints:  # fmt: skip
        """The points after a layer with these images, in this order; a merged pair leaves one point."""
        gone = []
        for a, b in pairs[pairs[:, 0] >= 0]:
            apart = np.abs(images[a] - images[b]).sum()
            errors[b] = errors[b] + apart
            gone.append(int(a))
        kept = order[~np.isin(order, gone)]
        return CirclePoints(
            arithmetic.rounded(images[kept]), self.codes[kept], self.samples[kept],
            arithmetic.upper(errors[kept]),
        )  # fmt: skip
