"""Merging constructions: what they merge, how deep they get, how near to one point a class."""

from __future__ import annotations

from itertools import combinations

import flint
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lntheory import shatter
from lntheory.construct import guaranteed_depth, plane, projection_merge
from lntheory.construct.arithmetic import Float64
from lntheory.construct.built import Built
from lntheory.construct.first_layer import Projection
from lntheory.construct.fold import Folds
from lntheory.construct.problem import Problem
from lntheory.construct.projection_merge import Walk, respacing
from lntheory.construct.readout import margin
from lntheory.exact import certify
from lntheory.network import LNNet
from tests import tolerances
from tests.construct.hostile import class_sizes, labelled
from tests.construct.walks import planar_points, record, standing, steps_of, worst_ratio

XOR = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
METHODS = ["minority-merge", "projection-merge"]
methods = st.sampled_from(METHODS)


def labellings(m):
    """All labellings of m samples by two labels, up to exchange of the labels."""
    return [[0] + [code >> i & 1 for i in range(m - 1)] for code in range(2 ** (m - 1))]


# ------------------------------------------------------------------------------------------------ depth


@pytest.mark.parametrize("m", [5, 7, 9])
def test_every_labelling_of_points_in_general_position_within_its_depth(m):
    """Two labels, k of the rarer one: max(1, k - 1) layers in the plane. So VC >= 2L + 3."""
    X = np.random.default_rng(m).normal(size=(m, 2))
    for y in labellings(m):
        net = shatter(X, y, method="minority-merge")
        k = min(sum(y), m - sum(y))
        assert certify(net, X, y).margin > 0
        assert net.depth <= max(1, k - 1) if k else net.depth == 0, y
        assert net.depth <= guaranteed_depth(class_sizes(X, y), general_position=True)


@pytest.mark.parametrize("m", [5, 7, 9])
def test_every_labelling_of_collinear_points_within_its_depth(m):
    """Any distinct points: k layers. So VC >= 2L + 1."""
    X = np.outer(np.arange(m) ** 2, [1.0, -2.0]) + [3.0, 0.5]
    for y in labellings(m):
        net = shatter(X, y, method="minority-merge")
        assert certify(net, X, y).margin > 0
        assert net.depth <= min(sum(y), m - sum(y)), y


def test_every_labelling_by_the_papers_method_within_its_depth():
    """m samples, max(1, m - 2) layers: the paper's Theorem 2."""
    X = np.random.default_rng(1).normal(size=(6, 1))
    for y in labellings(6):
        net = shatter(X, y, method="projection-merge")
        assert certify(net, X, y).margin > 0
        assert net.depth <= 4


@given(st.integers(0, 2**32 - 1), methods, st.integers(2, 5), st.integers(2, 3))
def test_depth_of_random_points_is_that_of_general_position(seed, method, n_classes, n_features):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(14, n_features)), rng.integers(0, n_classes, 14).tolist()
    net = shatter(X, y, method=method, random_state=seed)
    assert net.depth <= guaranteed_depth(class_sizes(X, y), method=method, general_position=True)
    certify(net, X, y)


def test_regular_polygon_is_not_in_general_position_but_within_the_depth_of_distinct_points():
    """Chords of a regular polygon are parallel and concurrent: every merging first layer may collide."""
    angles = np.arange(12) * np.pi / 6
    X, y = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.arange(12) % 2
    net = shatter(X, y, method="minority-merge")
    certify(net, X, y)
    assert net.depth <= guaranteed_depth([6, 6]) == 6


def test_three_collinear_samples_need_one_layer():
    X = [[0, 0], [1, 1], [2, 2]]
    for method in METHODS:
        net = shatter(X, ["+", "-", "+"], method=method)
        assert net.depth == 1
        assert certify(net, X, ["+", "-", "+"]).margin > 0


# ----------------------------------------------------------------------------------------------- merges


@pytest.mark.parametrize("method", METHODS)
def test_parallel_chords_merge_no_unequal_pair(method):
    """x = -2 (A), -1 (A), 1 (B), 2 (A): lifted by arctan the chords of -2, 2 and of -1, 1 are parallel."""
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), ["A", "A", "B", "A"]
    net = shatter(X, y, method=method)
    certify(net, X, y)
    for points in net.trace(X):
        assert np.linalg.norm(points[1] - points[2]) > 1e-3


@given(labelled(max_samples=14), methods)
def test_merges_are_pairs_of_equal_labels_each_sample_moved_once(data, method):
    X, y = data
    net = shatter(X, y, method=method)
    merges = [pair for layer in net.provenance["merges"] for pair in layer]
    assert len(net.provenance["merges"]) == net.depth
    assert all(y[i] == y[j] and i != j for i, j in merges)
    moved = [i for i, _ in merges]
    assert len(set(moved)) == len(moved)
    if method == "minority-merge" and merges:
        sizes = class_sizes(X, y)
        biggest = [label for label, size in zip(dict.fromkeys(y), sizes, strict=True) if size == max(sizes)]
        assert {y[i] for i in moved} != set(biggest) or len(biggest) > 1


@given(labelled(max_samples=9), st.booleans())
def test_samples_stay_within_the_proved_distance_of_what_stands_for_them(data, minority):
    """After every layer, of hostile data and of dyadic nets too; so merged ones of each other."""
    X, first = np.unique(data[0] + 0.0, axis=0, return_index=True)
    codes = np.unique(np.array(data[1])[first], return_inverse=True)[1]
    assume(codes.max() > 0)
    with pytest.MonkeyPatch.context() as patch:
        attempts = record(patch)
        found = projection_merge.merge(Problem(X, codes, np.random.default_rng(0)), minority=minority)
    net = LNNet(found.layers, found.readout, range(codes.max() + 1))
    steps = steps_of(net, attempts)
    bits = 9000 if net.arithmetic == "dyadic" else 500
    assert max(worst_ratio(net, X, steps, layer, bits) for layer in range(net.depth)) <= 1


def test_merged_samples_end_together_and_unequal_ones_apart(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    attempts = record(monkeypatch)
    net = shatter(X, y, method="minority-merge")
    steps = steps_of(net, attempts)
    for layer in [0, net.depth // 2, net.depth - 1]:
        points = planar_points(net, X, layer)
        stands = standing(steps, 40, layer)
        bound = {
            int(s): float(e) for s, e in zip(steps[layer].walk.samples, steps[layer].walk.errors, strict=True)
        }
        with flint.ctx.workprec(500):
            for i, j in combinations(range(40), 2):
                distance = ((points[i] - points[j]) ** 2).sum().sqrt()
                if stands[i] == stands[j]:
                    assert y[i] == y[j]
                    assert distance <= 2 * bound[stands[i]]
                elif y[i] != y[j]:
                    assert distance > 2 * (bound[stands[i]] + bound[stands[j]])


# ------------------------------------------------------------------------------------------ full merging


@pytest.mark.parametrize(("seed", "n_classes"), [(0, 2), (1, 2), (2, 3), (3, 4)])
def test_full_merging_makes_ssr_tiny(seed, n_classes, monkeypatch):
    """Carried on to one point a class: SSR <= 8 m / safety**2, an enclosure proved by the certificate.

    Samples of a class are within 2 e of one point, e <= gap / safety, where two of different classes are
    gap - 2 e apart: within at most m (2 e)**2, in total at least gap**2 / 2.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(16, 2)), np.arange(16) % n_classes
    early = shatter(X, y, method="projection-merge")
    monkeypatch.setattr(
        projection_merge, "is_readable", lambda labels: len(labels) == len(set(labels.tolist()))
    )
    net = shatter(X, y, method="projection-merge")
    proved = certify(net, X, y)
    assert net.depth == 16 - n_classes + 1 >= early.depth
    assert (
        len({i for layer in net.provenance["merges"] for pair in layer for i in pair[:1]}) == 16 - n_classes
    )
    assert proved.ssr_after[1] <= 8 * 16 / net.provenance["safety"] ** 2 < tolerances.MERGED_SSR


# ---------------------------------------------------------------------------------------- numerical life


def walk_at(angles, codes, errors):
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    n = len(codes)
    return Walk(points, np.array(codes), np.arange(n), np.array(errors), np.zeros(n, dtype=bool), None, 0.6)


def test_safety_is_the_smallest_gap_over_error():
    walk = walk_at([0.0, 0.1, 0.3, 0.6], [0, 0, 1, 1], [1e-3, 1e-3, 1e-3, 1e-3])
    assert walk.safety() == pytest.approx(np.sin(0.2) / 2e-3)


def test_safety_sees_the_badly_placed_point_inside_a_run():
    """The first point may lie anywhere up to beyond the third, whatever lies between them."""
    walk = walk_at([0.0, 0.1, 0.3, 0.6], [0, 0, 1, 1], [0.5, 1e-9, 1e-9, 1e-9])
    assert walk.safety() < 1
    assert walk_at([0.0, 0.1, 0.3, 0.6], [0, 0, 1, 1], [1e-9, 1e-9, 1e-9, 0.5]).safety() < 1


def test_safety_is_zero_out_of_order():
    assert walk_at([0.0, 0.2, 0.1, 0.6], [0, 1, 0, 1], [1e-9] * 4).safety() == 0.0
    assert walk_at([0.0, -0.1, -0.2, -0.6], [0, 1, 0, 1], [1e-9] * 4).safety() > 1e6
    assert walk_at([0.0, 0.1, 0.2, 0.6], [0, 1, 0, 1], [1e-9, np.nan, 1e-9, 1e-9]).safety() == 0.0


def test_margin_of_a_read_out_is_measured_against_the_errors():
    """Classes left and right of 0: leads 2 sin(0.3), nearly all lost by a third of the angle."""
    weight = np.array([[-1.0], [1.0]]) * (plane.basis(Float64())[:, 1] / np.sqrt(3))
    angles, codes = [-0.6, -0.3, 0.3, 0.6], [0, 0, 1, 1]
    sharp, blurred = walk_at(angles, codes, [1e-9] * 4), walk_at(angles, codes, [1e-9, 0.1, 1e-9, 1e-9])
    assert margin(sharp.points, sharp.codes, sharp.errors, (weight, np.zeros(2)), Float64()) > 1e7
    assert margin(blurred.points, blurred.codes, blurred.errors, (weight, np.zeros(2)), Float64()) < 1.5
    assert margin(sharp.points, sharp.codes, sharp.errors, (-weight, np.zeros(2)), Float64()) < 0


def test_a_float64_net_has_to_pass_the_float64_forward_pass(monkeypatch):
    """Whatever is believed of its gaps and errors."""
    X, y = np.array(XOR), [0, 0, 1, 1]
    assert shatter(X, y, method="minority-merge").arithmetic == "float64"
    monkeypatch.setattr(Built, "is_carried", lambda *args, **options: False)
    assert shatter(X, y, method="minority-merge").arithmetic == "dyadic"


def test_a_read_out_without_a_margin_is_not_accepted(monkeypatch):
    monkeypatch.setattr(projection_merge, "margin", lambda *args: 1.0)
    monkeypatch.setattr(projection_merge, "PRECISIONS", (128,))
    with pytest.raises(AssertionError):
        shatter(np.array(XOR), [0, 0, 1, 1], method="minority-merge")


@pytest.mark.parametrize("missing", [Folds, Projection])
def test_a_layer_that_misses_its_merge_is_noticed(missing, monkeypatch):
    """Parameters a little off: the bounds are of the points as they come out, not as they were meant."""
    name = "matrix" if missing is Folds else "rows"
    meant = getattr(missing, name)

    def off(self, *args):
        matrix, offset = meant(self, *args)
        matrix = matrix.copy()
        matrix[1, 0] += 1e-7
        return matrix, offset

    monkeypatch.setattr(missing, name, off)
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    attempts = record(monkeypatch)
    net = shatter(X, y, method="minority-merge")
    steps = steps_of(net, attempts)
    ratios = [worst_ratio(net, X, steps, layer) for layer in range(net.depth)]
    assert max(ratios) <= 1 + tolerances.ERROR_RATIO


def test_respacing_spreads_the_gap_between_unequal_labels():
    """A tiny gap far from the middle becomes a quarter turn, or nearly."""
    s = np.array([0.0, 5.0, 5.000001, 6.0])
    kappa, beta = respacing(s, np.array([0, 0, 1, 1]))
    images = np.arctan(kappa * (s + beta))
    assert images[2] - images[1] > 0.7


@pytest.mark.parametrize("n_classes", [20, 60])
def test_many_pairs_of_classes_cost_few_bits(n_classes):
    """Sinks of finished classes are left behind the walk: across the cut nothing may be squeezed."""
    X = np.random.default_rng(n_classes).normal(size=(2 * n_classes, 2))
    y = np.arange(2 * n_classes) % n_classes
    net = shatter(X, y, method="minority-merge")
    assert net.depth <= guaranteed_depth([2] * n_classes, general_position=True)
    assert certify(net, X, y).precision <= 512


def test_a_column_that_spans_all_floats():
    X = (10.0 ** np.linspace(-300, 300, 12) * np.resize([1, 1, -1], 12))[:, None]
    for y in ([0, 1] * 6, [0, 1, 2, 0] * 3):
        for method in METHODS:
            net = shatter(X, y, method=method)
            assert net.arithmetic == "dyadic"
            assert certify(net, X, y).margin > 0


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-150, 1e150, 1e300])
def test_scale_of_the_data_costs_nothing(scale):
    """Integers times any float: float64 carries them all, and no feature is favoured."""
    rng = np.random.default_rng(4)
    X, y = rng.integers(-1000, 1000, (20, 2)).astype(float), rng.integers(0, 2, 20)
    for columns in (X * scale, X * [scale, 1.0]):
        net = shatter(columns, y, method="minority-merge")
        assert net.arithmetic == "float64"
        assert certify(net, columns, y).float64_agrees


def test_points_an_ulp_apart_need_a_dyadic_net():
    X, y = (1 + np.arange(6) * 2.0**-52)[:, None], [0, 1] * 3
    net = shatter(X, y, method="minority-merge")
    assert net.arithmetic == "dyadic"
    assert net.depth <= 3
    proved = certify(net, X, y)
    assert proved.float64_agrees is None
    assert net.predict(X).tolist() == y


def test_float64_carries_three_hundred_random_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    net = shatter(X, y, method="minority-merge")
    assert net.arithmetic == "float64"
    assert certify(net, X, y).float64_agrees


@pytest.mark.slow
def test_float64_carries_five_hundred_random_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    net = shatter(X, y, method="minority-merge")
    assert net.arithmetic == "float64"
    assert net.depth <= guaranteed_depth(class_sizes(X, y.tolist()), general_position=True)
    assert certify(net, X, y).float64_agrees
