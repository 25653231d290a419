"""Scatter matrices and their pencil straight from the definitions, in rational arithmetic.

An oracle for `lntheory.exact`, with which it shares no code: no closed form, no elimination by integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import fmpq, fmpq_mat, fmpq_poly

__all__ = [
    "dense_rational",
    "eigenvalues",
    "generic_symmetric",
    "mapped",
    "on_range",
    "pencil_polynomial",
    "ratio_along",
    "scatter_matrices",
    "sum_of_squares_ratio",
]

Rows = Sequence[Sequence[Any]]


def dense_rational(rows: Rows) -> fmpq_mat:
    """Rows of int or Fraction as a flint matrix."""
    return fmpq_mat([[fmpq(v.numerator, v.denominator) for v in row] for row in rows])


def scatter_matrices(X: Rows, y: Sequence[Any]) -> tuple[fmpq_mat, fmpq_mat]:
    """(S_w, S_t), as sums over samples of outer products of deviations.

    Examples
    --------
    >>> within, total = scatter_matrices([[0], [1], [3], [4]], "aabb")
    >>> within[0, 0], total[0, 0]
    (1, 10)
    """
    total = _about_mean(X)
    within = dense_rational([[0] * len(X[0])] * len(X[0]))
    for label in dict.fromkeys(y):
        within += _about_mean([row for row, own in zip(X, y, strict=True) if own == label])
    return within, total


def on_range(within: fmpq_mat, total: fmpq_mat) -> tuple[fmpq_mat, fmpq_mat]:
    """The pencil in coordinates of range(S_t): rows and columns of a maximal independent set of features."""
    reduced, rank = total.rref()
    kept = [next(j for j in range(total.ncols()) if reduced[i, j] != 0) for i in range(rank)]
    return _minor(within, kept), _minor(total, kept)


def pencil_polynomial(X: Rows, y: Sequence[Any]) -> fmpq_poly:
    """det(lambda I - S_t^-1 S_w) on range(S_t)."""
    within, total = on_range(*scatter_matrices(X, y))
    return total.solve(within).charpoly()


def eigenvalues(X: Rows, y: Sequence[Any]) -> list[Any]:
    """The eigenvalues of the pencil (S_w, S_t) on range(S_t), in increasing order, as exact sympy numbers."""
    coefficients = [sp.Rational(int(c.numer()), int(c.denom())) for c in pencil_polynomial(X, y).coeffs()]
    polynomial = sp.Poly(coefficients[::-1], sp.Symbol("t"))
    roots: list[Any] = polynomial.real_roots()
    return roots


def ratio_along(X: Rows, y: Sequence[Any], w: Sequence[int]) -> tuple[Fraction, Fraction]:
    """(w' S_w w, w' S_t w): the sums of squares of the samples' values along w."""
    values = [[sum((a * b for a, b in zip(w, row, strict=True)), Fraction(0))] for row in X]
    return _sums_of_squares(values, y)


def sum_of_squares_ratio(X: Rows, y: Sequence[Any]) -> Fraction | None:
    """SSR by its definition; None if all samples coincide."""
    within, total = _sums_of_squares(X, y)
    return within / total if total else None


def mapped(matrix: Rows, X: Rows, shift: Sequence[Any] | None = None) -> list[list[Any]]:
    """The samples B x + b."""
    offsets = [0] * len(matrix) if shift is None else shift
    return [
        [
            sum((a * v for a, v in zip(line, row, strict=True)), b)
            for line, b in zip(matrix, offsets, strict=True)
        ]
        for row in X
    ]


def _sums_of_squares(X: Rows, y: Sequence[Any]) -> tuple[Fraction, Fraction]:
    within = sum(
        (
            _squares([row for row, own in zip(X, y, strict=True) if own == label])
            for label in dict.fromkeys(y)
        ),
        Fraction(0),
    )
    return within, _squares(X)


def _squares(X: Rows) -> Fraction:
    means = [Fraction(sum(column, Fraction(0)), len(X)) for column in zip(*X, strict=True)]
    return sum(((v - m) ** 2 for row in X for v, m in zip(row, means, strict=True)), Fraction(0))


def _about_mean(X: Rows) -> fmpq_mat:
    means = [Fraction(sum(column, Fraction(0)), len(X)) for column in zip(*X, strict=True)]
    centred = dense_rational([[v - m for v, m in zip(row, means, strict=True)] for row in X])
    return centred.transpose() * centred


def _minor(matrix: fmpq_mat, kept: Sequence[int]) -> fmpq_mat:
    return fmpq_mat([[matrix[i, j] for j in kept] for i in kept])


def generic_symmetric(name: str, size: int) -> sp.Matrix:
    """A symmetric matrix of real symbols."""
    return sp.Matrix(size, size, lambda i, j: sp.Symbol(f"{name}{min(i, j)}{max(i, j)}", real=True))
