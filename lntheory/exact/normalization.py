"""Layer normalization of exact numbers and of balls, enclosed in balls (python-flint's `arb`)."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from lntheory.errors import DegenerateInputError, InvalidInputError, UndecidedError
from lntheory.exact.rational import to_fmpq
from lntheory.network.enclosure import centred_row, scaled_row
from lntheory.network.layer import Normalization

__all__ = ["group_layer_norm", "layer_norm", "rms_norm"]


def layer_norm(x: Any, *, eps: float = 0.0, precision: int = 128) -> NDArray[Any]:
    """Balls that enclose LN(x) = (x - mean(x)) / sqrt(var(x) + eps), along the last axis.

    Parameters
    ----------
    x : array_like, shape (..., n_features)
        Exact numbers (int, float, Fraction, Decimal, fmpq; a float is the rational that it is), or balls.
    eps : float, default 0
    precision : int, default 128
        Bits. If the entries are exact numbers, each result is enclosed to about this relative accuracy; if
        they are balls, the results are as wide as the balls make them.

    Returns
    -------
    ndarray of arb, the shape of x

    Raises
    ------
    DegenerateInputError
        If eps is 0 and a row of exact numbers has zero variance, which is decided exactly.
    UndecidedError
        If a row of balls may have zero variance.

    Examples
    --------
    >>> print(layer_norm([1, 2, 3], precision=53)[0])
    [-1.22474487139159 +/- 9.52e-16]
    """
    return _normalized(x, Normalization("layer_norm", eps=eps), precision)


def rms_norm(x: Any, *, eps: float = 0.0, precision: int = 128) -> NDArray[Any]:
    """Balls that enclose x / sqrt(mean(x**2) + eps), along the last axis.

    Parameters, result and errors are those of `layer_norm`, with a zero row in place of zero variance.

    Examples
    --------
    >>> print(rms_norm([3, -4, 0, 0])[0].str(30))
    [1.20000000000000000000000000000 +/- 3e-34]
    """
    return _normalized(x, Normalization("rms_norm", eps=eps), precision)


def group_layer_norm(
    x: Any,
    *,
    num_groups: int | None = None,
    group_size: int | None = None,
    eps: float = 0.0,
    precision: int = 128,
) -> NDArray[Any]:
    """Balls that enclose LN of each of `num_groups` equal groups (or groups of `group_size`).

    Groups consist of neighbours along the last axis. Give exactly one of `num_groups` and `group_size`, which
    must divide the number of features. Everything else is as for `layer_norm`.

    Examples
    --------
    >>> [int(ball.unique_fmpz()) for ball in group_layer_norm([5, 7, 2, 1], group_size=2)]
    [-1, 1, 1, -1]
    """
    if (num_groups is None) == (group_size is None):
        raise InvalidInputError("give exactly one of num_groups and group_size")
    if group_size is not None:
        width = (np.shape(np.asarray(x, dtype=object)) or (0,))[-1]
        if isinstance(group_size, bool) or not isinstance(group_size, (int, np.integer)) or group_size < 1:
            raise InvalidInputError(f"group_size={group_size!r}; it must be a positive integer")
        if width % group_size:
            raise InvalidInputError(f"group_size={group_size} does not divide the {width} features")
        num_groups = width // group_size
    return _normalized(x, Normalization("group_layer_norm", num_groups, eps), precision)


def _normalized(x: Any, norm: Normalization, precision: int) -> NDArray[Any]:
    try:
        rows = np.array(x, dtype=object)
    except ValueError:
        raise InvalidInputError("x has rows of different lengths") from None
    if rows.ndim == 0 or rows.size == 0:
        raise InvalidInputError(f"x has shape {rows.shape}; give at least one row of numbers")
    norm.check_width(rows.shape[-1], "x")
    result = np.empty(rows.shape, dtype=object)
    with flint.ctx.workprec(precision + 16):  # 16 guard bits cover the dozen roundings of one row
        for at in np.ndindex(rows.shape[:-1]):
            where = f"sample {at[0] if len(at) == 1 else at}" if at else "the row"
            balls = scaled_row(centred_row([_exact(value, where) for value in rows[at]], norm), norm)
            if balls is None:
                raise DegenerateInputError(f"{where} has zero variance, where {norm.kind} is undefined")
            if not all(ball.is_finite() for ball in balls):
                raise UndecidedError(f"{where}: the ball of its variance contains zero; use narrower balls")
            result[at] = balls
    return result


def _exact(value: Any, where: str) -> Any:
    """A number, or a ball of radius zero, as the fmpq that it is; any other ball unchanged."""
    if isinstance(value, arb):
        if not value.is_finite():
            raise InvalidInputError(f"{where}: {value} is not finite")
        if not value.is_exact():
            return value
        man, exp = value.man_exp()
        return fmpq(man) * fmpq(2) ** int(exp)
    return to_fmpq(value, where)
