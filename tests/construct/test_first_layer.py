"""The first layer: projections of samples of any dimension and scale."""

from __future__ import annotations

from itertools import islice, pairwise

import flint
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lntheory.construct.arithmetic import Dyadic, Float64, floats
from lntheory.construct.first_layer import clearance, powers_of_two, projections, slopes
from tests import tolerances
from tests.construct.hostile import samples

EXACT = Dyadic(9000)
"""Wide enough for two numbers of opposite ends of the float range to be added exactly."""


def drawn(X, merging, seed, n=6):
    """Projections as a construction draws them, of samples labelled 0, 1, 0, 1, ..."""
    codes = np.arange(len(X)) % 2
    movable = np.ones(len(X), dtype=bool)
    found = projections(X * powers_of_two(X), codes, movable, merging, np.random.default_rng(seed))
    return list(islice(found, n)), codes


@given(samples())
def test_powers_of_two_bring_every_feature_to_one_exactly(X):
    scale = powers_of_two(X)
    assert (np.frexp(scale)[0] == 0.5).all()
    largest = np.abs(X * scale).max(axis=0)
    normal = np.abs(X).max(axis=0) > 1e-290
    assert (largest < 1).all()
    assert (largest[normal] >= 0.5).all()
    with EXACT.working():
        back = EXACT.array(X) * EXACT.array(scale) / EXACT.array(scale)
        assert (floats(back) == X).all()


@given(samples(), st.integers(0, 2**32 - 1))
def test_lifts_of_distinct_samples_are_injective(X, seed):
    X = np.unique(X + 0.0, axis=0)
    with EXACT.working():
        scaled = EXACT.array(X) * EXACT.array(powers_of_two(X))
        for projection in drawn(X, False, seed)[0]:
            assert projection.pair is None
            rows, offsets = projection.rows(scaled, EXACT)
            den = scaled @ rows[0] + offsets[0]
            assert all(value > 0 for value in den)
            values = slopes((rows, offsets), scaled)
            order = np.argsort(floats(values), kind="stable")
            ordered = sorted(values[order], key=lambda v: v.mid())
            assert all(a < b for a, b in pairwise(ordered))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-300, 1e-8, 1.0, 1e300]))
def test_a_merging_projection_gives_its_pair_one_slope_and_others_different_ones(seed, size):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 3)) * [1.0, size, 1 / size]
    wide = Dyadic(400)
    with wide.working():
        scaled = wide.array(X) * wide.array(powers_of_two(X))
        for projection in drawn(X, True, seed)[0]:
            i, j = projection.pair
            assert (i - j) % 2 == 0
            assert i != j
            values = slopes(projection.rows(scaled, wide), scaled)
            spread = max(values, key=lambda v: v.mid()) - min(values, key=lambda v: v.mid())
            assert abs(values[i] - values[j]) < spread * tolerances.WIDE
            others = [abs(values[k] - values[i]) for k in range(7) if k not in (i, j)]
            assert all(other > spread * 2.0**-60 for other in others)


def test_clearance_is_the_smallest_unequal_gap_as_a_share():
    """By hand: heights 0, 1, 2, 10 along one feature, labels a a b b; the smallest unequal gap is 1 of 10."""
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    codes = np.array([0, 0, 1, 1])
    scale = powers_of_two(X)
    found = projections(X * scale, codes, np.ones(4, dtype=bool), False, np.random.default_rng(0))
    flat = next(p for p in found if not p.w.any())
    assert clearance(flat, X * scale, codes) == pytest.approx(0.1)
    assert clearance(flat, X * scale, np.zeros(4, dtype=int)) == 0.0


@given(samples())
def test_same_seed_same_projections(X):
    assume(len(X) > 3)
    for first, second in zip(drawn(X, True, 5)[0], drawn(X, True, 5)[0], strict=True):
        assert (first.u == second.u).all()
        assert (first.w == second.w).all()
        assert first.pair == second.pair
        assert first.descending == second.descending


def test_precision_is_restored():
    before = flint.ctx.prec
    with Dyadic(300).working():
        assert flint.ctx.prec == 300
        assert np.isinf(np.float64(1e308) * 10)  # without a warning, which would be an error here
    assert flint.ctx.prec == before
    with pytest.raises(KeyboardInterrupt), Dyadic(300).working():
        raise KeyboardInterrupt
    assert flint.ctx.prec == before
    with Float64().working():
        assert np.isinf(np.float64(1) / np.float64(0))
