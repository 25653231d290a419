"""Fold search: shallow nets, certified, never deeper than pairs, the same on any number of threads."""

from __future__ import annotations

import importlib.util
import math
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lntheory import shatter
from lntheory.construct import fold_kernel, fold_search, guaranteed_depth, plane, portfolio
from lntheory.construct.arithmetic import Float64
from lntheory.construct.target import Target
from lntheory.data import load_dataset, random_labels
from lntheory.errors import InvalidInputError
from lntheory.exact import certify
from lntheory.network import Layer, LNNet
from tests import tolerances
from tests.construct.hostile import class_sizes, labelled

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def short(monkeypatch):
    """Chains of few folds: what holds of any chain holds of short ones."""
    monkeypatch.setattr(fold_search, "STEPS", 300)


def planar(m, seed):
    """Gaussian points of the plane with balanced random labels."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 2)), rng.permutation(np.arange(m) % 2)


def on_circle(m):
    angles = 2 * np.pi * np.arange(m) / m
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.arange(m) % 2


def certified(X, y, **options):
    """The net, proved right on every sample, and no deeper than that of pairs."""
    net = shatter(X, y, **options)
    assert certify(net, X, y).margin >= 0
    assert net.width <= 3
    if net.depth:
        tried = net.provenance["tried"]
        assert net.depth == min(depth for depth in tried.values() if depth is not None)
        assert net.provenance["units"] <= net.provenance["budget"]
        assert ("merges" in net.provenance) == (net.provenance["construction"] != "fold")
    return net


# ------------------------------------------------------------------------------------------------ the fold


def brute_force(u, codes, c, h):
    """Slopes and labels in the order in which a centre sees them, by the geometry and by sorting."""
    a, b = 2 * np.arctan(c - h), 2 * np.arctan(c + h)
    # The tangents of the circle at two angles meet at the centre of the fold (outside the circle).
    o = np.array([np.cos((a + b) / 2), np.sin((a + b) / 2)]) / np.cos((b - a) / 2)
    axis = -o / np.hypot(*o) * np.sign(np.cos((b - a) / 2))
    angle = 2 * np.arctan(u)
    seen = np.column_stack([np.cos(angle), np.sin(angle)]) - o
    directions = np.arctan2(axis[0] * seen[:, 1] - axis[1] * seen[:, 0], seen @ axis)
    order = np.argsort(directions)
    return directions[order], codes[order]


@given(st.integers(3, 30), seeds)
def test_the_images_of_a_fold_are_those_that_its_centre_sees(m, seed):
    rng = np.random.default_rng(seed)
    u = np.sort(rng.uniform(-1, 1, m))
    codes = rng.integers(0, 2, m)
    c, h = rng.uniform(-0.6, 0.6), rng.uniform(0.05, 0.3)
    tau, order = np.empty(m), np.empty(m, np.int64)
    fold_kernel.objective(u, codes, np.zeros(m, np.int64), np.zeros(m), 2.0**-53, 1.0, 0.0, c, h, tau, order)
    assert sorted(order.tolist()) == list(range(m))
    assert (np.diff(tau) >= 0).all()
    directions, _ = brute_force(u, np.arange(m), c, h)
    _, seen = brute_force(u, np.arange(m), c, h)
    assert seen.tolist() in (order.tolist(), order[::-1].tolist())
    # and so does the layer that is made of it
    angle = 2 * np.arctan(u)
    points = fold_search.ArcPoints(
        np.eye(3), np.zeros(3), np.column_stack([np.cos(angle), np.sin(angle)]), np.full(m, 1e-16),
        np.arange(m), codes,
    )  # fmt: skip
    arc = points.fold(c, h)
    assert arc.samples.tolist() == order.tolist()
    assert len(directions) == m


@given(st.floats(-3, 3), st.floats(0.01, 3), seeds)
def test_the_two_points_seen_as_one_are_each_others_images(c, h, seed):
    """The involution ``u -> c + h^2 / (u - c)`` exchanges them, and is its own inverse."""
    p, q = c - h, c + h
    u = np.random.default_rng(seed).uniform(-5, 5, 20)
    u = u[np.abs(u - c) > 1e-3]
    involution = lambda v: c + h * h / (v - c)  # noqa: E731
    slope = lambda v: 2 * ((v - c) / h) / (1 + ((v - c) / h) ** 2)  # noqa: E731
    twin = involution(u)
    np.testing.assert_allclose(involution(twin), u, rtol=tolerances.FOLD, atol=tolerances.FOLD)
    np.testing.assert_allclose(
        slope(twin), slope(u), rtol=tolerances.TWO_FORMULAS, atol=tolerances.FOLD_SLOPE
    )
    np.testing.assert_allclose(
        twin, ((p + q) * u - 2 * p * q) / (2 * u - (p + q)), rtol=tolerances.FOLD, atol=tolerances.FOLD
    )


# ---------------------------------------------------------------------------------------- the objective


def test_the_objective_of_a_fold_is_that_of_its_images():
    rng = np.random.default_rng(3)
    for _ in range(50):
        m = int(rng.integers(4, 40))
        u, codes = np.sort(rng.uniform(-1, 1, m)), rng.integers(0, 3, m)
        c, h = rng.uniform(-0.6, 0.6), rng.uniform(0.05, 0.3)
        tau, order = np.empty(m), np.empty(m, np.int64)
        cost = fold_kernel.objective(
            u, codes, np.zeros(m, np.int64), np.zeros(m), 0.0, 1.0, 0.0, c, h, tau, order
        )
        with np.errstate(all="ignore"):
            assert cost == pytest.approx(
                fold_search.local_objective(tau, codes[order]), rel=tolerances.TWO_FORMULAS
            )


def test_runs_that_are_kept_whole_are_not_broken():
    """Whatever is between the ends of a run stays apart from other labels."""
    rng = np.random.default_rng(8)
    tried = 0
    for _ in range(300):
        m = 24
        u, codes = np.sort(rng.uniform(-1, 1, m)), np.repeat(rng.integers(0, 2, 6), 4)
        first = np.append(True, codes[1:] != codes[:-1])
        last = np.append(first[1:], True)
        ends = first | last
        kind = np.where(
            first & last, fold_kernel.SINGLE, np.where(first, fold_kernel.FIRST, fold_kernel.LAST)
        )
        c, h = rng.uniform(-0.6, 0.6), rng.uniform(0.01, 0.5)
        tau, order = np.empty(m), np.empty(m, np.int64)
        part = fold_kernel.objective(
            u[ends], codes[ends], kind[ends], np.zeros(ends.sum()), 0.0, 1.0, 0.0, c, h, tau, order
        )
        if part < fold_kernel.NEVER:
            runs = np.count_nonzero(np.diff(codes[ends][order[: ends.sum()]]))
            fold_kernel.objective(
                u, codes, np.zeros(m, np.int64), np.zeros(m), 0.0, 1.0, 0.0, c, h, tau, order
            )
            assert np.count_nonzero(np.diff(codes[order])) == runs
            tried += 1
    assert tried > 20


# ------------------------------------------------------------------------------------------------- the nets


@settings(max_examples=60)
@given(labelled(), st.sampled_from(["fold", "auto"]))
def test_hostile_data_is_certified_and_never_deeper_than_pairs(data, method):
    X, y = data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_search, "STEPS", 200)
        net = certified(X, y, method=method, budget=24)
    assert net.depth <= shatter(X, y, method="pairs").depth
    assert net.depth <= guaranteed_depth(class_sizes(X, y), method="fold")


@pytest.mark.parametrize(
    ("m", "budget"),
    [
        (20, 120),
        (50, 120),
        pytest.param(100, 600, marks=pytest.mark.slow),
        pytest.param(200, 1500, marks=pytest.mark.slow),
    ],
)
def test_the_alternating_circle_reaches_its_lower_bound(m, budget):
    net = certified(*on_circle(m), method="fold", budget=budget)
    assert net.depth == math.ceil(math.log2(m // 2))


def test_random_labels_take_a_tenth_of_the_layers_of_merges():
    X, y = planar(60, 0)
    net = certified(X, y, method="fold", budget=120)
    assert net.arithmetic == "float64"
    assert net.provenance["construction"] == "fold"
    assert net.depth <= 8 < shatter(X, y, method="pairs").depth


def test_ten_classes():
    digits = load_dataset("digits")
    X = digits.X[:60]
    y = random_labels(X, 10, 0)
    net = certified(X, y, method="fold", budget=240)
    assert net.depth <= shatter(X, y, method="minority-merge").depth / 2


def test_equal_samples_and_true_labels():
    iris = load_dataset("iris")
    net = certified(iris.X, iris.y, method="fold", budget=24)
    assert net.depth <= shatter(iris.X, iris.y, method="pairs").depth


def test_float32():
    X, y = planar(60, 1)
    X = X.astype(np.float32).astype(float)
    net = certified(X, y, method="fold", target="float32", budget=240)
    assert net.provenance["construction"] == "fold"
    for layer in (*net.layers, net.readout):
        assert (layer.weight == layer.weight.astype(np.float32)).all()
    assert (np.asarray(net.classes)[net.winners(net.plain_scores(X, np.float32))] == y).all()


# ------------------------------------------------------------------------------------------- determinism


def test_the_same_net_at_any_number_of_threads(short):
    X, y = planar(40, 2)
    nets = [shatter(X, y, method="fold", budget=60, n_jobs=n) for n in (1, 2, 3)]
    assert nets[0] == nets[1] == nets[2]
    assert nets[0].provenance == nets[1].provenance == nets[2].provenance


def test_more_units_never_give_a_deeper_net(short):
    X, y = planar(40, 3)
    depths = [shatter(X, y, method="fold", budget=budget).depth for budget in (1, 30, 60, 120, 240)]
    assert depths == sorted(depths, reverse=True)
    assert depths[-1] < depths[0]


def test_a_budget_of_nothing_much_leaves_the_pairs():
    X, y = planar(30, 0)
    net = certified(X, y, method="fold", budget=1)
    assert net.provenance["construction"] == "pairs"
    assert net == shatter(X, y, method="pairs")


def test_without_the_compiler_the_nets_are_the_same(short, monkeypatch):
    X, y = planar(24, 4)
    compiled = shatter(X, y, method="fold", budget=60)
    assert compiled.provenance["construction"] == "fold"
    monkeypatch.setitem(sys.modules, "numba", None)
    spec = importlib.util.spec_from_file_location("interpreted", fold_kernel.__file__)
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    assert not hasattr(kernel.anneal, "py_func")
    calls = []
    monkeypatch.setattr(fold_search, "begin", kernel.begin)
    monkeypatch.setattr(fold_search, "anneal", lambda *a: calls.append(1) or kernel.anneal(*a))
    assert shatter(X, y, method="fold", budget=60) == compiled
    assert calls


def test_interruption_passes_through(short):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shatter(*planar(40, 0), method="fold", budget=60, n_jobs=2, progress=stop)


def test_auto_does_not_search_where_that_takes_long(monkeypatch):
    monkeypatch.setattr(portfolio, "AUTO_BUDGET", {"float64": 30})
    net = certified(*planar(40, 0), method="auto")
    assert net.provenance["units"] == 0
    assert net.provenance["construction"] == "pairs"
    assert net.provenance["untried"]["fold"] == "would hardly end within 30 units"


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 0}, {"budget": 2.5}, {"budget": True}, {"n_jobs": 0}, {"target": "float16"},
        {"method": "pairs", "budget": 3}, {"method": "pairs", "target": "float32"},
    ],
)  # fmt: skip
def test_options_that_do_not_exist(options):
    with pytest.raises(InvalidInputError):
        shatter(*planar(8, 0), **{"method": "fold", **options})


# ----------------------------------------------------------------------------------------------- the errors


def turned(X, layers, dtype):
    """Layer by layer, how far a plain pass of this type turns the points from where they should be."""
    points = X.astype(dtype)
    basis = plane.basis(Float64())
    for layer in layers:
        points = points @ layer.weight.T.astype(dtype) + layer.bias.astype(dtype)
        points = points - points.mean(axis=1, keepdims=True)
        points = points / np.sqrt((points * points).mean(axis=1, keepdims=True))
        seen = (points.astype(np.longdouble) @ basis)[layer.samples] / np.sqrt(np.longdouble(3))
        yield np.abs(seen[:, 0] * layer.points[:, 1] - seen[:, 1] * layer.points[:, 0]).astype(float)


@pytest.mark.parametrize(("target", "dtype"), [("float64", np.longdouble), ("float32", np.float32)])
@given(st.integers(10, 40), seeds)
@example(30, 0)
def test_points_are_about_as_wrong_as_estimated(target, dtype, m, seed):
    """Folds at random, which magnify as they like: errors are as a rule smaller than two deviations."""
    X, codes = planar(m, seed)
    task = fold_search.Task(X, codes, fold_search.powers_of_two(X), Target.of(target))
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        arc = fold_search.best_lift(task, rng)
        layers = []
        for _ in range(4):
            points = fold_search.shaped(task, arc, *arc.spread())
            layers.append(points)
            arc = points.fold(rng.uniform(-0.3, 0.3), rng.uniform(0.1, 0.4))
            if arc is None:
                return
    for layer, off in zip(layers, turned(X, layers, dtype), strict=True):
        share = off / layer.errors
        assert np.sqrt((share * share).mean()) < fold_search.LEAST
        assert share.max() < 2 * fold_search.LEAST


def test_errors_are_not_overestimated_much():
    """Of some hundred layers: two standard deviations are not ten. In float32 every bit counts."""
    shares = []
    for seed in range(30):
        X, codes = planar(60, seed)
        task = fold_search.Task(X, codes, fold_search.powers_of_two(X), Target.of("float32"))
        rng = np.random.default_rng(seed)
        arc, layers = fold_search.best_lift(task, rng), []
        for _ in range(4):
            layers.append(fold_search.shaped(task, arc, *arc.spread()))
            arc = layers[-1].fold(rng.uniform(-0.3, 0.3), rng.uniform(0.1, 0.4))
        shares += [
            off / layer.errors for layer, off in zip(layers, turned(X, layers, np.float32), strict=True)
        ]
    typical = np.sqrt((np.concatenate(shares) ** 2).mean())
    assert 0.2 < typical < 0.6


# ------------------------------------------------------------------------------------------------ the target


def fitted(m, seed):
    """A net that is right in float32, and its problem."""
    X, y = planar(m, seed)
    X = X.astype(np.float32).astype(float)
    return shatter(X, y, method="fold", target="float32", budget=72), X, y


def test_a_target_carries_a_net_that_is_safe_in_it():
    net, X, codes = fitted(30, 0)
    assert Target.of("float32").carries(net, X, codes)
    assert Target.of("float64").carries(net, X, codes)
    swapped = codes.copy()
    swapped[7] = 1 - swapped[7]
    assert not Target.of("float32").carries(net, X, swapped)


def test_a_target_does_not_carry_a_net_that_is_right_by_luck():
    """The pass of this machine gives the label; one whose rounding errors are others does not."""
    unit = 2.0**-24
    lucky = 0
    layer = Layer([[1.0], [0.0], [0.0]], [0.0, 0.0, 1.0])
    for x in np.linspace(0.2, 0.8, 40):
        X = np.array([[0.0], [float(np.float32(x))]])
        point = LNNet((layer,), Layer(np.eye(3), np.zeros(3)), (0, 1, 2)).plain_scores(X)[1]
        read = Layer([[1.0, 0.5, 0.0]], [-(point[0] + 0.5 * point[1]) + 0.4 * unit])
        net = LNNet((layer,), read, (0, 1))
        codes = net.predict(X)
        if (net.winners(net.plain_scores(X, np.float32)) == codes).all():
            lucky += 1
            assert Target.of("float64").carries(net, X, codes)
            assert not Target.of("float32").carries(net, X, codes)
    assert lucky


@pytest.mark.parametrize("seed", [0, 1])
def test_float32_carries_three_hundred_samples(seed):
    X, codes = planar(300, seed)
    search = fold_search.fold_search(X, codes, seed=seed, budget=1010, target="float32", n_jobs=2)
    net = LNNet(search.built.layers, search.built.readout, (0, 1))
    assert net.depth < 40
    assert (net.winners(net.plain_scores(X, np.float32)) == codes).all()
    assert Target.of("float32").carries(net, X, codes)
    assert certify(net, X, codes).margin > 0


@pytest.mark.parametrize("seed", [0, 1])
def test_ten_classes_take_at_most_half_of_the_layers_of_merges(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), rng.permutation(np.arange(60) % 10)
    net = certified(X, y, method="fold", budget=400)
    assert net.depth <= shatter(X, y, method="minority-merge").depth / 2


# ------------------------------------------------------------------------------------------------- the risk


def test_safety_is_rationed():
    """By the root of the boundaries left, and never below what has to be left."""
    X, codes = planar(20, 0)
    task = fold_search.Task(
        X, codes, fold_search.powers_of_two(X), Target.of("float32"), reserve=8.0, boundaries=100
    )
    least = fold_search.LEAST
    assert [task.wanted(k) / least for k in (0, 1, 25, 100, 400)] == [1, 2**0.8, 2**4, 2**8, 2**8]


@pytest.mark.parametrize("target", ["float64", "float32"])
def test_a_ration_is_no_more_than_the_first_layer_has(target):
    X, codes = planar(120, 0)
    task = fold_search.Task(X, codes, fold_search.powers_of_two(X), Target.of(target))
    with np.errstate(all="ignore"):
        arc = fold_search.best_lift(task, np.random.default_rng(0))
        safety = fold_search.shaped(task, arc, *arc.spread()).safety()
        begun = task.begun(arc)
    assert begun.wanted(len(arc.ends)) <= max(safety, fold_search.LEAST) * (1 + tolerances.TWO_FORMULAS)
    assert begun.reserve <= min(fold_search.MOST_RESERVED, fold_search.RESERVE * len(arc.ends))
    assert begun.boundaries == len(arc.ends)


@given(st.integers(3, 30), seeds)
def test_risk_is_that_of_the_least_safe_points_of_two_runs(m, seed):
    """By brute force: at every boundary the point that reaches farthest, of either run."""
    rng = np.random.default_rng(seed)
    tau, codes = np.sort(rng.uniform(-1, 1, m)), rng.integers(0, 2, m)
    errors, safe, price = np.exp(rng.uniform(-12, -3, m)), np.exp(rng.uniform(0, 3)), 7.0
    u = (1 - np.sqrt(1 - tau * tau)) / tau  # the near half of the fold c = 0, h = 1 sends u to tau
    image = [fold_kernel.error_of(a, e, 1e-9, 0.0, 1.0) for a, e in zip(u, errors, strict=True)]
    risk = fold_kernel.risk(u, codes, errors, 1e-9, safe, price, 0.0, 1.0, tau, np.arange(m))
    runs = np.split(np.arange(m), np.flatnonzero(np.diff(codes)) + 1)
    lost = []
    for before, after in pairwise(runs):
        i = max(before, key=lambda k: tau[k] + safe * image[k])
        j = min(after, key=lambda k: tau[k] - safe * image[k])
        lost.append(max(0.0, np.log2(safe * (image[i] + image[j]) / (tau[j] - tau[i]))))
    expected = fold_kernel.NOISE * sum(lost) + price * max(lost, default=0.0)
    assert risk == pytest.approx(expected, rel=tolerances.TWO_FORMULAS, abs=tolerances.TWO_FORMULAS)


@given(st.integers(4, 30), seeds)
def test_a_rated_fold_costs_what_it_is_and_what_it_risks(m, seed):
    rng = np.random.default_rng(seed)
    t, codes, kind = np.sort(rng.uniform(-1, 1, m)), rng.integers(0, 3, m), np.zeros(m, np.int64)
    fold = (0.0, 0.1, 1.5, 0.05, 0.4)
    plain = fold_kernel.rated(t, codes, kind, np.zeros(m), 0.0, 1.0, 0.0, fold)
    assert plain[1:] == fold[1:]
    priced = fold_kernel.rated(t, codes, kind, np.zeros(m), 0.0, 1.0, 30.0, fold)
    assert priced == pytest.approx(plain)  # there are no errors
    unsafe = fold_kernel.rated(t, codes, kind, np.full(m, 1e-3), 1e-9, 4.0, 30.0, fold)
    dearer = fold_kernel.rated(t, codes, kind, np.full(m, 1e-3), 1e-9, 4.0, 60.0, fold)
    if plain[0] < fold_kernel.NEVER:
        assert plain[0] <= unsafe[0] <= dearer[0]
