"""Numbers as users write them, turned into exact rationals, and exact linear algebra on the rationals.

An int, Fraction, Decimal, float or numpy number is read as the rational number that it is: the float 0.1 is
3602879701896397/2**55, the Decimal 0.1 is 1/10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

from lntheory.errors import InvalidInputError

__all__ = [
    "IntegerColumns",
    "independent_columns",
    "to_fmpq",
    "to_fraction",
    "to_integer_columns",
    "to_rational_matrix",
]

# Primes of one machine word for ranks: the rank modulo a prime never exceeds the rank over the rationals.
_PRIMES = (18_446_744_073_709_551_557, 18_446_744_073_709_551_533, 18_446_744_073_709_551_521)


def to_fraction(value: Any, where: str = "the value") -> Fraction:
    """The rational number that `value` is.

    Parameters
    ----------
    value : int, bool, Fraction, Decimal, float, numpy scalar, sympy or flint rational
    where : str
        Name of the value in error messages.

    Returns
    -------
    Fraction

    Raises
    ------
    InvalidInputError
        For NaN, infinities, complex numbers, strings and anything else that is not a rational number.

    Examples
    --------
    >>> from decimal import Decimal
    >>> to_fraction(Decimal("0.1")), to_fraction(0.1)
    (Fraction(1, 10), Fraction(3602879701896397, 36028797018963968))
    """
    if isinstance(value, (fmpq, fmpz)):
        return (
            Fraction(int(value.numer()), int(value.denom()))
            if isinstance(value, fmpq)
            else Fraction(int(value))
        )
    if isinstance(value, (np.bool_, np.integer)):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating, Decimal)):
        try:
            return Fraction(*(int(part) for part in value.as_integer_ratio()))
        except (ValueError, OverflowError) as error:
            raise InvalidInputError(f"{where} is {value}; remove or impute it first.") from error
    if isinstance(value, Rational):  # int, bool, Fraction; sympy registers its rationals here
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (str, bytes)):
        raise InvalidInputError(
            f"{where} is the string {value!r}; pass Decimal({value!r}) or Fraction({value!r}) to have it "
            "read as written, float(...) to have it rounded first."
        )
    raise InvalidInputError(
        f"{where} is {value!r} of type {type(value).__name__}; pass int, Fraction, Decimal or float."
    )


def to_fmpq(value: Any, where: str = "the value") -> fmpq:
    """The rational number that `value` is, as a python-flint rational; raises as `to_fraction` does.

    Examples
    --------
    >>> to_fmpq(0.75)
    3/4
    """
    fraction = to_fraction(value, where)
    return fmpq(fraction.numerator, fraction.denominator)


def to_rational_matrix(X: Any) -> fmpq_mat:
    """Samples as a python-flint matrix of rationals.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        A numpy array, a data frame or a list of lists (whose entries may be of different types).

    Returns
    -------
    flint.fmpq_mat

    Raises
    ------
    InvalidInputError
        If an entry is not a rational number (the message names sample and feature), or X is ragged or empty.

    Examples
    --------
    >>> to_rational_matrix([[1, 0.5], [Fraction(1, 3), Decimal("0.1")]]).table()
    [[1, 1/2], [1/3, 1/10]]
    """
    rows = [[to_fmpq(v, _entry(i, j)) for j, v in enumerate(row)] for i, row in enumerate(_rows(X))]
    return fmpq_mat(rows)


@dataclass(frozen=True)
class IntegerColumns:
    """Rational samples as integers, with one unit for each feature: X[i, j] = numerators[i, j] * units[j].

    Attributes
    ----------
    numerators : flint.fmpz_mat, shape (n_samples, n_features)
    units : tuple of Fraction
        All positive.
    """

    numerators: fmpz_mat
    units: tuple[Fraction, ...]


def to_integer_columns(X: Any) -> IntegerColumns:
    """Samples as integers with one unit for each feature; input and errors are as in `to_rational_matrix`.

    Examples
    --------
    >>> columns = to_integer_columns([[0.5, 3], [0.25, 6]])
    >>> columns.numerators.table(), columns.units
    ([[2, 1], [1, 2]], (Fraction(1, 4), Fraction(3, 1)))
    """
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize <= 8:
        columns = [_float_column(X[:, j], j) for j in range(_require_2d(X).shape[1])]
    else:
        rows = [[to_fraction(v, _entry(i, j)) for j, v in enumerate(row)] for i, row in enumerate(_rows(X))]
        columns = [_fraction_column(column) for column in zip(*rows, strict=True)]
    entries = [column for column, _ in columns]
    return IntegerColumns(
        fmpz_mat([list(row) for row in zip(*entries, strict=True)]), tuple(u for _, u in columns)
    )


def independent_columns(matrix: fmpz_mat) -> tuple[int, ...]:
    """Indices of a maximal set of linearly independent columns, over the rationals.

    Columns that are independent modulo a prime are independent. The set is certainly maximal if its size
    reaches the number of rows or columns; otherwise its size is compared with the rank over the rationals.

    Examples
    --------
    >>> independent_columns(fmpz_mat([[1, 2, 0], [2, 4, 1]]))
    (0, 2)
    """
    n_rows, n_columns = matrix.nrows(), matrix.ncols()
    rank: int | None = None
    for prime in _PRIMES:
        reduced, modular_rank = nmod_mat(matrix, prime).rref()
        if modular_rank < min(n_rows, n_columns):
            rank = _rank(matrix) if rank is None else rank
            if modular_rank < rank:
                continue
        return _pivots(reduced, modular_rank)
    # Reached only if every prime divides some minor, which is very unlikely: eliminate over the integers.
    echelon, _, rank = matrix.rref()
    return _pivots(echelon, rank)


def _rank(matrix: fmpz_mat) -> int:
    """Rank over the rationals: that of the smaller Gram matrix, which is equal over an ordered field."""
    other = matrix.transpose()
    gram = other * matrix if matrix.ncols() <= matrix.nrows() else matrix * other
    return int(gram.rank())


def _pivots(reduced: Any, rank: int) -> tuple[int, ...]:
    pivots: list[int] = []
    for i in range(rank):
        start = pivots[-1] + 1 if pivots else 0
        pivots.append(next(j for j in range(start, reduced.ncols()) if reduced[i, j] != 0))
    return tuple(pivots)


def _float_column(column: npt.NDArray[np.floating[Any]], j: int) -> tuple[list[int], Fraction]:
    """A column of floats as integers times a power of two, found without a Fraction for every entry."""
    finite = np.isfinite(column)
    if not finite.all():
        i = int(np.argmin(finite))
        raise InvalidInputError(f"{_entry(i, j)} is {column[i]}; remove or impute it first.")
    mantissas, exponents = np.frexp(column.astype(np.float64))
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    nonzero = integers != 0
    lowest_bit = (integers & -integers).astype(np.float64)
    trailing = np.where(nonzero, np.frexp(lowest_bit)[1].astype(np.int64) - 1, 0)
    if not nonzero.any():
        return [0] * len(column), Fraction(1)
    powers = exponents.astype(np.int64) - 53 + trailing
    least = int(powers[nonzero].min())
    shifts = np.where(nonzero, powers - least, 0).tolist()
    odd = (integers >> trailing).tolist()
    values = [value << shift for value, shift in zip(odd, shifts, strict=True)]
    return values, Fraction(2) ** least


def _fraction_column(column: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    denominator = math.lcm(*(value.denominator for value in column))
    numerators = [value.numerator * (denominator // value.denominator) for value in column]
    divisor = math.gcd(*numerators) or 1
    return [value // divisor for value in numerators], Fraction(divisor, denominator)


def _entry(i: int, j: int) -> str:
    return f"X at sample {i}, feature {j}"


def _require_2d(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidInputError(
            f"X has shape {X.shape}; expected (n_samples, n_features), both at least one."
        )
    return X


def _rows(X: Any) -> list[list[Any]]:
    """X as a list of rows; only arrays pass through numpy, which would round mixed lists."""
    if isinstance(X, (fmpq_mat, fmpz_mat)):
        X = X.table()
    if hasattr(X, "__array__") or hasattr(X, "to_numpy"):
        X = _require_2d(np.asarray(X))
        return [list(row) for row in X]
    rows: list[list[Any]] = []
    if not isinstance(X, Iterable) or isinstance(X, (str, bytes)):
        raise InvalidInputError(f"X is {type(X).__name__}; pass (n_samples, n_features) numbers.")
    for i, row in enumerate(X):
        if not isinstance(row, Iterable) or isinstance(row, (str, bytes)):
            raise InvalidInputError(
                f"Sample {i} of X is {row!r}, not a row of features; pass X of shape (n_samples, n_features)."
            )
        rows.append(list(row))
        if len(rows[i]) != len(rows[0]):
            raise InvalidInputError(
                f"Sample {i} of X has {len(rows[i])} features and sample 0 has {len(rows[0])}; "
                "all samples need the same."
            )
    if not rows or not rows[0]:
        raise InvalidInputError("X is empty; at least one sample and one feature are needed.")
    return rows
