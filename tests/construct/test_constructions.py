"""What holds of every construction: depths on hostile data, invariances, folds, both forms of a net."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lntheory import layer_norm, shatter
from lntheory.circle.runs import is_readable
from lntheory.construct import METHODS, TEMPLATE, fold_kernel, fold_search, guaranteed_depth
from lntheory.construct import methods as register
from lntheory.construct.arithmetic import Float64
from lntheory.construct.linear import by_linear_program
from lntheory.construct.plane import basis
from lntheory.errors import InvalidInputError
from lntheory.exact import certify
from tests import tolerances
from tests.construct.hostile import class_sizes, consistent, labelled
from tests.tolerances import PLANE

seeds = st.integers(0, 2**32 - 1)
methods = st.sampled_from(list(METHODS))


@pytest.fixture(autouse=True, scope="module")
def short():
    """Chains of few folds: what holds of any chain holds of short ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_search, "STEPS", 100)
        yield


def built(X, y, method, **options):
    if METHODS[method].searches:
        options.setdefault("budget", 48)
    return shatter(X, y, method=method, **options)


# -------------------------------------------------------------------------------------------- proved depths

UNIT = np.random.default_rng(0).normal(size=(24, 2))
ANGLES = 2 * np.pi * np.arange(24) / 24
HOSTILE = {
    "grid": np.array(list(product(range(6), range(4))), dtype=float),
    "integer lattice": np.array(list(product(range(3), range(4), range(2))), dtype=float) * [1, 7, -2],
    "collinear": np.arange(24.0)[:, None] * [1.0, -2.0, 3.0] + [0.5, 0.0, -1.0],
    "cocircular": np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]),
    "two circles": np.vstack([np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])[::2] * r for r in (1, 2)]),
    "clusters of 1e-12": np.repeat([[1.0, 2.0], [-1.0, 0.5], [0.0, -3.0]], 8, axis=0) + 1e-12 * UNIT,
    "one dimension, even": np.arange(24.0)[:, None],
    "one dimension, powers": 2.0 ** np.arange(-12, 12)[:, None],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("method", METHODS)
def test_hostile_sets_within_the_proved_depth(name, method):
    """Random, alternating and ten labels of two dozen points; the certificate is the judge."""
    X, rng = HOSTILE[name], np.random.default_rng(1)
    for y in (rng.permutation(24) % 2, np.arange(24) % 2, rng.integers(0, 4, 24)):
        net = built(X, y, method)
        assert certify(net, X, y).margin >= 0
        assert net.depth <= guaranteed_depth(class_sizes(X, y), method=method)


@given(labelled(), methods)
def test_hostile_data_within_the_proved_depth(data, method):
    X, y = data
    net = built(X, y, method)
    assert certify(net, X, y).margin >= 0
    assert net.depth <= guaranteed_depth(class_sizes(X, y), method=method)


@given(st.integers(4, 22), methods, seeds)
def test_alternating_samples_of_a_circle_need_the_logarithm_of_half_their_number(m, method, seed):
    """Claim alternating-depth-lower-bound: ceil(log2(floor(m / 2))), wherever on the circle they are."""
    rng = np.random.default_rng(seed)
    gaps = rng.uniform(0.2, 1.0, m)
    angles = rng.uniform(0, 7) + 2 * np.pi * np.cumsum(gaps) / gaps.sum()
    X, y = np.column_stack([np.cos(angles), np.sin(angles)]), np.arange(m) % 2
    net = built(X, y, method)
    certify(net, X, y)
    assert (m // 2 - 1).bit_length() <= net.depth <= guaranteed_depth(class_sizes(X, y), method=method)


# ---------------------------------------------------------------------------------------------- invariances


def same_layers(one, other):
    """Whether two nets are equal but for the names of their classes."""
    return one.layers == other.layers and one.readout == other.readout


@given(labelled(), methods, seeds)
def test_other_names_of_the_classes_in_the_same_order_give_the_same_net(data, method, seed):
    X, y = data
    names = np.sort(np.random.default_rng(seed).choice(1000, 20, replace=False)) - 500
    assert same_layers(built(X, y, method), built(X, [int(names[label]) for label in y], method))


@settings(max_examples=60)
@given(labelled(max_samples=10), methods, seeds)
def test_order_names_and_affine_maps_keep_what_is_proved(data, method, seed):
    """Reordered, relabelled, and under any invertible affine map: certified, within the same depth."""
    X, y = data
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(X)), rng.permutation(20)
    lower = np.tril(rng.integers(-2, 3, (X.shape[1],) * 2), -1) + np.eye(X.shape[1])
    with np.errstate(all="ignore"):
        mapped = (X @ lower @ lower.T + rng.integers(-3, 4, X.shape[1]))[order]
    assume(np.isfinite(mapped).all())
    labels = consistent(mapped, [int(names[y[i]]) for i in order])  # samples may meet by rounding
    net = built(mapped, labels, method)
    certify(net, mapped, labels)
    assert net.depth <= guaranteed_depth(class_sizes(mapped, labels), method=method)


@given(st.integers(3, 24), st.integers(1, 3), methods, seeds)
@example(24, 2, "fold", 0)
def test_powers_of_two_and_repeated_samples_change_nothing(m, n_features, method, seed):
    """Exactly: the points of every layer are the same floats."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, n_features)), rng.permutation(np.arange(m) % 2)
    net = built(X, y, method)
    scaled = X * 2.0 ** rng.integers(-40, 40, n_features)
    other = built(scaled, y, method)
    assert other.depth == net.depth
    for points, others in zip(net.trace(X), other.trace(scaled), strict=True):
        np.testing.assert_array_equal(points, others)
    again = np.concatenate([np.arange(m), rng.integers(m, size=4)])
    assert built(X[again], y[again], method) == net


# ----------------------------------------------------------------------------------------------------- folds


def on_circle(u):
    return np.column_stack([1 - u * u, 2 * u]) / (1 + u * u)[:, None]


@given(st.integers(2, 30), seeds)
def test_a_fold_sees_a_point_and_its_image_under_the_involution_as_one(m, seed):
    """u -> ((p + q) u - 2 p q) / (2 u - (p + q)): twice is no move, and the layer cannot tell."""
    rng = np.random.default_rng(seed)
    c, h = rng.uniform(-1, 1), np.exp(rng.uniform(-2, 1))
    p, q = c - h, c + h
    half = c + h * np.exp(rng.uniform(-3, 3, m)) * rng.choice([-1, 1], m)

    def image(u):
        return ((p + q) * u - 2 * p * q) / (2 * u - (p + q))

    np.testing.assert_allclose(
        image(image(half)), half, rtol=tolerances.TWO_FORMULAS, atol=tolerances.TWO_FORMULAS
    )
    u = np.concatenate([half, image(half)])
    points = fold_search.ArcPoints(
        np.eye(3), np.zeros(3), on_circle(u), np.zeros(2 * m), np.arange(2 * m), np.zeros(2 * m, int)
    )  # fmt: skip
    arc = points.fold(c, h)
    seen = np.empty(2 * m)
    seen[arc.samples] = arc.t
    np.testing.assert_allclose(seen[:m], seen[m:], atol=tolerances.TWO_FORMULAS)
    # The kernel's slopes are the same, but for the arc's own scale.
    tau, order = np.empty(2 * m), np.empty(2 * m, np.int64)
    ascending = np.argsort(u, kind="stable")
    fold_kernel.objective(
        u[ascending], np.zeros(2 * m, np.int64), np.zeros(2 * m, np.int64), np.zeros(2 * m), 0.0, 1.0, 0.0,
        c, h, tau, order,
    )  # fmt: skip
    slopes = np.empty(2 * m)
    slopes[ascending[order]] = tau
    np.testing.assert_allclose(slopes[:m], slopes[m:], atol=tolerances.TWO_FORMULAS)


@given(st.integers(2, 30), seeds)
def test_a_fold_is_evaluated_as_brute_force_sorts(m, seed):
    """The kernel merges two chains; sorting all directions from the centre gives the same."""
    rng = np.random.default_rng(seed)
    u, codes = np.sort(rng.uniform(-3, 3, m)), rng.integers(0, 3, m)
    c, h = rng.uniform(-2, 2), np.exp(rng.uniform(-3, 1))
    tau, order = np.empty(m), np.empty(m, np.int64)
    cost = fold_kernel.objective(
        u, codes, np.zeros(m, np.int64), np.zeros(m), 0.0, 1.0, 0.0, c, h, tau, order
    )  # fmt: skip
    p, q = c - h, c + h
    towards = np.array([1 - p * q, p + q])  # the centre, times 1 + p q
    seen = (on_circle(u) * (1 + p * q) - towards) * np.sign(1 + p * q)
    axis = -towards / np.hypot(*towards) * np.sign(1 + p * q)
    directions = np.arctan2(axis[0] * seen[:, 1] - axis[1] * seen[:, 0], seen @ axis)
    assume(m < 2 or np.diff(np.sort(directions)).min() > 1e-9)
    expected = np.argsort(directions)
    assert order.tolist() in (expected.tolist(), expected[::-1].tolist())
    if cost < fold_kernel.NEVER:
        assert cost == pytest.approx(
            fold_search.local_objective(tau, codes[order]), rel=tolerances.TWO_FORMULAS
        )


# ------------------------------------------------------------------------------- the read-out, and both forms


@given(st.lists(st.integers(0, 3), min_size=2, max_size=9), seeds)
@example([0, 1, 0, 1], 0)
@example([0, 1, 2, 0, 2], 0)
def test_affine_scores_exist_iff_no_two_classes_alternate(word, seed):
    """Against a linear program, for points anywhere on the circle."""
    codes = np.unique(word, return_inverse=True)[1]
    assume(codes.max() > 0)
    alternate = any(
        codes[i] == codes[k] != codes[j] == codes[n] for i, j, k, n in combinations(range(len(codes)), 4)
    )
    gaps = np.random.default_rng(seed).uniform(0.5, 1.0, len(codes))
    angles = 2 * np.pi * np.cumsum(gaps) / gaps.sum()
    affine = np.column_stack([np.cos(angles), np.sin(angles), np.ones(len(codes))])
    scores = by_linear_program(affine, codes, int(codes.max()) + 1)
    assert (scores is not None) == (not alternate) == is_readable(codes)


@settings(max_examples=30)
@given(st.integers(4, 16), st.integers(1, 3), methods, seeds)
@example(16, 2, "fold", 1)
@example(16, 2, "pairs", 1)
def test_planar_and_space_forms_of_a_net_agree(m, n_features, method, seed):
    """Directions of A (z - o) in the plane, and affine, mean, deviation in R^3: layer by layer."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, n_features)), rng.permutation(np.arange(m) % 2)
    net = built(X, y, method)
    assume(net.depth > 0 and net.arithmetic == "float64")
    columns = basis(Float64())
    z = None
    for layer in net.layers:
        space = layer_norm((X if z is None else np.sqrt(3) * z @ columns.T) @ layer.weight.T + layer.bias)
        into = np.eye(n_features) if z is None else np.sqrt(3) * columns
        matrix, offset = columns.T @ layer.weight @ into, columns.T @ layer.bias
        planar = (X if z is None else z) @ matrix.T + offset
        length = np.hypot(*planar.T)
        z = planar / length[:, None]
        size = (np.abs(layer.weight).sum() * max(1.0, np.abs(X).max()) + np.abs(layer.bias).sum()) / length
        assert (np.abs(space @ columns / np.sqrt(3) - z).max(axis=1) <= PLANE * size).all()
        z = space @ columns / np.sqrt(3)
    scores = np.sqrt(3) * z @ columns.T @ net.readout.weight.T + net.readout.bias
    assert net.winners(scores[:, 0]).tolist() == y.tolist()


# --------------------------------------------------------------------------------------------- the register


@given(labelled(), seeds)
def test_the_template_is_a_construction(data, seed):
    """What a newcomer copies keeps what every construction owes: right, within its depth, the same again."""
    X, y = data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register, "METHODS", {TEMPLATE.METHOD.name: TEMPLATE.METHOD})
        nets = [shatter(X, y, method="one-layer-first", random_state=seed) for _ in range(2)]
        certify(nets[0], X, y)
        assert nets[0].depth <= guaranteed_depth(class_sizes(X, y), method="one-layer-first")
    assert nets[0] == nets[1]


def test_the_template_takes_one_layer_where_a_random_one_does():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), [0, 1, 0, 1, 0, 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register, "METHODS", {TEMPLATE.METHOD.name: TEMPLATE.METHOD})
        assert shatter(X, y, method="one-layer-first").depth == 1
    assert shatter(X, y, method="projection-merge").depth > 1


def test_constructions_are_registered_under_their_names():
    assert {"auto", "fold", "pairs", "minority-merge", "projection-merge"} <= set(METHODS)
    assert all(method.name == name and method.summary for name, method in METHODS.items())
    for name in ("no-such-method", None, 3):
        with pytest.raises(InvalidInputError, match="choose one of auto, fold, pairs"):
            shatter([[0.0], [1.0]], [0, 1], method=name)
    with pytest.raises(TypeError):
        METHODS["mine"] = TEMPLATE.METHOD
