"""Gaps against errors along an arc: what is nearest, what is out of order, in both kinds of numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.construct.arithmetic import Dyadic, Float64
from lntheory.construct.gaps import SAFEST, arc_safety, unequal_neighbours
from tests.tolerances import PLANE

arcs = st.lists(
    st.tuples(st.floats(0.01, 0.2), st.integers(0, 2), st.floats(1e-9, 0.3)), min_size=1, max_size=12
)


def on_circle(angles):
    return np.column_stack([np.cos(angles), np.sin(angles)])


@given(arcs, st.sampled_from([1, -1]), st.sampled_from([Float64(), Dyadic(128)]))
def test_safety_is_that_of_the_worst_placed_neighbours(points, sense, arithmetic):
    steps, codes, errors = map(np.array, zip(*points, strict=True))
    angles = 0.3 + np.cumsum(steps)
    runs = np.append(0, np.cumsum(codes[1:] != codes[:-1]))
    worst = min(
        (
            (np.sin(gap) if (gap := angles[j] - angles[i]) < np.pi / 2 else 1) / (errors[i] + errors[j])
            for i, j in combinations(range(len(codes)), 2)
            # next to each other, but for points of the runs that they belong to
            if runs[j] - runs[i] == 1 and (i == j - 1 or runs[i + 1] == runs[j] or runs[j - 1] == runs[i])
        ),
        default=SAFEST,
    )
    with arithmetic.working():
        placed = arithmetic.array(on_circle(sense * angles))
        safety = arc_safety(placed, arithmetic.array(errors), codes)
    assert safety == pytest.approx(worst, rel=PLANE)


def test_points_out_of_order_are_not_safe():
    codes = np.array([0, 1, 0])
    assert arc_safety(on_circle(np.array([0.0, 0.2, 0.1])), np.full(3, 1e-9), codes) == 0.0
    assert arc_safety(on_circle(np.array([0.0, 0.1, 0.2])), np.array([1e-9, np.nan, 1e-9]), codes) == 0.0


def test_every_point_has_its_unequal_neighbours():
    pairs = set(zip(*map(np.ndarray.tolist, unequal_neighbours(np.array([0, 0, 1, 2, 2]))), strict=True))
    assert pairs == {(0, 2), (1, 2), (2, 3), (2, 4)}
    assert not len(unequal_neighbours(np.zeros(3, dtype=int))[0])
