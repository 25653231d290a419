"""Layer normalization, RMS normalization and group layer normalization on float64 arrays.

```
x ──────► x - mean(x) ──────► (x - mean(x)) / sigma(x)         LN: centre, then scale
x ─────────────────────────►  x / rms(x)                       RMSNorm: scale alone
x = [x_1 | x_2 | ... | x_g] ► [LN(x_1) | LN(x_2) | ... ]       LN-G(g): LN on each of g groups
```

These are the normalizations themselves: no learned scale and shift, and no epsilon unless asked for.
Each works along the last axis, under any leading shape, and is computed row by row: the result of a
row never depends on the others.

Accuracy, with u = 2**-53 and Y the row's largest absolute output: each entry of `layer_norm` is off by at
most 8 u Y (so at most 8 ulps of Y), each of `rms_norm` by at most 4 u Y, whatever the shift and scale
of the row, subnormal and near-overflowing rows included: rows are scaled by a power of two (exact),
centred before they are squared, and every sum is compensated. Outputs below 2**-1022 (possible only
with ``eps > 0``) are off by at most 2**-1074 more.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lntheory.base.compensated import centred, exponents, scale, sum_of_squares
from lntheory.base.types import FloatArray
from lntheory.base.validation import as_eps, as_rows, resolve_group_size, sample_name
from lntheory.errors import DegenerateInputError

__all__ = ["group_layer_norm", "layer_norm", "rms_norm"]


def layer_norm(x: npt.ArrayLike, *, eps: float = 0.0) -> FloatArray:
    """Layer normalization: LN(x) = (x - mean(x)) / sqrt(var(x) + eps) along the last axis.

    var is the mean of the squared deviations (divided by d, not d - 1). With ``eps=0`` this is the
    LN of the paper: centring, then scaling to norm sqrt(d).

    Parameters
    ----------
    x : array_like, shape (..., n_features)
    eps : float, default 0.0
        Added to the variance, as in torch. With a positive eps constant rows give zeros.

    Returns
    -------
    ndarray of float64, shape (..., n_features)
        Each entry is off by at most 8 * 2**-53 times the row's largest absolute output.

    Raises
    ------
    DegenerateInputError
        If ``eps`` is 0 and all entries of a row are equal (decided exactly, not by underflow).
    InvalidInputError
        For NaN, infinities, empty or non-numeric input, or a negative eps.

    Examples
    --------
    >>> layer_norm([1.0, 2.0, 3.0])
    array([-1.22474487,  0.        ,  1.22474487])
    >>> layer_norm([[1e8, 1e8 + 1], [5e-324, 0.0]])
    array([[-1.,  1.],
           [ 1., -1.]])

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
    """
    rows = as_rows(x)
    eps = as_eps(eps)
    if eps == 0.0:
        constant = (rows == rows[..., :1]).all(axis=-1)
        _refuse(constant, rows, "has zero variance (all of its features equal {value})", "LN(x) is 0/0 there")
    return _normalize(rows, eps, centre=True)


def rms_norm(x: npt.ArrayLike, *, eps: float = 0.0) -> FloatArray:
    """RMS normalization: x / sqrt(mean(x**2) + eps) along the last axis, with no centring.

    Parameters
    ----------
    x : array_like, shape (..., n_features)
    eps : float, default 0.0
        Added to the mean square. With a positive eps zero rows give zeros.

    Returns
    -------
    ndarray of float64, shape (..., n_features)
        Each entry is off by at most 4 * 2**-53 times the row's largest absolute output.

    Raises
    ------
    DegenerateInputError
        If ``eps`` is 0 and a row is zero.
    InvalidInputError
        For NaN, infinities, empty or non-numeric input, or a negative eps.

    Examples
    --------
    >>> rms_norm([3.0, -4.0, 0.0, 0.0])
    array([ 1.2, -1.6,  0. ,  0. ])
    """
    rows = as_rows(x)
    eps = as_eps(eps)
    if eps == 0.0:
        _refuse((rows == 0.0).all(axis=-1), rows, "is zero", "RMSNorm(x) is 0/0 there")
    return _normalize(rows, eps, centre=False)


def group_layer_norm(
    x: npt.ArrayLike, *, num_groups: int | None = None, group_size: int | None = None, eps: float = 0.0
) -> FloatArray:
    """LN-G: split the last axis into equal groups of neighbours and apply LN to each.

    On vectors this is group normalization without its affine map. Groups of two give exactly +-1.

    Parameters
    ----------
    x : array_like, shape (..., n_features)
    num_groups, group_size : int
        Exactly one of them; ``num_groups * group_size == n_features``.
    eps : float, default 0.0
        Added to each group's variance.

    Returns
    -------
    ndarray of float64, shape (..., n_features)

    Raises
    ------
    DegenerateInputError
        If ``eps`` is 0 and the features of a group are all equal in some sample.
    InvalidInputError
        If both or none of num_groups and group_size are given, if the groups do not divide the features,
        if a group would hold one feature (0/0 whatever x is), and for the reasons that `layer_norm` gives.

    Examples
    --------
    >>> group_layer_norm([1.0, 5.0, 7.0, 2.0], group_size=2)
    array([-1.,  1.,  1., -1.])
    """
    rows = as_rows(x)
    size = resolve_group_size(rows.shape[-1], num_groups, group_size)
    eps = as_eps(eps)
    groups = rows.reshape(*rows.shape[:-1], -1, size)
    if eps == 0.0:
        constant = (groups == groups[..., :1]).all(axis=-1)
        if constant.any():
            *sample, group = (int(i) for i in np.argwhere(constant)[0])
            raise DegenerateInputError(
                f"Group {group} (features {group * size} to {(group + 1) * size - 1}) of "
                f"{sample_name(tuple(sample))} has zero variance (all equal {groups[(*sample, group, 0)]}): "
                f"LN is 0/0 there. Change the data or the grouping, or pass a positive eps."
            )
    return _normalize(groups, eps, centre=True).reshape(rows.shape)


def _refuse(bad: npt.NDArray[np.bool_], rows: FloatArray, what: str, why: str) -> None:
    if not bad.any():
        return
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    what = what.format(value=rows[(*first, 0)])
    raise DegenerateInputError(
        f"{sample_name(first).capitalize()} {what}: {why} ({int(bad.sum())} such samples in all). "
        f"Remove or perturb it, or pass a positive eps."
    )


def _normalize(rows: FloatArray, eps: float, *, centre: bool) -> FloatArray:
    """Divide by the root of the mean square plus eps, after optional centring, along the last axis."""
    x = np.moveaxis(rows, -1, 0)
    # The largest entry goes to [1/2, 1): no square can overflow, and what underflows is negligible.
    largest = np.abs(x).max(axis=0)
    power = exponents(largest)
    v = scale(x, -power)
    if centre:
        v = centred(v)
    mean_square = sum_of_squares(v) / len(v)
    if eps == 0.0:
        result = v / np.sqrt(mean_square)
    else:
        # Likewise for the larger of the row and sqrt(eps); outputs are then rounded once, at the end.
        common = exponents(np.maximum(largest, math.sqrt(eps)))
        total = scale(mean_square, 2 * (power - common)) + scale(np.full_like(largest, eps), -2 * common)
        result = scale(v / np.sqrt(total), power - common)
    return np.ascontiguousarray(np.moveaxis(result, 0, -1))
