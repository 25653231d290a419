"""From labelled samples to an explicit LN-Net of width 3 that gives every sample its label.

::

    X, y ──► distinct? ──► one class? ──► linearly separable? ──► projection-merge ──► LNNet
             (else error)   depth 0         depth 0                 one merge a layer
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array

from lntheory.construct.lift import powers_of_two
from lntheory.construct.pair_merge import PairConstruction, layers_needed, pair_merge
from lntheory.construct.projection_merge import Construction, merge
from lntheory.errors import ConflictingLabelsError, InvalidInputError
from lntheory.network import Label, Layer, LNNet, as_label, samples_of
from lntheory.validation import encode_labels

__all__ = ["METHODS", "guaranteed_depth", "shatter"]

METHODS = ("projection-merge", "minority-merge", "pairs", "fold", "auto")
SEARCHING = ("fold", "auto")
TARGETS = ("float64", "float32")
AUTO_BUDGET, AUTO_PAIRS = 150, 1000
"""Units that ``"auto"`` spends on fold search, and the samples up to which it merges pairs."""
QUICK = 300
"""Samples up to which two pairs a layer are merged in less time than fold search takes for a layer."""

FloatArray = NDArray[np.float64]
Codes = NDArray[np.int64]

if TYPE_CHECKING:
    from lntheory.construct.fold_search import FoldConstruction

    _Found = PairConstruction | Construction | FoldConstruction


def shatter(
    X: ArrayLike,
    y: Iterable[Any],
    *,
    method: str = "minority-merge",
    random_state: int | np.random.Generator = 0,
    budget: int | None = None,
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
    method : {"minority-merge", "projection-merge", "pairs", "fold", "auto"}
        ``"projection-merge"`` is the paper's: every class is merged, at most ``max(1, m - 2)`` layers for m
        distinct samples. ``"minority-merge"`` leaves the most frequent class where it is, and ``"pairs"``
        also merges two pairs a layer: see `guaranteed_depth`. All stop as soon as the labels can be read out.
        ``"fold"`` searches for folds that bring many equal labels together at once: far shallower, never
        deeper than ``"pairs"``, and seconds to minutes of work. ``"auto"`` takes the shallowest that it finds
        quickly: fold search where the budget is likely to suffice, else pairs, else single merges.
    random_state : int or numpy Generator
        The same seed gives the same net.
    budget : int, optional
        Units of work for ``"fold"`` (default 2000) and ``"auto"`` (150); a unit is 20,000 folds tried, some
        0.01 to 0.1 s. More never gives a deeper net by ``"fold"``.
    target : {"float64", "float32"}
        The arithmetic in which the nets of fold search have to be right. Where none is found, the merges'
        float64 or dyadic net is returned.
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
        ``"pairs"``: a list of pairs; folds merge none) and the smallest ratio of gap to error bound met on
        the way. Of ``"fold"`` and ``"auto"`` also the construction taken, what was tried, the units spent.

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
    _check_options(method, budget, target, n_jobs)
    samples = samples_of(X)
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
        options = {"target": target, "n_jobs": n_jobs}
        found, tried = _searched(X, codes, method, budget, rng, progress, options)
        provenance |= tried
    else:
        found = merge(X, codes, minority=method == "minority-merge", rng=rng, progress=progress)
    if isinstance(found, PairConstruction):
        provenance["merges"] = [[[int(kept[i]) for i in pair] for pair in layer] for layer in found.merges]
    elif isinstance(found, Construction):
        provenance["merges"] = [[int(kept[i]) for i in pair] for pair in found.merges]
    provenance["safety"] = found.safety
    return LNNet(found.layers, found.readout, classes, provenance=provenance)


def guaranteed_depth(
    class_sizes: Sequence[int], *, method: str = "minority-merge", general_position: bool = False
) -> int:
    """Depth that a construction never exceeds, from the numbers of distinct samples in each class.

    Parameters
    ----------
    class_sizes : sequence of int
        Distinct samples a class, each at least 1.
    method : {"minority-merge", "projection-merge", "pairs", "fold"}
    general_position : bool
        Whether, after a generic projection to the plane (so n_features >= 2), no three samples are collinear
        and no three lines through disjoint pairs of samples are concurrent or parallel.

    Returns
    -------
    int
        With m samples in C >= 2 classes, k of them outside the largest: ``max(1, m - 2)`` for
        ``"projection-merge"``; for ``"minority-merge"`` ``max(1, k - C + 1)`` in general position,
        else ``k - C + 2`` (k - 1 and k for two classes); for ``"pairs"``, with s the sum of ``ceil(k_c / 2)``
        over the other classes of two or more samples, ``max(1, s)`` in general position, else ``s + 1``
        (ceil(k / 2) and one more for two classes). Classes of four samples, if there are no others but single
        ones, count as not in general position: in the plane one of the four may lie inside the triangle of
        the rest. What is proved of ``"pairs"`` holds for ``"fold"``, which is never deeper. 0 for one class.

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
    if method not in METHODS or method == "auto":
        raise InvalidInputError(f"method={method!r}; choose one of {', '.join(METHODS[:-1])}")
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


def _searched(
    X: FloatArray,
    codes: Codes,
    method: str,
    budget: int | None,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None,
    options: dict[str, Any],
) -> tuple[_Found, dict[str, Any]]:
    """The shallowest of fold search and pairs, and what was tried.

    The pairs are those that ``method="pairs"`` merges; they come first if that is quick.
    """
    from lntheory.construct.fold_search import BUDGET, FoldSearch, fold_search  # numba takes a while to load

    twin, seed = copy.deepcopy(rng), int(rng.integers(2**63))
    units = budget if budget is not None else BUDGET if method == "fold" else AUTO_BUDGET
    tried: dict[str, int | None] = {}
    if method == "auto" and len(X) > AUTO_PAIRS and not _promising(len(X), units):
        merged = merge(X, codes, minority=True, rng=twin, progress=progress)
        return merged, {"construction": "minority-merge", "tried": {}, "units": 0, "budget": units}
    pairs: PairConstruction | None = None
    if len(X) <= QUICK or not (method == "fold" or _promising(len(X), units)):
        pairs = pair_merge(X, codes, rng=twin, progress=progress)
    search = FoldSearch(None, 0, 0)
    if method == "fold" or _promising(len(X), units):
        below = None if pairs is None else len(pairs.layers)
        search = fold_search(X, codes, seed=seed, budget=units, below=below, progress=progress, **options)
        tried["fold"] = None if search.found is None else len(search.found.layers)
    if pairs is None:
        pairs = _shallower_pairs(X, codes, search.found, twin, progress)
    tried["pairs"] = None if pairs is None else len(pairs.layers)
    found: _Found | None = search.found
    if found is None or (pairs is not None and len(pairs.layers) < len(found.layers)):
        found = pairs
    assert found is not None
    name = "fold" if found is search.found else "pairs"
    return found, {
        "construction": name, "tried": tried, "units": search.units, "runs": search.runs, "budget": units,
        "target": options["target"] if name == "fold" else "float64",
    }  # fmt: skip


def _promising(n_samples: int, units: int) -> bool:
    """Whether a run of fold search, a layer for some ten samples, is likely to end within these units."""
    from lntheory.construct.fold_search import CHAINS

    return units * 10 >= CHAINS * n_samples


def _shallower_pairs(
    X: FloatArray, codes: Codes, found: FoldConstruction | None, rng: np.random.Generator,
    progress: Callable[[int, int], None] | None,
) -> PairConstruction | None:  # fmt: skip
    """Two pairs a layer, unless that comes to as many layers as were found already."""

    def watch(done: int, total: int) -> None:
        if found is not None and done >= len(found.layers):
            raise _DeepEnough
        if progress is not None and found is None:
            progress(done, total)

    try:
        return pair_merge(X, codes, rng=rng, progress=watch)
    except _DeepEnough:
        return None


# ------------------------------------------------------------------------------------------------ the input


def _check_options(method: str, budget: int | None, target: str, n_jobs: int) -> None:
    if method not in METHODS:
        raise InvalidInputError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    if target not in TARGETS:
        raise InvalidInputError(f"target={target!r}; choose one of {', '.join(TARGETS)}")
    if method not in SEARCHING and (budget is not None or target != "float64"):
        raise InvalidInputError(f"budget and target are for {' and '.join(SEARCHING)}, not for {method}")
    for name, value in (("budget", budget), ("n_jobs", n_jobs)):
        if name == "budget" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidInputError(f"{name}={value!r}; give a positive integer")


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
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InvalidInputError(
            f"random_state={random_state!r}; give a non-negative integer or a numpy Generator"
        )
    return np.random.default_rng(int(random_state)), int(random_state)


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
