"""What is proved of linear classifiers: against brute force, and refused where it is false."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import exact
from lntheory.errors import InvalidInputError, RefutedError
from tests.tolerances import LSSR_ENCLOSURE
from training.experiments import ceiling
from training.experiments.ceiling import (
    Conflict,
    check_conflict,
    counting_bound,
    disjoint_conflicts,
    linear_ceiling,
)

XOR_X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR_Y = np.array([0, 0, 1, 1])


def interval_labelings(n, n_classes):
    """Every labeling of n ordered points of a line by an argmax of affine scores: classes are intervals."""
    result = set()
    for n_parts in range(1, n_classes + 1):
        for classes in itertools.permutations(range(n_classes), n_parts):
            for cuts in itertools.combinations(range(1, n), n_parts - 1):
                lengths = np.diff([0, *cuts, n])
                result.add(tuple(np.repeat(classes, lengths).tolist()))
    return result


def most_right(labels, labelings):
    return max(sum(a == b for a, b in zip(labels, one, strict=True)) for one in labelings)


# ------------------------------------------------------------------------------------------------- conflicts


def test_xor_is_one_conflict():
    (conflict,) = disjoint_conflicts(XOR_X, XOR_Y)
    assert set(conflict.samples) == {0, 1, 2, 3}
    assert set(conflict.first_weights + conflict.second_weights) == {Fraction(1, 2)}


@pytest.mark.parametrize("y", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
def test_what_is_separable_has_none(y):
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    assert not list(disjoint_conflicts(X, np.array(y)))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_never_more_conflicts_than_errors_on_a_line(labels):
    X = np.arange(len(labels), dtype=np.float64)[:, None] ** 2
    found = list(disjoint_conflicts(X, np.array(labels)))
    errors = len(labels) - most_right(labels, interval_labelings(len(labels), 3))
    assert len(found) <= errors
    used = [i for conflict in found for i in conflict.samples]
    assert len(used) == len(set(used))


@given(st.integers(2, 30), st.integers(1, 4), st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_every_conflict_is_proved_and_disjoint(n, d, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(np.float64)  # small numbers: degenerate, equal samples
    y = rng.integers(0, n_classes, n)
    used = set()
    for conflict in disjoint_conflicts(X, y):
        check_conflict(X, y, conflict)
        assert len(conflict.samples) <= d + 2
        assert not used & set(conflict.samples)
        used |= set(conflict.samples)


def test_equal_samples_of_two_classes_are_a_conflict():
    (conflict,) = disjoint_conflicts(np.array([[0.1, 3.0], [0.1, 3.0]]), np.array([1, 0]))
    assert set(conflict.samples) == {0, 1}


@pytest.fixture
def conflict():
    X = np.array([[0.1], [0.2], [0.3], [7.0]])
    y = np.array([0, 1, 0, 1])
    (found,) = disjoint_conflicts(X, y)
    return X, y, found


def test_false_conflicts_are_refused(conflict):
    X, y, right = conflict
    check_conflict(X, y, right)
    a, b = right.first_weights
    false = [
        (X, y, replace(right, first_weights=(b, a))),
        (X, y, replace(right, first_weights=(2 * a, b))),
        (X, y, replace(right, first_weights=(a + 1, b - 1))),
        (X, y, replace(right, second=(3,))),
        (X, y, replace(right, first=(0, 0))),
        (X, y, replace(right, first=(), first_weights=())),
        (X, y, Conflict((0,), (0,), (Fraction(1),), (Fraction(1),))),
        (X, np.array([0, 1, 1, 1]), right),
        (X, np.array([0, 0, 0, 1]), right),
        (X + [[0], [1e-16], [0], [0]], y, right),
    ]
    for samples, labels, claim in false:
        with pytest.raises(RefutedError):
            check_conflict(samples, labels, claim)


@pytest.mark.parametrize("first", [(0, -2), (0, 4), (0, -5)])
def test_samples_go_by_one_name(conflict, first):
    """-2 is sample 2 of four: by two names one sample could be in two conflicts."""
    X, y, right = conflict
    with pytest.raises(RefutedError, match="the first group names samples that are not there"):
        check_conflict(X, y, replace(right, first=first))


def test_weights_in_floats_are_no_proof():
    half = (0.5, 0.5)
    with pytest.raises(RefutedError, match="no exact fractions"):
        check_conflict(XOR_X, XOR_Y, Conflict((0, 1), (2, 3), half, half))


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**-20, 2.0**60])
def test_the_search_does_not_depend_on_the_scale(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    found = [conflict.samples for conflict in disjoint_conflicts(X * 2.0**10, y)]
    assert found
    assert [conflict.samples for conflict in disjoint_conflicts(X * scale, y)] == found


def test_weights_below_zero_prove_nothing():
    """1 lies on the line through 0 and 0.5, but beyond them."""
    X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0, 0, 1])
    beyond = Conflict((0, 1), (2,), (Fraction(-1), Fraction(2)), (Fraction(1),))
    with pytest.raises(RefutedError, match="not positive"):
        check_conflict(X, y, beyond)


def test_the_weights_are_exact_where_floats_are_not(conflict):
    X, _, right = conflict
    mean = sum(w * Fraction(float(X[i, 0])) for i, w in zip(right.first, right.first_weights, strict=True))
    assert mean == Fraction(float(X[1, 0]))


def test_nothing_is_searched_for_after_the_deadline():
    assert not list(disjoint_conflicts(XOR_X, XOR_Y, deadline=0.0))


# ------------------------------------------------------------------------------------------------- counting


@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (4, 2), (6, 3), (5, 4)])
def test_labelings_of_a_line_are_not_more_than_counted(n, n_classes):
    assert len(interval_labelings(n, n_classes)) <= ceiling.n_labelings(n, 1, n_classes)


def test_two_classes_are_counted_as_by_cover():
    """2 sum binom(m - 1, k), which points in general position attain."""
    assert ceiling.n_labelings(5, 1, 2) == 2 * (1 + 4) == len(interval_labelings(5, 2))
    assert ceiling.n_labelings(7, 2, 2) == 2 * (1 + 6 + 15)


@pytest.mark.parametrize(("n", "n_classes", "risk"), [(9, 2, 0.3), (10, 2, 0.05), (7, 3, 0.2), (8, 2, 0.9)])
def test_the_risk_is_not_exceeded(n, n_classes, risk):
    """Over all labelings, each as likely as the other."""
    bound = counting_bound(n, 1, n_classes, risk)
    labelings = interval_labelings(n, n_classes)
    above = sum(
        most_right(labels, labelings) > (n if bound is None else bound)
        for labels in itertools.product(range(n_classes), repeat=n)
    )
    assert above <= risk * n_classes**n


def test_the_bound_is_the_least_that_the_count_gives():
    n, d, n_classes, risk = 400, 5, 3, 1e-3
    bound = counting_bound(n, d, n_classes, risk)
    count = ceiling.n_labelings(n, d, n_classes)

    def chance(least):
        ways = sum(math.comb(n, j) * (n_classes - 1) ** (n - j) for j in range(least, n + 1))
        return Fraction(count * ways, n_classes**n)

    assert chance(bound + 1) <= risk < chance(bound)


def test_counting_says_nothing_of_few_samples():
    assert counting_bound(10, 10, 2) is None
    assert counting_bound(100, 3, 1) is None


@pytest.mark.parametrize("wrong", [(0, 1, 2, 0.1), (1, 0, 2, 0.1), (1, 1, 2, 0.0), (1, 1, 2, 1.0)])
def test_counting_takes_positive_numbers(wrong):
    with pytest.raises(InvalidInputError, match="give"):
        counting_bound(*wrong)


# ------------------------------------------------------------------------------------------------- together


def test_lssr_bounds_no_accuracy():
    """As the page says: a threshold is right everywhere, yet LSSR tends to 1."""
    m = 40
    X, y = [[2**i] for i in range(m)], [i >= m // 2 for i in range(m)]
    assert exact.lssr(X, y) > Fraction(9, 10)
    assert not list(disjoint_conflicts(np.array(X, dtype=np.float64), np.array(y).astype(np.int64)))


@pytest.mark.parametrize("seed", range(6))
def test_the_lssr_is_enclosed_outwards(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 256, (40, 3)), np.arange(40) % 3
    found = linear_ceiling((X / 255).astype(np.float32), y, 3)
    value = exact.lssr(X, y)
    lower, upper = found.lssr
    assert Fraction(lower) <= value.lower <= value.upper <= Fraction(upper)
    assert upper - lower < LSSR_ENCLOSURE
    assert (found.n_features, found.risk) == (3, 1e-6)


def test_constant_features_do_not_count():
    X = np.c_[XOR_X, np.full(4, 0.5)].astype(np.float32)
    assert linear_ceiling(X, XOR_Y, 2).n_features == 2


def test_samples_that_all_coincide():
    """Whatever the classifier, it gives them one class; a single sample it gets right."""
    found = linear_ceiling(np.ones((5, 2), np.float32), np.array([0, 1, 0, 1, 2]), 3)
    assert (found.lssr, found.n_conflicts, found.n_features) == (None, 2, 0)
    assert linear_ceiling(np.ones((1, 2), np.float32), np.array([0]), 3).n_conflicts == 0


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.ones((0, 2)), [], "at least one sample"),
        (np.array([[0.0], [np.inf]]), [0, 1], "X is inf at sample 1, feature 0"),
        (np.array([[0.0], [np.nan]]), [0, 1], "X is nan at sample 1, feature 0"),
        (np.array([[0.0], [1.0]]), [0], r"y is int64 of shape \(1,\); expected integers of shape \(2,\)"),
        (np.array([[0.0], [1.0]]), [0.0, 1.0], "y is float64"),
        (np.array([[0.0], [1.0]]), [0, 2], "label 2 of sample 1; expected 0 to 1"),
        (np.array([[0.0], [1.0]]), [-1, 0], "label -1 of sample 0"),
    ],
)
def test_what_is_no_training_set_is_named(X, y, match):
    with pytest.raises(InvalidInputError, match=match):
        linear_ceiling(X.astype(np.float32), np.array(y), 2)


def test_work_that_would_take_too_long_is_left_out(monkeypatch):
    monkeypatch.setattr(ceiling, "LSSR_WORK", 1)
    assert linear_ceiling(XOR_X.astype(np.float32), XOR_Y, 2).lssr is None


def test_pixels_are_read_as_the_bytes_they_were():
    levels = np.arange(256, dtype=np.uint8)
    scaled = levels.astype(np.float32)
    scaled /= np.float32(255)
    assert np.array_equal(ceiling.grey_levels(scaled[None])[0], levels)
    assert np.array_equal(ceiling.grey_levels((levels[:17] / 16).astype(np.float32)), levels[:17])
    other = np.array([[0.3, 1.7]], dtype=np.float32)
    assert np.array_equal(ceiling.grey_levels(other), other.astype(np.float64))


def test_progress_is_told():
    told = []
    linear_ceiling(
        XOR_X.astype(np.float32), XOR_Y, 2, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(4, 4)]
