"""What Hypothesis draws for the claims: small exact data, degenerate ones included.

Needs Hypothesis: import it inside a claim's `strategy` only.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

__all__ = ["fractions", "integer_vectors", "invertible", "labelled_rows", "matrices"]


def fractions(bound: int = 6, denominator: int = 7) -> st.SearchStrategy[Fraction]:
    """Small rationals."""
    return st.builds(
        Fraction, st.integers(-bound * denominator, bound * denominator), st.integers(1, denominator)
    )


def integer_vectors(size: int, bound: int = 5) -> st.SearchStrategy[list[int]]:
    """Integer vectors, zero included."""
    return st.lists(st.integers(-bound, bound), min_size=size, max_size=size)


@st.composite
def labelled_rows(
    draw: st.DrawFn, n_classes: int = 2, max_samples: int = 8, max_features: int = 3, bound: int = 4
) -> tuple[list[list[int]], list[int]]:
    """Integer samples, not all equal, with every class present."""
    size, n_features = draw(st.integers(max(2, n_classes), max_samples)), draw(st.integers(1, max_features))
    rows = draw(st.lists(integer_vectors(n_features, bound), min_size=size, max_size=size))
    if all(row == rows[0] for row in rows):
        rows[0] = [rows[0][0] + 1, *rows[0][1:]]
    rest = draw(st.lists(st.integers(0, n_classes - 1), min_size=size - n_classes, max_size=size - n_classes))
    return rows, list(draw(st.permutations([*range(n_classes), *rest])))


def matrices(n_rows: int, n_columns: int, bound: int = 4) -> st.SearchStrategy[list[list[int]]]:
    """Integer matrices, singular ones included."""
    return st.lists(integer_vectors(n_columns, bound), min_size=n_rows, max_size=n_rows)


@st.composite
def invertible(draw: st.DrawFn, size: int) -> list[list[int]]:
    """Invertible integer matrices: lower times upper triangular, with non-zero diagonals."""
    entry, diagonal = st.integers(-3, 3), st.sampled_from([-2, -1, 1, 2, 3])
    lower: list[list[Any]] = [
        [1 if i == j else draw(entry) if j < i else 0 for j in range(size)] for i in range(size)
    ]
    upper = [
        [draw(diagonal) if i == j else draw(entry) if j > i else 0 for j in range(size)] for i in range(size)
    ]
    return [[sum(lower[i][k] * upper[k][j] for k in range(size)) for j in range(size)] for i in range(size)]
