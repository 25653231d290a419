"""From labelled samples to an explicit LN-Net of width 3 that gives every sample its label.

::

    X, y ──► distinct? ──► one class? ──► linearly separable? ──► projection-merge ──► LNNet
             (else error)   depth 0         depth 0                 one merge a layer
                                                      ├──► pairs               two merges a layer
                                                      └──► fold                searched for
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array

from lntheory.base.validation import as_count, as_exact_samples, as_seconds, as_seed, encode_labels
from lntheory.construct.lift import powers_of_two
from lntheory.construct.pair_merge import CELLS, PairConstruction, layers_needed, pair_merge
from lntheory.construct.projection_merge import Construction, merge
from lntheory.construct.target import TARGETS, Target
from lntheory.errors import ConflictingLabelsError, InvalidInputError, RefutedError, UndecidedError
from lntheory.exact import certify
from lntheory.network import Label, Layer, LNNet
from lntheory.network.labels import as_label

__all__ = ["METHODS", "guaranteed_depth", "shatter"]

METHODS = ("auto", "fold", "pairs", "minority-merge", "projection-merge")
SEARCHING = ("fold", "auto")
QUICK = 300
"""Samples up to which two pairs a layer are merged in less time than fold search takes for a layer or two."""
AUTO_BUDGET = {"float64": 600, "float32": 2400}
"""Most units that ``"auto"`` spends on fold search by itself: more where merges hardly ever do."""
UNITS_A_BIT = {"float64": 1.3, "float32": 4.0}
"""Units that a bit of the labels may take."""

FloatArray = NDArray[np.float64]
Codes = NDArray[np.int64]

if TYPE_CHECKING:
    from lntheory.construct.fold_search import FoldConstruction

    _Found = PairConstruction | Construction | FoldConstruction


def shatter(
    X: ArrayLike,
    y: Iterable[Any],
    *,
    method: str = "auto",
    random_state: int | np.random.Generator = 0,
    budget: int | None = None,
    time_limit: float | None = None,
    target: str = "float64",
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> LNNet:
    """An explicit width-3 LN-Net that fits any labels of distinct samples (the paper's Theorem 2, shallower).

    The net is constructed, not trained. `lntheory.exact.certify` proves that it is right, and imports
    nothing from here.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        Finite numbers. Equal samples must carry equal labels.
    y : sequence of str, int, float or bool, shape (n_samples,)
        Any number of classes.
    method : {"auto", "fold", "pairs", "minority-merge", "projection-merge"}
        ``"projection-merge"`` is the paper's: every class is merged, at most ``max(1, m - 2)`` layers for m
        distinct samples. ``"minority-merge"`` leaves the most frequent class where it is, and ``"pairs"``
        also merges two pairs a layer: see `guaranteed_depth`. All stop as soon as the labels can be read out.
        ``"fold"`` searches for folds that bring many equal labels together at once: far shallower, and
        seconds to minutes of work. It is never deeper than what is proved of ``"pairs"``, nor, for up to 300
        samples, than what ``"pairs"`` finds; of more samples it follows the first attempt of ``"pairs"`` as
        far as its own depth.
        ``"auto"`` takes the shallowest of what is within the budget: up to 300 samples ``"pairs"``, and
        ``"fold"`` unless ``"pairs"`` is as shallow as can be or the budget hardly suffices; where neither
        leads to a net, ``"minority-merge"``.
    random_state : int or numpy Generator
        The same seed and budget give the same net.
    budget : int, optional
        Units of work that ``"fold"`` and ``"auto"`` spend on the search; a unit is 20,000 folds tried, some
        0.01 to 0.1 s. By default 2400 for ``"fold"``, and for ``"auto"`` what random labels are likely to
        take, or none if that is more than 600: for more than some 460 samples of two balanced classes, or
        140 of ten. Three times as many for ``target="float32"``, or none if that is more than 2400. More
        never gives a deeper net.
    time_limit : float, optional
        Seconds after which ``"fold"`` and ``"auto"`` search no further. The search stops between layers only,
        and as if the units spent so far, ``net.provenance["units"]``, had been its budget: that budget
        gives the same net again. The merges are not limited.
    target : {"float64", "float32"}
        The arithmetic in which the net of ``"fold"`` or ``"auto"`` has to be right: in a plain forward pass,
        and in sixteen more whose rounding errors are drawn at random. ``"float32"`` goes to some 300 samples
        of random labels. Where no such net is found, the merges' float64 or dyadic one is returned;
        ``net.provenance["target"]`` says which it is.
    n_jobs : int
        Threads for fold search; immaterial for the net.
    progress : callable, optional
        Called as ``progress(merges or units done, at most)``; starts afresh if the construction tries again.

    Returns
    -------
    LNNet
        Of depth 0 if the classes are separated by affine scores. ``net.arithmetic`` is ``"float64"`` where
        the plain float64 forward pass gives every sample its label, else ``"dyadic"``: wider parameters,
        needed where thousands of samples or nearly equal samples exceed what float64 can carry.
        ``net.provenance`` holds the method, the seed, the pair of samples merged by each layer (of
        ``"pairs"``: a list of pairs; folds merge none) and the smallest ratio of gap to error met on the way,
        to a bound of the error where samples are merged, to two standard deviations of it where folds were
        searched for. Of ``"fold"`` and ``"auto"`` also the construction taken, the depth to which each one
        tried came (None: to no net, or to none shallower), why others were not tried, and the units and runs
        spent.

    Raises
    ------
    ConflictingLabelsError
        If two equal samples carry different labels; names both.
    InvalidInputError
        For NaN, infinities, wrong shapes, no samples, unusable labels, or options that do not exist.

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).

    Examples
    --------
    >>> net = shatter([[0, 0], [1, 1], [0, 1], [1, 0]], ["even", "even", "odd", "odd"])
    >>> net.depth, net.width, net.predict([[0, 1], [1, 1]]).tolist()
    (1, 3, ['odd', 'even'])
    """
    _check_options(method, budget, time_limit, target, n_jobs)
    samples = as_exact_samples(X)
    codes, classes = _classes(y, len(samples))
    kept = _distinct(samples, codes, classes)
    rng, seed = _generator(random_state)
    provenance: dict[str, Any] = {"method": method, "seed": seed}
    X, codes = samples[kept], codes[kept]
    readout = _depth_zero(X, codes, len(classes))
    if readout is not None:
        return LNNet((), readout, classes, provenance={**provenance, "merges": []})
    found: _Found
    if method == "pairs":
        found = pair_merge(X, codes, rng=rng, progress=progress)
    elif method in SEARCHING:
        search = _Search(X, codes, method, budget, time_limit, target, n_jobs, progress)
        found, told = search.run(rng)
        provenance |= told
    else:
        found = merge(X, codes, minority=method == "minority-merge", rng=rng, progress=progress)
    if isinstance(found, PairConstruction):
        provenance["merges"] = [[[int(kept[i]) for i in pair] for pair in layer] for layer in found.merges]
    elif isinstance(found, Construction):
        provenance["merges"] = [[int(kept[i]) for i in pair] for pair in found.merges]
    provenance["safety"] = found.safety
    return LNNet(found.layers, found.readout, classes, provenance=provenance)


def guaranteed_depth(
    class_sizes: Sequence[int], *, method: str = "auto", general_position: bool = False
) -> int:
    """Depth that a construction never exceeds, from the numbers of distinct samples in each class.

    Parameters
    ----------
    class_sizes : sequence of int
        Distinct samples a class, each at least 1.
    method : {"auto", "fold", "pairs", "minority-merge", "projection-merge"}
    general_position : bool
        Whether, after a generic projection to the plane (so n_features >= 2), no three samples are collinear
        and no three lines through disjoint pairs of samples are concurrent or parallel.

    Returns
    -------
    int
        With m samples in C >= 2 classes, k of them outside the largest: ``max(1, m - 2)`` for
        ``"projection-merge"``; for ``"minority-merge"`` and ``"auto"`` ``max(1, k - C + 1)`` in general
        position, else ``k - C + 2`` (k - 1 and k for two classes); for ``"pairs"`` and ``"fold"``, with s the
        sum of ``ceil(k_c / 2)`` over the other classes of two or more samples, ``max(1, s)`` in general
        position, else ``s + 1``
        (ceil(k / 2) and one more for two classes). Classes of four samples, if there are no others but single
        ones, count as not in general position: in the plane one of the four may lie inside the triangle of
        the rest. 0 for one class.

    Examples
    --------
    >>> guaranteed_depth([50, 50]), guaranteed_depth([50, 50], general_position=True)
    (50, 49)
    >>> guaranteed_depth([50, 50], method="projection-merge")
    98
    """
    sizes = [int(size) for size in class_sizes]
    if not sizes or min(sizes) < 1:
        raise InvalidInputError(f"class_sizes={sizes}; give one positive number a class")
    if method not in METHODS:
        raise InvalidInputError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    if len(sizes) == 1:
        return 0
    if method == "projection-merge":
        return max(1, sum(sizes) - 2)
    if method in ("pairs", "fold"):
        merged = sorted(sizes)[:-1]
        halves = sum(layers_needed(size) for size in merged)
        all_fours = 4 in merged and set(merged) <= {1, 4}
        return max(1, halves) if general_position and not all_fours else halves + 1
    merges = sum(sizes) - max(sizes) - len(sizes) + 1
    return max(1, merges) if general_position else merges + 1


# ------------------------------------------------------------------------------------------- fold and auto


class _DeepEnough(Exception):
    """A construction has come to the depth at which it is of no more use."""


@dataclass(frozen=True)
class _Search:
    """What ``"fold"`` and ``"auto"`` are asked for: the shallowest net of several constructions.

    ::

        up to QUICK samples:    pairs ──► fold, if it may be shallower ──► the shallowest
        more:    fold, if within the budget ──► found: pairs up to its depth ──► the shallowest
                                            └─► none:  pairs ("fold"), minority-merge ("auto")
    """

    X: FloatArray
    codes: Codes
    method: str
    budget: int | None
    time_limit: float | None
    target: str
    n_jobs: int
    progress: Callable[[int, int], None] | None

    def run(self, rng: np.random.Generator) -> tuple[_Found, dict[str, Any]]:
        """The construction taken, and what the provenance says of it.

        Merges begin with the generator as it was, so they are those of ``"pairs"`` and ``"minority-merge"``.
        """
        start, twin, seed = time.monotonic(), copy.deepcopy(rng), int(rng.integers(2**63))
        found: dict[str, _Found | None] = {}
        budget = self.units
        told: dict[str, Any] = {"units": 0, "runs": 0, "budget": budget}
        if self.time_limit is not None:
            told["time_limit"] = float(self.time_limit)
        if len(self.X) <= QUICK:
            found["pairs"] = pair_merge(self.X, self.codes, rng=twin, progress=self.progress)
        pairs = found.get("pairs")
        useful = pairs is not None and self._is_right(pairs)
        if pairs is not None and useful and (why := _why_no_shallower(self.X, self.codes, len(pairs.layers))):
            told["untried"] = {"fold": why}
        elif not budget:
            told["untried"] = {"fold": f"would hardly end within {AUTO_BUDGET[self.target]} units"}
        else:
            from lntheory.construct.fold_search import fold_search  # numba takes a while to load

            limit = math.inf if self.time_limit is None else start + self.time_limit
            search = fold_search(
                self.X, self.codes, seed=seed, budget=budget, target=self.target,
                below=len(pairs.layers) if pairs is not None and useful else self.guaranteed + 1,
                n_jobs=self.n_jobs, progress=self.progress, should_stop=lambda: time.monotonic() >= limit,
            )  # fmt: skip
            found["fold"] = search.found if search.found is not None and self._proved(search.found) else None
            told |= {"units": search.units, "runs": search.runs}
        if len(self.X) > QUICK:
            found |= self._merged(found.get("fold"), twin)
        return self._chosen(found, told)

    @property
    def units(self) -> int:
        """Units that the search may spend; 0 if there is to be none."""
        if self.budget is not None:
            return self.budget
        if self.method == "fold":
            from lntheory.construct.fold_search import BUDGET

            return BUDGET
        shares = np.bincount(self.codes) / len(self.codes)
        reckoned = UNITS_A_BIT[self.target] * -(shares * np.log2(shares)).sum() * len(self.codes)
        return math.ceil(reckoned) if reckoned <= AUTO_BUDGET[self.target] else 0

    @property
    def guaranteed(self) -> int:
        """Depth of pairs at most; of many samples as if in general position, so that it holds there too."""
        sizes = np.bincount(self.codes).tolist()
        return guaranteed_depth(sizes, method="pairs", general_position=len(self.X) > QUICK)

    def _merged(self, fold: _Found | None, rng: np.random.Generator) -> dict[str, _Found | None]:
        """The merges of many samples: as deep as the net found already they are of no use."""
        if fold is None and self.method == "auto":
            merged = merge(self.X, self.codes, minority=True, rng=rng, progress=self.progress)
            return {"minority-merge": merged}

        def watch(done: int, total: int) -> None:
            if fold is not None and done >= len(fold.layers):
                raise _DeepEnough
            if self.progress is not None and fold is None:
                self.progress(done, total)

        try:
            return {"pairs": pair_merge(self.X, self.codes, rng=rng, progress=watch)}
        except _DeepEnough:
            return {"pairs": None}

    def _chosen(
        self, found: dict[str, _Found | None], told: dict[str, Any]
    ) -> tuple[_Found, dict[str, Any]]:  # fmt: skip
        """The shallowest of those that are right in the target, or of all; of equals the merges."""
        nets = {name: net for name, net in found.items() if net is not None}
        right = {name: net for name, net in nets.items() if self._is_right(net)}
        name, net = min((right or nets).items(), key=lambda item: (len(item[1].layers), item[0] == "fold"))
        tried = {name: None if net is None else len(net.layers) for name, net in found.items()}
        target = self.target if name in right else "float64"
        return net, {"construction": name, "tried": tried, **told, "target": target}

    def _proved(self, found: _Found) -> bool:
        """Whether the net is certified: what was found by searching is not taken on trust."""
        net = LNNet(found.layers, found.readout, tuple(range(int(self.codes.max()) + 1)))
        try:
            certify(net, self.X, self.codes)
        except (RefutedError, UndecidedError):
            return False
        return True

    def _is_right(self, found: _Found) -> bool:
        """Whether the net is right in the target; for float64 a dyadic one is, as no other is needed then."""
        if self.target == "float64":
            return True
        net = LNNet(found.layers, found.readout, tuple(range(int(self.codes.max()) + 1)))
        return Target.of(self.target).carries(net, self.X, self.codes)


def _why_no_shallower(X: FloatArray, codes: Codes, depth: int) -> str | None:
    """Why there is hardly a net of fewer layers, if there is a reason; no affine scores were found before.

    On a line the difference of two scores changes sign at most 2^L times at depth L. Of few samples of the
    plane in two classes `pair_merge` tries all first layers, so that it has found depth 1 if anybody can.
    """
    varying = np.flatnonzero((X[0] != X).any(axis=0))
    if len(varying) == 1:
        along = codes[np.argsort(X[:, varying[0]])]
        changes = max(
            np.count_nonzero(np.diff(along[(along == c) | (along == e)]))
            for c, e in combinations(range(int(codes.max()) + 1), 2)
        )
        if changes > 2 ** (depth - 1):
            return "no net is shallower"
    if depth == 1:
        return "affine scores were tried"
    if depth == 2 and len(varying) == 2 and codes.max() == 1 and len(X) <= CELLS:
        return "all first layers were tried"
    return None


# ------------------------------------------------------------------------------------------------ the input


def _check_options(
    method: str, budget: int | None, time_limit: float | None, target: str, n_jobs: int
) -> None:  # fmt: skip
    if method not in METHODS:
        raise InvalidInputError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    if target not in TARGETS:
        raise InvalidInputError(f"target={target!r}; choose one of {', '.join(TARGETS)}")
    if method not in SEARCHING and not (budget is None and time_limit is None and target == "float64"):
        raise InvalidInputError(
            f"budget, time_limit and target are for {' and '.join(SEARCHING)}, not for {method}"
        )
    if time_limit is not None:
        as_seconds(time_limit, "time_limit")
    if budget is not None:
        as_count(budget, "budget", 1)
    as_count(n_jobs, "n_jobs", 1)


def _classes(y: Iterable[Any], n_samples: int) -> tuple[Codes, tuple[Label, ...]]:
    """Codes and classes, sorted where the labels can be compared."""
    codes, found = encode_labels(y, n_samples)
    classes = [as_label(label, "y") for label in found]
    try:
        order = sorted(range(len(classes)), key=lambda c: classes[c])
    except TypeError:
        order = list(range(len(classes)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], tuple(classes[c] for c in order)


def _distinct(samples: FloatArray, codes: Codes, classes: Sequence[Label]) -> NDArray[np.int64]:
    """Index of the first of every set of equal samples, in the order of the samples."""
    _, first, inverse = np.unique(samples + 0.0, axis=0, return_index=True, return_inverse=True)
    twins = first[inverse.reshape(-1)]
    wrong = np.flatnonzero(codes != codes[twins])
    if len(wrong):
        j, i = int(wrong[0]), int(twins[wrong[0]])
        raise ConflictingLabelsError(
            f"samples {i} and {j} are equal but labelled {classes[codes[i]]!r} and {classes[codes[j]]!r}; "
            f"no function of the samples can fit both ({len(wrong)} such samples): remove or relabel them"
        )
    return np.sort(first).astype(np.int64)


def _generator(random_state: int | np.random.Generator) -> tuple[np.random.Generator, int | None]:
    if isinstance(random_state, np.random.Generator):
        return random_state, None
    seed = as_seed(random_state)
    return np.random.default_rng(seed), seed


# ------------------------------------------------------------------------------------------------- depth 0


def _depth_zero(X: FloatArray, codes: Codes, n_classes: int) -> Layer | None:
    """A read-out without any layer, where affine scores separate the classes with a margin float64 sees."""
    if n_classes == 1:
        return Layer(np.zeros((1, X.shape[1])), [1.0])
    scale = powers_of_two(X)
    scaled = X * scale
    centre = scaled[0] + (scaled - scaled[0]).mean(axis=0)
    spread = powers_of_two(scaled - centre)
    affine = np.column_stack([(scaled - centre) * spread, np.ones(len(X))])
    scores = _separating(affine, codes, n_classes)
    if scores is None:
        return None
    weight = scores[:, :-1] * spread
    bias = scores[:, -1] - weight @ centre
    with np.errstate(over="ignore"):
        weight = weight * scale
    if not np.isfinite(weight).all():
        return None
    # Accepted only where rounding cannot decide: a margin well above what the forward pass can lose.
    values = X @ weight.T + bias
    slack = 4 * (X.shape[1] + 2) * 2.0**-53 * (np.abs(X) @ np.abs(weight).T + np.abs(bias)).max(axis=1)
    rows = np.arange(len(X))
    own = values[rows, codes].copy()
    values[rows, codes] = -np.inf
    if not (own - values.max(axis=1) > 8 * slack).all():
        return None
    if n_classes == 2:
        return Layer(weight[1:] - weight[:1], bias[1:] - bias[:1])
    return Layer(weight, bias)


def _separating(affine: FloatArray, codes: Codes, n_classes: int) -> FloatArray | None:
    """Rows of class scores whose argmax is right on all rows of `affine`, or None if there are none."""
    fit = np.asarray(np.linalg.lstsq(affine, np.eye(n_classes)[codes], rcond=None)[0].T, dtype=np.float64)
    if _separates(fit, affine, codes):
        return fit
    means = np.stack([affine[codes == c, :-1].mean(axis=0) for c in range(n_classes)])
    nearest = np.column_stack([means, -np.square(means).sum(axis=1) / 2])  # settles one sample a class
    if _separates(nearest, affine, codes):
        return nearest
    if n_classes > 2:  # classes that are not separable in pairs are not separable at all, and pairs are quick
        for c, e in combinations(range(n_classes), 2):
            pair = (codes == c) | (codes == e)
            if _separating(affine[pair], (codes[pair] == e).astype(np.int64), 2) is None:
                return None
        likely = _by_logistic_regression(affine, codes)  # fits in a second what the program does in minutes
        if _separates(likely, affine, codes):
            return likely
    return _by_linear_program(affine, codes, n_classes)


def _separates(scores: FloatArray, affine: FloatArray, codes: Codes) -> bool:
    return bool((np.argmax(affine @ scores.T, axis=1) == codes).all())


def _by_logistic_regression(affine: FloatArray, codes: Codes) -> FloatArray:
    """Scores of a hardly regularized multinomial logistic regression; nothing is promised of them."""
    from sklearn.linear_model import LogisticRegression  # a second to import: only when needed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        model = LogisticRegression(C=1e6, max_iter=500).fit(affine[:, :-1], codes)
    return np.column_stack([model.coef_, model.intercept_])


def _by_linear_program(affine: FloatArray, codes: Codes, n_classes: int) -> FloatArray | None:
    """Scores with ``own - other >= 1`` on every row, by linear programming."""
    if n_classes == 2:
        signs = np.where(codes == 1, -1.0, 1.0)
        constraints: Any = affine * signs[:, None]
        found = linprog(
            np.zeros(affine.shape[1]), A_ub=-constraints, b_ub=-np.ones(len(affine)), bounds=(None, None),
            method="highs",
        )  # fmt: skip
        return np.stack([found.x, np.zeros_like(found.x)]) if found.status == 0 else None
    blocks = []
    for c in range(n_classes):
        own = csr_array(affine[codes == c])
        for other in range(n_classes):
            if other != c:
                row: list[Any] = [csr_array(own.shape)] * n_classes
                row[c], row[other] = -own, own
                blocks.append(row)
    system = block_array(blocks, format="csr")
    found = linprog(
        np.zeros(system.shape[1]), A_ub=system, b_ub=-np.ones(system.shape[0]), bounds=(None, None),
        method="highs",
    )  # fmt: skip
    return found.x.reshape(n_classes, -1) if found.status == 0 else None
