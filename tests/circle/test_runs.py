"""Runs of equal label around the circle, and the gaps between them."""

import math
from itertools import combinations, groupby, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.circle import arcs, circle_points, cyclic_order, n_runs, readout_arcs, smallest_gap
from lntheory.circle.runs import is_readable
from tests.planar import xor_net
from tests.tolerances import PLANE

circles = st.lists(st.tuples(st.integers(0, 359), st.integers(0, 2)), min_size=1, max_size=12,
                   unique_by=lambda point: point[0])  # fmt: skip


@given(circles)
def test_runs_and_gaps_against_brute_force(points):
    """On whole degrees: runs by grouping from where one starts, gaps over all pairs of unequal label."""
    angles = np.radians([degree for degree, _ in points])
    labels = np.array([label for _, label in points])
    around = [label for _, label in sorted(points)]
    cuts = [k for k in range(len(around)) if around[k] != around[k - 1]]
    start = cuts[0] if cuts else 0
    z = circle_points(angles)
    starts, ends, run_labels = arcs(z, labels)
    assert len(starts) == n_runs(around) == len(list(groupby(around[start:] + around[:start])))
    assert sum(ends - starts) == pytest.approx(2 * math.pi)
    for angle, label in zip(angles, labels, strict=True):  # every point lies in a run of its own label
        inside = (angle - starts) % (2 * math.pi) <= ends - starts + PLANE
        assert label in run_labels[inside]
    degrees = [
        min((a - b) % 360, (b - a) % 360) for a, la in points for b, lb in points if la != lb
    ]  # fmt: skip
    gap = smallest_gap(z, labels)
    assert math.isnan(gap) if not degrees else gap == pytest.approx(math.radians(min(degrees)))


def test_a_merged_pair_counts_once_and_coinciding_unequal_points_have_no_gap():
    z = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    assert len(arcs(z, np.array([0, 0, 1])).starts) == n_runs([0, 0, 1]) == 2
    assert smallest_gap(z, np.array([0, 1, 1])) == 0


@given(circles)
def test_the_order_goes_around_once_and_starts_after_the_widest_gap(points):
    z = circle_points(np.radians([degree for degree, _ in points]))
    order = cyclic_order(z, np.array([label for _, label in points]))
    degrees = [points[k][0] for k in order]
    turns = [(b - a) % 360 for a, b in zip(degrees, [*degrees[1:], degrees[0]], strict=True)]
    assert sorted(order) == list(range(len(points)))
    assert len(points) == 1 or sum(turns) == 360
    assert len(points) == 1 or turns[-1] == max(turns)


def test_the_readout_cuts_the_circle_at_its_chord():
    """Class 0 is cut off around 45 degrees by the chord at distance 0.97: arccos(0.97) on both sides."""
    starts, ends, labels = readout_arcs(xor_net())
    (k,) = np.flatnonzero(labels == 0)
    step = 2 * math.pi / 3600
    assert starts[k] == pytest.approx(math.pi / 4 - math.acos(0.97), abs=step)
    assert ends[k] == pytest.approx(math.pi / 4 + math.acos(0.97), abs=step)


# ---------------------------------------------------------------------------------- what can be read out

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
