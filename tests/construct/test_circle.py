"""The plane of width 3, runs of labels, and which labels a read-out can tell apart."""

from __future__ import annotations

from itertools import combinations, product

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import layer_norm
from lntheory.construct.arithmetic import Dyadic, Float64, floats
from lntheory.construct.circle import basis, directions, image, is_readable, n_runs, space
from tests.tolerances import PLANE

WORDS = [word for n in range(1, 8) for word in product(range(3), repeat=n)]


def readable_by_definition(word):
    """No two classes whose points alternate a..b..a..b around the circle."""
    return not any(
        word[i] == word[k] != word[j] == word[m] for i, j, k, m in combinations(range(len(word)), 4)
    )


def test_readable_iff_no_abab_pattern_for_all_short_words():
    assert len(WORDS) == sum(3**n for n in range(1, 8))
    wrong = [word for word in WORDS if is_readable(word) != readable_by_definition(word)]
    assert wrong == []


@given(st.lists(st.integers(0, 5), min_size=1, max_size=14), st.integers(0, 13))
def test_readable_with_many_classes_from_any_start_and_in_either_sense(word, start):
    expected = readable_by_definition(word)
    turned = word[start % len(word) :] + word[: start % len(word)]
    assert is_readable(word) == is_readable(turned) == is_readable(turned[::-1]) == expected


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_runs_are_counted_around_the_circle(word):
    changes = sum(a != b for a, b in zip(word, word[1:] + word[:1], strict=True))
    assert n_runs(word) == max(1, changes)


def test_as_many_runs_as_are_readable_at_all():
    nested = [0, 1, 2, 3, 4, 3, 2, 1]  # 2C - 2 runs of C = 5 classes
    assert n_runs(nested) == 8
    assert is_readable(nested)
    assert not is_readable([*nested, 4])


@pytest.mark.parametrize("arithmetic", [Float64(), Dyadic(200)])
def test_basis_is_orthonormal_and_orthogonal_to_ones(arithmetic):
    with arithmetic.working():
        columns = basis(arithmetic)
        gram = columns.T @ columns - arithmetic.array(np.eye(2))
        sums = columns.sum(axis=0)
        worst = max(abs(float(v)) for v in [*gram.flat, *sums.flat])
    assert worst <= 8 * float(arithmetic.unit)


@given(st.integers(0, 2**32 - 1))
def test_the_plane_and_space_agree(seed):
    rng = np.random.default_rng(seed)
    matrix, offset = rng.normal(size=(2, 2)), 3 * rng.normal(size=2)
    float64 = Float64()
    z = directions(rng.normal(size=(6, 2)), float64)
    planar = z @ matrix.T + offset
    lengths = np.sqrt((planar**2).sum(axis=1))
    weight, bias = space(matrix, offset, float64)
    columns = basis(float64)
    in_space = layer_norm(np.sqrt(3) * z @ columns.T @ weight.T + bias) @ columns / np.sqrt(3)
    size = (np.abs(matrix).sum() + np.abs(offset).sum()) / lengths
    expected = planar / lengths[:, None]
    assert (np.abs(in_space - expected).max(axis=1) <= PLANE * size).all()
    assert (np.abs(image(z, weight, bias, float64) - expected).max(axis=1) <= PLANE * size).all()


def test_directions_of_wide_balls_lie_on_the_circle():
    """The midpoint of a quotient of wide balls is computed no better than the balls are wide."""
    wide = Dyadic(512)
    with wide.working():
        blurred = flint.arb(1) / 3 + flint.arb(0, flint.arb(2) ** -40)
        points = wide.rounded(directions(np.array([[blurred, blurred * 2]]), wide))
        miss = floats(np.abs((points * points).sum(axis=1) - 1))
    assert miss.max() < 2.0**-500
