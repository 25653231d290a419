"""From labelled samples to an explicit LN-Net of width 3 that gives every sample its label.

::

    X, y ──► distinct? ──► one class? ──► linearly separable? ──► the method, see `methods` ──► LNNet
             (else error)   depth 0         depth 0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lntheory.base.types import FloatArray, Progress
from lntheory.base.validation import as_count, as_exact_samples, as_seconds, as_seed, encode_labels
from lntheory.construct.built import Method
from lntheory.construct.linear import linear_readout
from lntheory.construct.methods import METHODS, method_named
from lntheory.construct.problem import Codes, Problem
from lntheory.construct.target import TARGETS
from lntheory.errors import ConflictingLabelsError, InvalidInputError
from lntheory.network import Label, LNNet
from lntheory.network.labels import as_label

__all__ = ["shatter"]


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
    progress: Progress | None = None,
) -> LNNet:
    """An explicit width-3 LN-Net that fits any labels of distinct samples (the paper's Theorem 2, shallower).

    The net is constructed, not trained. `lntheory.exact.certify`, which imports nothing from the
    constructions, proves that it is right.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        Finite numbers. Equal samples must carry equal labels.
    y : sequence of str, int, float or bool, shape (n_samples,)
        Any number of classes.
    method : {"auto", "fold", "pairs", "minority-merge", "projection-merge"}
        ``"projection-merge"`` is the paper's construction: every class is merged, in at most
        ``max(1, m - 2)`` layers for m distinct samples. ``"minority-merge"`` leaves the most frequent class
        where it is, and ``"pairs"`` also merges two pairs a layer; `guaranteed_depth` gives their depths. All
        three stop as soon as the labels can be read out.
        ``"fold"`` searches for folds that bring many equal labels together at once: its nets are far
        shallower, and take seconds to minutes of work. Its net is never deeper than what is proved for
        ``"pairs"``, nor, for up to 300 samples, than what ``"pairs"`` finds; for more samples, ``"pairs"`` is
        tried too, but only until an attempt is as deep as the net of the search.
        ``"auto"`` takes the shallowest net within the budget. Up to 300 samples it builds ``"pairs"``, and
        searches as ``"fold"`` does unless ``"pairs"`` cannot be improved on or the budget hardly suffices.
        For more samples it works as ``"fold"`` does, but builds ``"minority-merge"`` if the search finds no
        net or is left out.
    random_state : int or numpy Generator
        The same seed and budget give the same net.
    budget : int, optional
        Units of work that ``"fold"`` and ``"auto"`` spend on the search; in a unit 20,000 folds are tried, in
        some 0.01 to 0.1 s. A larger budget never gives a deeper net. The default is 2400 for ``"fold"``. For
        ``"auto"`` it is what random labels are likely to take; if that is more than 600, there is no search
        (more than some 460 samples of two balanced classes, or 140 of ten). For ``target="float32"`` it is
        three times as much, without a search if that is more than 2400.
    time_limit : float, optional
        Seconds after which ``"fold"`` and ``"auto"`` search no further. The search stops only between layers.
        Its net is the one of a search whose budget is the units spent, ``net.provenance["units"]``, so
        that budget gives the same net again. The time of the merges is not limited.
    target : {"float64", "float32"}
        The arithmetic in which the net of ``"fold"`` or ``"auto"`` has to be right: in a plain forward pass,
        and in sixteen more whose rounding errors are drawn at random. ``"float32"`` suffices for some 300
        samples of random labels. Where no such net is found, the float64 or dyadic net of the merges is
        returned; ``net.provenance["target"]`` says which target was met.
    n_jobs : int
        Number of threads of the search; it has no influence on the net.
    progress : callable, optional
        Called as ``progress(done, at most)``, in merges, layers or units of work; the count starts again if
        the construction makes another attempt.

    Returns
    -------
    LNNet
        The depth is 0 if affine scores separate the classes. ``net.arithmetic`` is ``"float64"`` where the
        plain float64 forward pass gives every sample its label, else ``"dyadic"``: wider parameters, which
        thousands of samples or nearly equal samples need.
        ``net.provenance`` holds the method, the seed, the pairs of samples that each layer merges (a list of
        pairs for each layer; absent for folds, which merge none) and the safety, the smallest ratio of gap to
        error between points of unequal label after any layer. For merges the error is a bound; for folds it
        is two standard deviations. For ``"fold"`` and ``"auto"`` it also holds the construction taken, the
        depth that each construction tried has reached (None if it gave no net, or none shallower), why others
        were not tried, and the units and runs spent.

    Raises
    ------
    ConflictingLabelsError
        If two equal samples carry different labels; the message names both.
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
    chosen = method_named(method)
    _check_options(chosen, budget, time_limit, target, n_jobs)
    samples = as_exact_samples(X)
    codes, classes = _classes(y, len(samples))
    kept = _distinct(samples, codes, classes)
    rng, seed = _generator(random_state)
    provenance: dict[str, Any] = {"method": method, "seed": seed}
    X, codes = samples[kept], codes[kept]
    scores = linear_readout(X, codes, len(classes))
    if scores is not None:
        return LNNet((), scores, classes, provenance={**provenance, "merges": []})
    built = chosen.build(Problem(X, codes, rng, budget, time_limit, target, n_jobs, progress))
    provenance |= built.account
    if built.merges is not None:
        provenance["merges"] = [[[int(kept[i]) for i in pair] for pair in layer] for layer in built.merges]
    provenance["safety"] = built.safety
    return LNNet(built.layers, built.readout, classes, provenance=provenance)


# ------------------------------------------------------------------------------------------------ the input


def _check_options(
    method: Method, budget: int | None, time_limit: float | None, target: str, n_jobs: int
) -> None:  # fmt: skip
    if target not in TARGETS:
        raise InvalidInputError(f"target={target!r}; choose one of {', '.join(TARGETS)}")
    if not method.searches and not (budget is None and time_limit is None and target == "float64"):
        searching = [name for name, other in METHODS.items() if other.searches]
        raise InvalidInputError(
            f"budget, time_limit and target are for {' and '.join(searching)}, not for {method.name}"
        )
    if time_limit is not None:
        as_seconds(time_limit, "time_limit")
    if budget is not None:
        as_count(budget, "budget", 1)
    as_count(n_jobs, "n_jobs", 1)


def _classes(y: Iterable[Any], n_samples: int) -> tuple[Codes, tuple[Label, ...]]:
    """Codes and classes, sorted where the labels can be compared."""
    codes, labels = encode_labels(y, n_samples)
    classes = [as_label(label, "y") for label in labels]
    try:
        order = sorted(range(len(classes)), key=lambda c: classes[c])
    except TypeError:
        order = list(range(len(classes)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], tuple(classes[c] for c in order)


def _distinct(samples: FloatArray, codes: Codes, classes: Sequence[Label]) -> NDArray[np.int64]:
    """Index of the first sample of every set of equal samples, ascending."""
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
