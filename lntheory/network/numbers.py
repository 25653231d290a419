"""The parameters of nets: binary numbers, held as float64 if all are float64, else as dyadic rationals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from lntheory.errors import FileFormatError, InvalidInputError, excerpt

MOST_BITS = 100_000  # the most bits of a dyadic number: a longer one is a mistake or an attack
_DYADIC = re.compile(r"(-?(?:0|[1-9][0-9]*))p(-?(?:0|[1-9][0-9]*))", re.ASCII)


def is_double(value: Fraction) -> bool:
    """Whether the number is exactly a float64."""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def as_dyadic(value: Any, where: str) -> Fraction:
    """`value` as the exact rational that it is, a binary number ``integer * 2**exponent``.

    Raises
    ------
    InvalidInputError
        If `value` is no finite real number, no binary number, or has more than `MOST_BITS` bits; the message
        names `where`.

    Examples
    --------
    >>> as_dyadic(0.75, "bias[0]")
    Fraction(3, 4)
    """
    if isinstance(value, (bool, np.bool_, complex, np.complexfloating, str)):
        raise InvalidInputError(f"{where}: {value!r} is not a real number")
    try:
        if isinstance(value, flint.fmpq):
            exact = Fraction(int(value.p), int(value.q))
        elif isinstance(value, (flint.fmpz, np.integer)):
            exact = Fraction(int(value))
        elif isinstance(value, (float, np.floating)):
            exact = Fraction(*value.as_integer_ratio())
        else:
            exact = Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{where}: {value!r} is not a finite real number") from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_BITS:
        raise InvalidInputError(f"{where}: the number needs more than {MOST_BITS} bits; round it")
    if exact.denominator & (exact.denominator - 1):
        raise InvalidInputError(
            f"{where}: {exact} is not a binary number (its denominator is no power of two); round it to one"
        )
    return exact


def as_parameters(values: Any, ndim: int, name: str) -> NDArray[Any]:
    """A read-only float64 array if every entry is exactly a float64, else an object array of Fractions.

    Raises
    ------
    InvalidInputError
        If `values` is not a non-empty array of `ndim` dimensions, or an entry is no finite binary number; the
        message names the array by `name`.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
            array = np.array(values, dtype=object)
    except (ValueError, TypeError, OverflowError):
        raise InvalidInputError(
            f"{name}: rows of different lengths; give a {ndim}-dimensional array"
        ) from None
    if array.ndim != ndim or 0 in array.shape:
        raise InvalidInputError(
            f"{name} has shape {array.shape}; expected a non-empty {ndim}-dimensional array"
        )
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise InvalidInputError(f"{name}{list(first)} is {array[first]}; parameters must be finite")
        result: NDArray[Any] = np.array(array, dtype=np.float64)
    else:
        exact = [as_dyadic(value, f"{name}{list(at)}") for at, value in np.ndenumerate(array)]
        result = np.array(exact, dtype=object).reshape(array.shape)
        if all(map(is_double, exact)):
            result = result.astype(np.float64)
            # Fractions have no signed zero, floats do: keep the bits that were given.
            for at, value in np.ndenumerate(array):
                if isinstance(value, (float, np.floating)):
                    result[at] = value
    result.setflags(write=False)
    return result


def as_fractions(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers as a read-only object array of Fractions."""
    exact = [value if isinstance(value, Fraction) else Fraction(float(value)) for value in array.flat]
    result: NDArray[Any] = np.array(exact, dtype=object).reshape(array.shape)
    result.setflags(write=False)
    return result


def encode(value: Any) -> float | str:
    """The JSON form of a parameter: a number if it is exactly a float64, else ``"<integer>p<exponent>"``.

    Examples
    --------
    >>> encode(Fraction(3, 4)), encode(Fraction(3, 2**2000))
    (0.75, '3p-2000')
    """
    if not isinstance(value, Fraction):
        return float(value)
    if is_double(value):
        return float(value)
    numerator, exponent = value.numerator, 1 - value.denominator.bit_length()
    if exponent == 0:
        twos = (numerator & -numerator).bit_length() - 1
        numerator, exponent = numerator >> twos, twos
    return f"{flint.fmpz(numerator)}p{exponent}"


def decode(value: Any, where: str) -> float | Fraction:
    """The parameter that `encode` wrote; `FileFormatError` names `where` if `value` is no such form."""
    if isinstance(value, str):
        match = _DYADIC.fullmatch(value)
        if match is None:
            raise FileFormatError(f'{where}: {excerpt(value)} is not of the form "<integer>p<exponent>"')
        if len(match[1]) > MOST_BITS * 0.302 or len(match[2]) > 8 or abs(int(match[2])) > MOST_BITS:
            raise FileFormatError(f"{where}: {excerpt(value)} needs more than {MOST_BITS} bits")
        return Fraction(int(flint.fmpz(match[1]))) * Fraction(2) ** int(match[2])
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value != value
        or abs(value) == math.inf
    ):
        raise FileFormatError(f"{where}: {excerpt(value)} is not a finite float64 number")
    if isinstance(value, int) and not is_double(Fraction(value)):
        raise FileFormatError(
            f'{where}: the integer {excerpt(value)} is not a float64; write it as the string "<integer>p0"'
        )
    return float(value)


def as_integers(array: NDArray[Any]) -> tuple[list[list[fmpz]], int]:
    """A matrix of floats or dyadic Fractions as (integers, exponent): entry = integer * 2**exponent.

    All entries share the exponent, which is at most 0.

    Examples
    --------
    >>> integers, exponent = as_integers(np.array([[0.75, 2.0]]))
    >>> [float(Fraction(int(entry)) * Fraction(2) ** exponent) for entry in integers[0]]
    [0.75, 2.0]
    """
    if array.dtype == object:
        shift = max(value.denominator.bit_length() - 1 for value in array.flat)
        return [
            [fmpz((value.numerator << shift) // value.denominator) for value in row] for row in array
        ], -shift
    mantissas, exponents = np.frexp(array)
    whole = (mantissas * 2.0**53).astype(np.int64)
    powers = exponents.astype(np.int64) - 53
    lowest = min(0, int(powers[whole != 0].min(initial=0)))
    shifts = np.where(whole != 0, powers - lowest, 0)
    rows = zip(whole.tolist(), shifts.tolist(), strict=True)
    return [[fmpz(m) << e for m, e in zip(row, by, strict=True)] for row, by in rows], lowest


def as_list(data: Any, where: str) -> list[Any]:
    """`data` as a list; `FileFormatError` names `where` if `data` is not a list."""
    if not isinstance(data, (list, tuple)):
        raise FileFormatError(f"{where}: {excerpt(data)} is not a list")
    return list(data)


def as_rows_of_numbers(rows: list[Any], where: str) -> Iterator[tuple[int, list[Any]]]:
    """The rows of a JSON matrix with their indices.

    `FileFormatError` names `where` if there is no row, or if a row is empty or not as long as the first.
    """
    if not rows:
        raise FileFormatError(f"{where}: has no rows")
    for i, row in enumerate(rows):
        numbers = as_list(row, f"{where}[{i}]")
        expected = len(rows[0])
        if len(numbers) != expected or not numbers:
            raise FileFormatError(
                f"{where}[{i}]: row has {len(numbers)} numbers, expected {expected or 'some'}"
            )
        yield i, numbers


def decoded_array(values: list[Any]) -> NDArray[Any]:
    """Decoded numbers as an array: of float64 if all are floats, else of objects, so that none is rounded."""
    flat = values if not isinstance(values[0], list) else [value for row in values for value in row]
    if all(isinstance(value, float) for value in flat):
        return np.array(values, dtype=np.float64)
    return np.array(values, dtype=object)
