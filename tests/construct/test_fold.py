"""One merging layer: its centre, the order and place of what it does to the circle, and the error bound."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lntheory import shatter
from lntheory.construct.arithmetic import Dyadic, Float64
from lntheory.construct.fold import Folds, angle_between
from tests import tolerances
from tests.construct.walks import record, steps_of, worst_ratio

BITS = 500
WIDE = Dyadic(BITS)
FLOAT64 = Float64()


@st.composite
def walks(draw):
    """Points walking along less than a half circle; a and b, a before b; the tangent of half the reach."""
    n = draw(st.integers(3, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    gaps = 10.0 ** rng.uniform(-draw(st.integers(0, 5)), 0, n)
    angles = rng.uniform(-np.pi, np.pi) + draw(st.sampled_from([-1, 1])) * np.cumsum(gaps) * 3.0 / gaps.sum()
    a = draw(st.integers(0, n - 2))
    b = draw(st.integers(a + 1, n - 1))
    half = np.tan(draw(st.floats(0.05, 0.45)) * abs(angles[b] - angles[a]) / 2)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1), a, b, float(half)


def fold_of(walk, arithmetic=FLOAT64):
    points, a, b, half = walk
    sense = 1 if angle_between(points[0], points[-1]) > 0 else -1
    values = arithmetic.array(points), arithmetic.array([half])
    return Folds.of(values[0], np.array([a]), np.array([b]), values[1], sense)


def turn(points, angles):
    """Points of the circle turned by angles, in balls."""
    points, angles = WIDE.array(points), WIDE.array(angles)
    cos, sin = np.array([v.cos() for v in angles]), np.array([v.sin() for v in angles])
    return np.stack(
        [points[:, 0] * cos - points[:, 1] * sin, points[:, 0] * sin + points[:, 1] * cos], axis=1
    )


def seen(parameters, points):
    """Angles, from the axis, at which the layer with these planar parameters sees points; balls."""
    matrix, offset = WIDE.array(parameters[0]), WIDE.array(parameters[1])
    vectors = points @ matrix.T + offset
    return np.array([flint.arb.atan2(y, x) for x, y in vectors])


@given(walks())
def test_centre_is_on_the_line_of_the_pair_beyond_a_and_on_the_tangent(walk):
    points, a, b, half = walk
    with WIDE.working():
        o = fold_of(walk, WIDE).centre[0]
        p, q = WIDE.array(points[a]), WIDE.array(points[b])
        reach = 2 * flint.arb(half).atan() * (1 if angle_between(points[0], points[-1]) > 0 else -1)
        tangent = turn(points[a : a + 1], [reach])[0]
        assert ((o - p) * (p - q)).sum() > 0
        assert abs((o - p)[0] * (p - q)[1] - (o - p)[1] * (p - q)[0]) < tolerances.WIDE_INCIDENCE
        # a is a pair of floats, on the circle to one rounding only
        assert abs(o @ tangent - 1) < tolerances.TANGENT


@given(walks(), st.floats(0.01, 3), st.floats(-2, 2))
def test_images_are_the_directions_sorted_by_brute_force(walk, kappa, beta):
    """Every image is within its bound of the direction in which the layer sees the point."""
    points, a, _, _ = walk
    folds = fold_of(walk)
    assume(bool((folds.along[0] > 0).all()))
    tangents, bounds = folds.images(np.array([kappa]), np.zeros(len(points)), FLOAT64, beta)
    kept = np.flatnonzero(np.arange(len(points)) != a)
    with WIDE.working():
        angles = seen(folds.matrix(0, kappa, beta), WIDE.array(points))
        for i in kept:
            assert abs(flint.arb(float(tangents[0, i])).atan() - angles[i]) < float(bounds[0, i])
        order = sorted(kept, key=lambda i: float(angles[i]))
    claimed = kept[np.argsort(tangents[0, kept], kind="stable")]
    apart = np.diff(np.sort(np.arctan(tangents[0, kept])))
    if (apart > 2 * bounds[0, kept].max()).all():
        assert claimed.tolist() == order


@given(walks(), st.floats(0.01, 3))
def test_a_lands_on_b(walk, kappa):
    points, a, b, _ = walk
    folds = fold_of(walk)
    bounds = folds.images(np.array([kappa]), np.zeros(len(points)), FLOAT64)[1]
    with WIDE.working():
        angles = seen(folds.matrix(0, kappa), WIDE.array(points))
        # the points are floats, on the circle to a rounding: half a unit more for each of the two
        assert abs(angles[a] - angles[b]) <= 2 * float(bounds[0, b])


@settings(max_examples=80)
@given(
    walks(),
    st.floats(0.01, 3),
    st.sampled_from([0.0, 0.0, 0.7, -1.5]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([-13.0, -6.0, -3.0, -1.0]),
)
def test_bound_holds_wherever_a_sample_is_within_its_error(walk, kappa, beta, seed, size):
    """Not only to first order: errors reach past the tangent and past the centre's foot."""
    points, _, _, _ = walk
    rng = np.random.default_rng(seed)
    errors = 10.0 ** rng.uniform(size - 2, size, len(points))
    folds = fold_of(walk)
    bounds = folds.images(np.array([kappa]), errors, FLOAT64, beta)[1][0]
    checked = np.flatnonzero(np.isfinite(bounds))
    with WIDE.working():
        parameters = folds.matrix(0, kappa, beta)
        at = seen(parameters, WIDE.array(points[checked]))
        for share in (-1.0, -0.5, 0.5, 1.0):
            moved = seen(parameters, turn(points[checked], share * errors[checked]))
            for i, here, there in zip(checked, at, moved, strict=True):
                assert abs(here - there) <= float(bounds[i]), (i, share, errors[i], bounds[i])


def test_no_bound_next_to_the_centre():
    """A neighbour that may be where the centre's foot is can be thrown anywhere."""
    angles = np.array([0.0, 0.01, 1.0])
    walk = np.stack([np.cos(angles), np.sin(angles)], axis=1), 0, 2, 0.002
    errors = np.array([1e-12, 0.02, 1e-12])
    bounds = fold_of(walk).images(np.array([1.0]), errors, FLOAT64)[1]
    assert not bounds[0, 1] < 1


rationals = st.fractions(min_value=-5, max_value=5, max_denominator=50)


def on_circle(u):
    return (1 - u * u) / (1 + u * u), 2 * u / (1 + u * u)


@given(rationals, rationals, rationals)
def test_fold_is_an_involution_of_the_half_angles_tangent(p, q, u):
    """u -> ((p+q)u - 2pq)/(2u - (p+q)) with tangent points p, q is its own inverse and keeps o's lines."""
    assume(p != q and p * q != -1 and 2 * u != p + q)

    def folded(value):
        return ((p + q) * value - 2 * p * q) / (2 * value - (p + q))

    v = folded(u)
    o = (1 - p * q) / (1 + p * q), (p + q) / (1 + p * q)
    z, w = on_circle(u), on_circle(v)
    assert (z[0] - o[0]) * (w[1] - o[1]) == (z[1] - o[1]) * (w[0] - o[0])
    assert 2 * v != p + q or p == q
    assert folded(v) == u
    assert folded(p) == p
    assert o[0] * on_circle(p)[0] + o[1] * on_circle(p)[1] == 1


@given(
    st.fractions(-2, 2, max_denominator=50),
    st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=50),
    st.fractions(Fraction(1, 20), Fraction(1, 3), max_denominator=50),
)
def test_centre_is_that_of_the_involution_which_exchanges_a_and_b(a, far, share):
    """From a, b and the first tangent point p follows the second, q, and with it the centre."""
    half = far * share  # tangents of half the angles from a to b and to p
    assume(a * far != 1 and a * half != 1)
    b, p = (a + far) / (1 - a * far), (a + half) / (1 - a * half)
    assume(a + b != 2 * p)
    q = (2 * a * b - p * (a + b)) / (a + b - 2 * p)
    assume(1 + p * q != 0)
    expected = (1 - p * q) / (1 + p * q), (p + q) / (1 + p * q)
    with WIDE.working():
        points = np.array([[_ball(v) for v in on_circle(u)] for u in (a, b)])
        folds = Folds.of(points, np.array([0]), np.array([1]), np.array([_ball(half)]), 1)
        for computed, exact in zip(folds.centre[0], expected, strict=True):
            assert abs(computed - _ball(exact)) < tolerances.WIDE
        # a and b are seen in one direction
        assert abs(folds.slope[0, 0] - folds.slope[0, 1]) < tolerances.WIDE


def _ball(value):
    return flint.arb(int(value.numerator)) / flint.arb(int(value.denominator))


@pytest.mark.parametrize("method", ["minority-merge", "projection-merge"])
@pytest.mark.parametrize("seed", range(4))
def test_error_bounds_hold_through_whole_constructions(method, seed, monkeypatch):
    """After every layer, the last one too, every sample is within the bound of what stands for it."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 1 + seed % 3)), rng.integers(0, 2 + seed % 2, 30)
    attempts = record(monkeypatch)
    net = shatter(X, y, method=method, random_state=seed)
    steps = steps_of(net, attempts)
    assert net.depth > 5
    assert net.arithmetic == "float64"
    assert max(worst_ratio(net, X, steps, layer) for layer in range(net.depth)) <= 1


def test_a_lands_on_b_where_gaps_are_the_root_of_the_precision():
    """The slopes are wide balls there: a layer has to be computed from midpoints alone."""
    arithmetic = Dyadic(512)
    with arithmetic.working():
        start, angles = flint.arb(-1), [0.0, 2e-39, 1e-18, 1.6e-14]
        points = arithmetic.rounded(np.array([[(start + x).cos(), (start + x).sin()] for x in angles]))
        half = arithmetic.array([2e-40])
        folds = Folds.of(points, np.array([0]), np.array([2]), half, 1)
        beta = -folds.slope[0, 1]
        kappa = 1 / abs(folds.slope[0, 2] + beta)
        matrix, offset = (arithmetic.rounded(v) for v in folds.matrix(0, kappa, beta))
        a, b = arithmetic.rounded(points[[0, 2]] @ matrix.T + offset)
        apart = abs(a[0] * b[1] - a[1] * b[0]) / ((a @ a) * (b @ b)).sqrt()
        bounds = folds.images(np.array([kappa]), arithmetic.array(np.zeros(4)), arithmetic, beta)[1]
        assert apart < bounds[0, 2] < tolerances.NARROW
