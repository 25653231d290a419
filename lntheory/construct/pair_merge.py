r"""Two pairs of equal labels merged a layer: half the depth of `minority-merge` [ours].

**The merge.** A layer sends z to the direction of ``A (z - o)``. Two non-crossing chords of the circle lie on
lines that meet outside the circle, or at infinity; with o that point, the ends of each chord are seen in one
direction and are merged, both pairs at once::

              a ·────────· b
            .´            `.             o = ê / w, with |w| < 1: the circle's image is
      o ·  (                )            (1 - w cos φ, sin φ), φ the angle of z from ê;
            `.            .´             w = 0 is the parallel projection, o at infinity
              c ·────────· d

Four or more points of one class have such chords (join cyclic neighbours), so that class goes k -> k - 2;
three go to two, and two to one, by a chord alone, with any second line.

**The depth.** Let ``f(1) = 0`` and ``f(k) = ceil(k / 2)`` for k >= 2: the layers that take a class of k
points of the circle to one point. The most frequent class may stay where it is, so after a lift to the circle
the *potential*, the sum of f over the other classes, is the number of layers still needed, and

* any distinct samples need at most ``1 + sum f(k_c)`` layers: ``1 + ceil(k / 2)`` for two classes;
* in general position (d >= 2) the first layer merges too, and ``max(1, sum f(k_c))`` suffice: two opposite
  sides of a convex quadrilateral (any five points contain one), or one pair of a class of two, three or an
  odd number. Only where every other class has one point or four, and those four are a triangle with a point
  inside, one layer more may be needed: nine points of the plane are known that do need it.

**Shortcuts.** Two classes in four cyclic runs are settled by one layer, with o where two lines meet that
close the gaps of one class. And a first layer whose directions can be read out, or lie in four runs, is
taken where one is found; of up to 16 points of the plane in two classes every order in which a centre can
see them is tried, so that one and two layers are found where they suffice.

**Choice.** What is left is free: which chords, the second line of a single merge, and the shape A, which
re-spaces the directions. Each layer evaluates many, with error bounds as in `fold`, and takes the one with
the least ``3 log sum(error / gap) + log sum(1 / gap)`` over neighbours of unequal label. A centre on the line
of an unequal pair, or where three chords meet, has a gap of zero: other chords are taken, or the construction
starts again with another lift, whose free shape breaks the coincidence.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory.base.types import Progress
from lntheory.construct import circle
from lntheory.construct.arithmetic import Arithmetic, Array, Dyadic, Float64, floats
from lntheory.construct.fold import ROUNDING
from lntheory.construct.lift import powers_of_two
from lntheory.construct.readout import margin, readout
from lntheory.errors import UndecidedError
from lntheory.network import Layer, LNNet

__all__ = ["PairConstruction", "layers_needed", "pair_merge", "view_centres"]

PLANS, PLANS_SCORED, ATTEMPTS = 800, 100, 12
"""First layers drawn, how many of the most promising are scored, and of the best are built in float64."""
FOLDS, DYADIC_FOLDS = 192, 16
"""Folds evaluated a layer, in float64 and in dyadic numbers."""
FINALISTS = 6
"""Folds of a layer for which other shapes than the first are tried."""
SAFE, ENOUGH = 4.0, 2.0**10
"""Smallest gap / error accepted; and at which no further first layer is tried."""
PRECISIONS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
"""Bits of the dyadic parameters tried where float64 does not carry."""
GAPS = 8
"""Most cyclic runs for which all lines through two gaps are tried."""
CELLS = 16
"""Most samples of the plane, in two classes, for which every first layer is tried, if need be."""
SHALLOWEST, SHALLOW, HOPELESS = 1e6, 1e3, 1e5
"""What first layers after which no layer, or one, is needed are preferred by; what sets the unusable back."""

Codes = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class _Stuck(Exception):
    """No fold keeps unequal labels apart in this arithmetic."""


@dataclass(frozen=True)
class PairConstruction:
    """The layers and read-out of a net, the pairs of samples each layer merges, the smallest gap / error."""

    layers: tuple[Layer, ...]
    readout: Layer
    merges: tuple[tuple[tuple[int, int], ...], ...]
    safety: float


def layers_needed(n_points: int) -> int:
    """f(k): layers that take k points of the circle to one, two pairs a layer: ceil(k / 2), and f(1) = 0.

    Examples
    --------
    >>> [layers_needed(k) for k in range(1, 8)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (n_points + 1) // 2 if n_points > 1 else 0


def pair_merge(
    X: FloatArray, codes: Codes, *, rng: np.random.Generator, progress: Progress | None = None
) -> PairConstruction:
    """Fit distinct samples by two merges a layer.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Distinct samples.
    codes : ndarray of int, shape (n_samples,)
        Labels ``0 .. C - 1``, C >= 2, all present.
    rng : numpy Generator
    progress : callable, optional
        Called as ``progress(layers done, layers at most)``.

    Returns
    -------
    PairConstruction
        In float64 where one is found that float64 carries, else in dyadic numbers.
    """
    task = _Task.of(X, codes, progress)
    early = max(1, task.potential)
    for depth, precisions in ((early, PRECISIONS[:3]), (early + 1, PRECISIONS)):
        plans = _plans(task, depth - 1, rng, lifts=depth > early)
        found = _in_float64(task, plans, depth, rng) or _in_dyadic(task, plans, depth, precisions, rng)
        if found is not None:
            return found
    raise AssertionError("distinct samples can be lifted and merged at some precision")


# ------------------------------------------------------------------------------------------------ the task


@dataclass(frozen=True)
class _Task:
    """What is to be fitted; `free` is the class that may stay where it is.

    `scale` (n_features,) holds the powers of two that bring every feature near 1.
    """

    X: FloatArray
    scale: FloatArray
    codes: Codes
    free: int
    progress: Progress | None

    @classmethod
    def of(cls, X: FloatArray, codes: Codes, progress: Progress | None) -> _Task:
        return cls(X, powers_of_two(X), codes, int(np.argmax(np.bincount(codes))), progress)

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1

    @property
    def potential(self) -> int:
        """Layers that the merges of all points take, once they are on the circle."""
        return int(self.potentials(np.bincount(self.codes)[None])[0])

    def potentials(self, counts: Codes) -> Codes:
        """Sum of f over the classes that have to be merged, from the numbers of points (K, C)."""
        needed: Codes = np.where(counts > 1, (counts + 1) // 2, 0)
        needed[:, self.free] = 0
        total: Codes = needed.sum(axis=1)
        return total

    def left(self, cyclic: Codes, counts: Codes) -> Codes:
        """Layers that suffice after views with these cyclic labels (K, n) and these numbers of points."""
        left = self.potentials(counts)
        runs = (cyclic != np.roll(cyclic, 1, axis=1)).sum(axis=1)
        if self.n_classes == 2:
            return np.where(runs <= 2, 0, np.where(runs <= 4, np.minimum(left, 1), left))
        for k in np.flatnonzero((runs <= 2 * self.n_classes - 2) & (left > 0)):
            if circle.is_readable(cyclic[k]):
                left[k] = 0
        return left


# -------------------------------------------------------------------------------------------------- views


@dataclass(frozen=True)
class _Views:
    """n points as seen from K centres: directions, before the shape A is chosen.

    Attributes
    ----------
    vectors : array, shape (K, n, 2)
        The directions, of any length; the images of the two ends of a merged pair are equal.
    errors : array, shape (K, n)
        Bounds of the angles of the directions.
    noise : array, shape (K, n)
        Bound of what rounding adds to a vector, over the size of the matrix.
    pairs : ndarray of int, shape (K, 2, 2)
        Points merged: the first onto the second; -1 where there is none.
    """

    vectors: Array
    errors: Array
    noise: Array
    pairs: Codes

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, chosen: Any) -> _Views:
        return _Views(self.vectors[chosen], self.errors[chosen], self.noise[chosen], self.pairs[chosen])

    def merged(self) -> _Views:
        """The same, with the two ends of every merged pair in one place."""
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


def _cross(p: Array, q: Array) -> Array:
    area: Array = p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]
    return area


def _size(vectors: Array) -> Array:
    x, y = vectors[..., 0], vectors[..., 1]
    sizes: Array = np.sqrt(x * x + y * y if vectors.shape[-1] == 2 else (vectors * vectors).sum(axis=-1))
    return sizes


def _dot(p: Array, q: Array) -> Array:
    product: Array = p[..., 0] * q[..., 0] + p[..., 1] * q[..., 1]
    return product


def _lines(p: Array, q: Array) -> Array:
    """Lines through two points each, as homogeneous coordinates."""
    return np.stack([p[..., 1] - q[..., 1], q[..., 0] - p[..., 0], _cross(p, q)], axis=-1)


def _meeting(first: Array, second: Array) -> Array:
    """Where two lines meet, as homogeneous coordinates."""
    (a, b, c), (d, e, f) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)


@dataclass(frozen=True)
class _Shaped:
    """Views with a shape: what a layer's image looks like, and how good it is."""

    shape: Array
    errors: Array
    order: Codes
    score: FloatArray
    safety: FloatArray


def _shaped(views: _Views, shape: Array, order: Codes, codes: Codes, arithmetic: Arithmetic) -> _Shaped:
    """Images of the directions under ``shape`` (K, 2, 2), of positive determinant.

    An angle's error grows by ``det A / |A v|^2`` for unit vectors v, taken at its worst within the error.
    """
    (a, b), (c, d) = np.moveaxis(shape, (1, 2), (0, 1))
    determinant, norm = (a * d - b * c)[:, None], np.sqrt(a * a + b * b + c * c + d * d)[:, None]
    x, y = views.vectors[..., 0], views.vectors[..., 1]
    images = np.stack([a[:, None] * x + b[:, None] * y, c[:, None] * x + d[:, None] * y], axis=-1)
    size = _size(images)
    nearest = size / _size(views.vectors) - norm * views.errors
    errors = determinant * views.errors / (nearest * nearest) + norm * views.noise / size
    errors = np.where(nearest > 0, errors, arithmetic.array([np.inf])[0])
    at = np.take_along_axis(images / size[..., None], order[..., None], axis=1)
    bound = np.take_along_axis(errors, order, axis=1)
    return _Shaped(shape, errors, order, *_judged(at, bound, codes[order]))


def _judged(points: Array, errors: Array, codes: Codes) -> tuple[FloatArray, FloatArray]:
    """Score and smallest gap / error of points (K, n, 2) in cyclic order; -inf and 0 if two coincide.

    Of every point to the nearest unequal ones on either side: the worst placed point of a run need not be at
    its end, and may be the next to get there.
    """
    n, rows = codes.shape[1], np.arange(len(codes))[:, None]
    last = codes != np.roll(codes, -1, axis=1)  # of its run
    places = np.where(np.tile(last, 2), np.arange(2 * n), -1)
    before = np.maximum.accumulate(places, axis=1)[:, n - 1 : -1] % n
    places = np.where(np.tile(last, 2), np.arange(2 * n), 2 * n)
    after = (np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1][:, :n] + 1) % n
    total, worst = errors[:, 0] * 0, errors[:, 0] * 0
    fine = np.ones(len(codes), dtype=bool)
    for p, q, other in ((points[rows, before], points, before), (points, points[rows, after], after)):
        gaps = np.where(_dot(p, q) > 0, np.abs(_cross(p, q)), p[..., 0] * 0 + 1)
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
    """Logarithms as floats: the numbers themselves may be too small, or too large, for one."""
    if values.dtype != object:
        return np.asarray(np.log2(values), dtype=np.float64)
    logs = [float(v.mid().log()) if v.mid() > 0 else (-np.inf if v.mid() == 0 else np.nan) for v in values]
    return np.array(logs, dtype=np.float64) / float(np.log(2.0))


def _spread_evenly(views: _Views, arithmetic: Arithmetic) -> Array:
    """The shape that makes the directions isotropic, nearly (three steps of Tyler's iteration), (K, 2, 2)."""
    shape = np.broadcast_to(arithmetic.array(np.eye(2)), (len(views), 2, 2))
    vectors = views.vectors
    for _ in range(3):
        unit = vectors / _size(vectors)[..., None]
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
        vectors = np.stack([_dot(shape[:, None, i], views.vectors) for i in (0, 1)], axis=-1)
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
"""Shapes tried after the even one: rotations, and stretches that favour one direction."""


def _best(
    views: _Views, left: Codes, order: Codes, codes: Codes, arithmetic: Arithmetic
) -> tuple[int, _Shaped]:
    """The view, and its shape, of the best score; one after which nothing is left to do is preferred."""
    even = _shaped(views, _spread_evenly(views, arithmetic), order, codes, arithmetic)
    usable = np.isfinite(even.score) & (even.safety >= SAFE)
    if not usable.any():
        raise _Stuck
    rank = np.where(usable, even.score, -np.inf) + np.where(usable & (left == 0), 1e6, 0.0)
    best: tuple[float, int, _Shaped] | None = None
    finalists = np.argsort(-rank, kind="stable")[: FINALISTS if views.vectors.dtype != object else 1]
    for k in finalists[np.isfinite(rank[finalists])]:
        one = np.full(len(SHAPES), k)
        turned = arithmetic.array(SHAPES)
        shapes = (turned[:, :, :, None] * even.shape[one][:, None]).sum(axis=2)
        tried = _shaped(views.take(one), arithmetic.rounded(shapes), order[one], codes, arithmetic)
        s = int(np.argmax(np.where(tried.safety >= SAFE, tried.score, -np.inf)))
        value = float(tried.score[s]) + (1e6 if left[k] == 0 else 0.0)
        if best is None or value > best[0]:
            row = slice(s, s + 1)
            chosen = _Shaped(
                tried.shape[s], tried.errors[s], tried.order[s], tried.score[row], tried.safety[row]
            )  # fmt: skip
            best = (value, int(k), chosen)
    assert best is not None
    return best[1], best[2]


# -------------------------------------------------------------------------------------- points of the circle


@dataclass(frozen=True)
class _Circle:
    """Representatives on the circle, counter-clockwise; `errors` bound their angles."""

    points: Array
    codes: Codes
    samples: Codes
    errors: Array

    @property
    def counts(self) -> Codes:
        return np.bincount(self.codes)

    @property
    def safety(self) -> float:
        """Smallest gap / error between points of unequal label; 0 if two of them coincide."""
        return float(_judged(self.points[None], self.errors[None], self.codes[None])[1][0])

    def after(
        self, images: Array, errors: Array, order: Codes, pairs: Codes, arithmetic: Arithmetic
    ) -> _Circle:  # fmt: skip
        """The points where a layer took them, one for each merged pair."""
        gone = []
        for a, b in pairs[pairs[:, 0] >= 0]:
            apart = np.abs(images[a] - images[b]).sum()
            errors[b] = errors[b] + apart
            gone.append(int(a))
        kept = order[~np.isin(order, gone)]
        return _Circle(
            arithmetic.rounded(images[kept]), self.codes[kept], self.samples[kept],
            arithmetic.upper(errors[kept]),
        )  # fmt: skip


def _folds(state: _Circle, ends: Array, pairs: Codes, arithmetic: Arithmetic) -> tuple[_Views, Array, Array]:
    """Views from where the lines through the `ends` (K, 4, 2) meet, with their matrices and offsets.

    From ``o = e / w`` the direction of z is ``(1 - w cos, sin)``, of length between ``1 - |w|`` and 2, which
    changes with the angle at most as fast.
    """
    meeting = _meeting(_lines(ends[:, 0], ends[:, 1]), _lines(ends[:, 2], ends[:, 3]))
    far = _size(meeting[:, :2])
    e, w = arithmetic.rounded(meeting[:, :2] / far[:, None]), arithmetic.rounded(meeting[:, 2] / far)
    z = state.points[None]
    cos = z[..., 0] * e[:, None, 0] + z[..., 1] * e[:, None, 1]
    sin = z[..., 1] * e[:, None, 0] - z[..., 0] * e[:, None, 1]
    vectors = np.stack([1 - w[:, None] * cos, sin], axis=-1)
    nearest = _size(vectors) - state.errors
    errors = state.errors * (np.abs(cos - w[:, None]) + state.errors) / (nearest * nearest)
    outside = (np.abs(w) < 1)[:, None] & (nearest > 0)
    errors = np.where(outside, errors, arithmetic.array([np.inf])[0])
    noise = cos * 0 + 2 * ROUNDING * arithmetic.unit
    matrix = np.stack([-w[:, None] * e, np.stack([-e[:, 1], e[:, 0]], axis=-1)], axis=1)
    offset = np.stack([w * 0 + 1, w * 0], axis=-1)
    return _Views(arithmetic.rounded(vectors), errors, noise, pairs).merged(), matrix, offset


def _next(
    task: _Task, state: _Circle, depth: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> tuple[tuple[Array, Array], _Circle, tuple[tuple[int, int], ...]]:
    """One layer, after which `depth` layers suffice."""
    n_folds = FOLDS if isinstance(arithmetic, Float64) else DYADIC_FOLDS
    for ends, pairs in _candidates(task, state, depth, n_folds, arithmetic, rng):
        views, matrix, offset = _folds(state, ends, pairs, arithmetic)
        order = views.order(arithmetic)
        left = task.left(state.codes[order], _counts_after(state.counts, state.codes, pairs))
        fit = np.flatnonzero(left <= depth)
        if not len(fit):
            continue
        try:
            k, best = _best(views.take(fit), left[fit], order[fit], state.codes, arithmetic)
        except _Stuck:
            continue
        break
    else:
        raise _Stuck
    k = int(fit[k])
    shape = arithmetic.rounded(best.shape)
    weight, bias = circle.space(shape @ matrix[k], shape @ offset[k], arithmetic)
    weight, bias = arithmetic.rounded(weight), arithmetic.rounded(bias)
    images = circle.image(state.points, weight, bias, arithmetic)
    after = state.after(images, best.errors, best.order, pairs[k], arithmetic)
    merged = [(int(state.samples[a]), int(state.samples[b])) for a, b in pairs[k] if a >= 0]
    return (weight, bias), after, tuple(merged)


def _candidates(
    task: _Task, state: _Circle, depth: int, n_folds: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> Iterator[tuple[Array, Codes]]:
    """Ends (K, 4, 2) of two chords, and which of them are merged: gaps, then two pairs, then one."""
    runs = np.flatnonzero(state.codes != np.roll(state.codes, 1))
    if len(runs) <= (4 if task.n_classes == 2 else GAPS):
        yield from _through_gaps(state, runs, n_folds, arithmetic, rng)
    chords = [
        pair
        for c in range(task.n_classes) if c != task.free
        for pair in combinations(np.flatnonzero(state.codes == c).tolist(), 2)
    ]  # fmt: skip
    if not chords:
        return
    several = np.array(chords)
    two = _two_chords(several, len(state.codes), n_folds, rng)
    if len(two):
        yield state.points[two.reshape(-1, 4)], two
        more = _two_chords(several, len(state.codes), 8 * n_folds, rng)
        if len(more) > len(two):
            yield state.points[more.reshape(-1, 4)], more
    yield _one_chord(state, several, n_folds, arithmetic, rng)


def _two_chords(chords: Codes, n: int, most: int, rng: np.random.Generator) -> Codes:
    """Pairs of disjoint chords that do not cross, shape (K, 2, 2): all, or a random choice of about `most`.

    Half of the choice joins ends that are near each other in their class.
    """
    size = len(chords)
    if size * (size - 1) // 2 <= 4 * most:
        first, second = np.triu_indices(size, 1)
    else:
        span = chords[:, 1] - chords[:, 0]
        near = np.argsort(np.minimum(span, n - span), kind="stable")[: max(8, size // 8)]
        first = np.concatenate([rng.choice(near, 2 * most), rng.integers(size, size=2 * most)])
        second = np.concatenate([rng.choice(near, 2 * most), rng.integers(size, size=2 * most)])
    (a, b), (c, d) = chords[first].T, chords[second].T
    disjoint = (a != c) & (a != d) & (b != c) & (b != d)
    apart = ((a < c) & (c < b)) == ((a < d) & (d < b))
    chosen = np.flatnonzero(disjoint & apart)
    if len(chosen) > most:
        chosen = rng.choice(chosen, most, replace=False)
    return np.stack([chords[first[chosen]], chords[second[chosen]]], axis=1)


def _one_chord(
    state: _Circle, chords: Codes, most: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> tuple[Array, Codes]:
    """Single merges, each with a second line through two random places on one side of the chord."""
    chosen = chords[rng.integers(len(chords), size=most)]
    n, share = len(state.codes), arithmetic.array(rng.uniform(0.1, 0.9, (most, 2, 1)))
    first = np.empty((most, 2), dtype=np.int64)
    for k, (a, b) in enumerate(chosen):
        start, end = (a, b) if rng.random() < 0.5 else (b, a + n)
        first[k] = np.sort(rng.integers(start, end, size=2))
    if (same := first[:, 0] == first[:, 1]).any():
        share[same, 0], share[same, 1] = share[same, 0] / 2, (share[same, 1] + 1) / 2
    places = _between(state, first, share, arithmetic)
    ends = np.concatenate([state.points[chosen], places], axis=1)
    return ends, np.stack([chosen, np.full_like(chosen, -1)], axis=1)


def _between(state: _Circle, at: Codes, share: Array, arithmetic: Arithmetic) -> Array:
    """Places on the arcs from point `at` to the next one (counter-clockwise)."""
    n = len(state.codes)
    p, q = state.points[at % n], state.points[(at + 1) % n]
    middle = p + q
    # Of an arc longer than a half circle the middle is opposite; of a half circle it is at right angles.
    turned = np.stack([q[..., 1] - p[..., 1], p[..., 0] - q[..., 0]], axis=-1)
    size, wide = _size(middle), _size(turned)
    flat = (size < wide)[..., None]
    middle = np.where(flat, turned / wide[..., None], middle / np.where(flat[..., 0], wide, size)[..., None])
    long = (_cross(p, q) < 0)[..., None] & ~flat.astype(bool)
    middle = np.where(long, -middle, middle)
    half = share > 0.5
    start, end = np.where(half, middle, p), np.where(half, q, middle)
    part = np.where(half, 2 * share - 1, 2 * share)
    mixed = start * (1 - part) + end * part
    return arithmetic.rounded(mixed / _size(mixed)[..., None])


def _through_gaps(
    state: _Circle, runs: Codes, most: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> Iterator[tuple[Array, Codes]]:
    """Lines through two gaps between runs: they close the runs in between."""
    lines = np.array(list(combinations(runs - 1, 2)))
    two = _two_chords(lines, len(state.codes), most, rng)
    if not len(two):
        return
    two = np.repeat(two, max(1, most // len(two)), axis=0)
    share = arithmetic.array(rng.uniform(0.15, 0.85, (len(two), 4, 1)))
    at = np.where(two.reshape(-1, 4) < 0, len(state.codes) - 1, two.reshape(-1, 4))
    yield _between(state, at, share, arithmetic), np.full((len(two), 2, 2), -1)


# ----------------------------------------------------------------------------------------- the first layer


@dataclass(frozen=True)
class _Plan:
    """A first layer up to its shape: samples to a plane, and there a centre, where two lines meet.

    Attributes
    ----------
    centre : ndarray, shape (n_features,)
    plane : ndarray, shape (n_features, 2)
    ends : ndarray of int, shape (4,)
        Samples through which the two lines go; -1 where it is one of the `places` (4, 2) instead.
    pairs : ndarray of int, shape (2, 2)
        Samples merged; -1 where there is none.
    axis : int
        The homogeneous coordinate in which the centre is smallest.
    """

    centre: FloatArray
    plane: FloatArray
    ends: Codes
    places: FloatArray
    pairs: Codes
    axis: int

    def rows(self, scaled: Array, arithmetic: Arithmetic) -> tuple[Array, Array]:
        """Weight (2, n_features) and bias (2,) of two affine functions that vanish at the centre."""
        centre, plane = arithmetic.array(self.centre), arithmetic.array(self.plane)
        planar = arithmetic.rounded((scaled - centre) @ plane)
        ends = np.where(self.ends[:, None] < 0, arithmetic.array(self.places), planar[self.ends])[None]
        basis = _vanishing(ends, np.array([self.axis]), arithmetic)[0]
        weight = arithmetic.rounded(basis[:, :2] @ plane.T)
        return weight, arithmetic.rounded(basis[:, 2] - weight @ centre)


def _vanishing(ends: Array, axis: Codes, arithmetic: Arithmetic) -> Array:
    """Two affine functions (K, 2, 3), orthogonal to each other, that vanish where the two lines meet."""
    centre = _meeting(_lines(ends[:, 0], ends[:, 1]), _lines(ends[:, 2], ends[:, 3]))
    centre = arithmetic.rounded(centre / _size(centre)[:, None])
    other = arithmetic.array(np.eye(3)[axis])
    first = _meeting(centre, other)
    first = arithmetic.rounded(first / _size(first)[:, None])
    return np.stack([first, arithmetic.rounded(_meeting(centre, first))], axis=1)


def _plans(task: _Task, depth: int, rng: np.random.Generator, lifts: bool = False) -> list[_Plan]:
    """First layers after which `depth` layers suffice, the best first; at the end those float64 cannot judge.

    Directions are drawn on features brought to equal spread, so that the scale of the data is immaterial.
    """
    scaled, n_all = task.X * task.scale, task.X.shape[1]
    centre = scaled[0] + (scaled - scaled[0]).mean(axis=0)
    spread = np.sqrt(np.mean(np.square(scaled - centre), axis=0))
    inverse = np.divide(1.0, spread, out=np.zeros(n_all), where=spread > 0)
    varying = np.eye(n_all)[:, spread > 0]
    n_features = varying.shape[1]
    n_planes = 1 if n_features <= 2 else 12
    ranked: list[tuple[float, _Plan]] = []
    for _ in range(n_planes):
        mixing = np.eye(n_features, 2) if n_features <= 2 else rng.standard_normal((n_features, 2))
        mixing = varying @ mixing
        plane = inverse[:, None] * mixing / max(1.0, np.sqrt(n_features / 2))
        planar = (scaled - centre) @ plane
        samples, pairs = _first_chords(task, PLANS // n_planes, rng, lifts)
        noise = rng.standard_normal((len(samples), 4, 2)) * 10 ** rng.uniform(-2, 1, (len(samples), 1, 1))
        ends = np.where(np.repeat(pairs[:, :, 0] >= 0, 2, axis=1), samples, -1)
        ranked += _ranked(task, (scaled, centre, plane), ends, planar[samples] + noise, pairs, depth)
    found = max((rank for rank, _ in ranked), default=0.0)
    few = task.n_classes == 2 and n_features == 2 and len(scaled) <= CELLS
    if few and found < (SHALLOWEST if len(scaled) <= 8 else SHALLOW / 2):
        places = view_centres(planar)[:, None] + np.array([[0, 0], [1, 0], [0, 0], [0, 1]])
        nothing = np.full((len(places), 4), -1)
        pairs = nothing.reshape(-1, 2, 2)
        ranked += _ranked(task, (scaled, centre, plane), nothing, places, pairs, depth)
    order = np.argsort([-rank for rank, _ in ranked], kind="stable")
    return [ranked[i][1] for i in order]


def _ranked(
    task: _Task, mapping: tuple[FloatArray, FloatArray, FloatArray], ends: Codes, places: FloatArray,
    pairs: Codes, depth: int,
) -> Iterator[tuple[float, _Plan]]:  # fmt: skip
    """Of these first layers (see `_Plan`) those after which `depth` layers suffice, with a rank each."""
    scaled, centre, plane = mapping
    planar = (scaled - centre) @ plane
    float64 = Float64()
    with float64.working():
        at = np.where(ends[..., None] < 0, places, planar[ends])
        meeting = _meeting(_lines(at[:, 0], at[:, 1]), _lines(at[:, 2], at[:, 3]))
        axis = np.argmin(np.abs(meeting), axis=1)
        functions = _vanishing(at, axis, float64)
        vectors = planar @ np.swapaxes(functions[:, :, :2], 1, 2) + functions[:, None, :, 2]
        size = 1 + np.abs(scaled) @ np.abs(plane).sum(axis=1) + np.abs(centre) @ np.abs(plane).sum(axis=1)
        noise = np.broadcast_to(ROUNDING * float64.unit * size, vectors.shape[:2])
        views = _Views(vectors, np.zeros(vectors.shape[:2]), noise, pairs).merged()
        order = views.order(float64)
        left = task.left(task.codes[order], _counts_after(np.bincount(task.codes), task.codes, pairs))
        fit = np.flatnonzero((left <= depth) & ~_opposite(vectors, pairs).any(axis=1))
        fit = fit[np.argsort(np.minimum(left[fit], 2), kind="stable")][:PLANS_SCORED]
        views, order, left = views.take(fit), order[fit], left[fit]
        even = _shaped(views, _spread_evenly(views, float64), order, task.codes, float64)
    score = np.where(even.safety >= SAFE, np.maximum(even.score, -HOPELESS), -HOPELESS)
    score += np.where(even.safety >= ENOUGH, SHALLOWEST * (left == 0) + SHALLOW * (left == 1), 0.0)
    for rank, k in zip(score, fit, strict=True):
        yield float(rank), _Plan(centre, plane, ends[k], places[k], pairs[k], int(axis[k]))


def view_centres(planar: FloatArray) -> FloatArray:
    """A centre in every cell of the lines through two of the points: all orders in which they can be seen.

    From each vertex half the way to the next line, into each of the sectors between the lines through it.
    """
    i, j = np.triu_indices(len(planar), 1)
    lines = _lines(planar[i], planar[j])
    with np.errstate(all="ignore"):
        lines = lines / _size(lines[:, :2])[:, None]
    lines = lines[np.isfinite(lines).all(axis=1)]  # of samples that float64 can tell apart
    along = np.stack([-lines[:, 1], lines[:, 0]], axis=1)
    a, b = np.triu_indices(len(lines), 1)
    meeting = _meeting(lines[a], lines[b])
    crossing = np.abs(meeting[:, 2]) > 1e-12
    vertices = meeting[crossing, :2] / meeting[crossing, 2:]
    first, second = along[a[crossing]], along[b[crossing]]
    starts = [np.tile(vertices, (4, 1))]
    steps = [np.concatenate([first + second, first - second, second - first, -first - second])]
    for point in planar:
        rays = planar[(planar != point).any(axis=1)] - point
        angles = np.sort(
            np.mod(np.arctan2(rays[:, 1], rays[:, 0])[:, None] + [0, np.pi], 2 * np.pi), axis=None
        )
        middle = angles + np.diff(angles, append=angles[0] + 2 * np.pi) / 2
        starts.append(np.tile(point, (len(middle), 1)))
        steps.append(np.stack([np.cos(middle), np.sin(middle)], axis=1))
    start, step = np.concatenate(starts), np.concatenate(steps)
    with np.errstate(all="ignore"):
        values = start @ lines[:, :2].T + lines[:, 2]
        lengths = np.abs(values / (step @ lines[:, :2].T))
    lengths[(np.abs(values) < 1e-9) | np.isnan(lengths)] = np.inf
    length = lengths.min(axis=1, initial=1e3)
    centres: FloatArray = start + length[:, None] / 2 * step
    return centres


def _first_chords(
    task: _Task, most: int, rng: np.random.Generator, lifts: bool
) -> tuple[Codes, Codes]:  # fmt: skip
    """Samples (K, 4) through which, or near which, the two lines go, and the pairs (K, 2, 2) merged."""
    n = len(task.codes)
    anywhere = rng.integers(n, size=(most, 4))
    nothing = np.full((most, 2, 2), -1)
    chords = [
        pair
        for c in range(task.n_classes) if c != task.free
        for pair in combinations(np.flatnonzero(task.codes == c).tolist(), 2)
    ]  # fmt: skip
    if lifts or not chords or task.X.shape[1] == 1:
        return anywhere, nothing
    several = np.array(chords)
    one = several[rng.integers(len(several), size=most // 2)]
    i, j = (
        np.triu_indices(len(several), 1) if len(several) < 50 else rng.integers(len(several), size=(2, most))
    )
    two = np.stack([several[i], several[j]], axis=1)
    two = two[[len(set(row)) == 4 for row in two.reshape(-1, 4).tolist()]]
    if len(two) > most:
        two = two[rng.choice(len(two), most, replace=False)]
    single = np.stack([one, np.full_like(one, -1)], axis=1)
    ends = np.concatenate([two.reshape(-1, 4), np.hstack([one, anywhere[: len(one), 2:]]), anywhere])
    return ends, np.concatenate([two, single, nothing])


def _counts_after(counts: Codes, codes: Codes, pairs: Codes) -> Codes:
    """Numbers of points a class (K, C) after the pairs (K, 2, 2) are merged."""
    left = np.repeat(counts[None], len(pairs), axis=0)
    for side in (0, 1):
        rows = np.flatnonzero(pairs[:, side, 0] >= 0)
        left[rows, codes[pairs[rows, side, 0]]] -= 1
    return left


def _opposite(vectors: Array, pairs: Codes) -> NDArray[np.bool_]:
    """Whether the ends of a pair (K, 2) lie on different sides of the centre."""
    rows = np.arange(len(vectors))[:, None]
    towards = (vectors[rows, pairs[:, :, 0]] * vectors[rows, pairs[:, :, 1]]).sum(axis=-1)
    return np.asarray((pairs[:, :, 0] >= 0) & ~(towards > 0).astype(bool))


def _first(
    task: _Task, plan: _Plan, depth: int, arithmetic: Arithmetic
) -> tuple[tuple[Array, Array], _Circle, tuple[tuple[int, int], ...]]:
    """The first layer, after which `depth` layers suffice."""
    samples = arithmetic.array(task.X)
    scaled = samples * arithmetic.array(task.scale)
    rows, offsets = plan.rows(scaled, arithmetic)
    vectors = arithmetic.rounded(scaled @ rows.T + offsets)[None]
    pairs = plan.pairs[None]
    if _opposite(vectors, pairs).any():
        raise _Stuck
    noise = (np.abs(scaled) @ np.abs(rows).T + np.abs(offsets)).sum(axis=1)[None] * (
        ROUNDING * arithmetic.unit
    )
    views = _Views(vectors, vectors[..., 0] * 0, noise, pairs).merged()
    order = views.order(arithmetic)
    left = task.left(task.codes[order], _counts_after(np.bincount(task.codes), task.codes, pairs))
    if left[0] > depth:
        raise _Stuck
    _, best = _best(views, left, order, task.codes, arithmetic)
    shape = arithmetic.rounded(best.shape)
    columns = circle.basis(arithmetic)
    weight, bias = columns @ (shape @ rows), columns @ (shape @ offsets)
    # LN is blind to a common factor: it keeps the weights of tiny features from overflowing.
    excess = np.frexp(floats(np.abs(weight)))[1] + np.frexp(task.scale)[1]
    factor = arithmetic.array(np.ldexp(1.0, np.minimum(1000 - excess.max(), 0)))
    weight = arithmetic.rounded(weight * factor * arithmetic.array(task.scale))
    bias = arithmetic.rounded(bias * factor)
    planar = (samples @ weight.T + bias) @ columns
    rounding = _size(np.abs(samples) @ np.abs(weight).T + np.abs(bias))
    errors = rounding / _size(planar) * (ROUNDING * arithmetic.unit)
    for a, b in plan.pairs[plan.pairs[:, 0] >= 0]:
        errors[b] = errors[a] if errors[a] > errors[b] else errors[b]
    start = _Circle(planar, task.codes, np.arange(len(task.codes)), errors)
    images = circle.directions(planar, arithmetic)
    after = start.after(images, errors, best.order, plan.pairs, arithmetic)
    merged = [(int(a), int(b)) for a, b in plan.pairs if a >= 0]
    return (weight, bias), after, tuple(merged)


# ---------------------------------------------------------------------------------------------- the whole


def _in_float64(
    task: _Task, plans: list[_Plan], depth: int, rng: np.random.Generator
) -> PairConstruction | None:
    """The safest of several attempts, if any gives every sample its label in plain float64."""
    best: PairConstruction | None = None
    for plan in plans[:ATTEMPTS]:
        found = _build(task, plan, depth, Float64(), rng)
        if found is None or (best is not None and found.safety <= best.safety) or not _carried(found, task):
            continue
        best = found
        if best.safety >= ENOUGH:
            break
    return best


def _in_dyadic(
    task: _Task, plans: list[_Plan], depth: int, precisions: Sequence[int], rng: np.random.Generator
) -> PairConstruction | None:
    """The first precision that carries."""
    for bits in precisions:
        for plan in plans[:ATTEMPTS]:
            found = _build(task, plan, depth, Dyadic(bits), rng)
            if found is not None and _right(found, task):
                return found
    return None


def _net(found: PairConstruction, task: _Task) -> LNNet:
    return LNNet(found.layers, found.readout, tuple(range(task.n_classes)))


def _right(found: PairConstruction, task: _Task) -> bool:
    """Whether every sample provably gets its label."""
    try:
        return bool((_net(found, task).predict(task.X) == task.codes).all())
    except UndecidedError:
        return False


def _carried(found: PairConstruction, task: _Task) -> bool:
    """Whether the float64 passes, careful and plain, give every sample its label."""
    net = _net(found, task)
    plain = net.winners(net.plain_scores(task.X))
    return bool((net.predict(task.X) == task.codes).all() and (plain == task.codes).all())


def _build(
    task: _Task, plan: _Plan, depth: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> PairConstruction | None:
    """First layer, folds until the labels can be read out, read-out; None where the arithmetic gets stuck."""
    try:
        with arithmetic.working():
            layer, state, merged = _first(task, plan, depth - 1, arithmetic)
            layers, merges, safety = [layer], [merged], state.safety
            while not circle.is_readable(state.codes):
                layer, state, merged = _next(task, state, depth - len(layers) - 1, arithmetic, rng)
                layers.append(layer)
                merges.append(merged)
                safety = min(safety, state.safety)
                if safety < SAFE:
                    return None
                if task.progress is not None:
                    task.progress(len(layers), depth)
            scores = readout(state.points, state.codes, task.n_classes, arithmetic)
            safety = min(safety, margin(state.points, state.codes, state.errors, scores, arithmetic))
            if not safety >= SAFE:
                return None
            exported = [Layer(arithmetic.exported(w), arithmetic.exported(b)) for w, b in [*layers, scores]]
    except _Stuck:
        return None
    return PairConstruction(tuple(exported[:-1]), exported[-1], tuple(merges), safety)
