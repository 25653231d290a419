"""Reading numbers as the rationals that they are, and exact ranks."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import InvalidInputError
from lntheory.exact.rational import (
    independent_columns,
    to_fmpq,
    to_fraction,
    to_integer_columns,
    to_rational_matrix,
)
from tests.strategies import matrices

finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.one_of(
    finite,
    st.integers(-(10**30), 10**30),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False, places=20),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Fraction(3)),
        (True, Fraction(1)),
        (Fraction(2, 6), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (0.1, Fraction(3602879701896397, 2**55)),
        (5e-324, Fraction(1, 2**1074)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.longdouble(1) + np.longdouble(2) ** -60, 1 + Fraction(1, 2**60)),
        (np.int64(-7), Fraction(-7)),
        (np.uint8(200), Fraction(200)),
        (np.bool_(True), Fraction(1)),
        (sympy.Rational(2, 3), Fraction(2, 3)),
        (sympy.Integer(4), Fraction(4)),
        (flint.fmpq(2, 3), Fraction(2, 3)),
        (flint.fmpz(5), Fraction(5)),
        (10**40, Fraction(10**40)),
    ],
)
def test_every_number_is_the_rational_that_it_is(value: Any, expected: Fraction) -> None:
    assert to_fraction(value) == expected
    assert to_fmpq(value) == flint.fmpq(expected.numerator, expected.denominator)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (np.float32("-inf"), "-inf"),
        (Decimal("NaN"), "NaN"),
        (Decimal("Infinity"), "Infinity"),
        (1j, "complex"),
        ("0.1", "Decimal"),
        (None, "NoneType"),
        ([1], "list"),
    ],
)
def test_other_values_are_refused_by_name(value: Any, message: str) -> None:
    for convert in (to_integer_columns, to_rational_matrix):
        with pytest.raises(InvalidInputError, match=rf"X at sample 1, feature 1 .*{message}"):
            convert([[1, 2], [3, value]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2], [3]], "Sample 1 of X has 1 features and sample 0 has 2"),
        ([1, 2], "Sample 0 of X is 1, not a row"),
        ([], "empty"),
        ([[]], "empty"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        ("abc", "X is str"),
        (5, "X is int"),
        (["ab", "cd"], "Sample 0"),
    ],
)
def test_shapes_are_refused_by_name(X: Any, message: str) -> None:
    for convert in (to_integer_columns, to_rational_matrix):
        with pytest.raises(InvalidInputError, match=message):
            convert(X)


def test_float_arrays_name_the_bad_entry() -> None:
    X = np.zeros((3, 4))
    X[2, 1] = np.nan
    with pytest.raises(InvalidInputError, match="X at sample 2, feature 1 is nan"):
        to_integer_columns(X)


def test_mixed_lists_are_never_rounded() -> None:
    X = [[2**70 + 1, 0.5], [Fraction(1, 3), Decimal("0.1")]]
    assert to_rational_matrix(X).table() == [
        [flint.fmpq(2**70 + 1), flint.fmpq(1, 2)],
        [flint.fmpq(1, 3), flint.fmpq(1, 10)],
    ]


@given(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=6))
def test_integer_columns_are_the_samples(X: list[list[Any]]) -> None:
    columns = to_integer_columns(X)
    assert all(unit > 0 for unit in columns.units)
    for row, integers in zip(X, columns.numerators.tolist(), strict=True):
        for value, integer, unit in zip(row, integers, columns.units, strict=True):
            assert int(integer) * unit == to_fraction(value)


@given(st.lists(st.lists(finite, min_size=2, max_size=2), min_size=1, max_size=6))
def test_float_arrays_take_the_same_way_as_lists(rows: list[list[float]]) -> None:
    fast, slow = to_integer_columns(np.array(rows)), to_integer_columns(rows)
    for row, (a, b) in zip(
        rows, zip(fast.numerators.tolist(), slow.numerators.tolist(), strict=True), strict=True
    ):
        for j, value in enumerate(row):
            assert int(a[j]) * fast.units[j] == int(b[j]) * slow.units[j] == Fraction(value)


@given(st.data())
def test_independent_columns_span(data: st.DataObject) -> None:
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    rows = data.draw(matrices(n, d, bound=2))
    if all(v == 0 for row in rows for v in row):
        rows[0][0] = 1
    matrix = flint.fmpz_mat(rows)
    chosen = independent_columns(matrix)
    assert len(chosen) == matrix.rank() == flint.fmpz_mat([[row[j] for j in chosen] for row in rows]).rank()


def test_independent_columns_survive_a_bad_prime() -> None:
    """A multiple of the first prime is zero modulo it, but not zero."""
    assert independent_columns(flint.fmpz_mat([[18_446_744_073_709_551_557, 0], [0, 0]])) == (0,)
    product = 18_446_744_073_709_551_557 * 18_446_744_073_709_551_533 * 18_446_744_073_709_551_521
    assert independent_columns(flint.fmpz_mat([[0, product], [0, 0]])) == (1,)
