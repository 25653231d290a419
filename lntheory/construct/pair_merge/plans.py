"""First layers: the samples that they merge, and the centre from which they see the samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lntheory.base.types import FloatArray
from lntheory.construct import plane
from lntheory.construct.arithmetic import ROUNDING, Arithmetic, Array, Float64
from lntheory.construct.first_layer import first_layer
from lntheory.construct.pair_merge.task import Task, counts_after
from lntheory.construct.pair_merge.views import (
    ENOUGH,
    SAFE,
    CirclePoints,
    Stuck,
    Views,
    best_view,
    evenly_spread,
    lengths_of,
    lines_through,
    meeting_point,
    shaped,
)
from lntheory.construct.problem import Codes

__all__ = ["Plan", "lifted", "ranked_plans", "view_centres"]

PLANS, PLANS_SCORED, ATTEMPTS = 800, 100, 12
"""First layers drawn; how many of the most promising are scored; how many of the best are built on."""
CELLS = 16
"""Most samples of the plane, in two classes, for which every order seen from a centre is tried."""
SHALLOWEST, SHALLOW, HOPELESS = 1e6, 1e3, 1e5
"""Rank bonus of first layers after which no layer, or one, is needed; minus the rank of unusable ones."""


@dataclass(frozen=True)
class Plan:
    """A first layer without its shape: a projection to a plane, and there a centre where two lines meet.

    Attributes
    ----------
    centre : ndarray, shape (n_features,)
    plane : ndarray, shape (n_features, 2)
        A sample x goes to ``(x - centre) @ plane``.
    ends : ndarray of int, shape (4,)
        Samples through which the lines go, two for each line; -1 for an end that is in `places` instead.
    places : ndarray, shape (4, 2)
        Points of the plane, for the ends that are no samples.
    pairs : ndarray of int, shape (2, 2)
        Up to two pairs of samples that are merged; -1 for no pair.
    axis : int
        The homogeneous coordinate of the point where the lines meet that is smallest in absolute value.
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
    centre = meeting_point(lines_through(ends[:, 0], ends[:, 1]), lines_through(ends[:, 2], ends[:, 3]))
    centre = arithmetic.rounded(centre / lengths_of(centre)[:, None])
    other = arithmetic.array(np.eye(3)[axis])
    first = meeting_point(centre, other)
    first = arithmetic.rounded(first / lengths_of(first)[:, None])
    return np.stack([first, arithmetic.rounded(meeting_point(centre, first))], axis=1)


def ranked_plans(task: Task, depth: int, rng: np.random.Generator, lifts: bool = False) -> list[Plan]:
    """First layers after which `depth` layers suffice, the best first, those that float64 cannot judge last.

    If `lifts` is true, none of them merges samples. Directions are drawn for features of equal spread, so
    that the scale of the data has no influence.
    """
    scaled, n_all = task.X * task.scale, task.X.shape[1]
    centre = scaled[0] + (scaled - scaled[0]).mean(axis=0)
    spread = np.sqrt(np.mean(np.square(scaled - centre), axis=0))
    inverse = np.divide(1.0, spread, out=np.zeros(n_all), where=spread > 0)
    varying = np.eye(n_all)[:, spread > 0]
    n_features = varying.shape[1]
    n_planes = 1 if n_features <= 2 else 12
    ranked: list[tuple[float, Plan]] = []
    for _ in range(n_planes):
        mixing = np.eye(n_features, 2) if n_features <= 2 else rng.standard_normal((n_features, 2))
        mixing = varying @ mixing
        plane = inverse[:, None] * mixing / max(1.0, np.sqrt(n_features / 2))
        planar = (scaled - centre) @ plane
        samples, pairs = _first_chords(task, PLANS // n_planes, rng, lifts)
        noise = rng.standard_normal((len(samples), 4, 2)) * 10 ** rng.uniform(-2, 1, (len(samples), 1, 1))
        ends = np.where(np.repeat(pairs[:, :, 0] >= 0, 2, axis=1), samples, -1)
        ranked += _ranked(task, (scaled, centre, plane), ends, planar[samples] + noise, pairs, depth)
    best_rank = max((rank for rank, _ in ranked), default=0.0)
    few = task.n_classes == 2 and n_features == 2 and len(scaled) <= CELLS
    if few and best_rank < (SHALLOWEST if len(scaled) <= 8 else SHALLOW / 2):
        places = view_centres(planar)[:, None] + np.array([[0, 0], [1, 0], [0, 0], [0, 1]])
        nothing = np.full((len(places), 4), -1)
        pairs = nothing.reshape(-1, 2, 2)
        ranked += _ranked(task, (scaled, centre, plane), nothing, places, pairs, depth)
    order = np.argsort([-rank for rank, _ in ranked], kind="stable")
    return [ranked[i][1] for i in order]


def _ranked(
    task: Task, mapping: tuple[FloatArray, FloatArray, FloatArray], ends: Codes, places: FloatArray,
    pairs: Codes, depth: int,
) -> Iterator[tuple[float, Plan]]:  # fmt: skip
    """Those of K first layers (see `Plan`) after which `depth` layers suffice, each with its rank."""
    scaled, centre, plane = mapping
    planar = (scaled - centre) @ plane
    float64 = Float64()
    with float64.working():
        at = np.where(ends[..., None] < 0, places, planar[ends])
        meeting = meeting_point(lines_through(at[:, 0], at[:, 1]), lines_through(at[:, 2], at[:, 3]))
        axis = np.argmin(np.abs(meeting), axis=1)
        functions = _vanishing(at, axis, float64)
        vectors = planar @ np.swapaxes(functions[:, :, :2], 1, 2) + functions[:, None, :, 2]
        size = 1 + np.abs(scaled) @ np.abs(plane).sum(axis=1) + np.abs(centre) @ np.abs(plane).sum(axis=1)
        noise = np.broadcast_to(ROUNDING * float64.unit * size, vectors.shape[:2])
        views = Views(vectors, np.zeros(vectors.shape[:2]), noise, pairs).merged()
        order = views.order(float64)
        left = task.left(task.codes[order], counts_after(np.bincount(task.codes), task.codes, pairs))
        fit = np.flatnonzero((left <= depth) & ~on_opposite_sides(vectors, pairs).any(axis=1))
        fit = fit[np.argsort(np.minimum(left[fit], 2), kind="stable")][:PLANS_SCORED]
        views, order, left = views.take(fit), order[fit], left[fit]
        even = shaped(views, evenly_spread(views, float64), order, task.codes, float64)
    score = np.where(even.safety >= SAFE, np.maximum(even.score, -HOPELESS), -HOPELESS)
    score += np.where(even.safety >= ENOUGH, SHALLOWEST * (left == 0) + SHALLOW * (left == 1), 0.0)
    for rank, k in zip(score, fit, strict=True):
        yield float(rank), Plan(centre, plane, ends[k], places[k], pairs[k], int(axis[k]))


def view_centres(planar: FloatArray) -> FloatArray:
    """Centres (K, 2), at least one in each cell of the lines through two of the points `planar` (n, 2).

    They see the points in all orders in which a centre can see them. From each vertex of the arrangement a
    centre lies half the way to the next line, in each of the sectors between the lines through the vertex.
    """
    i, j = np.triu_indices(len(planar), 1)
    lines = lines_through(planar[i], planar[j])
    with np.errstate(all="ignore"):
        lines = lines / lengths_of(lines[:, :2])[:, None]
    lines = lines[np.isfinite(lines).all(axis=1)]  # leaves out samples that are equal in float64
    along = np.stack([-lines[:, 1], lines[:, 0]], axis=1)
    a, b = np.triu_indices(len(lines), 1)
    meeting = meeting_point(lines[a], lines[b])
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
    task: Task, most: int, rng: np.random.Generator, lifts: bool
) -> tuple[Codes, Codes]:  # fmt: skip
    """Samples (K, 4) through which or near which the two lines go, and the pairs (K, 2, 2) to merge."""
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


def on_opposite_sides(vectors: Array, pairs: Codes) -> NDArray[np.bool_]:
    """Whether the ends of each pair lie on opposite sides of the centre, shape (K, 2); False for no pair."""
    rows = np.arange(len(vectors))[:, None]
    towards = (vectors[rows, pairs[:, :, 0]] * vectors[rows, pairs[:, :, 1]]).sum(axis=-1)
    return np.asarray((pairs[:, :, 0] >= 0) & ~(towards > 0).astype(bool))


def lifted(
    task: Task, plan: Plan, depth: int, arithmetic: Arithmetic
) -> tuple[tuple[Array, Array], CirclePoints, tuple[tuple[int, int], ...]]:
    """The first layer of a plan: its weight and bias, the points after it, and the pairs merged.

    Raises `Stuck` if `depth` further layers do not suffice or no shape is safe in this arithmetic.
    """
    samples = arithmetic.array(task.X)
    scaled = samples * arithmetic.array(task.scale)
    rows, offsets = plan.rows(scaled, arithmetic)
    vectors = arithmetic.rounded(scaled @ rows.T + offsets)[None]
    pairs = plan.pairs[None]
    if on_opposite_sides(vectors, pairs).any():
        raise Stuck
    noise = (np.abs(scaled) @ np.abs(rows).T + np.abs(offsets)).sum(axis=1)[None] * (
        ROUNDING * arithmetic.unit
    )
    views = Views(vectors, vectors[..., 0] * 0, noise, pairs).merged()
    order = views.order(arithmetic)
    left = task.left(task.codes[order], counts_after(np.bincount(task.codes), task.codes, pairs))
    if left[0] > depth:
        raise Stuck
    _, best = best_view(views, left, order, task.codes, arithmetic)
    shape = arithmetic.rounded(best.shape)
    layer = first_layer(task.X, task.scale, shape @ rows, shape @ offsets, arithmetic)
    errors = layer.errors
    for a, b in plan.pairs[plan.pairs[:, 0] >= 0]:
        errors[b] = errors[a] if errors[a] > errors[b] else errors[b]
    start = CirclePoints(layer.planar, task.codes, np.arange(len(task.codes)), errors)
    images = plane.directions(layer.planar, arithmetic)
    after = start.after(images, errors, best.order, plan.pairs, arithmetic)
    merged = [(int(a), int(b)) for a, b in plan.pairs if a >= 0]
    return (layer.weight, layer.bias), after, tuple(merged)
