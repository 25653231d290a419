"""Hypothesis strategies: labelled samples, degenerate ones included, and rows for the normalizations.

Integer data make the exact routines' arithmetic small; `float_samples` adds what only floats suffer from.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from lntheory.network import Layer, LNNet, Normalization

FloatArray = npt.NDArray[np.float64]
Rows = list[list[int]]

LABELS = ["a", "b", "c", "d"]


@st.composite
def integer_rows(
    draw: st.DrawFn, min_samples: int = 2, max_samples: int = 12, max_features: int = 4, bound: int = 6
) -> Rows:
    """Small integer samples, not all equal: ties, duplicates and dependent columns are common."""
    n = draw(st.integers(min_samples, max_samples))
    d = draw(st.integers(1, max_features))
    row = st.lists(st.integers(-bound, bound), min_size=d, max_size=d)
    kind = draw(st.sampled_from(["plain", "plain", "duplicates", "collinear", "dependent"]))
    if kind == "duplicates":
        distinct = draw(st.lists(row, min_size=2, max_size=3))
        rows = [list(draw(st.sampled_from(distinct))) for _ in range(n)]
    elif kind == "collinear":
        start, step = draw(row), draw(row)
        rows = [
            [s + t * v for s, v in zip(start, step, strict=True)]
            for t in draw(st.lists(st.integers(-bound, bound), min_size=n, max_size=n))
        ]
    else:
        rows = draw(st.lists(row, min_size=n, max_size=n))
    if kind == "dependent":
        weights = draw(row)
        rows = [[*r, sum(w * v for w, v in zip(weights, r, strict=True))] for r in rows]
    if all(r == rows[0] for r in rows):
        rows[0][0] += 1
    return rows


@st.composite
def labelled(
    draw: st.DrawFn, /, min_classes: int = 1, max_classes: int = 4, **rows: int
) -> tuple[Rows, list[str]]:
    """Integer samples and labels; one class and one sample a class are among them."""
    samples = draw(integer_rows(min_samples=max(2, min_classes), **rows))
    n_classes = draw(st.integers(min_classes, min(max_classes, len(samples))))
    rest = st.lists(
        st.sampled_from(LABELS[:n_classes]),
        min_size=len(samples) - n_classes,
        max_size=len(samples) - n_classes,
    )
    labels = draw(st.permutations(LABELS[:n_classes] + draw(rest)))
    return samples, list(labels)


@st.composite
def two_class(draw: st.DrawFn, /, **rows: int) -> tuple[Rows, list[str]]:
    """Integer samples with exactly two classes."""
    return draw(labelled(min_classes=2, max_classes=2, **rows))


@st.composite
def float_samples(draw: st.DrawFn, max_classes: int = 4) -> tuple[FloatArray, list[str]]:
    """Float samples and labels, as a whole and feature by feature rescaled, shifted, nearly dependent."""
    rows, labels = draw(labelled(max_classes=max_classes))
    X: FloatArray = np.array(rows, dtype=np.float64)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = [
        "integers",
        "normal",
        "shifted",
        "scaled",
        "columns",
        "subnormal",
        "nearly dependent",
        "decimals",
    ]
    kind = draw(st.sampled_from(kinds))
    if kind == "integers":
        return X, labels
    if kind == "decimals":
        return X / 10, labels
    if kind == "subnormal":
        return X * 5e-324, labels
    X = X + rng.normal(size=X.shape)
    if kind == "shifted":
        return X + 1e8, labels
    if kind == "scaled":
        return X * draw(st.sampled_from([1e-300, 1e-150, 1e150, 1e300])), labels
    if kind == "columns":
        return X * np.power(10.0, rng.integers(-150, 150, X.shape[1])), labels
    if kind == "nearly dependent":
        # From a clear case through the neighbourhood of the cut-off to a lost direction.
        size = 10.0 ** draw(st.integers(-18, -6))
        return np.column_stack([X, X.sum(axis=1) + size * rng.normal(size=len(X))]), labels
    return X, labels


@st.composite
def matrices(draw: st.DrawFn, n_rows: int, n_columns: int, bound: int = 4) -> list[list[int]]:
    """Integer matrices, singular ones included."""
    row = st.lists(st.integers(-bound, bound), min_size=n_columns, max_size=n_columns)
    return draw(st.lists(row, min_size=n_rows, max_size=n_rows))


@st.composite
def invertible_matrices(draw: st.DrawFn, size: int) -> list[list[Fraction]]:
    """Invertible rational matrices, as unit lower times non-zero-diagonal upper triangular ones, permuted."""
    entry = st.integers(-3, 3)
    nonzero = st.sampled_from([-3, -2, -1, 1, 2, 3, 7])
    lower = [[1 if i == j else (draw(entry) if j < i else 0) for j in range(size)] for i in range(size)]
    upper = [
        [
            Fraction(draw(nonzero), draw(st.sampled_from([1, 2, 3])))
            if i == j
            else Fraction(draw(entry) if j > i else 0)
            for j in range(size)
        ]
        for i in range(size)
    ]
    product: list[list[Fraction]] = [
        [sum((lower[i][k] * upper[k][j] for k in range(size)), Fraction(0)) for j in range(size)]
        for i in range(size)
    ]
    return list(draw(st.permutations(product)))


@st.composite
def norm_rows(draw: st.DrawFn, min_features: int = 2, max_features: int = 40) -> FloatArray:
    """One row for a normalization: of any scale, shifted, subnormal, near overflow, with an outlier."""
    d = draw(st.integers(min_features, max_features))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = [
        "any",
        "normal",
        "shifted",
        "scaled",
        "subnormal",
        "huge",
        "outlier",
        "last bits",
        "mixed",
        "few",
    ]
    kind = draw(st.sampled_from(kinds))
    x: npt.NDArray[Any] = rng.normal(size=d)
    if kind == "any":
        x = np.array(draw(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=d, max_size=d)))
    elif kind == "shifted":
        x = x + draw(st.sampled_from([1e3, -1e8, 1e8, 1e15]))
    elif kind == "scaled":
        x = x * draw(st.sampled_from([1e-300, 1e-150, 1e-8, 1e8, 1e150, 1e300]))
    elif kind == "subnormal":
        x = rng.integers(-50, 50, d) * 5e-324
    elif kind == "huge":
        x = rng.choice([-1.0, 1.0], d) * np.finfo(float).max * rng.uniform(0.5, 1.0, d)
    elif kind == "outlier":
        x[rng.integers(d)] = 10.0 ** draw(st.integers(1, 300))
    elif kind == "last bits":
        x = 1.0 + rng.integers(0, 4, d) * 2.0**-52
    elif kind == "mixed":
        x = x * np.power(10.0, rng.integers(-300, 300, d))
    elif kind == "few":
        x = rng.integers(-2, 3, d).astype(float)
    if (x == x[0]).all():
        x[0] = np.nextafter(x[0], 0.0) if x[0] else 5e-324
    return x


def any_label() -> st.SearchStrategy[Any]:
    """Labels of every type that people use."""
    return st.sampled_from([0, 1, "0", "1", 2.5, True, "true", ("x", 1), None, b"1", Fraction(1, 2)])


@st.composite
def nets(draw: st.DrawFn, width_3: bool = False) -> tuple[LNNet, FloatArray]:
    """Small nets of every normalization, width, depth, read-out and number format, and samples for them.

    With `width_3`, LayerNorm of three neurons and eps = 0 throughout: maps of the circle.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = "layer_norm" if width_3 else draw(st.sampled_from(["layer_norm", "rms_norm", "group_layer_norm"]))
    num_groups = draw(st.integers(1, 2)) if kind == "group_layer_norm" else None
    eps = 0.0 if width_3 else draw(st.sampled_from([0.0, 0.0, 1e-5]))
    numbers = draw(st.sampled_from(["integers", "normal", "small", "dyadic"]))
    depth = draw(st.integers(1 if width_3 else 0, 5))
    n_features = draw(st.integers(1, 4))
    widths = [3 if width_3 else (num_groups or 1) * draw(st.integers(2, 4)) for _ in range(depth)]
    n_classes = draw(st.integers(1, 4))
    n_rows = 1 if n_classes == 2 and draw(st.booleans()) else n_classes

    def parameters(*shape: int) -> npt.NDArray[Any]:
        if numbers == "integers":
            return rng.integers(-3, 4, shape).astype(float)
        if numbers == "dyadic":
            fractions = [
                Fraction(int(v * 2**20), 2**20) + Fraction(1, 2**90) for v in rng.normal(size=shape).flat
            ]
            return np.array(fractions, dtype=object).reshape(shape)
        return rng.normal(size=shape) * (1e-9 if numbers == "small" else 1.0)

    sizes = [n_features, *widths, n_rows]
    layers = [Layer(parameters(m, n), parameters(m)) for n, m in itertools.pairwise(sizes)]
    norm = Normalization(kind, num_groups, eps)
    X = rng.normal(size=(draw(st.integers(1, 6)), n_features)) + draw(st.sampled_from([0.0, 0.0, 1e8]))
    return LNNet(layers[:-1], layers[-1], list("abcd")[:n_classes], norm), X
