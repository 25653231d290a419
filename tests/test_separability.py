"""SSR and LSSR in float64: one-shot and streaming, against the exact values."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import lntheory
from lntheory import ScatterAccumulator, Separability, lssr, separability, ssr
from lntheory.base.modular import PRIME, ModularRowSpace, residues
from lntheory.base.validation import encode_labels
from lntheory.errors import DegenerateInputError, InvalidInputError, RankWarning
from lntheory.exact import separability as exact
from lntheory.separability import unit_vector
from tests import tolerances
from tests.problems import PROBLEMS, Problem
from tests.strategies import FloatArray, any_label, float_samples, integer_rows


def quiet(X: Any, y: Any) -> Separability:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        return separability(X, y)


def exact_lssr(X: Any, y: Any) -> Fraction:
    """The exact value, or the lower end of an enclosure so narrow that no float error bound sees it."""
    value = exact.lssr(X, y, width=Fraction(1, 2**300))
    return value if isinstance(value, Fraction) else value.lower


def accumulate(X: FloatArray, y: list[Any], cuts: list[int]) -> ScatterAccumulator:
    accumulator = ScatterAccumulator()
    ends = sorted({0, len(y), *(c % len(y) for c in cuts)})
    for start, stop in pairwise(ends):
        accumulator.update(X[start:stop], y[start:stop])
    return accumulator


@given(float_samples())
def test_lssr_is_within_its_error_bound(data: tuple[FloatArray, list[str]]) -> None:
    X, y = data
    s = quiet(X, y)
    assert abs(Fraction(s.lssr) - exact_lssr(X, y)) <= s.error_bound


@given(float_samples())
def test_ssr_is_within_its_bound(data: tuple[FloatArray, list[str]]) -> None:
    X, y = data
    value = exact.ssr(X, y)
    bound = Fraction(tolerances.SSR) * value + Fraction(tolerances.SUBNORMAL)
    assert abs(Fraction(ssr(X, y)) - value) <= bound
    assert ssr(X, y) == quiet(X, y).ssr


@given(float_samples())
def test_bounds_hold_in_float_too(data: tuple[FloatArray, list[str]]) -> None:
    s = quiet(*data)
    assert 0.0 <= s.lssr <= s.ssr <= 1.0
    assert s.smallest_retained > s.cutoff >= s.largest_discarded or s.rank == len(data[0]) - 1
    assert 1 <= s.rank <= min(len(data[0]) - 1, data[0].shape[1])


@given(float_samples())
def test_direction_attains_lssr(data: tuple[FloatArray, list[str]]) -> None:
    """SSR along the direction, in exact arithmetic on the direction's floats, is LSSR up to the bound."""
    X, y = data
    s = quiet(X, y)
    assume(s.error_bound < 1e-3 and np.abs(np.log2(np.abs(X[X != 0]))).max() < 400)
    assert abs(np.linalg.norm(s.direction) - 1) < tolerances.UNIT_DIRECTION
    rows = [
        [sum((Fraction(a) * Fraction(b) for a, b in zip(x, s.direction.tolist(), strict=True)), Fraction(0))]
        for x in X.tolist()
    ]
    assert exact.ssr(rows, y) - Fraction(s.lssr) <= 2 * s.error_bound


@given(float_samples())
def test_warns_exactly_when_the_cut_off_decided(data: tuple[FloatArray, list[str]]) -> None:
    X, y = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s = separability(X, y)
    assert [w.category for w in caught] == [RankWarning] * s.cutoff_decided
    assert all(w.filename == __file__ for w in caught)


@given(integer_rows(bound=100))
def test_integer_data_of_any_rank_do_not_warn(rows: list[list[int]]) -> None:
    """Duplicated and dependent features are dependent exactly: no cut-off decided anything."""
    s = separability(rows, range(len(rows)))
    assert s.rank == s.data_rank


@given(float_samples(), st.lists(st.integers(0, 100), max_size=5), st.randoms(use_true_random=False))
def test_streaming_agrees_with_the_exact_value(
    data: tuple[FloatArray, list[str]], cuts: list[int], random: Any
) -> None:
    """In any order and any batches, within the stated bound; the rank modulo a prime is the same."""
    X, y = data
    order = list(range(len(y)))
    random.shuffle(order)
    accumulator = accumulate(X[order], [y[i] for i in order], cuts)
    assert accumulator.n_samples == len(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        s = accumulator.separability()
    assert abs(Fraction(s.lssr) - exact_lssr(X, y)) <= s.error_bound
    assert abs(s.ssr - ssr(X, y)) <= tolerances.SSR_STREAMING * max(X.shape)


@given(float_samples(), st.integers(0, 100), st.integers(0, 100))
def test_merging_accumulators_is_accumulating(
    data: tuple[FloatArray, list[str]], first: int, second: int
) -> None:
    X, y = data
    a, b = sorted((first % len(y), second % len(y)))
    parts = [
        accumulate(X[i:j], y[i:j], []) if j > i else ScatterAccumulator()
        for i, j in ((0, a), (a, b), (b, len(y)))
    ]
    merged = ScatterAccumulator()
    for part in reversed(parts):
        merged.merge(part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        s = merged.separability()
    assert merged.n_samples == len(y)
    assert set(merged.classes) == set(y)
    assert abs(Fraction(s.lssr) - exact_lssr(X, y)) <= s.error_bound
    assert abs(s.ssr - ssr(X, y)) <= tolerances.SSR_STREAMING * max(X.shape)


def test_streaming_one_sample_at_a_time() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)) * 10.0 ** np.arange(-4, 1) + 1e6, rng.integers(0, 3, 300)
    accumulator = accumulate(X, y.tolist(), list(range(300)))
    s, one_shot = accumulator.separability(), separability(X, y)
    assert abs(s.lssr - one_shot.lssr) <= 2 * max(s.error_bound, one_shot.error_bound)
    assert one_shot.error_bound < tolerances.ERROR_BOUND


def test_accumulator_errors() -> None:
    accumulator = ScatterAccumulator()
    with pytest.raises(InvalidInputError, match="No samples"):
        accumulator.ssr()
    accumulator.update([[1.0, 2.0]], ["a"])
    with pytest.raises(DegenerateInputError, match="one sample"):
        accumulator.lssr()
    with pytest.raises(InvalidInputError, match="3 features, the samples before it 2"):
        accumulator.update([[1.0, 2.0, 3.0]], ["a"])
    with pytest.raises(InvalidInputError, match="nan at sample 0, feature 1"):
        accumulator.update([[1.0, np.nan]], ["a"])
    assert accumulator.n_samples == 1
    accumulator.update([[1.0, 2.0]], ["b"])
    with pytest.raises(DegenerateInputError, match="All 2 samples coincide"):
        accumulator.ssr()


# Named problems, among them rows of the table of faults that users met elsewhere.


def as_floats(problem: Problem) -> FloatArray:
    return np.array([[float(v) for v in row] for row in problem.X])


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.has_float_reading], ids=lambda p: p.name)
def test_named_problems(problem: Problem) -> None:
    s = quiet(as_floats(problem), problem.y)
    assert abs(Fraction(s.lssr) - problem.lssr) <= s.error_bound
    if problem.ssr is not None:
        assert abs(Fraction(s.ssr) - problem.ssr) <= tolerances.SSR * problem.ssr
    assert s.data_rank == problem.rank


def test_degenerate_fit_of_a_discriminant() -> None:
    assert lssr([[0], [1], [1]], [0, 1, 1]) == 0.0


def test_discriminant_score_is_never_nan() -> None:
    assert lssr([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]) == pytest.approx(1.0, abs=tolerances.LSSR_ONE)
    assert lssr([[0, 0], [1, 2], [0, 0], [1, 2]], [0, 0, 1, 1]) == pytest.approx(1.0, abs=tolerances.LSSR_ONE)


@pytest.mark.parametrize("y", ["aaa", "aab", "aba", "abc"])
def test_collinear_points_work(y: str) -> None:
    s = separability([[0, 0], [1, 1], [2, 2]], list(y))
    assert s.rank == 1
    assert abs(s.lssr - float(exact_lssr([[0, 0], [1, 1], [2, 2]], list(y)))) <= s.error_bound


def test_xor_plus_sums_states_its_rank_and_warns() -> None:
    """Exactly 0 as doubles and 1 as decimals: the float routine must say which rank it took."""
    X = [[0.1, 0.1, 0.2], [0.7, 0.7, 1.4], [0.1, 0.7, 0.8], [0.7, 0.1, 0.8]]
    with pytest.warns(RankWarning, match=r"rank 2 .* have rank 3"):
        s = separability(X, [0, 0, 1, 1])
    assert (s.rank, s.data_rank) == (2, 3)
    assert s.largest_discarded < s.cutoff < s.smallest_retained
    assert s.error_bound == s.lssr == pytest.approx(1.0)
    with pytest.warns(RankWarning):
        lssr(X, [0, 0, 1, 1])


def test_small_values_keep_relative_accuracy() -> None:
    """Two clusters 1e8 apart with unit scatter: LSSR about 1e-16, to many digits."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 1)), 1e8 + rng.normal(size=(20, 1))])
    y = [0] * 20 + [1] * 20
    s, value = separability(X, y), exact_lssr(X, y)
    assert value < tolerances.LSSR_FAR_APART
    assert abs(Fraction(s.lssr) - value) <= Fraction(tolerances.LSSR_RELATIVE) * value
    assert abs(Fraction(s.ssr) - value) <= tolerances.SSR * value


def test_units_of_features_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 2, 30)
    scaled = X * np.array([1e-150, 1.0, 1e100, 1e150])
    plain, wild = separability(X, y), separability(scaled, y)
    assert wild.rank == 4
    assert abs(plain.lssr - wild.lssr) <= plain.error_bound + wild.error_bound < tolerances.ERROR_BOUND
    shifted = separability(X + 1e8, y)
    assert (
        abs(Fraction(shifted.lssr) - exact_lssr(X + 1e8, y)) <= shifted.error_bound < tolerances.ERROR_BOUND
    )


def test_error_bound_is_not_vacuous() -> None:
    rng = np.random.default_rng(2)
    for n, d in ((10, 3), (100, 10), (1000, 30)):
        assert (
            separability(rng.normal(size=(n, d)), rng.integers(0, 2, n)).error_bound
            < tolerances.ERROR_BOUND_GROWTH * 8 * n
        )


def test_more_features_than_samples() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(10, 200)), rng.integers(0, 2, 10)
    s = separability(X, y)
    assert s.rank == 9
    assert s.lssr <= s.error_bound
    assert abs(ssr(X @ s.direction[:, np.newaxis], y)) < tolerances.SEPARATED_SSR


# Labels.


@given(st.lists(any_label(), min_size=1, max_size=10))
def test_labels_of_any_type(labels: list[Any]) -> None:
    codes, classes = encode_labels(labels, len(labels))
    assert [classes[c] for c in codes] == labels
    assert len(set(classes)) == len(classes) == len(set(labels))


def test_mixed_label_types_are_not_merged() -> None:
    X = [[0.0], [1.0], [5.0], [6.0]]
    assert ssr(X, [1, 1, "1", "1"]) == ssr(X, ["a", "a", "b", "b"]) < 0.1
    assert ssr(X, [1, 1.0, True, np.int64(1)]) == 1.0
    objects = np.array([1, 1, "1", "1"], dtype=object)
    assert ssr(X, objects) == ssr(X, [1, 1, "1", "1"])
    for y in (np.array(["u", "u", "v", "v"]), np.array([0.5, 0.5, 1.5, 1.5]), (False, False, True, True)):
        assert ssr(X, y) == ssr(X, [0, 0, 1, 1])


def test_label_errors() -> None:
    X = [[0.0], [1.0]]
    with pytest.raises(InvalidInputError, match="3 labels for 2 samples"):
        ssr(X, [0, 1, 2])
    with pytest.raises(InvalidInputError, match="sample 1 is nan"):
        ssr(X, [0.0, float("nan")])
    with pytest.raises(InvalidInputError, match=r"shape \(2, 1\)"):
        ssr(X, np.array([[0], [1]]))
    with pytest.raises(InvalidInputError, match=r"sample 0 is .* not hashable"):
        ssr(X, [[0], [1]])
    with pytest.raises(InvalidInputError, match="one string"):
        ssr(X, "ab")


def test_sample_errors() -> None:
    with pytest.raises(InvalidInputError, match="inf at sample 1, feature 0"):
        lssr([[0.0], [np.inf]], [0, 1])
    with pytest.raises(InvalidInputError, match=r"shape \(3,\)"):
        lssr([0.0, 1.0, 2.0], [0, 1, 1])
    with pytest.raises(InvalidInputError, match=r"shape \(0, 2\)"):
        lssr(np.zeros((0, 2)), [])
    with pytest.raises(DegenerateInputError, match="All 3 samples coincide"):
        ssr([[0.1, 1e300]] * 3, [0, 1, 1])
    with pytest.raises(DegenerateInputError, match="one sample"):
        separability([[1.0]], [0])


# The rank modulo a prime.


@given(integer_rows(max_samples=8, bound=3), st.integers(-1074, 900))
def test_modular_rank_is_the_rank(rows: list[list[int]], power: int) -> None:
    X = np.ldexp(np.array(rows, dtype=np.float64), power)
    space = ModularRowSpace(X.shape[1])
    for i in range(0, len(X), 3):
        space.add(residues(X[i : i + 3]))
    assert space.rank == np.linalg.matrix_rank(np.array(rows))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_residue_is_that_of_the_dyadic_rational(value: float) -> None:
    numerator, denominator = value.as_integer_ratio()
    assert int(residues(np.array([value]))[0]) == numerator * pow(denominator, -1, PRIME) % PRIME


# The package.


def test_public_names() -> None:
    assert set(lntheory.__all__) <= set(dir(lntheory))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lntheory.nothing  # noqa: B018


def test_merging_keeps_the_rank_of_data_off_the_origin() -> None:
    """Points of one line that misses the origin, in two accumulators with different origins."""
    base, step = np.array([1.0, 2.0, 5.0]), np.array([3.0, -1.0, 2.0])
    halves = ScatterAccumulator(), ScatterAccumulator()
    for accumulator, times in zip(halves, ([0, 1, 2], [5, 7]), strict=True):
        accumulator.update(base + np.outer(times, step), list("aba")[: len(times)])
    first, second = halves
    first.merge(second)
    assert first.rank == 1
    assert first.separability().rank == first.separability().data_rank == 1


# The rank decision and the direction, as stated.


@given(float_samples())
def test_the_cut_off_is_the_stated_one(data: tuple[FloatArray, list[str]]) -> None:
    X, y = data
    found = quiet(X, y)
    values = found.singular_values
    assert found.cutoff == pytest.approx(max(X.shape) * 2.0**-52 * values[0], rel=tolerances.CUTOFF, abs=0)
    assert (values[: found.rank] > found.cutoff).all()
    assert (values[found.rank :] <= found.cutoff).all()


@given(float_samples())
def test_one_class_is_never_separated(data: tuple[FloatArray, list[str]]) -> None:
    X, _ = data
    found = quiet(X, ["a"] * len(X))
    assert found.lssr == found.ssr == 1.0


def test_direction_is_read_only_and_has_no_negative_zeros() -> None:
    found = separability([[0.0, 0.0], [1.0, 0.0], [0.0, -2.0], [1.0, -2.0]], [0, 0, 1, 1])
    assert found.direction.tolist() == [0.0, 1.0]
    for weights in ([0.0, -2.0, 0.0], [-0.0, 2.0]):
        assert not np.signbit(unit_vector(np.array(weights), np.zeros(len(weights), dtype=np.int64))).any()
    with pytest.raises(ValueError, match="read-only"):
        found.direction[0] = 1.0
