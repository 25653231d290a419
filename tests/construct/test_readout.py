"""Affine read-out of every readable labelling of the circle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lntheory.circle.runs import is_readable
from lntheory.construct.arithmetic import Dyadic, Float64, floats
from lntheory.construct.plane import basis
from lntheory.construct.readout import planar_readout, readout
from tests.circle.test_runs import WORDS

READABLE = [word for word in WORDS if is_readable(word)]
GAPS = ["even", "random", "tight", "wide"]


def steps(kind, n, rng, tight):
    """n angles between neighbours that add up to a full turn; wide: one of them is more than half of it."""
    gaps = {
        "even": np.ones(n),
        "random": rng.uniform(0.05, 1.0, n),
        "tight": rng.choice([tight, 1.0], n),
        "wide": rng.uniform(0.02, 1.0, n),
    }[kind]
    if kind == "wide":
        gaps[rng.integers(n)] = 1.1 * gaps.sum()
    return gaps * (2 * np.pi / gaps.sum())


def circle_points(gaps, sense, start, arithmetic):
    """Points of the unit circle in the cyclic order of the gaps, exact to the arithmetic."""
    angles = start + sense * np.cumsum(arithmetic.array(gaps))
    if isinstance(arithmetic, Float64):
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return arithmetic.rounded(np.array([[angle.cos(), angle.sin()] for angle in angles]))


def leads(points, labels, n_classes):
    """By how much every point's own score exceeds each other one, as numbers of the points' own kind."""
    weight, bias = planar_readout(points, labels, n_classes)
    scores = points @ weight.T + bias
    rows = np.arange(len(labels))
    margins = scores[rows, labels][:, None] - scores
    return [margins[i, c] for i in rows for c in range(n_classes) if c != labels[i]]


def relabelled(word):
    found = sorted(set(word))
    return np.array([found.index(letter) for letter in word]), len(found)


@pytest.mark.parametrize("kind", GAPS)
@pytest.mark.parametrize("sense", [1, -1])
def test_every_readable_word_is_read_in_float64(kind, sense):
    rng = np.random.default_rng([GAPS.index(kind), sense + 1])
    for word in READABLE:
        labels, n_classes = relabelled(word)
        gaps = steps(kind, len(word), rng, 1e-4)
        points = circle_points(gaps, sense, rng.uniform(0, 7), Float64())
        assert all(lead > 0 for lead in leads(points, labels, n_classes)), (word, gaps)


def test_every_readable_word_is_read_in_balls():
    rng = np.random.default_rng(0)
    wide = Dyadic(256)
    with wide.working():
        for word in READABLE[::3]:
            labels, n_classes = relabelled(word)
            gaps = steps(GAPS[rng.integers(4)], len(word), rng, 1e-25)
            points = circle_points(gaps, int(rng.choice([-1, 1])), rng.uniform(0, 7), wide)
            assert all(lead > 0 for lead in leads(points, labels, n_classes)), (word, gaps)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12).filter(is_readable),
    st.sampled_from(GAPS),
    st.integers(0, 2**32 - 1),
)
@example([0, 1, 2, 3, 4, 3, 2, 1], "wide", 0)
def test_more_classes_are_read_too(word, kind, seed):
    rng = np.random.default_rng(seed)
    labels, n_classes = relabelled(word)
    points = circle_points(steps(kind, len(word), rng, 1e-4), int(rng.choice([-1, 1])), 0.0, Float64())
    assert all(lead > 0 for lead in leads(points, labels, n_classes))


@pytest.mark.parametrize("word", [list(range(200)), [*range(100), *range(98, 0, -1)]])
def test_scores_do_not_grow_with_the_number_of_classes(word):
    """Side by side and nested: no score is steeper than the number of chords on the way to it."""
    labels, n_classes = relabelled(word)
    points = circle_points(np.full(len(word), 2 * np.pi / len(word)), 1, 0.0, Float64())
    weight, bias = planar_readout(points, labels, n_classes)
    assert all(lead > 0 for lead in leads(points, labels, n_classes))
    assert np.abs(weight).max() <= n_classes
    assert np.abs(bias).max() <= n_classes


def test_gaps_far_below_the_smallest_float():
    """Three runs within 1e-400 of one another and one far away: no float is taken of an angle."""
    wide = Dyadic(3000)
    with wide.working():
        tiny = wide.array([1.0])[0] / wide.array([10.0])[0] ** 400
        angles = [tiny, 2 * tiny, 3 * tiny, wide.array([1.0])[0]]
        points = wide.rounded(np.array([[angle.cos(), angle.sin()] for angle in angles]))
        assert all(lead > 0 for lead in leads(points, np.array([0, 1, 0, 2]), 3))
        assert all(lead > 0 for lead in leads(points[::-1], np.array([2, 0, 1, 0]), 3))


@pytest.mark.parametrize("word", [[0, 0, 1, 1, 1], [0, 1, 0, 2], [0, 1, 2, 3, 2, 1]])
def test_read_out_on_layer_normalized_points_of_space(word):
    labels, n_classes = relabelled(word)
    points = circle_points(steps("random", len(word), np.random.default_rng(3), 1), 1, 0.0, Float64())
    weight, bias = readout(points, labels, n_classes, Float64())
    scores = np.sqrt(3) * points @ basis(Float64()).T @ weight.T + bias
    assert weight.shape == (1 if n_classes == 2 else n_classes, 3)
    winners = (floats(scores[:, 0]) > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    assert winners.tolist() == labels.tolist()
