"""LN, RMSNorm and LN-G in float64 against their exact values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import group_layer_norm, layer_norm, rms_norm
from lntheory.base.compensated import centred, compensated_sum
from lntheory.errors import DegenerateInputError, InvalidInputError
from tests import tolerances
from tests.strategies import FloatArray, norm_rows

Norm = Callable[..., FloatArray]


def exact_outputs(row: FloatArray, *, centre: bool, eps: float = 0.0) -> list[Fraction]:
    """The outputs to 300 bits: rationals up to the square root, which ball arithmetic takes."""
    values = [Fraction(v) for v in row.tolist()]
    if centre:
        mean = sum(values, Fraction(0)) / len(values)
        values = [v - mean for v in values]
    square = sum((v * v for v in values), Fraction(0)) / len(values) + Fraction(eps)
    with flint.ctx.workprec(300):
        root = flint.arb(flint.fmpq(square.numerator, square.denominator)).sqrt()
        quotients = [(flint.arb(flint.fmpq(v.numerator, v.denominator)) / root).mid() for v in values]
        return [Fraction(*(int(part) for part in _ratio(q))) for q in quotients]


def _ratio(ball: flint.arb) -> tuple[int, int]:
    mantissa, exponent = (int(part) for part in ball.man_exp())
    return (mantissa << exponent, 1) if exponent >= 0 else (mantissa, 1 << -exponent)


def error(row: FloatArray, computed: FloatArray, *, centre: bool, eps: float = 0.0) -> float:
    """Largest error over the row's largest exact output, less what subnormal outputs are allowed."""
    exact = exact_outputs(row, centre=centre, eps=eps)
    largest = max(abs(v) for v in exact)
    worst = max(abs(Fraction(c) - e) for c, e in zip(computed.tolist(), exact, strict=True))
    worst = max(worst - (Fraction(tolerances.SUBNORMAL) if eps else 0), Fraction(0))
    return float(worst / largest) if largest else float(worst)


@given(norm_rows())
def test_layer_norm_is_within_its_bound(row: FloatArray) -> None:
    assert error(row, layer_norm(row), centre=True) <= tolerances.LAYER_NORM


@given(norm_rows(), st.sampled_from([5e-324, 1e-300, 1e-12, 1e-5, 1.0, 1e300]))
def test_layer_norm_with_eps_is_within_its_bound(row: FloatArray, eps: float) -> None:
    assert error(row, layer_norm(row, eps=eps), centre=True, eps=eps) <= tolerances.LAYER_NORM


@given(norm_rows())
def test_rms_norm_is_within_its_bound(row: FloatArray) -> None:
    if row.any():
        assert error(row, rms_norm(row), centre=False) <= tolerances.RMS_NORM


@given(norm_rows(min_features=2, max_features=6), st.integers(1, 4))
def test_group_layer_norm_is_layer_norm_of_each_group(row: FloatArray, n_groups: int) -> None:
    x = np.tile(row, n_groups)
    expected = np.tile(layer_norm(row), n_groups)
    np.testing.assert_array_equal(group_layer_norm(x, num_groups=n_groups), expected)
    np.testing.assert_array_equal(group_layer_norm(x, group_size=len(row)), expected)


@given(norm_rows(min_features=2, max_features=2))
def test_two_features_give_exactly_plus_and_minus_one(row: FloatArray) -> None:
    np.testing.assert_array_equal(layer_norm(row), np.where(row > row[::-1], 1.0, -1.0))


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
@given(row=norm_rows(), power=st.integers(-60, 60))
def test_scaling_by_a_power_of_two_changes_no_bit(norm: Norm, row: FloatArray, power: int) -> None:
    if row.any() and np.abs(row).max() < 1e200 and np.abs(row[row != 0]).min() > 1e-200:
        np.testing.assert_array_equal(norm(np.ldexp(row, power)), norm(row))


def test_rows_do_not_influence_each_other_under_any_leading_shape() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5)) * 10.0 ** np.arange(-60, 60, 1).reshape(2, 3, 4, 5)
    y = layer_norm(x)
    assert y.shape == x.shape
    assert y.flags.c_contiguous
    for index in np.ndindex(2, 3, 4):
        np.testing.assert_array_equal(y[index], layer_norm(x[index]))


def test_non_contiguous_and_narrow_input() -> None:
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    np.testing.assert_array_equal(layer_norm(x[::2, ::-1]), layer_norm(np.ascontiguousarray(x[::2, ::-1])))
    assert layer_norm(x).dtype == np.float64
    np.testing.assert_array_equal(layer_norm([[1, 2, 3]]), layer_norm([[1.0, 2.0, 3.0]]))
    np.testing.assert_array_equal(layer_norm(np.array([Fraction(1), Fraction(2), 3])), layer_norm([1, 2, 3]))


def test_input_is_left_as_it_is() -> None:
    x = np.array([[1.0, 2.0, 4.0]])
    x.flags.writeable = False
    layer_norm(x)
    np.testing.assert_array_equal(x, [[1.0, 2.0, 4.0]])


# Rows of the table of faults that users met elsewhere.


def test_far_shifted_rows() -> None:
    """randn(5, 4) + 2000 in float32: the mean is near 0 and the variance near 1."""
    x = (np.random.default_rng(0).normal(size=(5, 4)) + 2000).astype(np.float32)
    for row, y in zip(x.astype(np.float64), layer_norm(x), strict=True):
        assert error(row, y, centre=True) <= tolerances.LAYER_NORM
        assert abs(y.mean()) <= tolerances.LAYER_NORM * np.abs(y).max()
        assert abs((y**2).mean() - 1) <= 2 * tolerances.LAYER_NORM * np.abs(y).max()


def test_constant_row_is_an_error_naming_the_row() -> None:
    x = np.random.default_rng(0).normal(size=(3, 256))
    x[1] = 1234.0
    with pytest.raises(DegenerateInputError, match=r"Sample 1 has zero variance .*1234\.0"):
        layer_norm(x)
    np.testing.assert_array_equal(layer_norm(x, eps=1e-5)[1], np.zeros(256))


def test_constant_rows_are_decided_exactly() -> None:
    with pytest.raises(DegenerateInputError):
        layer_norm([0.1] * 10)
    nearly = np.array([0.1] * 10)
    nearly[3] = np.nextafter(0.1, 1.0)
    assert error(nearly, layer_norm(nearly), centre=True) <= tolerances.LAYER_NORM


def test_zeros_with_a_tiny_eps_give_zeros() -> None:
    np.testing.assert_array_equal(layer_norm(np.zeros(10), eps=1e-12), np.zeros(10))
    np.testing.assert_array_equal(rms_norm(np.zeros(10), eps=1e-12), np.zeros(10))


def test_squares_of_large_values_do_not_overflow() -> None:
    np.testing.assert_array_equal(layer_norm([1.7e308, -1.7e308]), [1.0, -1.0])
    np.testing.assert_array_equal(rms_norm([1.7e308, -1.7e308]), [1.0, -1.0])


@pytest.mark.parametrize(("n_features", "num_groups"), [(6, 5), (4, 0), (4, -1), (4, 8)])
def test_groups_that_do_not_divide_are_an_error_naming_both_numbers(n_features: int, num_groups: int) -> None:
    for keywords in ({"num_groups": num_groups}, {"group_size": num_groups}):
        with pytest.raises(ValueError, match=rf"={num_groups} .*n_features={n_features}"):
            group_layer_norm(np.arange(float(n_features)), **keywords)


def test_group_of_one_is_an_error() -> None:
    x = np.random.default_rng(0).normal(size=(7, 27))
    with pytest.raises(InvalidInputError, match=r"num_groups=27 leaves one feature in each of 27"):
        group_layer_norm(x, num_groups=27)
    with pytest.raises(InvalidInputError, match=r"group_size=1"):
        group_layer_norm(x, group_size=1)


def test_groups_of_two_give_plus_and_minus_one_only() -> None:
    y = group_layer_norm(np.random.default_rng(0).normal(size=(100, 8)), num_groups=4)
    assert set(np.unique(y)) == {-1.0, 1.0}


# Errors.


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_errors_name_the_entry(norm: Norm) -> None:
    x = np.ones((2, 3, 4)) + np.arange(4)
    x[1, 2, 3] = np.nan
    with pytest.raises(InvalidInputError, match=r"nan at sample \(1, 2\), feature 3"):
        norm(x)
    with pytest.raises(InvalidInputError, match=r"-inf at the sample, feature 1"):
        norm([1.0, -np.inf])
    for shape in ((0, 3), (3, 0), (0,)):
        with pytest.raises(InvalidInputError, match="empty"):
            norm(np.zeros(shape))
    for bad in ("abc", [["1", "2"]], [1j, 2.0], [[1.0], [1.0, 2.0]], 3.0, [None, "x"]):
        with pytest.raises(InvalidInputError):
            norm(bad)
    for eps in (-1e-9, np.nan, np.inf, "x"):
        with pytest.raises(InvalidInputError, match="eps"):
            norm([1.0, 2.0], eps=eps)


def test_zero_variance_errors_name_the_sample_and_the_group() -> None:
    with pytest.raises(DegenerateInputError, match=r"Sample \(0, 1\)"):
        layer_norm([[[1.0, 2.0], [3.0, 3.0]]])
    with pytest.raises(DegenerateInputError, match="Sample 0 has zero variance"):
        layer_norm([[7.0]])  # one feature
    with pytest.raises(DegenerateInputError, match="Sample 1 is zero"):
        rms_norm([[1.0], [0.0]])
    with pytest.raises(DegenerateInputError, match=r"Group 1 \(features 2 to 3\) of sample 0"):
        group_layer_norm([[1.0, 2.0, 3.0, 3.0]], group_size=2)


def test_group_layer_norm_takes_exactly_one_of_its_two_numbers() -> None:
    for keywords in ({}, {"num_groups": 2, "group_size": 2}):
        with pytest.raises(InvalidInputError, match="exactly one"):
            group_layer_norm([1.0, 2.0, 3.0, 4.0], **keywords)


# The sums underneath.


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_compensated_sum_is_the_rounded_exact_sum(values: list[float]) -> None:
    exact = sum((Fraction(v) for v in values), Fraction(0))
    high, low = compensated_sum(np.array(values))
    slack = (
        len(values) ** 2 * Fraction(tolerances.U) ** 2 * sum((abs(Fraction(v)) for v in values), Fraction(0))
    )
    assert abs(Fraction(float(high)) + Fraction(float(low)) - exact) <= slack


@given(norm_rows())
def test_centred_values_are_within_their_bound(row: FloatArray) -> None:
    x = np.ldexp(row, -np.frexp(np.abs(row).max())[1])
    mean = sum((Fraction(v) for v in x.tolist()), Fraction(0)) / len(x)
    exact = [Fraction(v) - mean for v in x.tolist()]
    largest = max(abs(v) for v in exact)
    common = min(largest, tolerances.CENTRED_MEAN * max(abs(Fraction(v)) for v in x.tolist()))
    for computed, v in zip(centred(x).tolist(), exact, strict=True):
        bound = Fraction(tolerances.U) * abs(v) + tolerances.CENTRED_MEAN * common
        assert abs(Fraction(computed) - v) <= bound + tolerances.CENTRED_SECOND_ORDER * largest


@given(st.floats(-1, 1), st.integers(1, 2000))
def test_equal_values_centre_to_exact_zeros(value: float, count: int) -> None:
    assert not centred(np.full(count, value)).any()


def test_the_error_measure_can_fail() -> None:
    """The textbook formula on shifted data must be seen to miss the bound."""
    row = np.random.default_rng(0).normal(size=8) + 1e8
    naive: npt.NDArray[np.float64] = (row - row.mean()) / np.sqrt((row**2).mean() - row.mean() ** 2 + 1e-3)
    assert error(row, naive, centre=True) > tolerances.LAYER_NORM
