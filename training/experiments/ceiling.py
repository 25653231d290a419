"""How well any linear classifier can do on given samples and labels: what can be proved. No torch here.

A linear classifier gives a sample the class of the largest of C affine scores, ties to the first. Three
statements on all of them at once, from the exact to the general:

**LSSR**, exactly. It says how far from separable the labels are, but bounds no accuracy: of samples at 1, 2,
4, ..., 2**m in one dimension, the upper half labelled, a threshold has all right, yet LSSR tends to 1.

**Disjoint conflicts**: a bound for these very labels. Let a point be in the hull of samples of class a and in
that of samples of class b > a::

    sum_i p_i x_i = sum_j q_j x_j,    p, q > 0 of sum 1,    x_i of class a, x_j of class b

If all of these were right, the affine function s_a - s_b would be at least 0 on the left and below 0 on the
right: so at least one of them is wrong. k disjoint sets of this kind, k errors. A linear program finds each
set in floats; that the weights exist is then proved in exact arithmetic. In general position a conflict takes
rank + 2 samples, where rank is the dimension that the samples span, so no more than m / (rank + 2) errors are
ever proved in this way: the bound is honest, and weak.

**Counting**: a bound for almost all labels. The differences of C scores make up a space of dimension
D = (C - 1)(rank + 1), in which N = m C (C - 1) / 2 hyperplanes (two scores equal at a sample) bound the cells
on which nothing changes: at most R = 2 sum_{k < D} binom(N - 1, k) labelings are those of linear classifiers
(a small enough advantage for earlier classes settles ties the same way, so that open cells suffice). Each of
them agrees with labels drawn uniformly in k samples or more with the probability that Binomial(m, 1/C) >= k;
so one or another does with at most R times that. It is no bound for a given labeling, and is worded so.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq_mat, fmpz, fmpz_mat
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from lntheory import exact
from lntheory.base.types import Progress
from lntheory.base.validation import as_samples
from lntheory.errors import InvalidInputError, RefutedError
from lntheory.exact.rational import independent_columns, to_integer_columns

from ..run.record import Ceiling

__all__ = ["Conflict", "check_conflict", "counting_bound", "disjoint_conflicts", "linear_ceiling"]

RISK = 1e-6
"""Probability that the statement by counting is allowed to fail with."""

LSSR_WORK = 2e10
"""Estimate of work up to which the exact LSSR is computed: some 20,000 images of 28 x 28, in minutes."""

_LP_SAMPLES = 4
"""A linear program is given at most so many samples a feature: enough for a conflict, and quick."""


@dataclass(frozen=True)
class Conflict:
    """Samples that no linear classifier gets right all together: two groups whose hulls share a point.

    Attributes
    ----------
    first, second : tuple of int
        Indices of the samples of each group; each group is of one class.
    first_weights, second_weights : tuple of Fraction
        Positive, of sum 1 each: the weighted means are equal.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    first_weights: tuple[Fraction, ...]
    second_weights: tuple[Fraction, ...]

    @property
    def samples(self) -> tuple[int, ...]:
        """Of both groups."""
        return self.first + self.second


def linear_ceiling(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    n_classes: int,
    *,
    risk: float = RISK,
    time_limit: float = 60.0,
    progress: Progress | None = None,
) -> Ceiling:
    """All three statements for a training set.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray of int, shape (n_samples,)
        Labels 0 .. n_classes - 1.
    n_classes : int
    risk : float
    time_limit : float
        Seconds after which no more conflicts are searched for. (The search is in order, so a longer one
        finds the same and more.)
    progress : callable, optional
        Called with (samples settled, samples in all).

    Returns
    -------
    Ceiling

    Raises
    ------
    InvalidInputError
        If X are no finite samples, y not as many labels, or a label is out of range.

    Examples
    --------
    >>> xor = np.array([[0, 0], [1, 1], [0, 1], [1, 0]], dtype=np.float32)
    >>> ceiling = linear_ceiling(xor, np.array([0, 0, 1, 1]), 2)
    >>> ceiling.lssr, ceiling.n_conflicts
    ((1.0, 1.0), 1)
    """
    started = time.monotonic()
    as_samples(X)
    y = _checked_labels(y, len(X), n_classes)
    levels = grey_levels(X)
    varying = levels[:, levels.min(axis=0) != levels.max(axis=0)]
    n_samples, n_features = varying.shape
    searched = varying if n_features else levels[:, :1]  # equal samples are in conflict, too
    conflicts = disjoint_conflicts(searched, y, deadline=started + time_limit, progress=progress)
    return Ceiling(
        lssr=_lssr(varying, y),
        n_conflicts=sum(1 for _ in conflicts),
        n_features=n_features,
        risk=risk,
        probably_at_most=counting_bound(n_samples, max(n_features, 1), n_classes, risk),
        seconds=round(time.monotonic() - started, 2),
    )


def _checked_labels(y: ArrayLike, n_samples: int, n_classes: int) -> NDArray[np.int64]:
    labels = np.asarray(y)
    if labels.shape != (n_samples,) or labels.dtype.kind not in "iu":
        raise InvalidInputError(
            f"y is {labels.dtype} of shape {labels.shape}; expected integers of shape ({n_samples},)"
        )
    wrong = np.flatnonzero((labels < 0) | (labels >= n_classes))
    if wrong.size:
        raise InvalidInputError(
            f"label {labels[wrong[0]]} of sample {wrong[0]}; expected 0 to {n_classes - 1}, or more classes"
        )
    return labels.astype(np.int64)


def grey_levels(X: ArrayLike) -> NDArray[np.float64]:
    """Pixels as the whole numbers that they were before they were scaled to [0, 1]; other data as they are.

    Neither LSSR nor what is linearly separable depends on the scale, and small integers are quicker.

    Examples
    --------
    >>> grey_levels(np.array([[1 / 255, 1.0]], dtype=np.float32))
    array([[  1., 255.]])
    """
    X = np.asarray(X)
    for most in (16, 255):
        levels = np.rint(X.astype(np.float64) * most)
        if np.array_equal((levels / most).astype(X.dtype), X) or np.array_equal(
            levels.astype(X.dtype) / X.dtype.type(most), X
        ):
            return levels
    return X.astype(np.float64)


def _lssr(X: NDArray[np.float64], y: NDArray[np.int64]) -> tuple[float, float] | None:
    """The exact LSSR, its enclosure rounded outwards to floats."""
    n_samples, n_features = X.shape
    if n_features == 0 or n_samples * n_features**2 + 10 * n_features**3 > LSSR_WORK:
        return None
    value = exact.lssr(X, y)
    lower, upper = (value, value) if isinstance(value, Fraction) else (value.lower, value.upper)
    below, above = float(lower), float(upper)
    return (
        below if below <= lower else math.nextafter(below, 0.0),
        above if above >= upper else math.nextafter(above, 1.0),
    )


# --------------------------------------------------------------------------------------------- conflicts


def disjoint_conflicts(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    *,
    deadline: float = math.inf,
    progress: Progress | None = None,
) -> Iterator[Conflict]:
    """Conflicts that share no sample, each proved, until no more are found.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray of int, shape (n_samples,)
    deadline : float
        Of `time.monotonic`: none is searched for after it.
    progress : callable, optional

    Yields
    ------
    Conflict

    Examples
    --------
    >>> X, y = np.array([[0.0], [3.0], [4.0], [9.0]]), np.array([0, 1, 0, 1])
    >>> [(c.first, c.second, c.first_weights) for c in disjoint_conflicts(X, y)]
    [((0, 2), (1,), (Fraction(1, 4), Fraction(3, 4)))]
    """
    left = {int(label): np.flatnonzero(y == label) for label in np.unique(y)}
    hopeless: set[tuple[int, int]] = set()  # fewer samples have no conflict where more had none
    while True:
        pairs = [pair for pair in itertools.combinations(left, 2) if pair not in hopeless]
        if not pairs or time.monotonic() > deadline:
            return
        # The classes with most samples left: where there are many, hulls meet.
        a, b = max(pairs, key=lambda pair: (len(left[pair[0]]) + len(left[pair[1]]), -pair[0], -pair[1]))
        conflict = _conflict(X, left[a], left[b], deadline - time.monotonic())
        if conflict is None:
            hopeless.add((a, b))
            continue
        check_conflict(X, y, conflict)
        yield conflict
        left[a], left[b] = np.setdiff1d(left[a], conflict.first), np.setdiff1d(left[b], conflict.second)
        if progress is not None:
            progress(len(y) - sum(map(len, left.values())), len(y))


def _conflict(
    X: NDArray[np.float64], first: NDArray[Any], second: NDArray[Any], time_limit: float
) -> Conflict | None:
    """A conflict between two groups of samples, with exact weights; None if none was found.

    A vertex of the linear program is positive on samples that are affinely independent within the whole
    conflict, so the weights are the one solution of a linear system, which is solved exactly.
    """
    most = _LP_SAMPLES * (X.shape[1] + 2)
    first, second = first[:most], second[:most]
    if not len(first) or not len(second):
        return None
    sides = np.r_[np.ones(len(first)), -np.ones(len(second))]
    samples = np.r_[first, second]
    scale = np.abs(X[samples]).max(axis=0)
    scale[scale == 0] = 1
    equal = np.vstack([(X[samples] / scale).T * sides, sides, sides > 0])
    right = np.zeros(len(equal))
    right[-1] = 1
    options = {} if math.isinf(time_limit) else {"time_limit": time_limit}
    solution = linprog(np.zeros(len(samples)), A_eq=equal, b_eq=right, method="highs-ds", options=options)
    if solution.status != 0:
        return None
    used = solution.x > 1e-9
    p, q = samples[used & (sides > 0)], samples[used & (sides < 0)]
    weights = _exact_weights(X, p, q)
    if weights is None:
        return None
    return Conflict(tuple(p.tolist()), tuple(q.tolist()), tuple(weights[: len(p)]), tuple(weights[len(p) :]))


def _exact_weights(X: NDArray[np.float64], p: NDArray[Any], q: NDArray[Any]) -> list[Fraction] | None:
    """The positive weights of sum 1 a group that make the means equal, if there is exactly one choice."""
    if not len(p) or not len(q):
        return None
    numerators = to_integer_columns(X[np.r_[p, q]]).numerators.tolist()
    positive = [k < len(p) for k in range(len(numerators))]
    columns = [
        [v if plus else -v for v in (*row, fmpz(1))] for plus, row in zip(positive, numerators, strict=True)
    ]
    *others, last = columns
    if not others:
        return None
    rows = independent_columns(fmpz_mat(others))  # equations that are independent
    if len(rows) != len(others):
        return None
    matrix = fmpz_mat([[column[k] for column in others] for k in rows])
    solution = fmpq_mat(matrix).solve(fmpq_mat(fmpz_mat([[-last[k]] for k in rows])))
    values = [Fraction(int(v.p), int(v.q)) for (v,) in solution.tolist()] + [Fraction(1)]
    if min(values) <= 0:
        return None
    total = sum(values[: len(p)])
    weights = [value / total for value in values]
    return weights if _means_agree(X, p, q, weights) else None


def _means_agree(X: NDArray[np.float64], p: Any, q: Any, weights: list[Fraction]) -> bool:
    """Whether all equations hold, also those that were not used."""
    denominator = math.lcm(*(w.denominator for w in weights))
    whole = [w.numerator * (denominator // w.denominator) for w in weights]
    signed = whole[: len(p)] + [-w for w in whole[len(p) :]]
    numerators = to_integer_columns(X[[*p, *q]]).numerators
    difference = fmpz_mat(1, len(signed), signed) * numerators
    return sum(signed) == 0 and all(v == 0 for v in difference.tolist()[0])


def check_conflict(X: ArrayLike, y: NDArray[np.int64], conflict: Conflict) -> None:
    """Prove that a set of samples is one: exactly, from the samples and labels alone.

    Raises
    ------
    RefutedError
        If it is not, naming what fails.
    """
    X = np.asarray(X, dtype=np.float64)
    groups = (
        (conflict.first, conflict.first_weights, "first"),
        (conflict.second, conflict.second_weights, "second"),
    )
    for samples, weights, name in groups:
        if not samples or len(samples) != len(weights) or len(set(samples)) != len(samples):
            raise RefutedError(f"the {name} group needs distinct samples and one weight each", samples)
        if not all(0 <= i < len(X) for i in samples):  # a negative one would be another name of a sample
            raise RefutedError(f"the {name} group names samples that are not there", samples)
        if not all(isinstance(weight, Fraction) for weight in weights):
            raise RefutedError(f"the weights of the {name} group are no exact fractions", samples)
        if len({int(y[i]) for i in samples}) != 1:
            raise RefutedError(f"the {name} group is not of one class", samples)
        if min(weights) <= 0 or sum(weights) != 1:
            raise RefutedError(f"the weights of the {name} group are not positive of sum 1", samples)
    if y[conflict.first[0]] == y[conflict.second[0]]:
        raise RefutedError("both groups are of one class", conflict.samples)
    both = [*conflict.first_weights, *conflict.second_weights]
    if not _means_agree(X, conflict.first, conflict.second, both):
        raise RefutedError("the weighted means of the two groups differ", conflict.samples)


# ---------------------------------------------------------------------------------------------- counting


def counting_bound(n_samples: int, n_features: int, n_classes: int, risk: float = RISK) -> int | None:
    """How many of uniformly drawn labels any linear classifier has right, but for a probability of `risk`.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        At least 1. The bound holds for every `n_samples` points of so many features.
    risk : float
        In (0, 1).

    Returns
    -------
    int or None
        With probability at least 1 - `risk` over labels drawn uniformly and apart from the samples, no
        classifier by the largest of `n_classes` affine scores is right on more. None if counting does not
        exclude that all are.

    Examples
    --------
    >>> counting_bound(2000, 20, 10), counting_bound(2000, 400, 10)
    (1142, None)
    """
    if min(n_samples, n_features, n_classes) < 1 or not 0 < risk < 1:
        raise InvalidInputError(
            f"n_samples = {n_samples}, n_features = {n_features}, n_classes = {n_classes}, risk = {risk}; "
            "give numbers from 1 on and a risk in (0, 1)"
        )
    if n_classes == 1:
        return None
    risk_up, risk_down = risk.as_integer_ratio()
    labelings = n_labelings(n_samples, n_features, n_classes)
    allowed = risk_up * n_classes**n_samples // (risk_down * labelings)
    # tail = number of labelings that agree with a given one in `count` samples or more
    tail, term, count = 0, 1, n_samples
    while (tail := tail + term) <= allowed:
        term = term * count * (n_classes - 1) // (n_samples - count + 1)  # exact: binomials times powers
        count -= 1
    return count if count < n_samples else None


def n_labelings(n_samples: int, n_features: int, n_classes: int) -> int:
    """How many labelings of n_samples points linear classifiers have at most."""
    dimension = (n_classes - 1) * (n_features + 1)
    hyperplanes = n_samples * n_classes * (n_classes - 1) // 2
    total, term = 0, 1
    for k in range(min(dimension, hyperplanes)):
        total += term
        term = term * (hyperplanes - 1 - k) // (k + 1)
    return min(2 * total, int(n_classes**n_samples))
