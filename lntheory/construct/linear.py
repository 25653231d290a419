"""Depth 0: affine scores that separate the classes, if there are any."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array

from lntheory.base.types import FloatArray
from lntheory.construct.first_layer import powers_of_two
from lntheory.construct.problem import Codes
from lntheory.network import Layer

__all__ = ["by_linear_program", "linear_readout"]


def linear_readout(X: FloatArray, codes: Codes, n_classes: int) -> Layer | None:
    """A read-out of the samples themselves, if affine scores separate them by more than float64's rounding.

    Its weight has shape (n_classes, n_features), or (1, n_features) for one class or two. The result is None
    if no such scores were found.
    """
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
    # Accepted only if the margin is well above the rounding errors of the forward pass.
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
    """Weights (n_classes, n_features + 1) whose argmax is right on all rows of `affine`; None if none do."""
    fit = np.asarray(np.linalg.lstsq(affine, np.eye(n_classes)[codes], rcond=None)[0].T, dtype=np.float64)
    if _separates(fit, affine, codes):
        return fit
    means = np.stack([affine[codes == c, :-1].mean(axis=0) for c in range(n_classes)])
    nearest = np.column_stack([means, -np.square(means).sum(axis=1) / 2])  # right for one sample a class
    if _separates(nearest, affine, codes):
        return nearest
    if n_classes > 2:  # if two of the classes are not separable, all are not; and pairs are quick to try
        for c, e in combinations(range(n_classes), 2):
            pair = (codes == c) | (codes == e)
            if _separating(affine[pair], (codes[pair] == e).astype(np.int64), 2) is None:
                return None
        likely = _by_logistic_regression(affine, codes)  # a second, where the linear program takes minutes
        if _separates(likely, affine, codes):
            return likely
    return by_linear_program(affine, codes, n_classes)


def _separates(scores: FloatArray, affine: FloatArray, codes: Codes) -> bool:
    return bool((np.argmax(affine @ scores.T, axis=1) == codes).all())


def _by_logistic_regression(affine: FloatArray, codes: Codes) -> FloatArray:
    """Weights of a weakly regularized multinomial logistic regression; they need not separate the classes."""
    from sklearn.linear_model import LogisticRegression  # a second to import: only when needed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        model = LogisticRegression(C=1e6, max_iter=500).fit(affine[:, :-1], codes)
    return np.column_stack([model.coef_, model.intercept_])


def by_linear_program(affine: FloatArray, codes: Codes, n_classes: int) -> FloatArray | None:
    """Weights of scores with ``own - other >= 1`` on every row, by linear programming; None if infeasible.

    `affine` has the shape (n_samples, n_features + 1), its last column all ones; the result has the shape
    (n_classes, n_features + 1).
    """
    if n_classes == 2:
        signs = np.where(codes == 1, -1.0, 1.0)
        constraints: Any = affine * signs[:, None]
        solution = linprog(
            np.zeros(affine.shape[1]), A_ub=-constraints, b_ub=-np.ones(len(affine)), bounds=(None, None),
            method="highs",
        )  # fmt: skip
        return np.stack([solution.x, np.zeros_like(solution.x)]) if solution.status == 0 else None
    blocks = []
    for c in range(n_classes):
        own = csr_array(affine[codes == c])
        for other in range(n_classes):
            if other != c:
                row: list[Any] = [csr_array(own.shape)] * n_classes
                row[c], row[other] = -own, own
                blocks.append(row)
    system = block_array(blocks, format="csr")
    solution = linprog(
        np.zeros(system.shape[1]), A_ub=system, b_ub=-np.ones(system.shape[0]), bounds=(None, None),
        method="highs",
    )  # fmt: skip
    return solution.x.reshape(n_classes, -1) if solution.status == 0 else None
