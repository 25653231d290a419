r"""Fold search: the search for folds of the circle that bring many equal labels together at once [ours].

A layer sends z to the direction of ``A (z - o)``: from outside the circle, o sees it folded two-to-one onto
an arc (`plane`). Four numbers describe a fold: the tangents at ``c -/+ h`` in ``u = tan(angle / 2)``, and the
shape (beta, kappa) with which the layer before has spread its arc. Pair merges use them up for one or two
pairs of points; here simulated annealing of a local objective (`fold_kernel`) chooses all four::

       a b a a b · b a                 a a b · b b a        runs of equal labels disappear where the far and
      (───────────────)    ──────►     ─────────────►       the near chain fall into step: about a tenth of
       near    far                     one layer later      the layers that merges take

All samples are kept: the samples of a run fall close together, not onto each other, and a later fold may
part them again. The weights are rounded first and the points computed from the rounded weights, so that no
error accumulates unnoticed. Every point has an estimate of its rounding error, and *safety* is the smallest
ratio of gap to error between unequal labels, stated in bits. It only ever shrinks, from some 10 bits in
float32 after the first layer to the 1 bit that has to be left. So it is rationed: the fewer boundaries are
left, the less safety is wanted, and a fold is judged by the objective *and* by the safety that it loses::

    bits of safety   ·..
                        ·.        wanted: least * 2^(reserve * sqrt(boundaries left / at the beginning))
                          ·
             least  ┈┈┈┈┈┈┈·
                    ───────────► boundaries removed

The rounding errors of a layer are independent of those of its inputs, so their squares add up. Bounds, as in
`fold`, are some twenty times the actual errors, too much for float32: with them, no net for 200 samples is
found.

One *unit* of work is `STEPS` folds: one chain of annealing, or `SCOUTS` short ones. A run spends `CHAINS`
units on each layer (`MORE` from `MANY` samples on, which are fewer in float32), and as many again if the gain
is slight. It continues with the best fold; after some layers without a gain it returns to an earlier layer
and draws other chains. Runs from different first layers follow each other until the budget is spent or
`PATIENCE` runs in a row have found no shallower net; a run that cannot be shallower than the best net is
given up. The order of the units is fixed: a larger budget continues where a smaller one stopped, and the
number of threads has no influence.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from lntheory.base.parallel import OrderedMap, workers
from lntheory.base.types import Progress
from lntheory.circle.runs import is_readable
from lntheory.construct import plane
from lntheory.construct.arithmetic import Float64
from lntheory.construct.built import Built
from lntheory.construct.first_layer import first_layer, powers_of_two, projections
from lntheory.construct.fold_kernel import (
    DRAWS,
    FIRST,
    GAP,
    LAST,
    ROUNDED,
    RUN,
    SINGLE,
    Fold,
    anneal,
    begin,
    rated,
)
from lntheory.construct.gaps import arc_safety
from lntheory.construct.readout import readout
from lntheory.construct.target import PASSES, Target
from lntheory.network import Layer

__all__ = ["BUDGET", "CHAINS", "FoldSearch", "fold_search"]

BUDGET = 2400
"""Default budget of a search, in units of work."""
STEPS, POLISH = 20_000, 5
"""Folds tried in a unit; the last 1 / `POLISH` of a long chain has a price for the least safe gap."""
CHAINS, MORE, MANY = 12, 24, {"float64": 600, "float32": 100}
"""Units for each layer, and the larger number from `MANY` samples on, where safety is scarce."""
SCOUTS, STARTS = 16, 3
"""Short chains in a unit; 1 / `STARTS` of the steps of each are random folds, of which it takes the best."""
HOT, WARM, COLD = 3.0, 1.5, 0.3
"""Temperatures in bits: short chains cool from `HOT` to `WARM`, long ones from `WARM` to `COLD`."""
MILD, ICY = 1.0, 0.1
"""Temperatures in bits at the beginning and the end of the polish."""
LIFTS, ROUNDS, MUTANTS, PROMISING = 256, 24, 32, 8
"""First layers drawn; rounds of improvement; variations of the best in a round; how many are judged fully."""
SLIGHT = 5.0
"""If no fold lowers the score by so much, the layer is searched for once more."""
STALLED, BACK, RETURNS, PATIENCE = 4, 6, 4, 12
"""After more than `STALLED` layers without progress, a run goes back to before them and `BACK` layers further
(twice as many the second time, and so on), at most `RETURNS` times. The search ends after `PATIENCE` runs
without a shallower net."""
SOLID = 0.6
"""If the ends of runs are less than this share of the points, half of the chains keep runs whole."""
LEAST = 2.0
"""Least gap / error accepted; for two equal errors it is some six standard deviations of the gap's error."""
RESERVE, MOST_RESERVED = 0.085, 18.0
"""Bits of safety wanted beyond the least at the beginning: for each boundary, and at most."""
PRICE = 30.0
"""The cost of each bit by which an arc is less safe than wanted."""
SHAPES = np.linspace(-0.9, 0.9, 13), np.array([0.1, 0.5, 1, 2, 4, 8, 16, 40, 100, 300, 1000.0])
"""Shapes (beta, kappa) tried to spread the points of an arc."""

_Direction = tuple[NDArray[np.float64], NDArray[np.float64]]
FloatArray = NDArray[np.float64]
Codes = NDArray[np.int64]
EXACT = Float64()


@dataclass(frozen=True)
class Task:
    """The samples and labels to fit; `scale` holds the powers of two that bring every feature near 1.

    The safety wanted is `reserve` bits more than the least while there are `boundaries` boundaries of unequal
    labels, and decreases with their number.
    """

    X: FloatArray
    codes: Codes
    scale: FloatArray
    target: Target
    reserve: float = MOST_RESERVED
    boundaries: int = 1

    @property
    def unit(self) -> float:
        """The unit round-off of the target, doubled for float64, since the points here are in float64 too."""
        return self.target.unit * (2 if self.target.name == "float64" else 1)

    @property
    def chains(self) -> int:
        """The number of units for each layer."""
        return CHAINS if len(self.codes) < MANY[self.target.name] else MORE

    def wanted(self, boundaries: int) -> float:
        """The gap / error that is wanted when there are so many boundaries between unequal labels.

        Errors grow with the layers, so safety that is lost early is missing later.
        """
        left = min((boundaries / self.boundaries) ** 0.5, 1.0)
        return float(LEAST * 2.0 ** (self.reserve * left))

    def begun(self, arc: Arc) -> Task:
        """The task after this first layer: no more safety is wanted than the layer has."""
        safe = max(shaped(self, arc, *arc.spread()).safety() / LEAST, 1.0)
        reserve = min(RESERVE * len(arc.ends), MOST_RESERVED, float(np.log2(safe)))
        return replace(self, reserve=reserve, boundaries=max(1, len(arc.ends)))


@dataclass(frozen=True)
class Arc:
    """Points after a layer whose shape is still to be chosen.

    Attributes
    ----------
    before : ndarray, shape (n, d)
        The inputs of the layer: scaled samples, or points of the circle.
    errors : ndarray, shape (n,), or None
        Errors of the angles of `before`; None if `before` holds samples.
    rows, offset : ndarray, shapes (2, d) and (2,)
        ``(den, num) = rows @ before + offset``, den > 0.
    t : ndarray, shape (n,)
        ``num / den``, ascending from -1 to 1.
    samples, codes : ndarray of int, shape (n,)
        Index and label of the sample that each point belongs to.
    """

    before: FloatArray
    errors: FloatArray | None
    rows: FloatArray
    offset: FloatArray
    t: FloatArray
    samples: Codes
    codes: Codes

    @classmethod
    def of(
        cls,
        before: FloatArray,
        errors: FloatArray | None,
        rows: FloatArray,
        offset: FloatArray,
        samples: Codes,
        codes: Codes,
    ) -> Arc | None:
        """The arc with slopes sorted and mapped to [-1, 1]; None if all are equal, or a den is not > 0."""
        den, num = rows @ before.T + offset[:, None]
        slopes = num / den
        order = np.argsort(slopes, kind="stable")
        low, high = slopes[order[0]], slopes[order[-1]]
        if not (high > low and np.isfinite(high - low) and (den > 0).all()):
            return None
        middle, half = (low + high) / 2, (high - low) / 2
        rows = np.stack([rows[0], (rows[1] - middle * rows[0]) / half])
        offset = np.array([offset[0], (offset[1] - middle * offset[0]) / half])
        t = np.clip((slopes[order] - middle) / half, -1.0, 1.0)
        errors = None if errors is None else errors[order]
        return cls(before[order], errors, rows, offset, t, samples[order], codes[order])

    @property
    def ends(self) -> Codes:
        """Indices of the points whose label differs from that of the point before."""
        return np.flatnonzero(self.codes[1:] != self.codes[:-1]) + 1

    def spread(self, *, readable: bool = False) -> tuple[float, float]:
        """The shape (beta, kappa) that makes the product of the gaps between unequal labels largest.

        If `readable` is true, it makes the smallest gap largest instead.
        """
        at = self.ends
        a, b = self.t[at - 1], self.t[at]
        betas, kappas = SHAPES[0][:, None, None], SHAPES[1][None, :, None]
        angles = [np.arctan(kappas * (t + betas) / (1 + betas * t)) for t in (a, b)]
        gaps = np.maximum(angles[1] - angles[0], 1e-300)
        ranges = 2 * np.arctan(kappas)
        value = gaps.min(axis=2) if readable else np.log2(gaps / ranges).sum(axis=2)
        i, j = np.unravel_index(int(np.argmax(value)), value.shape)
        return float(SHAPES[0][i]), float(SHAPES[1][j])


@dataclass(frozen=True)
class ArcPoints:
    """Points of the circle after a layer, in order along their arc, and the rounded layer."""

    weight: FloatArray
    bias: FloatArray
    points: FloatArray
    errors: FloatArray
    samples: Codes
    codes: Codes

    def safety(self) -> float:
        """Smallest gap / error between points of unequal label; 0 if points are out of order."""
        return arc_safety(self.points, self.errors, self.codes)

    def fold(self, c: float, h: float) -> Arc | None:
        """The arc after the fold with tangents at ``c -/+ h``."""
        square = h * h + c * c
        rows = np.array([[(square - 1) / 2, -c], [-h * c, h]])
        offset = np.array([(square + 1) / 2, -h * c])
        size = max(1.0, square)
        return Arc.of(self.points, self.errors, rows / size, offset / size, self.samples, self.codes)


def shaped(task: Task, arc: Arc, beta: float, kappa: float) -> ArcPoints:
    """The layer with this shape, rounded, and the images of the points."""
    rows = np.stack([arc.rows[0] + beta * arc.rows[1], kappa * (arc.rows[1] + beta * arc.rows[0])])
    offset = np.array([arc.offset[0] + beta * arc.offset[1], kappa * (arc.offset[1] + beta * arc.offset[0])])
    size = np.sqrt(max((rows * rows).sum(), (offset * offset).sum()))
    rows, offset = rows / size, offset / size
    return (_from_samples if arc.errors is None else _from_circle)(task, arc, rows, offset)


def _from_samples(task: Task, arc: Arc, rows: FloatArray, offset: FloatArray) -> ArcPoints:
    """`shaped` for samples. The errors are twice a layer's own, since the samples may be rounded too."""
    layer = first_layer(
        task.X[arc.samples], task.scale, rows, offset, EXACT, rounded=task.target.rounded,
        largest_exponent=1000 if task.target.name == "float64" else 100,
        rounding=2 * ROUNDED * task.unit / EXACT.unit,
    )  # fmt: skip
    points = plane.directions(layer.planar, EXACT)
    return ArcPoints(layer.weight, layer.bias, points, layer.errors, arc.samples, arc.codes)


def _from_circle(task: Task, arc: Arc, rows: FloatArray, offset: FloatArray) -> ArcPoints:
    """`shaped` for points of the circle.

    An error is multiplied by the largest ``|d image / d angle|`` within it; the layer's rounding is added.
    """
    assert arc.errors is not None
    weight, bias = plane.space(rows, offset, EXACT)
    weight, bias = task.target.rounded(weight), task.target.rounded(bias)
    points = plane.image(arc.before, weight, bias, EXACT)
    seen = arc.before @ rows.T + offset
    turned = np.stack([-arc.before[:, 1], arc.before[:, 0]], axis=1) @ rows.T
    norm = np.sqrt((rows * rows).sum())
    length, moved = np.sqrt((seen * seen).sum(axis=1)), norm * arc.errors
    facing = np.abs(seen[:, 0] * turned[:, 1] - seen[:, 1] * turned[:, 0])
    nearest = length - moved
    passed = arc.errors * (facing + (length + moved) * moved) / (nearest * nearest)
    own = ROUNDED * task.unit * (norm + np.sqrt((offset * offset).sum())) / length
    errors = np.where(nearest > 0, np.sqrt(passed * passed + own * own), np.inf)
    return ArcPoints(weight, bias, points, errors, arc.samples, arc.codes)


# --------------------------------------------------------------------------------------------- one layer


@dataclass(frozen=True)
class _Node:
    """An arc, the layers before its own, the smallest gap / error so far, and a score (less is better)."""

    arc: Arc
    path: tuple[Layer, ...]
    safety: float
    score: float

    @property
    def depth(self) -> int:
        """Number of layers, the arc's own included."""
        return len(self.path) + 1


def local_objective(t: FloatArray, codes: Codes) -> float:
    """The objective of `fold_kernel` for ascending slopes and their labels; inf if unequal labels meet."""
    first = np.append(True, codes[1:] != codes[:-1])
    starts, ends = t[first], t[np.append(first[1:], True)]
    gaps = starts[1:] - ends[:-1]
    before, after = starts[1:] - starts[:-1], ends[1:] - ends[:-1]
    if len(gaps):
        before[0], after[-1] = max(before[0], 2 * gaps[0]), max(after[-1], 2 * gaps[-1])
    value = float(RUN * len(gaps) - GAP * np.log2(gaps * gaps / (before * after)).sum())
    return value if np.isfinite(value) else np.inf


def _node(task: Task, arc: Arc | None, path: tuple[Layer, ...], safety: float) -> _Node | None:
    """The node of an arc, scored by its objective and by the safety of its gaps when it is spread.

    The result is None if there is no arc, or it is not safe.
    """
    if arc is None:
        return None
    shape = arc.spread(readable=is_readable(arc.codes))
    now = shaped(task, arc, *shape).safety()
    if not min(safety, now) >= LEAST:
        return None
    lost = max(0.0, float(np.log2(task.wanted(len(arc.ends)) / now)))
    score = local_objective(arc.t, arc.codes) + PRICE * lost
    return _Node(arc, path, safety, score) if np.isfinite(score) else None


@dataclass(frozen=True)
class _Board:
    """The points on which folds are tried: all points of a shaped arc, or only the ends of its runs.

    The fields are the arguments of `fold_kernel.anneal`.
    """

    t: FloatArray
    codes: Codes
    kind: Codes
    errors: FloatArray
    unit: float
    safe: float
    kappa: float

    @classmethod
    def of(cls, task: Task, arc: Arc, beta: float, kappa: float, *, whole: bool) -> _Board:
        """The board of an arc whose slopes t are mapped to ``(t + beta) / (1 + beta t)``.

        If `whole` is true, runs of equal labels are kept whole and only their ends are points of the board.
        """
        t = (arc.t + beta) / (1 + beta * arc.t)
        errors = shaped(task, arc, beta, kappa).errors * (1 + (kappa * t) ** 2) / kappa
        codes, kind = arc.codes, np.full(len(t), SINGLE)
        if whole:
            first = np.append(True, codes[1:] != codes[:-1])
            last = np.append(first[1:], True)
            kind = np.where(first & last, SINGLE, np.where(first, FIRST, LAST))
            t, codes, kind, errors = (part[first | last] for part in (t, codes, kind, errors))
        return cls(t, codes, kind, errors, task.unit, task.wanted(len(arc.ends)), kappa)

    def scout(self, seed: list[int]) -> Fold:
        """The best of some random folds, improved by a short chain."""
        rng = np.random.default_rng(seed)
        steps = max(2, STEPS // SCOUTS)
        draws = self._draws(rng, max(1, steps // STARTS))
        fold = begin(self.t, self.codes, self.kind, self.errors, self.unit, self.safe, self.kappa, draws)
        return self._chain(rng, steps - len(draws), HOT, WARM, 0.0, fold)

    def follow(self, fold: Fold, seed: list[int]) -> Fold:
        """A long chain from this fold, and a polish of the best fold of the chain."""
        rng = np.random.default_rng(seed)
        last = STEPS // POLISH
        fold = self._chain(rng, STEPS - last, WARM, COLD, 0.0, fold)
        fold = rated(self.t, self.codes, self.kind, self.errors, self.unit, self.safe, PRICE, fold)
        return self._chain(rng, last, MILD, ICY, PRICE, fold)

    def _chain(
        self, rng: np.random.Generator, steps: int, hot: float, cold: float, price: float, fold: Fold
    ) -> Fold:
        """The best fold of an annealing chain."""
        draws = self._draws(rng, steps)
        scales, limits = np.exp(rng.uniform(-10, 0, steps)), rng.standard_exponential(steps)
        heats = hot * (cold / hot) ** np.linspace(0, 1, steps)
        return anneal(
            self.t, self.codes, self.kind, self.errors, self.unit, self.safe, price,
            fold, draws, scales, limits, heats,
        )  # fmt: skip

    def _draws(self, rng: np.random.Generator, steps: int) -> FloatArray:
        draws = rng.random((steps, DRAWS))
        draws[:, [2, 4]] = np.floor(len(self.t) ** draws[:, [2, 4]]) + 1
        draws[:, 6] = rng.standard_normal(steps)
        return draws


def _children(task: Task, node: _Node, units: int, seed: list[int], ordered_map: OrderedMap) -> list[_Node]:
    """The nodes after one more fold, one for each long chain whose fold is safe.

    Half of the units go to scouts, `SCOUTS` for each unit; the best scouts are followed, one for each unit.
    """
    arc = node.arc
    beta, kappa = arc.spread()
    boards = [_Board.of(task, arc, beta, kappa, whole=False)]
    if 2 * (len(arc.ends) + 1) < SOLID * len(arc.t):
        boards.append(_Board.of(task, arc, beta, kappa, whole=True))

    def scout(number: int) -> Fold:
        return boards[number % len(boards)].scout([*seed, number])

    def follow(number: int) -> Fold:
        return boards[number % len(boards)].follow(scouted[number], [*seed, number, 1])

    scouted = list(ordered_map(scout, range(units // 2 * SCOUTS)))
    promising = sorted(range(len(scouted)), key=lambda number: scouted[number][0])
    children = []
    for _, more, shape, c, h in ordered_map(follow, promising[: units - units // 2]):
        points = shaped(task, arc, (beta + more) / (1 + beta * more), shape)
        safety = min(node.safety, points.safety())
        if safety >= LEAST:
            path = (*node.path, Layer(points.weight, points.bias))
            child = _node(task, points.fold(c, h), path, safety)
            if child is not None:
                children.append(child)
    return children


# ------------------------------------------------------------------------------------------ the first layer


def best_lift(task: Task, rng: np.random.Generator) -> Arc | None:
    """The best first layer found: a random projection, improved by small changes.

    In two or more dimensions it folds too: labels far apart in the plane may get neighbouring slopes.
    """
    scaled = task.X * task.scale
    movable = np.ones(len(task.codes), dtype=bool)
    drawn = list(islice(projections(scaled, task.codes, movable, False, rng), LIFTS))
    centre = drawn[0].centre

    def lifted(direction: _Direction) -> Arc | None:
        u, w = direction
        if not (1 - (scaled - centre) @ w > 0).all():
            return None
        rows, offset = np.stack([-w, u]), np.array([1 + w @ centre, -(u @ centre)])
        return Arc.of(scaled, None, rows, offset, np.arange(len(scaled)), task.codes)

    tried = [(lift.u, lift.w) for lift in drawn]
    sizes = np.abs([u for u, _ in tried]).mean(axis=0), np.abs([w for _, w in tried]).mean(axis=0)
    best: tuple[_Node, _Direction] | None = None
    for _ in range(ROUNDS if task.X.shape[1] > 1 else 1):
        arcs = [(arc, direction) for direction in tried if (arc := lifted(direction)) is not None]
        arcs.sort(key=lambda pair: local_objective(pair[0].t, pair[0].codes))
        for arc, direction in arcs[:PROMISING]:
            node = _node(task, arc, (), np.inf)
            if node is not None and (best is None or node.score < best[0].score):
                best = node, direction
        if best is None:
            return None
        steps = np.exp(rng.uniform(-10, -1, (MUTANTS, 1)))
        changes = [steps * size * rng.standard_normal((MUTANTS, len(centre))) for size in sizes]
        tried = [(best[1][0] + u, best[1][1] + w) for u, w in zip(*changes, strict=True)]
    return None if best is None else best[0].arc


# ------------------------------------------------------------------------------------------------- the whole


def _read_out(task: Task, node: _Node) -> Built | None:
    """The finished net, or None if it is not safe or not right in the target arithmetic."""
    points = shaped(task, node.arc, *node.arc.spread(readable=True))
    n_classes = int(task.codes.max()) + 1
    if not (safety := min(node.safety, points.safety())) >= LEAST:
        return None
    weight, bias = readout(points.points, points.codes, n_classes, EXACT)
    layers = (*node.path, Layer(points.weight, points.bias))
    built = Built(layers, Layer(task.target.rounded(weight), task.target.rounded(bias)), safety)
    return built if built.is_carried(task.X, task.codes, task.target, passes=PASSES) else None


@dataclass
class _Budget:
    """The units of work of a search: the total, and those spent."""

    total: int
    progress: Progress | None
    should_stop: Callable[[], bool] | None = None
    spent: int = 0
    stopped: bool = False

    def take(self, units: int) -> int:
        """Spend up to so many units and return how many were left to spend; 0 once the search should stop."""
        self.stopped = self.stopped or (self.should_stop is not None and self.should_stop())
        if self.stopped:
            return 0
        units = min(units, self.total - self.spent)
        self.spent += units
        return units

    def report(self) -> None:
        if self.progress is not None:
            self.progress(self.spent, self.total)


def _tried(
    task: Task, node: _Node, seed: list[int], budget: _Budget, ordered_map: OrderedMap
) -> list[_Node] | None:  # fmt: skip
    """Children of one attempt, or of two if the gain of the first is slight; None if the budget is spent."""
    children: list[_Node] = []
    for attempt in range(2):
        if any(child.score <= node.score - SLIGHT for child in children):
            break
        if budget.take(task.chains) < task.chains:
            return None
        children += _children(task, node, task.chains, [*seed, attempt], ordered_map)
        budget.report()
    return children


def _run(task: Task, seed: list[int], budget: _Budget, below: int, ordered_map: OrderedMap) -> Built | None:
    """One run: a net of fewer than `below` layers from one first layer, or None."""
    arc = best_lift(task, np.random.default_rng(seed))
    if arc is not None:
        task = task.begun(arc)
    start = _node(task, arc, (), np.inf)
    trail = [] if start is None else [start]
    best, stalled, returns = np.inf, 0, 0
    while trail and trail[-1].depth < below:
        node = trail[-1]
        if is_readable(node.arc.codes):
            built = _read_out(task, node)
            if built is not None:
                return built
        if node.depth + 1 >= below:
            return None
        children = _tried(task, node, [*seed, returns, node.depth], budget, ordered_map)
        if children is None:
            return None
        child = min(children, key=lambda child: child.score, default=None)
        if child is not None:
            trail.append(child)
            best, stalled = (child.score, 0) if child.score < best else (best, stalled + 1)
        if child is None or stalled > STALLED:
            returns += 1
            if returns > RETURNS:
                return None
            del trail[max(1, len(trail) - stalled - BACK * returns) :]
            best, stalled = trail[-1].score, 0
    return None


@dataclass(frozen=True)
class FoldSearch:
    """The result of a search: the shallowest net, if any, and the work spent.

    Attributes
    ----------
    built : Built or None
        The shallowest net; None if no run was completed within the budget, or none was shallow enough.
    units, runs : int
        The units of work and the number of runs spent.
    """

    built: Built | None
    units: int
    runs: int


def fold_search(
    X: FloatArray,
    codes: Codes,
    *,
    seed: int,
    budget: int = BUDGET,
    target: str = "float64",
    below: int | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FoldSearch:
    """Search for a shallow net that is right in plain floating-point arithmetic.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Distinct samples.
    codes : ndarray of int, shape (n_samples,)
        Labels ``0 .. C - 1``, C >= 2, all present.
    seed : int
    budget : int
        Units of work, of `STEPS` folds each. A larger budget never gives a deeper net.
    target : {"float64", "float32"}
        The arithmetic in which the net has to be right.
    below : int, optional
        Only nets of fewer layers than this are searched for.
    n_jobs : int
        Number of threads; it has no influence on the result.
    progress : callable, optional
        Called as ``progress(units spent, budget)``.
    should_stop : callable, optional
        Called between layers; once it returns True, the search ends as if the units spent were the budget.

    Returns
    -------
    FoldSearch

    Examples
    --------
    >>> angles = 2 * np.pi * np.arange(8) / 8
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> search = fold_search(X, np.arange(8) % 2, seed=0, budget=24)
    >>> search.built.depth
    2
    """
    task = Task(X, codes, powers_of_two(X), Target.of(target))
    most = 2 * len(X) if below is None else below  # a run that needs more than pairs do is of no use
    work, best, runs, useless = _Budget(budget, progress, should_stop), None, 0, 0
    enough = 0  # with no more units than this, a further run is not worth starting
    with np.errstate(all="ignore"), workers(n_jobs, engine="threads") as ordered_map:
        while budget - work.spent > enough and not work.stopped and most > 1 and useless < PATIENCE:
            before = work.spent
            built = _run(task, [seed, runs], work, most, ordered_map)
            useless += 1
            if built is not None:
                best, most, useless, enough = built, built.depth, 0, (work.spent - before) // 2
            runs += 1
    return FoldSearch(best, work.spent, runs)
