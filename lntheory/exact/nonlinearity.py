"""The Hessian indicator of a normalization and its amplification by groups, in rational arithmetic.

Square roots cancel: the indicator depends on x through sigma^4 (or rms^4) alone, a rational number for
rational x. Formulas and pictures are in `lntheory.nonlinearity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq

from lntheory.base.validation import resolve_norm
from lntheory.errors import DegenerateInputError, InvalidInputError
from lntheory.exact.rational import to_fmpq, to_fraction

__all__ = ["amplification", "hessian_indicator"]


def hessian_indicator(
    x: Iterable[Any],
    *,
    norm: str = "layer_norm",
    num_groups: int | None = None,
    group_size: int | None = None,
) -> Fraction:
    """H(f; x) = sum_i ||Hessian of f_i at x||_F^2 of a normalization f, exactly.

    Parameters
    ----------
    x : iterable of numbers, length n_features
        One sample: int, Fraction, Decimal or float entries, mixed at will; a float is the rational it is.
    norm : {"layer_norm", "rms_norm", "group_layer_norm"}
    num_groups, group_size : int
        For "group_layer_norm" exactly one of them; ``num_groups * group_size == n_features``.

    Returns
    -------
    Fraction

    Raises
    ------
    DegenerateInputError
        If the variance of x or of one of its groups is zero; for "rms_norm", if x itself is zero.
    InvalidInputError
        If an entry is not a rational number, the norm is unknown, or the groups do not divide the features.

    Examples
    --------
    >>> hessian_indicator([1, 2, 3])
    Fraction(9, 4)
    >>> hessian_indicator([1, 2, 3, 10, 20, 30], norm="group_layer_norm", num_groups=2)
    Fraction(90009, 40000)

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
    """
    row = _as_row(x)
    size = resolve_norm(len(row), norm, num_groups, group_size)
    if norm == "rms_norm":
        squares, dimension = [_mean_square(row)], size
        if squares[0] == 0:
            raise DegenerateInputError("x is zero: RMSNorm is 0/0 there and has no Hessian. Perturb it.")
    else:
        squares, dimension = _variances(row, size), size - 1
    return to_fraction(fmpq(3 * (dimension - 1), size) * sum(1 / (s * s) for s in squares))


def amplification(x: Iterable[Any], num_groups: int) -> Fraction:
    """H(LN-G(g); x) / H(LN; x), exactly.

    Parameters
    ----------
    x : iterable of numbers, length n_features >= 3
    num_groups : int
        A divisor of n_features, at most n_features / 2.

    Returns
    -------
    Fraction
        At least `lntheory.nonlinearity.amplification_bound(n_features, num_groups)`.

    Raises
    ------
    DegenerateInputError
        If the variance of a group is zero.
    InvalidInputError
        For two features, where H(LN; x) = 0, and for the reasons that `hessian_indicator` gives.

    Examples
    --------
    >>> amplification([1, 2, 3, 11, 12, 13], 2)
    Fraction(5929, 4)
    """
    row = _as_row(x)
    grouped = hessian_indicator(row, norm="group_layer_norm", num_groups=num_groups)
    whole = hessian_indicator(row)
    if whole == 0:
        raise InvalidInputError(
            "n_features=2: LN of two features is piecewise constant, H(LN; x) = 0 and the ratio undefined; "
            "at least three features are needed."
        )
    return grouped / whole


def _as_row(x: Iterable[Any]) -> list[fmpq]:
    if not isinstance(x, Iterable) or isinstance(x, (str, bytes)):
        raise InvalidInputError(f"x is {x!r}; pass one sample, a sequence of numbers.")
    row = [to_fmpq(value, f"x at feature {j}") for j, value in enumerate(x)]
    if not row:
        raise InvalidInputError("x is empty; at least one feature is needed.")
    return row


def _mean_square(values: Sequence[fmpq]) -> fmpq:
    return sum((v * v for v in values), fmpq(0)) / len(values)


def _variances(row: Sequence[fmpq], size: int) -> list[fmpq]:
    """The variance of each group of `size` neighbours; a zero variance raises `DegenerateInputError`."""
    variances = []
    for start in range(0, len(row), size):
        group = row[start : start + size]
        mean = sum(group, fmpq(0)) / size
        variances.append(_mean_square([v - mean for v in group]))
        if variances[-1] == 0:
            where = (
                "x" if size == len(row) else f"Group {start // size} (features {start} to {start + size - 1})"
            )
            raise DegenerateInputError(
                f"{where} has zero variance (all equal {to_fraction(group[0])}): LN is 0/0 there and has no "
                "Hessian. Perturb it."
            )
    return variances
