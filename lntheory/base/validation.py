"""Turning what users pass into arrays, with errors that name the entry at fault."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from lntheory.base.types import FloatArray, IntArray
from lntheory.errors import InvalidInputError, excerpt


def as_float_array(x: npt.ArrayLike, name: str = "x") -> FloatArray:
    """Convert to a float64 array, refusing what has no faithful float64 reading.

    Parameters
    ----------
    x : array_like
        Real numbers of any shape.
    name : str
        The name of the array in error messages.

    Returns
    -------
    ndarray of float64
        This may be the array passed in, so it must not be written to.

    Raises
    ------
    InvalidInputError
        For complex numbers, strings, dates, ragged lists and objects without a float value.
    """
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} is not a rectangular array of numbers ({error}).") from error
    if array.dtype.kind == "O":
        if any(isinstance(entry, (str, bytes, complex)) for entry in array.flat):
            raise InvalidInputError(f"{name} holds strings or complex numbers; pass real numbers.")
        try:
            return array.astype(np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidInputError(f"{name} holds entries that are not real numbers ({error}).") from error
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} has dtype {array.dtype}; pass real numbers (bool, int or float).")
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float64)


def require_finite(x: FloatArray, name: str = "x") -> None:
    """Raise InvalidInputError if an entry is NaN or infinite; it names the first by sample and feature."""
    finite = np.isfinite(x)
    if finite.all():
        return
    first = tuple(int(i) for i in np.argwhere(~finite)[0])
    count = int(finite.size - np.count_nonzero(finite))
    raise InvalidInputError(
        f"{name} is {x[first]} at {sample_name(first[:-1])}, feature {first[-1]} ({count} such entries in "
        f"all); remove or impute them first."
    )


def sample_name(index: tuple[int, ...]) -> str:
    """The name of a row in messages: by its index, or by its multi-index under several leading axes."""
    if not index:
        return "the sample"
    return f"sample {index[0]}" if len(index) == 1 else f"sample {index}"


def as_samples(X: npt.ArrayLike, name: str = "X") -> FloatArray:
    """Samples as a finite float64 array of shape (n_samples, n_features), both at least one.

    Raises
    ------
    InvalidInputError
        For another shape, NaN, infinities, or entries that are not real numbers.
    """
    samples = as_float_array(X, name)
    if samples.ndim != 2:
        raise InvalidInputError(
            f"{name} has shape {samples.shape}; expected (n_samples, n_features). "
            "Reshape a single feature with X.reshape(-1, 1), images with X.reshape(len(X), -1)."
        )
    if 0 in samples.shape:
        raise InvalidInputError(
            f"{name} has shape {samples.shape}; at least one sample and one feature are needed."
        )
    require_finite(samples, name)
    return samples


def as_rows(x: npt.ArrayLike) -> FloatArray:
    """Rows as a finite float64 array of shape (..., n_features), at least one row and one feature.

    Raises
    ------
    InvalidInputError
        For another shape, NaN, infinities, or entries that are not real numbers.
    """
    rows = as_float_array(x)
    if rows.ndim == 0:
        raise InvalidInputError("x is a single number; pass an array whose last axis holds the features.")
    if rows.size == 0:
        raise InvalidInputError(f"x is empty (shape {rows.shape}); pass at least one sample and one feature.")
    require_finite(rows)
    return rows


def as_eps(eps: float) -> float:
    """`eps` as a float, if it is a finite number >= 0; else InvalidInputError."""
    try:
        eps = float(eps)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"eps is {eps!r}; pass a finite number >= 0.") from error
    if not (math.isfinite(eps) and eps >= 0.0):
        raise InvalidInputError(f"eps is {eps}; pass a finite number >= 0.")
    return eps


def resolve_group_size(n_features: int, num_groups: int | None, group_size: int | None) -> int:
    """The size of equal groups of features, given exactly one of their number and their size.

    Raises
    ------
    InvalidInputError
        If not exactly one is given, if it does not divide `n_features`, or if the groups have one feature.
    """
    if (num_groups is None) == (group_size is None):
        raise InvalidInputError(
            "Pass exactly one of num_groups and group_size, "
            f"got num_groups={num_groups}, group_size={group_size}."
        )
    name, given = ("group_size", group_size) if num_groups is None else ("num_groups", num_groups)
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1 or n_features % given:
        raise InvalidInputError(
            f"{name}={given!r} does not divide n_features={n_features} into equal groups; "
            f"pass a positive divisor of {n_features}."
        )
    size = int(given) if num_groups is None else n_features // int(given)
    if size == 1:
        raise InvalidInputError(
            f"{name}={given} leaves one feature in each of {n_features} groups, where LN is 0/0; "
            f"use groups of at least two features."
        )
    return size


def resolve_norm(n_features: int, norm: str, num_groups: int | None, group_size: int | None) -> int:
    """The number of features that `norm` normalizes together; `InvalidInputError` if the options do not fit.

    Only "group_layer_norm" takes `num_groups` or `group_size`.
    """
    if norm == "group_layer_norm":
        return resolve_group_size(n_features, num_groups, group_size)
    if norm not in ("layer_norm", "rms_norm"):
        raise InvalidInputError(f"norm is {norm!r}; pass 'layer_norm', 'rms_norm' or 'group_layer_norm'.")
    if num_groups is not None or group_size is not None:
        raise InvalidInputError(
            f"num_groups={num_groups} and group_size={group_size} mean nothing to norm={norm!r}; "
            "leave them out or pass norm='group_layer_norm'."
        )
    return n_features


def encode_labels(y: Iterable[Any], n_samples: int) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Number the classes by first appearance, comparing labels as Python does.

    Lists and object arrays are never handed to numpy, which would turn ``[1, "1"]`` into two equal
    strings; so 1 and "1" stay apart, while 1, 1.0 and True, equal in Python, are one class.

    Parameters
    ----------
    y : iterable of hashable, length n_samples
    n_samples : int
        The number of samples that the labels belong to.

    Returns
    -------
    codes : ndarray of int64, shape (n_samples,)
    classes : tuple
        ``classes[codes[i]] == y[i]``.

    Raises
    ------
    InvalidInputError
        For a wrong length or shape, a NaN label (never equal to itself) or an unhashable one.

    Examples
    --------
    >>> encode_labels([1, "1", True], 3)
    (array([0, 1, 0]), (1, '1'))
    """
    if isinstance(y, (str, bytes)):
        raise InvalidInputError("y is one string; pass one label a sample, for instance list(y).")
    if not isinstance(y, np.ndarray) and hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if isinstance(y, np.ndarray):
        if y.ndim != 1:
            raise InvalidInputError(f"y has shape {y.shape}; expected ({n_samples},). Try y.ravel().")
        y = y.tolist()
    numbers: dict[Hashable, int] = {}
    codes = []
    for i, label in enumerate(y):
        if isinstance(label, (np.generic, np.ndarray)) and label.ndim == 0:
            label = label.item()
        try:
            code = numbers.setdefault(label, len(numbers))
        except TypeError as error:
            raise InvalidInputError(
                f"The label of sample {i} is {label!r}, which is not hashable; pass one plain label a sample."
            ) from error
        if label != label:
            raise InvalidInputError(
                f"The label of sample {i} is {label!r}; drop or name missing labels first."
            )
        codes.append(code)
    if len(codes) != n_samples:
        raise InvalidInputError(
            f"y has {len(codes)} labels for {n_samples} samples; pass one label a sample."
        )
    return np.array(codes, dtype=np.int64), tuple(numbers)


def as_count(value: Any, name: str, least: int = 0, most: int | None = None) -> int:
    """A whole number within bounds, as int; True and 1.0 are not accepted.

    Parameters
    ----------
    value : int or numpy integer
    name : str
        The name of the number in the message.
    least, most : int
        The least and the largest number allowed; by default there is no largest one.

    Raises
    ------
    InvalidInputError
        If `value` is not an integer or is out of bounds.

    Examples
    --------
    >>> as_count(np.int64(3), "depth")
    3
    >>> as_count(0, "width", 1)
    Traceback (most recent call last):
    ...
    lntheory.errors.InvalidInputError: width=0; give a whole number from 1 on
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    bounds = f"from {least} on" if most is None else f"from {least} to {most}"
    raise InvalidInputError(f"{name}={excerpt(value)}; give a whole number {bounds}")


def as_seed(value: Any, name: str = "random_state") -> int:
    """A seed: a whole number from 0 on, so that the same call gives the same result.

    Raises
    ------
    InvalidInputError
        For anything else, None included, since None would give another result every time.
    """
    return as_count(value, name, 0)


def as_seconds(value: Any, name: str) -> float:
    """A finite number of seconds above zero, as float.

    Raises
    ------
    InvalidInputError
        For anything else.
    """
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise InvalidInputError(f"{name}={excerpt(value)}; give a positive number of seconds")
    return float(value)


def as_exact_samples(X: npt.ArrayLike, n_features: int | None = None) -> FloatArray:
    """Samples as in `as_samples`, but an integer that is not exactly a float64 is refused, not rounded.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
    n_features : int, optional
        The number of features that the net takes; by default any number is allowed.

    Raises
    ------
    InvalidInputError
        If X is no matrix of finite numbers, has another number of features, or holds integers that no
        float64 equals.
    """
    samples = as_samples(X)
    if n_features is not None and samples.shape[1] != n_features:
        raise InvalidInputError(f"X has {samples.shape[1]} features a sample, the net takes {n_features}")
    given = np.asarray(X)
    if given.dtype.kind in "iu" and (samples.astype(given.dtype) != given).any():
        raise InvalidInputError("X holds integers that no float64 equals; scale the data")
    return samples
