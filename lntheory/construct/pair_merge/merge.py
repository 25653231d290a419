r"""Pair merge: each layer merges two pairs of equal labels; half the depth of `minority-merge` [ours].

**The merge.** A layer sends z to the direction of ``A (z - o)``. Two non-crossing chords of the circle lie on
lines that meet outside the circle, or at infinity; with o that point, the ends of each chord are seen in one
direction and are merged, both pairs at once::

              a ·────────· b
            .´            `.             o = ê / w, with |w| < 1: the circle's image is
      o ·  (                )            (1 - w cos φ, sin φ), φ the angle of z from ê;
            `.            .´             w = 0 is the parallel projection, o at infinity
              c ·────────· d

Four or more points of one class have such chords (join cyclic neighbours), so one layer takes k points of a
class to k - 2. A single chord, with any second line, takes three points to two and two points to one.

**The depth.** Let ``f(1) = 0`` and ``f(k) = ceil(k / 2)`` for k >= 2: so many layers take a class of k points
of the circle to one point. The most frequent class may stay where it is, so after a lift to the circle
the *potential*, the sum of f over the other classes, is the number of layers still needed, and

* any distinct samples need at most ``1 + sum f(k_c)`` layers: ``1 + ceil(k / 2)`` for two classes;
* in general position (d >= 2) the first layer merges too, and ``max(1, sum f(k_c))`` suffice: two opposite
  sides of a convex quadrilateral (any five points contain one), or one pair of a class of two, three or an
  odd number. One layer more may be needed only if every other class has one point or four, and some four are
  a triangle with a point inside; nine points of the plane are known that need it.

**Shortcuts.** If two classes form four cyclic runs, one layer suffices: its centre o is where two lines
through the four gaps meet, and it sees the two runs that lie between the lines as one. A first layer whose
directions can be read out, or form four runs, is preferred. For up to 16 points of the plane in two classes,
every order in which a centre can see them is tried, so nets of one and two layers are found if they exist.

**Choice.** Free to choose are the chords, the second line of a single merge, and the shape A, which re-spaces
the directions. Each layer evaluates many choices, with error bounds as in `fold`, and takes the one with the
least ``3 log sum(error / gap) + log sum(1 / gap)`` over neighbours of unequal label. A centre on the line
through an unequal pair, or where three chords meet, has a gap of zero: then other chords are taken, or the
construction starts again with another lift, whose free shape breaks the coincidence.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from lntheory.circle.runs import is_readable
from lntheory.construct import plane
from lntheory.construct.arithmetic import ROUNDING, Arithmetic, Array, Dyadic, Float64
from lntheory.construct.built import Built, Method
from lntheory.construct.pair_merge.plans import ATTEMPTS, Plan, lifted, ranked_plans
from lntheory.construct.pair_merge.task import Task, counts_after, layers_needed
from lntheory.construct.pair_merge.views import (
    ENOUGH,
    SAFE,
    CirclePoints,
    Stuck,
    Views,
    best_view,
    cross,
    lengths_of,
    lines_through,
    meeting_point,
)
from lntheory.construct.problem import Codes, Problem
from lntheory.construct.readout import margin, readout
from lntheory.construct.target import FLOAT64
from lntheory.network import Layer

__all__ = ["PAIRS", "candidates", "next_layer", "pair_merge", "two_chords", "views_through"]

FOLDS, DYADIC_FOLDS = 192, 16
"""Number of folds evaluated for each layer, in float64 and in dyadic numbers."""
PRECISIONS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
"""Bits of the dyadic parameters that are tried if float64 does not suffice."""
GAPS = 8
"""Most cyclic runs, with three classes or more, for which all lines through two gaps are tried."""


def pair_merge(problem: Problem) -> Built:
    """Fit distinct samples by two merges a layer.

    Parameters
    ----------
    problem : Problem
        Its progress is called as ``progress(layers done, layers at most)``.

    Returns
    -------
    Built
        In float64 if a float64 net is found that is right in a plain float64 pass, else in dyadic numbers.

    Examples
    --------
    >>> X = np.column_stack([np.arange(8.0), np.arange(8.0) ** 2])
    >>> problem = Problem(X, np.arange(8) % 2, np.random.default_rng(0))
    >>> built = pair_merge(problem)
    >>> built.depth <= 3, built.is_proved(problem.X, problem.codes)
    (True, True)
    """
    task, rng = Task.of(problem.X, problem.codes, problem.progress), problem.rng
    early = max(1, task.potential)
    for depth, precisions in ((early, PRECISIONS[:3]), (early + 1, PRECISIONS)):
        plans = ranked_plans(task, depth - 1, rng, lifts=depth > early)
        built = _in_float64(task, plans, depth, rng) or _in_dyadic(task, plans, depth, precisions, rng)
        if built is not None:
            return built
    raise AssertionError("distinct samples can be lifted and merged at some precision")


# -------------------------------------------------------------------------------------- points of the circle


def views_through(
    state: CirclePoints, ends: Array, pairs: Codes, arithmetic: Arithmetic
) -> tuple[Views, Array, Array]:
    """K views from the points where the lines through the `ends` (K, 4, 2) meet, with matrices and offsets.

    The matrices have the shape (K, 2, 2), the offsets (K, 2). From ``o = e / w`` the direction of z is
    ``(1 - w cos, sin)``. Its length is between ``1 - |w|`` and 2, and changes by at most the change of
    z's angle.
    """
    meeting = meeting_point(lines_through(ends[:, 0], ends[:, 1]), lines_through(ends[:, 2], ends[:, 3]))
    far = lengths_of(meeting[:, :2])
    e, w = arithmetic.rounded(meeting[:, :2] / far[:, None]), arithmetic.rounded(meeting[:, 2] / far)
    z = state.points[None]
    cos = z[..., 0] * e[:, None, 0] + z[..., 1] * e[:, None, 1]
    sin = z[..., 1] * e[:, None, 0] - z[..., 0] * e[:, None, 1]
    vectors = np.stack([1 - w[:, None] * cos, sin], axis=-1)
    nearest = lengths_of(vectors) - state.errors
    errors = state.errors * (np.abs(cos - w[:, None]) + state.errors) / (nearest * nearest)
    outside = (np.abs(w) < 1)[:, None] & (nearest > 0)
    errors = np.where(outside, errors, arithmetic.array([np.inf])[0])
    noise = cos * 0 + 2 * ROUNDING * arithmetic.unit
    matrix = np.stack([-w[:, None] * e, np.stack([-e[:, 1], e[:, 0]], axis=-1)], axis=1)
    offset = np.stack([w * 0 + 1, w * 0], axis=-1)
    return Views(arithmetic.rounded(vectors), errors, noise, pairs).merged(), matrix, offset


def next_layer(
    task: Task, state: CirclePoints, depth: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> tuple[tuple[Array, Array], CirclePoints, tuple[tuple[int, int], ...]]:
    """The next layer: its weight and bias, the points after it, and the pairs merged.

    Raises `Stuck` if no candidate is safe after which `depth` further layers suffice.
    """
    n_folds = FOLDS if isinstance(arithmetic, Float64) else DYADIC_FOLDS
    for ends, pairs in candidates(task, state, depth, n_folds, arithmetic, rng):
        views, matrix, offset = views_through(state, ends, pairs, arithmetic)
        order = views.order(arithmetic)
        left = task.left(state.codes[order], counts_after(state.counts, state.codes, pairs))
        fit = np.flatnonzero(left <= depth)
        if not len(fit):
            continue
        try:
            k, best = best_view(views.take(fit), left[fit], order[fit], state.codes, arithmetic)
        except Stuck:
            continue
        break
    else:
        raise Stuck
    k = int(fit[k])
    shape = arithmetic.rounded(best.shape)
    weight, bias = plane.space(shape @ matrix[k], shape @ offset[k], arithmetic)
    weight, bias = arithmetic.rounded(weight), arithmetic.rounded(bias)
    images = plane.image(state.points, weight, bias, arithmetic)
    after = state.after(images, best.errors, best.order, pairs[k], arithmetic)
    merged = [(int(state.samples[a]), int(state.samples[b])) for a, b in pairs[k] if a >= 0]
    return (weight, bias), after, tuple(merged)


def candidates(
    task: Task,
    state: CirclePoints,
    depth: int,
    n_folds: int,
    arithmetic: Arithmetic,
    rng: np.random.Generator,
) -> Iterator[tuple[Array, Codes]]:
    """Batches of candidates: ends (K, 4, 2) of two lines, and the pairs (K, 2, 2) of points that are merged.

    First come lines through gaps, which merge nothing, then two pairs, then single pairs.
    """
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
    two = two_chords(several, len(state.codes), n_folds, rng)
    if len(two):
        yield state.points[two.reshape(-1, 4)], two
        more = two_chords(several, len(state.codes), 8 * n_folds, rng)
        if len(more) > len(two):
            yield state.points[more.reshape(-1, 4)], more
    yield _one_chord(state, several, n_folds, arithmetic, rng)


def two_chords(chords: Codes, n: int, most: int, rng: np.random.Generator) -> Codes:
    """Pairs of disjoint chords that do not cross, shape (K, 2, 2): all, or a random choice of at most `most`.

    `chords` (n_chords, 2) join points of a circle of n points. Half of a random choice is of short chords.
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
    state: CirclePoints, chords: Codes, most: int, arithmetic: Arithmetic, rng: np.random.Generator
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


def _between(state: CirclePoints, at: Codes, share: Array, arithmetic: Arithmetic) -> Array:
    """Points on the arcs from point `at` counter-clockwise to the next one, after this `share` of the arc."""
    n = len(state.codes)
    p, q = state.points[at % n], state.points[(at + 1) % n]
    middle = p + q
    # The middle lies along p + q, or opposite to it if the arc is longer than a half circle; near a half
    # circle, where p + q vanishes, it is found at right angles to the chord.
    turned = np.stack([q[..., 1] - p[..., 1], p[..., 0] - q[..., 0]], axis=-1)
    size, wide = lengths_of(middle), lengths_of(turned)
    flat = (size < wide)[..., None]
    middle = np.where(flat, turned / wide[..., None], middle / np.where(flat[..., 0], wide, size)[..., None])
    long = (cross(p, q) < 0)[..., None] & ~flat.astype(bool)
    middle = np.where(long, -middle, middle)
    half = share > 0.5
    start, end = np.where(half, middle, p), np.where(half, q, middle)
    part = np.where(half, 2 * share - 1, 2 * share)
    mixed = start * (1 - part) + end * part
    return arithmetic.rounded(mixed / lengths_of(mixed)[..., None])


def _through_gaps(
    state: CirclePoints, runs: Codes, most: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> Iterator[tuple[Array, Codes]]:
    """Pairs of lines, each through two gaps between runs: runs that lie between the two are seen as one."""
    lines = np.array(list(combinations(runs - 1, 2)))
    two = two_chords(lines, len(state.codes), most, rng)
    if not len(two):
        return
    two = np.repeat(two, max(1, most // len(two)), axis=0)
    share = arithmetic.array(rng.uniform(0.15, 0.85, (len(two), 4, 1)))
    at = np.where(two.reshape(-1, 4) < 0, len(state.codes) - 1, two.reshape(-1, 4))
    yield _between(state, at, share, arithmetic), np.full((len(two), 2, 2), -1)


# ---------------------------------------------------------------------------------------------- the whole


def _in_float64(task: Task, plans: list[Plan], depth: int, rng: np.random.Generator) -> Built | None:
    """The safest of several attempts, if any gives every sample its label in plain float64."""
    best: Built | None = None
    for plan in plans[:ATTEMPTS]:
        built = _build(task, plan, depth, Float64(), rng)
        if built is None or (best is not None and built.safety <= best.safety):
            continue
        if not built.is_carried(task.X, task.codes, FLOAT64, passes=0):
            continue
        best = built
        if best.safety >= ENOUGH:
            break
    return best


def _in_dyadic(
    task: Task, plans: list[Plan], depth: int, precisions: Sequence[int], rng: np.random.Generator
) -> Built | None:
    """A net of the lowest precision that suffices; None if none does."""
    for bits in precisions:
        for plan in plans[:ATTEMPTS]:
            built = _build(task, plan, depth, Dyadic(bits), rng)
            if built is not None and built.is_decided(task.X, task.codes):
                return built
    return None


def _build(
    task: Task, plan: Plan, depth: int, arithmetic: Arithmetic, rng: np.random.Generator
) -> Built | None:
    """First layer, folds until the labels can be read out, and read-out; None if the arithmetic fails."""
    try:
        with arithmetic.working():
            layer, state, merged = lifted(task, plan, depth - 1, arithmetic)
            layers, merges, safety = [layer], [merged], state.safety
            while not is_readable(state.codes):
                layer, state, merged = next_layer(task, state, depth - len(layers) - 1, arithmetic, rng)
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
    except Stuck:
        return None
    return Built(tuple(exported[:-1]), exported[-1], safety, tuple(merges))


# ------------------------------------------------------------------------------------------------ the method


def guaranteed_by_pairs(class_sizes: Sequence[int], general_position: bool) -> int:
    """A depth that pair merge never exceeds; see `lntheory.construct.guaranteed_depth`."""
    merged = sorted(class_sizes)[:-1]
    halves = sum(layers_needed(size) for size in merged)
    all_fours = 4 in merged and set(merged) <= {1, 4}
    return max(1, halves) if general_position and not all_fours else halves + 1


PAIRS = Method(
    name="pairs",
    summary="two pairs a layer, the most frequent class stays where it is",
    build=pair_merge,
    guaranteed_depth=guaranteed_by_pairs,
)
