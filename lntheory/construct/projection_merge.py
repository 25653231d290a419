r"""Projection-merge: each layer merges one pair of equal labels, until the labels can be read out.

The paper's construction and a shallower one differ only in which points have to move:

* ``projection-merge`` [paper, Theorem 2]: every class is merged; the first layer merges none. Three distinct
  points of a circle can always be read out, so m distinct samples need at most ``max(1, m - 2)`` layers.
* ``minority-merge`` [ours]: a point of a circle can always be cut off by a line, so the most frequent class
  may stay where it is. With k samples outside it and C classes, ``k - C + 1`` merges leave one point of each
  other class. In general position (d >= 2) the first layer merges too: at most ``max(1, k - C + 1)`` layers;
  for any distinct samples at most ``k - C + 2``.

Why hundreds of layers can work in float64. Each class has a *sink*, its last point in walking order, onto
which its other points are merged in walking order, each once. A merge magnifies the error of the one point
that moves, by about the square of (distance to the sink / distance to its neighbour); all other points are
stretched by nearly 1, for the arc on which they lie is kept small (`ARCS`) and so is mapped almost linearly.
No point is ever magnified twice: errors grow like a power of the number of points, not exponentially.

::

    walking order     a · a b · b a · · a b a │A│ │B│ · ·         movers, then sinks A, B (and free points ·)
                      └─► next to move                └── behind the sinks: free points only

The candidates for each layer differ in whether the point lands on the sink or on an equal neighbour, in how
far the fold reaches, and in which free points it carries along. The one with the least predicted damage is
taken: the sum of error / gap over neighbours of unequal label, plus the predicted error of the points still
to be moved when they land.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory.base.types import Progress
from lntheory.circle.runs import is_readable
from lntheory.construct import plane
from lntheory.construct.arithmetic import Arithmetic, Array, Dyadic, Float64, floats
from lntheory.construct.built import Built, Method
from lntheory.construct.first_layer import (
    Projection,
    clearance,
    first_layer,
    powers_of_two,
    projections,
    slopes,
)
from lntheory.construct.fold import Folds, angle_between
from lntheory.construct.gaps import SAFEST, arc_safety, sense
from lntheory.construct.problem import Problem, free_class
from lntheory.construct.readout import margin, readout
from lntheory.construct.target import FLOAT64
from lntheory.network import Layer

__all__ = ["MINORITY_MERGE", "PROJECTION_MERGE", "merge"]

ARCS = (0.6, 0.4)
"""Lengths (radians) tried for the arc that holds the points still to be moved and the sinks."""
POOL, ATTEMPTS, HOPELESS = 200, 24, 8
"""Most first layers drawn (two for each sample); how many of those with the largest clearance are tried in
float64; after how many of them float64 is given up if none has come halfway."""
SAFE, ENOUGH = 4.0, 2.0**10
"""Smallest gap / error accepted; and the gap / error from which on no further first layer is tried."""
PRECISIONS = (128, 256, 512, 1024, 2048, 4096, 8192)
"""Bits of the dyadic parameters that are tried if float64 does not suffice."""


class _OutOfPrecision(Exception):
    """The arithmetic cannot keep unequal labels apart any longer."""


@dataclass(frozen=True)
class Task:
    """The samples and labels to fit; `free` is the class that may stay where it is, or None.

    `scale` (n_features,) holds the powers of two that bring every feature near 1.
    """

    X: NDArray[np.float64]
    scale: NDArray[np.float64]
    codes: NDArray[np.int64]
    free: int | None
    progress: Progress | None

    @property
    def movable(self) -> NDArray[np.bool_]:
        """Whether each sample may have to be merged, shape (n_samples,)."""
        return np.asarray(self.codes != (-1 if self.free is None else self.free))

    @property
    def first_layer_merges(self) -> bool:
        """Whether the first layer can merge a pair: there are two or more features, and a pair to merge."""
        counts = np.bincount(self.codes[self.movable], minlength=1)
        return self.free is not None and self.X.shape[1] > 1 and bool(counts.max() > 1)


@dataclass(frozen=True)
class Walk:
    """Representatives on the circle in walking order.

    `points` (n, 2) lie on the unit circle; `errors` bound the angle between a representative and every sample
    that it stands for; `sinks` marks the points that others are merged onto; `arc` is the length of the arc
    on which sinks and movers are kept.
    """

    points: Array
    codes: NDArray[np.int64]
    samples: NDArray[np.int64]
    errors: Array
    sinks: NDArray[np.bool_]
    free: int | None
    arc: float

    def movers(self) -> NDArray[np.int64]:
        """Indices of the points that still have to be merged."""
        return np.flatnonzero(~self.sinks & (self.codes != (-1 if self.free is None else self.free)))

    def sink(self, point: int) -> int:
        """Index of the sink of this point's class."""
        return int(np.flatnonzero(self.sinks & (self.codes == self.codes[point]))[0])

    def safety(self) -> float:
        """Smallest gap / error between points of unequal label, except across the cut; 0 if out of order."""
        return arc_safety(self.points, self.errors, self.codes)


def merge(problem: Problem, *, minority: bool) -> Built:
    """Fit distinct samples by merges.

    Parameters
    ----------
    problem : Problem
        Its progress is called as ``progress(merges done, merges at most)``.
    minority : bool
        Whether the most frequent class may stay unmerged.

    Returns
    -------
    Built
        In float64 if a float64 net is found that is right in a plain float64 pass, else in dyadic numbers.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> problem = Problem(X, np.array([0, 1, 0, 1]), np.random.default_rng(0))
    >>> built = merge(problem, minority=True)
    >>> built.depth <= 2, built.is_proved(problem.X, problem.codes)
    (True, True)
    """
    X, codes, rng = problem.X, problem.codes, problem.rng
    task = Task(X, powers_of_two(X), codes, free_class(codes) if minority else None, problem.progress)
    scaled = X * task.scale
    for merging in [True, False] if task.first_layer_merges else [False]:
        drawn = projections(scaled, codes, task.movable, merging, rng)
        pool = [next(drawn) for _ in range(int(np.clip(2 * len(X), 16, POOL)))]
        clear = np.array([clearance(projection, scaled, codes) for projection in pool])
        pool = [pool[i] for i in np.argsort(-clear, kind="stable")]
        built = _in_float64(task, pool) or _in_dyadic(task, pool, PRECISIONS[:3] if merging else PRECISIONS)
        if built is not None:
            return built
    raise AssertionError("distinct samples can be lifted and merged at some precision")


def _in_float64(task: Task, pool: list[Projection]) -> Built | None:
    """The safest of several attempts, if any gives every sample its label in plain float64."""
    best: Built | None = None
    halfway = 0
    for number, projection in enumerate(pool[:ATTEMPTS]):
        if number == HOPELESS and not halfway:
            break
        least = best.safety if best is not None else SAFE
        walked, built = _build(task, projection, Float64(), ARCS[number % len(ARCS)], least)
        halfway += walked >= 0.5
        if built is not None and built.is_carried(task.X, task.codes, FLOAT64, passes=0):
            best = built
            if best.safety >= ENOUGH:
                break
    return best


def _in_dyadic(task: Task, pool: list[Projection], precisions: tuple[int, ...]) -> Built | None:
    """A net of the lowest precision that suffices; None if none does.

    In special position a first layer that merges may fail at every precision.
    """
    for bits in precisions:
        for projection in pool[:3]:
            _, built = _build(task, projection, Dyadic(bits), ARCS[0], ENOUGH)
            if built is not None:
                return built
    return None


def _build(
    task: Task, projection: Projection, arithmetic: Arithmetic, arc: float, least: float
) -> tuple[float, Built | None]:
    """Lift, merge until readable, read out; or stop as soon as gap / error falls below `least`.

    Returns the share of the merges that were done, and the net, or None if it was not completed.
    """
    done, total = 0, 1
    merges = [() if projection.pair is None else (projection.pair,)]
    try:
        with arithmetic.working():
            layer, walk = lifted(task, projection, arithmetic, arc)
            layers = [layer]
            safety = _checked(walk, least)
            total = max(1, len(walk.movers()))
            while not is_readable(walk.codes):
                layer, walk, pair = merged_layer(walk, arithmetic)
                safety = min(safety, _checked(walk, least))
                layers.append(layer)
                merges.append((pair,))
                done += 1
                if task.progress is not None:
                    task.progress(done, total)
            scores = readout(walk.points, walk.codes, int(task.codes.max()) + 1, arithmetic)
            safety = min(safety, margin(walk.points, walk.codes, walk.errors, scores, arithmetic))
            if not safety >= least:
                raise _OutOfPrecision
            exported = [Layer(arithmetic.exported(w), arithmetic.exported(b)) for w, b in [*layers, scores]]
    except _OutOfPrecision:
        return done / total, None
    return 1.0, Built(tuple(exported[:-1]), exported[-1], min(safety, SAFEST), tuple(merges))


def _checked(walk: Walk, least: float) -> float:
    safety = walk.safety()
    if not safety >= least:
        raise _OutOfPrecision
    return safety


# ------------------------------------------------------------------------------------------ the first layer


def lifted(
    task: Task, projection: Projection, arithmetic: Arithmetic, arc: float
) -> tuple[tuple[Array, Array], Walk]:
    """The first layer's parameters, and the walk along the circle after it."""
    samples = arithmetic.array(task.X)
    scaled = samples * arithmetic.array(task.scale)
    rows, offsets = projection.rows(scaled, arithmetic)
    values = arithmetic.rounded(slopes((rows, offsets), scaled))
    order = np.argsort(values, kind="stable")
    if projection.descending:
        order = order[::-1]
    if projection.pair is not None:
        order = order[order != projection.pair[0]]
    kept, s = task.codes[order], values[order]
    kappa, beta = respacing(s, kept) if is_readable(kept) else _onto_arc(s, arc, arithmetic)
    spaced = np.stack([rows[0], kappa * (rows[1] + beta * rows[0])])
    shifted = np.array([offsets[0], kappa * (offsets[1] + beta * offsets[0])])
    layer = first_layer(task.X, task.scale, spaced, shifted, arithmetic)
    errors = layer.errors
    sinks = np.zeros(len(order), dtype=bool)
    for code in np.unique(kept[kept != (-1 if task.free is None else task.free)]):
        sinks[np.flatnonzero(kept == code)[-1]] = True
    points = plane.directions(layer.planar, arithmetic)
    if projection.pair is not None:
        i, j = projection.pair
        errors[j] = max(errors[i], errors[j]) + np.abs(points[i] - points[j]).sum()
    points, errors = arithmetic.rounded(points[order]), arithmetic.upper(errors[order])
    return (layer.weight, layer.bias), Walk(points, kept, order, errors, sinks, task.free, arc)


def _onto_arc(s: Array, arc: float, arithmetic: Arithmetic) -> tuple[Any, Any]:
    """The re-spacing (kappa, beta) that puts ordered slopes on an arc of this length around slope 0."""
    width = abs(s[-1] - s[0])
    return arithmetic.array([2 * np.tan(arc / 2)])[0] / width, -(s[0] + s[-1]) / 2


def respacing(s: Array, codes: NDArray[np.int64]) -> tuple[Any, Any]:
    """The re-spacing ``s -> kappa (s + beta)`` before the read-out, as (kappa, beta).

    Of those tried it makes the smallest gap between neighbours of unequal label largest; the gap between
    neighbours at ``v, w`` after it is about ``|v - w| / sqrt((1 + v^2) (1 + w^2))``. The offsets tried put a
    point that has an unequal neighbour, or the middle, at slope 0; the scales tried put such a point at 1.
    """
    border = np.flatnonzero((codes != np.roll(codes, 1)) | (codes != np.roll(codes, -1)))
    border = border[np.unique(np.linspace(0, len(border) - 1, 24).astype(int))]
    unequal = np.flatnonzero(codes[1:] != codes[:-1])
    steps = np.abs(s[unequal + 1] - s[unequal])
    best: tuple[float, Any, Any] = (-1.0, None, None)
    for beta in [*(-s[border]), -(s[0] + s[-1]) / 2]:
        distances = np.abs(s[border] + beta)
        for distance in distances[distances > 0]:
            kappa = 1 / distance  # the slopes may be too tiny for floats, so they are divided first
            v, w = floats(kappa * (s[unequal] + beta)), floats(kappa * (s[unequal + 1] + beta))
            gaps = floats(kappa * steps) / np.hypot(1, v) / np.hypot(1, w)
            if (least := float(gaps.min(initial=np.pi))) > best[0]:
                best = (least, kappa, beta)
    if best[1] is None:
        raise _OutOfPrecision
    return best[1], best[2]


# ------------------------------------------------------------------------------------------ a merging layer


def merged_layer(walk: Walk, arithmetic: Arithmetic) -> tuple[tuple[Array, Array], Walk, tuple[int, int]]:
    """The next layer: the parameters of the best candidate fold, the walk after it, and the pair merged."""
    planar = walk.points
    a = int(walk.movers()[0])
    strict = isinstance(arithmetic, Dyadic)
    candidates = list(_strict(walk, a) if strict else _candidates(walk, a))
    if not candidates:
        raise _OutOfPrecision
    b, half = np.array([c[0] for c in candidates]), arithmetic.array([c[1] for c in candidates])
    folds = Folds.of(planar, np.full(len(b), a), b, half, sense(planar))
    kappa = _onto_arcs(walk, folds, arithmetic)
    tangents, bounds = folds.images(kappa, walk.errors, arithmetic)
    if strict:
        k, order = 0, np.r_[a + 1 : len(walk.codes), 0:a]
    else:
        sides = np.where(folds.slope[np.arange(len(b)), b] > 0, 1, -1)
        k, order = _choice(walk, folds, tangents * -sides[:, None], bounds)
    codes = walk.codes[order]
    scale, beta = kappa[k], 0
    errors = bounds[k]
    if is_readable(codes):
        scale, beta = respacing(folds.slope[k][order], codes)
        errors = folds.images(np.full(len(b), scale), walk.errors, arithmetic, beta)[1][k]
    weight, bias = plane.space(*folds.matrix(k, scale, beta), arithmetic)
    weight, bias = arithmetic.rounded(weight), arithmetic.rounded(bias)
    points = plane.image(planar, weight, bias, arithmetic)
    errors[b[k]] += np.abs(points[a] - points[b[k]]).sum()  # by the rounded parameters a misses b by so much
    points = arithmetic.rounded(points[order])
    pair = (int(walk.samples[a]), int(walk.samples[b[k]]))
    after = replace(
        walk, points=points, codes=codes, samples=walk.samples[order],
        errors=arithmetic.upper(errors[order]), sinks=walk.sinks[order],
    )  # fmt: skip
    return (weight, bias), after, pair


def _onto_arcs(walk: Walk, folds: Folds, arithmetic: Arithmetic) -> Array:
    """Factors kappa (K,) that keep movers and sinks within a small arc on each side of the new cut.

    Sinks of finished classes may lie behind the walk. Seen from o they are on the other side of the cut, and
    one small arc for all would have to be squeezed by the width of the cut. No factor exceeds 1, which gives
    half the angles on the circle and so at worst halves all distances.
    """
    kept = walk.sinks.copy()
    kept[walk.movers()] = True
    kept[folds.a[0]] = False
    kappa = 1 / (arithmetic.array([np.tan(walk.arc)])[0] * np.abs(folds.slope[:, kept]).min(axis=1))
    capped: Array = np.where(kappa < 1, kappa, kappa * 0 + 1)
    return capped


def _behind(planar: Array, a: int) -> float:
    """Angle from a back to the point before it; a right angle at the cut."""
    return abs(float(angle_between(planar[a - 1], planar[a]))) if a > 0 else np.pi / 2


def _strict(walk: Walk, a: int) -> Iterator[tuple[int, Any]]:
    """The one fold whose near arc has a alone, however close its neighbours are; see `_candidates`.

    The distance of the neighbours may be too small for a float.
    """
    ahead = np.abs(walk.points[a + 1] - walk.points[a]).max()
    behind = np.abs(walk.points[a] - walk.points[a - 1]).max() if a > 0 else ahead
    yield walk.sink(a), (ahead if ahead < behind else behind) / 5


def _candidates(walk: Walk, a: int) -> Iterator[tuple[int, float]]:
    """Folds of a alone, or of a with up to two points ahead of it, onto its sink or an equal neighbour.

    A fold is given as the point b that a lands on, and the tangent of half the fold's reach.
    """
    behind, sink = _behind(walk.points, a), walk.sink(a)
    ahead = np.abs(angle_between(walk.points[a], walk.points[a : a + 4]))
    targets = [sink]
    if walk.codes[a + 1] == walk.codes[a] and a + 1 != sink:
        targets.append(a + 1)
    for b in targets:
        distance = abs(float(angle_between(walk.points[a], walk.points[b])))
        alone = min(ahead[1], behind)
        reaches = [share * alone for share in (0.15, 0.3, 0.5, 0.7)]
        if behind < 0.7 * ahead[1]:
            reaches += [share * ahead[1] for share in (0.3, 0.5, 0.7)]
        for j in range(1, min(3, b - a)):
            reaches += [ahead[j] + share * (ahead[j + 1] - ahead[j]) for share in np.linspace(0.2, 0.8, 7)]
        yield from ((b, float(np.tan(r / 2))) for r in reaches if 0 < r < 0.5 * distance)


def _choice(walk: Walk, folds: Folds, keys: Array, bounds: Array) -> tuple[int, NDArray[np.int64]]:
    """The index of the candidate with the least predicted damage, and the walking order after it."""
    n, rows = len(walk.codes), np.arange(len(folds.a))
    order = np.argsort(keys, axis=1, kind="stable")
    angles = np.arctan(np.take_along_axis(keys, order, 1))
    errors = np.take_along_axis(bounds, order, 1)
    codes = walk.codes[order]
    unequal = codes[:, 1:] != codes[:, :-1]
    ratios = np.where(unequal, (errors[:, 1:] + errors[:, :-1]) / np.diff(angles, axis=1), 0.0)
    # The predicted error of the movers: each is magnified by (distance / local spacing)^2 when it lands.
    movers = np.zeros(n, dtype=bool)
    movers[walk.movers()] = True
    movers = movers[order] & (order != folds.a[:, None])
    at = np.arange(n)
    low, high = np.clip(at - 3, 0, None), np.clip(at + 3, None, n - 1)
    spacing = (angles[:, high] - angles[:, low]) / (high - low)
    far = np.arctan(keys[rows, folds.b])[:, None] - angles
    landing = np.where(movers, 4 * far**2 / spacing**2 * errors, 0.0)
    # The walk would never reach a mover that lies beyond the sinks.
    sinks = walk.sinks[order] | (order == folds.a[:, None])
    last = np.where(sinks, at, -1).max(axis=1)
    beyond = at > last[:, None]
    cut_off = np.cumsum(beyond & (codes != codes[rows, last][:, None]), axis=1) > 0
    strays = (movers & cut_off).any(axis=1)
    cost = ratios.sum(axis=1) + landing.sum(axis=1)
    cost[strays | ~(bounds < 1).all(axis=1) | np.isnan(cost)] = np.inf
    k = int(np.argmin(cost))
    if not np.isfinite(cost[k]):
        raise _OutOfPrecision
    return k, order[k][order[k] != folds.a[k]]


# ------------------------------------------------------------------------------------------------ the methods


def _every_class(class_sizes: Sequence[int], general_position: bool) -> int:
    return max(1, sum(class_sizes) - 2)


def _all_but_one(class_sizes: Sequence[int], general_position: bool) -> int:
    merges = sum(class_sizes) - max(class_sizes) - len(class_sizes) + 1
    return max(1, merges) if general_position else merges + 1


PROJECTION_MERGE = Method(
    name="projection-merge",
    summary="the paper's: one pair a layer, every class is merged",
    build=partial(merge, minority=False),
    guaranteed_depth=_every_class,
)
MINORITY_MERGE = Method(
    name="minority-merge",
    summary="one pair a layer, the most frequent class stays where it is",
    build=partial(merge, minority=True),
    guaranteed_depth=_all_but_one,
)
