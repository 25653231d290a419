"""Two pairs a layer: depth guarantees on hostile data and over all labelings, merges, centres, precision."""

from __future__ import annotations

import json
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lntheory import LNNet, plotting, shatter
from lntheory.construct import guaranteed_depth, plane
from lntheory.construct import pair_merge as pairs
from lntheory.construct.arithmetic import Dyadic, Float64, floats
from lntheory.construct.pair_merge import merge, views
from lntheory.construct.pair_merge.task import Task
from lntheory.exact import certify
from lntheory.vc import witness
from tests import tolerances
from tests.construct.hostile import class_sizes, labelled


def certified(X, y, *, general_position=False, **options):
    """The net, proved right on every sample, within the depth guaranteed."""
    X = np.asarray(X, dtype=float)
    net = shatter(X, y, method="pairs", **options)
    proved = certify(net, X, y)
    assert net.width <= 3
    sizes = class_sizes(X, y)
    assert net.depth <= guaranteed_depth(sizes, method="pairs", general_position=general_position)
    assert net.depth <= guaranteed_depth(sizes, general_position=general_position) + (len(sizes) == 1)
    if net.arithmetic == "float64":
        assert proved.float64_agrees
        assert net.predict(X).tolist() == list(y)
    return net


def balanced(m, seed=0, n_classes=2):
    return np.random.default_rng(seed).permutation(np.arange(m) % n_classes).tolist()


# ------------------------------------------------------------------------------------------ depth guarantees


@settings(max_examples=150)
@given(labelled())
def test_depth_is_guaranteed_on_hostile_data(data):
    certified(*data)


@settings(max_examples=15)
@given(labelled(max_samples=40))
def test_depth_is_guaranteed_on_more_hostile_data(data):
    certified(*data)


@given(st.integers(3, 14), st.integers(2, 4), st.integers(2, 4), st.integers(0, 2**32 - 1))
@example(9, 2, 2, 0)
def test_depth_in_general_position(m, n_features, n_classes, seed):
    """Normal samples are in general position; a class of four may be no quadrilateral: allowed for."""
    rng = np.random.default_rng(seed)
    certified(rng.normal(size=(m, n_features)), rng.integers(0, n_classes, m).tolist(), general_position=True)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e150])
@pytest.mark.parametrize("m", [9, 13, 18])
def test_convex_position_needs_half_of_the_minority(m, scale):
    """No four points are a triangle with a point inside; near-coincident pairs of a circle are no excuse."""
    X = witness(m, 2) * scale
    for seed in range(6):
        y = balanced(m, seed)
        assert certified(X, y).depth <= max(1, (sum(y) + 1) // 2)
    twins = np.repeat(witness(m // 2, 2), 2, axis=0) * scale
    twins[::2] *= 1 + 1e-9
    certified(twins, [i % 2 for i in range(len(twins))])


GRID = np.array(list(product(range(3), range(2))), dtype=float)
SMALL = {
    "line": np.arange(6.0)[:, None],
    "collinear": np.arange(6.0)[:, None] * [1.0, -2.0, 3.0],
    "grid": GRID,
    "hexagon": np.array([[2, 0], [1, 2], [-1, 2], [-2, 0], [-1, -2], [1, -2]], dtype=float),
    "octahedron": np.vstack([np.eye(3), -np.eye(3)]),
    "cluster": 1 + GRID * 1e-12,
    "far one": np.vstack([GRID[:5] * 1e-12, [[1.0, 1.0]]]),
}


@pytest.mark.parametrize("name", SMALL)
def test_every_labeling_of_small_sets(name):
    X = SMALL[name]
    for number in range(2 ** (len(X) - 1)):
        certified(X, [(number >> i) & 1 for i in range(len(X))])


def test_every_labeling_of_seven_points_by_three_classes_on_a_line():
    X = np.arange(7.0)[:, None]
    for y in list(product(range(3), repeat=7))[::23]:
        certified(X, list(y))


@pytest.mark.parametrize(
    ("sizes", "general", "depth"),
    [
        ([9], True, 0),
        ([5, 1], True, 1), ([5, 1], False, 1),
        ([5, 2], True, 1), ([5, 2], False, 2),
        ([5, 4], True, 3), ([5, 4], False, 3),
        ([50, 50], True, 25), ([50, 50], False, 26),
        ([5, 5, 5], True, 6), ([5, 5, 5], False, 7),
        ([9, 4, 4, 1], True, 5), ([9, 4, 3, 1], True, 4),
        ([3, 1, 1], True, 1),
    ],
)  # fmt: skip
def test_guaranteed_depth(sizes, general, depth):
    assert guaranteed_depth(sizes, method="pairs", general_position=general) == depth


@given(st.lists(st.integers(1, 60), min_size=2, max_size=6), st.booleans())
def test_guarantee_is_never_worse_than_that_of_minority_merge(sizes, general):
    halves, ones = (
        guaranteed_depth(sizes, method=method, general_position=general)
        for method in ("pairs", "minority-merge")
    )
    assert halves <= ones


def test_nine_points_that_two_layers_do_not_fit_take_three():
    """Four positives, one inside the triangle of the rest: see the claim nine-points-three-layers."""
    X = [[20, 4], [0, 34], [30, 27], [23, 22], [5, 1], [25, 25], [38, 2], [8, 40], [23, 15]]
    assert certified(X, [1, 1, 1, 1, 0, 0, 0, 0, 0]).depth == 3


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(5, 7))
def test_one_and_two_layers_are_found_in_the_plane_where_they_suffice(seed, m):
    """Against brute force over the cells of all lines, in exact arithmetic."""
    from proofs_checks.tools.arrangement import fewest_runs

    rng = np.random.default_rng(seed)
    points = [tuple(map(int, p)) for p in rng.integers(0, 1000, (m, 2))]
    y = rng.permutation(np.arange(m) % 2).tolist()
    a = np.array(points, dtype=float)
    turns = [
        abs(np.linalg.det(np.stack([a[j] - a[i], a[k] - a[i]]))) for i, j, k in combinations(range(m), 3)
    ]
    if min(turns) < 2000:  # cells that float64 can tell apart
        return
    runs = fewest_runs(points, y)
    depth = certified(points, y).depth
    assert depth <= {0: 0, 2: 1, 4: 2}.get(runs, 3)
    assert depth >= (0 if runs <= 2 else 2)


# ------------------------------------------------------------------------------------------------- the layers


@pytest.mark.parametrize(("m", "n_features"), [(30, 2), (60, 1), (41, 5)])
def test_merges_in_the_provenance_are_those_of_the_layers(m, n_features):
    """At most two disjoint pairs a layer, of equal labels, whose samples are together from then on."""
    X, y = np.random.default_rng(m).normal(size=(m, n_features)), balanced(m, m)
    net = certified(X, y)
    merges = net.provenance["merges"]
    assert net.provenance["method"] == "pairs"
    assert len(merges) == net.depth
    assert net.provenance["safety"] >= views.SAFE
    gone = set()
    for layer, merged in enumerate(merges):
        assert len(merged) <= 2
        points = net.trace(X)[layer + 1] if len(net.trace(X)) > net.depth else net.trace(X)[layer]
        for a, b in merged:
            assert y[a] == y[b]
            assert a not in gone
            assert b not in gone
            gone.add(a)
            np.testing.assert_allclose(points[a], points[b], atol=tolerances.MERGED_POINTS)
    assert LNNet.from_dict(json.loads(json.dumps(net.to_dict()))) == net


def test_pictures_show_both_chords():
    X, y = witness(20, 2), [i % 2 for i in range(20)]
    net = certified(X, y)
    path = plotting.Trajectory(net, X, y)
    drawn = [path.chords(stage) for stage in range(net.depth)]
    assert [[tuple(pair) for pair in layer] for layer in net.provenance["merges"]] == drawn


def circle_of(codes, arithmetic, seed=0):
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(-np.pi, np.pi, len(codes)))
    points = arithmetic.array(np.column_stack([np.cos(angles), np.sin(angles)]))
    with arithmetic.working():
        points = plane.directions(points, arithmetic)
        return views.CirclePoints(points, np.array(codes), np.arange(len(codes)), points[:, 0] * 0)


@pytest.mark.parametrize("arithmetic", [Float64(), Dyadic(128)])
@pytest.mark.parametrize("seed", range(4))
def test_a_fold_merges_both_chords_and_keeps_directions_defined(arithmetic, seed):
    state = circle_of([1, 0, 1, 0, 1, 0, 1, 0], arithmetic, seed)
    chords = np.array([[[0, 2], [4, 6]], [[2, 4], [6, 0]], [[0, 6], [2, 4]]])
    with arithmetic.working():
        views, matrix, offset = merge.views_through(
            state, state.points[chords.reshape(-1, 4)], chords, arithmetic
        )
        for k, chord in enumerate(chords):
            vectors = floats(state.points @ matrix[k].T + offset[k])
            others = [i for i in range(8) if i not in chord[:, 0]]
            np.testing.assert_allclose(
                vectors[others], floats(views.vectors[k])[others], atol=tolerances.TWO_FORMULAS
            )
            assert (vectors[:, 0] > 0).all()
            slope = vectors[:, 1] / vectors[:, 0]
            for a, b in chord:
                assert slope[a] == pytest.approx(slope[b], abs=tolerances.TWO_FORMULAS)


def test_crossing_chords_have_no_fold():
    state = circle_of([1, 0] * 4, Float64())
    crossing = np.array([[[0, 4], [2, 6]]])
    views, _, _ = merge.views_through(state, state.points[crossing.reshape(-1, 4)], crossing, Float64())
    assert np.isinf(views.errors).any()


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_two_chords_are_disjoint_and_do_not_cross(n_ends, seed):
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(100, n_ends, replace=False))
    chosen = merge.two_chords(np.array(list(combinations(at.tolist(), 2))), 100, 50, rng)
    assert len(chosen) <= 50
    assert len(chosen) > 0 or n_ends < 4
    for (a, b), (c, d) in chosen.tolist():
        assert len({a, b, c, d}) == 4
        assert (a < c < b) == (a < d < b)


def test_an_unequal_pair_in_one_place_is_no_candidate():
    codes = np.array([[0, 1, 0, 1]])
    angles = np.array([0.1, 0.5, 0.5, 1.0])
    points = np.column_stack([np.cos(angles), np.sin(angles)])[None]
    score, safety = views.judged(points, np.full((1, 4), 1e-9), codes)
    assert score[0] == -np.inf
    assert safety[0] == 0


def test_safety_counts_the_worst_placed_point_of_a_run():
    """The first of three equal points is far from the unequal one, but hardly known."""
    codes, angles = np.array([[1, 1, 1, 0]]), np.array([0.0, 0.4, 0.5, 0.6])
    points = np.column_stack([np.cos(angles), np.sin(angles)])[None]
    errors = np.array([[0.3, 1e-12, 1e-12, 1e-12]])
    assert views.judged(points, errors, codes)[1][0] == pytest.approx(np.sin(0.6) / 0.3)


@pytest.mark.parametrize("arithmetic", [Float64(), Dyadic(96)])
def test_order_is_counter_clockwise_all_around(arithmetic):
    angles = np.array([[3.0, -2.0, 0.2, -0.4, 1.8, -1.7]])
    with arithmetic.working():
        vectors = arithmetic.array(np.stack([np.cos(angles), np.sin(angles)], axis=-1) * 3)
        seen = views.Views(vectors, vectors[..., 0], vectors[..., 0], np.full((1, 2, 2), -1))
        found = seen.order(arithmetic)[0]
    start = int(np.argmin(angles[0, found]))
    assert np.roll(found, -start).tolist() == np.argsort(angles[0]).tolist()


@given(st.integers(3, 9), st.integers(0, 2**32 - 1))
def test_cells_show_every_order_that_random_centres_show(m, seed):
    rng = np.random.default_rng(seed)
    planar = rng.normal(size=(m, 2))

    def orders(centres):
        towards = planar[None] - centres[:, None]
        found = np.argsort(np.arctan2(towards[..., 1], towards[..., 0]), axis=1)
        first = np.argmax(found == 0, axis=1)[:, None]
        turned = np.take_along_axis(found, (np.arange(m) + first) % m, axis=1)
        return {tuple(order) for order in turned.tolist()}

    random = rng.normal(size=(300, 2)) * 10 ** rng.uniform(-1, 1, (300, 1))
    assert orders(random) <= orders(pairs.view_centres(planar))


# ------------------------------------------------------------------------------------------------- precision


def test_a_hundred_samples_are_right_in_float64():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), balanced(100)
    net = certified(X, y)
    assert net.arithmetic == "float64"
    assert net.depth <= 25
    assert (net.winners(net.plain_scores(X)) == np.array(y)).all()


def test_what_float64_does_not_carry_becomes_dyadic():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(19, 2)) * 1e-15, [[1.0, 1.0]]])
    net = certified(X, balanced(20))
    assert net.arithmetic == "dyadic"


def test_dyadic_construction_keeps_the_guarantee(monkeypatch):
    monkeypatch.setattr(merge, "_in_float64", lambda *args: None)
    X, y = np.random.default_rng(1).normal(size=(24, 2)), balanced(24)
    net = certified(X, y, general_position=True)
    assert net.arithmetic == "dyadic"
    assert net.depth <= 6


def test_first_layers_that_get_stuck_are_given_up(monkeypatch):
    """Another first layer, another shape: the guarantee stands as long as any of them works."""
    original, calls = merge.lifted, []

    def failing(*args):
        calls.append(args)
        if len(calls) <= 3:
            raise views.Stuck
        return original(*args)

    monkeypatch.setattr(merge, "lifted", failing)
    X, y = np.random.default_rng(1).normal(size=(14, 2)), balanced(14)
    assert certified(X, y, general_position=True).depth <= 4
    assert len(calls) > 3


def test_same_seed_same_net_and_progress_is_told():
    X, y = np.random.default_rng(5).normal(size=(30, 3)), balanced(30, 1, 3)
    told = []
    nets = [
        shatter(X, y, method="pairs", random_state=seed, progress=lambda *at: told.append(at))
        for seed in (4, 4, 5)
    ]
    assert nets[0] == nets[1] != nets[2]
    assert told
    assert all(done <= total for done, total in told)


def test_potential_is_what_the_classes_need():
    codes = np.repeat([0, 1, 2, 3], [9, 5, 4, 1])
    task = Task.of(np.arange(19.0)[:, None], codes, None)
    assert task.potential == sum(pairs.layers_needed(k) for k in (5, 4, 1)) == 5
    readable = SimpleNamespace(cyclic=codes[None], counts=np.bincount(codes)[None])
    assert task.left(readable.cyclic, readable.counts).tolist() == [0]


def test_four_runs_of_two_classes_need_one_layer_however_many_points():
    codes = np.repeat([1, 0, 1, 0], [9, 10, 9, 10])
    task = Task.of(np.arange(38.0)[:, None], codes, None)
    cyclic = np.stack([codes, np.sort(codes), np.roll(np.repeat([1, 0] * 3, [5, 6, 6, 6, 7, 8]), 0)])
    assert task.left(cyclic, np.array([[20, 18]] * 3)).tolist() == [1, 0, 9]
    angles = np.arange(38) * (2 * np.pi / 38)
    assert certified(np.column_stack([np.cos(angles), np.sin(angles)]), codes.tolist()).depth <= 2
