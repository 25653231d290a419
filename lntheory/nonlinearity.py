r"""The nonlinearity of a normalization at a point: the Hessian indicator, and the effect of grouping on it.

The indicator of f: R^d -> R^p at x is the sum over outputs of the squared Frobenius norm of the Hessian,

    H(f; x) = sum_i ||d^2 f_i / dx^2||_F^2.

It is zero everywhere if and only if f is piecewise affine. For the normalizations it has a closed form, which
depends on the size of the part of x that is scaled, not on its direction.

```
            x in R^d                      H(LN; x)          = 3 (d - 2) / (d sigma^4)
  [ 1  4  2 | 0  7  5 | 3  3  9 ]         H(RMSNorm; x)     = 3 (d - 1) / (d rms^4)
    sigma_1   sigma_2   sigma_3           H(LN-G(g); x)     = 3 (c - 2) / c  sum_k sigma_k^-4,   c = d/g
```

The average of the group variances is at most the variance of x, and t -> t^-2 is convex and decreasing, so
splitting into groups multiplies the indicator by at least

    g (d - 2g) / (d - 2)

at every x (*amplification bound*). For groups of three or more, equality holds exactly where all groups have
the same mean and the same variance. Groups of two output only +-1, so their indicator is 0.

The indicator is homogeneous of degree -4 and, except for RMSNorm, invariant under shifts. Rows and groups are
scaled by powers of two (exact) and centred before they are squared, so neither a shift of 1e8 nor a scale of
1e-75 costs accuracy. With u = 2**-53, the relative error of results is at most 16 u (of amplifications 28 u).
A result too large for float64 is inf; one below 2**-1022 is rounded to a multiple of 2**-1074.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), proposes the
indicator and proves an amplification of 1 for g <= d/3 under a mild assumption; the bound above needs none.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt

from lntheory.base.compensated import centred, compensated_sum, exponents, scale, sum_of_squares
from lntheory.base.types import FloatArray, IntArray, NormalizationKind
from lntheory.base.validation import as_count, as_rows, resolve_group_size, resolve_norm, sample_name
from lntheory.errors import DegenerateInputError, InvalidInputError

__all__ = ["amplification", "amplification_bound", "best_num_groups", "hessian_indicator"]


def hessian_indicator(
    x: npt.ArrayLike,
    *,
    norm: NormalizationKind = "layer_norm",
    num_groups: int | None = None,
    group_size: int | None = None,
) -> FloatArray | np.float64:
    """H(f; x) = sum_i ||Hessian of f_i at x||_F^2 of a normalization f without epsilon, in closed form.

    Parameters
    ----------
    x : array_like, shape (..., n_features)
    norm : {"layer_norm", "rms_norm", "group_layer_norm"}
    num_groups, group_size : int
        For "group_layer_norm" exactly one of them; ``num_groups * group_size == n_features``.

    Returns
    -------
    ndarray of float64, shape (...)
        In units of x to the power -4; a numpy scalar for a single sample.

    Raises
    ------
    DegenerateInputError
        If the variance of a sample or of one of its groups is zero; for "rms_norm", if a sample is zero.
    InvalidInputError
        For NaN, infinities, empty or non-numeric input, an unknown norm, groups that do not divide the
        features or hold only one feature, or groups for a norm that takes none.

    See Also
    --------
    lntheory.exact.hessian_indicator : the same number as a Fraction.

    Examples
    --------
    Three features of variance 2/3: 3 (3 - 2) / (3 (2/3)^2) = 9/4.

    >>> print(hessian_indicator([1.0, 2.0, 3.0]))
    2.25
    >>> print(hessian_indicator([1.0, 1.0, 1.0, 1.0], norm="rms_norm"))
    2.25
    >>> hessian_indicator([[1, 2, 3, 1, 2, 3], [1, 2, 3, 10, 20, 30]], norm="group_layer_norm", num_groups=2)
    array([4.5     , 2.250225])
    >>> print(hessian_indicator([1.0, 5.0, 7.0, 2.0], norm="group_layer_norm", group_size=2))
    0.0
    """
    rows = as_rows(x)
    size = resolve_norm(rows.shape[-1], norm, num_groups, group_size)
    groups = _split(rows, size)
    if norm == "rms_norm":
        _refuse((groups == 0.0).all(axis=-1), groups, "is zero", "RMSNorm")
    else:
        _refuse_constant(groups)
    square, power = _mean_squares(groups, centre=norm != "rms_norm")
    # The Hessian depends on as many dimensions as are scaled: one fewer after centring.
    dimension = size if norm == "rms_norm" else size - 1
    total, exponent = _sum_scaled(1.0 / (square * square), -4 * power)
    return _rounded(3 * (dimension - 1) * total / size, exponent)


def amplification(x: npt.ArrayLike, num_groups: int) -> FloatArray | np.float64:
    """H(LN-G(g); x) / H(LN; x): the factor by which splitting into g groups multiplies the indicator at x.

    The ratio is computed as (d - 2g) / (d - 2) * sum_k (sigma^2 / sigma_k^2)^2, without the two indicators,
    so it neither overflows nor underflows unless the ratio itself does.

    Parameters
    ----------
    x : array_like, shape (..., n_features), n_features >= 3
    num_groups : int
        A divisor of n_features, at most n_features / 2.

    Returns
    -------
    ndarray of float64, shape (...)
        At least `amplification_bound(n_features, num_groups)` before rounding; a numpy scalar for a single
        sample.

    Raises
    ------
    DegenerateInputError
        If the variance of a group is zero in some sample.
    InvalidInputError
        For two features, where H(LN; x) = 0 and the ratio is undefined, and for the reasons that
        `hessian_indicator` gives.

    Examples
    --------
    >>> print(amplification([1.0, 2.0, 3.0, 3.0, 1.0, 2.0], 2))  # both groups: mean 2, variance 2/3
    1.0
    >>> print(round(amplification([0, 0, 0, 0, 5, 10, 10, 10, 10, 15], 2), 9))  # variances 4, 4; in all 29
    78.84375
    >>> print(amplification([1.0, 2.0, 3.0, 1.0, 2.0, 3.0], 3))  # groups of two
    0.0
    """
    rows = as_rows(x)
    n_features = rows.shape[-1]
    groups = _split(rows, resolve_group_size(n_features, num_groups, None))
    _require_ratio(n_features)
    _refuse_constant(groups)
    square, power = _mean_squares(groups, centre=True)
    whole, whole_power = _mean_squares(_split(rows, n_features), centre=True)
    ratio = whole / square
    total, exponent = _sum_scaled(ratio * ratio, 4 * (whole_power - power))
    return _rounded(total * (n_features - 2 * int(num_groups)) / (n_features - 2), exponent)


def amplification_bound(d: int, num_groups: int) -> Fraction:
    """g (d - 2g) / (d - 2): the least value of `amplification` over all x, exactly.

    Parameters
    ----------
    d : int
        Number of features, at least 3.
    num_groups : int
        A divisor of d, at most d / 2.

    Returns
    -------
    Fraction
        At least 1 for groups of three or more, above d/8 for groups of four, 0 for groups of two.

    Raises
    ------
    InvalidInputError
        If num_groups does not divide d or leaves groups of one feature, or if d is below 3.

    Examples
    --------
    >>> [str(amplification_bound(12, g)) for g in (1, 2, 3, 4, 6)]
    ['1', '8/5', '9/5', '8/5', '0']
    """
    resolve_group_size(_as_dimension(d), num_groups, None)
    _require_ratio(int(d))
    d, g = int(d), int(num_groups)
    return Fraction(g * (d - 2 * g), d - 2)


def best_num_groups(d: int) -> int:
    """The number of groups with the largest `amplification_bound`.

    With groups of c features the bound is d^2/(d - 2) (c - 2)/c^2, so the best size is the first of

        4, 5, 3, 7, 8, 9, 10, ...

    that divides d. Sizes 3 and 6 tie; both divide d if 6 does, and then threes win: each group of six splits
    into two of three, which never lowers the indicator.

    Parameters
    ----------
    d : int
        Number of features, at least 3.

    Returns
    -------
    int

    Raises
    ------
    InvalidInputError
        If d is below 3.

    Examples
    --------
    >>> [(d, best_num_groups(d)) for d in (7, 10, 15, 18, 512)]
    [(7, 1), (10, 2), (15, 3), (18, 6), (512, 128)]
    """
    _require_ratio(_as_dimension(d))
    d = int(d)
    return next(d // size for size in chain((4, 5, 3), range(7, d + 1)) if d % size == 0)


def _as_dimension(d: int) -> int:
    return as_count(d, "number of features d", 1)


def _require_ratio(n_features: int) -> None:
    if n_features < 3:
        raise InvalidInputError(
            f"n_features={n_features}: LN of fewer than three features is piecewise constant or undefined, "
            "H(LN; x) is not positive and the ratio undefined; at least three features are needed."
        )


def _split(rows: FloatArray, size: int) -> FloatArray:
    """Rows of shape (..., n_features) as groups, shape (..., n_groups, size)."""
    return rows.reshape(*rows.shape[:-1], -1, size)


def _refuse_constant(groups: FloatArray) -> None:
    constant = (groups == groups[..., :1]).all(axis=-1)
    _refuse(constant, groups, "has zero variance (all equal {value})", "LN")


def _refuse(bad: npt.NDArray[np.bool_], groups: FloatArray, what: str, norm: str) -> None:
    if not bad.any():
        return
    *sample, group = (int(i) for i in np.argwhere(bad)[0])
    name = sample_name(tuple(sample))
    n_groups, size = groups.shape[-2:]
    if n_groups > 1:
        name = f"group {group} (features {group * size} to {(group + 1) * size - 1}) of {name}"
    what = what.format(value=groups[(*sample, group, 0)])
    raise DegenerateInputError(
        f"{name[0].upper()}{name[1:]} {what}: {norm} is 0/0 there and has no Hessian "
        f"({int(bad.any(axis=-1).sum())} such samples in all). Remove or perturb it."
    )


def _mean_squares(groups: FloatArray, *, centre: bool) -> tuple[FloatArray, IntArray]:
    """Mean square along the last axis, after optional centring, as a pair m, p that stands for m * 4**p."""
    x = np.ascontiguousarray(np.moveaxis(groups, -1, 0))
    # The largest entry goes to [1/2, 1): no square can overflow, and what underflows is negligible.
    power = exponents(np.abs(x).max(axis=0))
    v = scale(x, -power)
    return sum_of_squares(centred(v) if centre else v) / len(v), power


def _sum_scaled(terms: FloatArray, powers: IntArray) -> tuple[FloatArray, IntArray]:
    """Sum of positive terms * 2**powers along the last axis, as a pair t, p that stands for t * 2**p."""
    fraction, shift = np.frexp(terms)
    powers = powers + shift
    largest = powers.max(axis=-1)
    # Against the largest term, at least 1/2, terms that underflow are negligible.
    aligned = scale(fraction, powers - largest[..., np.newaxis])
    return compensated_sum(np.moveaxis(aligned, -1, 0))[0], largest


def _rounded(value: FloatArray, power: IntArray) -> FloatArray | np.float64:
    with np.errstate(over="ignore"):
        result: FloatArray | np.float64 = scale(value, power)[()]
    return result
