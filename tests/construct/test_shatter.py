"""The front of the constructions: any labelled samples in, a certified net out, or a clear error."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import flint
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lntheory import LNNet, shatter
from lntheory.construct import fold_search, guaranteed_depth, portfolio
from lntheory.construct.pair_merge import pair_merge
from lntheory.construct.portfolio import Portfolio, why_no_shallower
from lntheory.construct.problem import Problem
from lntheory.construct.projection_merge import MINORITY_MERGE
from lntheory.errors import ConflictingLabelsError, InvalidInputError, RefutedError
from lntheory.exact import certify
from tests.construct.hostile import class_sizes, consistent, labelled

METHODS = ["minority-merge", "projection-merge", "pairs", "auto"]
methods = st.sampled_from(METHODS)
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]]


def certified(X, y, **options):
    """The net, proved right on every sample, within the depth guaranteed for distinct samples."""
    net = shatter(X, y, **options)
    proved = certify(net, X, y)
    assert proved.margin >= 0
    assert net.width <= 3
    method = options.get("method", "auto")
    assert net.depth <= guaranteed_depth(class_sizes(X, y), method=method)
    if net.arithmetic == "float64":
        assert proved.float64_agrees
        assert net.predict(X).tolist() == list(y)
    return net


# ---------------------------------------------------------------------------------------- what must work


@settings(max_examples=150)
@given(labelled(), methods)
def test_every_construction_is_certified_on_hostile_data(data, method):
    certified(*data, method=method)


@given(labelled(max_samples=8), methods, st.integers(0, 2**32 - 1))
def test_order_of_samples_names_of_classes_and_affine_maps_do_not_matter(data, method, seed):
    X, y = data
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    certified(X[order], [y[i] for i in order], method=method)
    names = rng.permutation(20)
    certified(X, [f"class {names[label]}" for label in y], method=method)
    with np.errstate(all="ignore"):
        mapped = X @ rng.integers(-3, 4, (X.shape[1], X.shape[1])) + rng.integers(-3, 4, X.shape[1])
    if np.isfinite(mapped).all():
        certified(mapped, consistent(mapped, y), method=method)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1), methods)
@example(3, 1, 0, "minority-merge")
@example(3, 1, 0, "auto")
def test_one_two_and_three_samples(m, n_features, seed, method):
    """One and two need no layer, three none unless the middle one of three collinear ones differs."""
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(-3, 4, (m, n_features)), axis=0)
    y = rng.integers(0, 3, len(X)).tolist()
    net = certified(X, y, method=method)
    middle = sorted(range(len(X)), key=lambda i: tuple(X[i]))[len(X) // 2]
    collinear = len(X) == 3 and np.linalg.matrix_rank(X - X[0]) == 1
    others = {y[i] for i in range(len(X)) if i != middle}
    assert net.depth == int(collinear and len(others) == 1 and y[middle] not in others)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "y",
    [
        ["no", "yes", "yes", "no"],
        [3, -1, -1, 3],
        [0.5, 1e300, 1e300, 0.5],
        [True, False, False, True],
        ["", "é\n", "é\n", ""],
        [1, "1", "1", 1],
        np.array([2, 7, 7, 2], dtype=np.int8),
        np.array(["u", "v", "v", "u"], dtype=object),
    ],
    ids=["str", "int", "float", "bool", "odd strings", "mixed", "int8", "object"],
)
def test_labels_of_any_type(y, method):
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    net = shatter(X, y, method=method)
    certify(net, X, y)
    assert net.predict(X).tolist() == list(y)
    assert [type(label) for label in net.predict(X).tolist()] == [
        type(v) for v in np.array(y, object).tolist()
    ]


def test_classes_are_sorted_where_they_can_be():
    assert shatter(XOR, ["b", "b", "a", "a"]).classes == ("a", "b")
    assert shatter(XOR, [2, 2, 1.5, 1.5]).classes == (1.5, 2)
    assert shatter(XOR, [1, 1, "a", "a"]).classes == (1, "a")


@pytest.mark.parametrize("method", METHODS)
def test_one_class_needs_nothing(method):
    net = certified([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], ["only"] * 3, method=method)
    assert (net.depth, net.classes, net.provenance["merges"]) == (0, ("only",), ())
    assert certified([[5e-324]], [1]).depth == 0


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), methods)
def test_linearly_separable_data_need_no_layer(seed, n_classes, method):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-100, 100, 3)
    scores = (X / np.abs(X).max(axis=0)) @ rng.normal(size=(3, n_classes)) + rng.normal(size=n_classes)
    first, second = np.sort(scores, axis=1)[:, [-1, -2]].T
    clear = first - second > 1e-3
    assert certified(X[clear], scores.argmax(axis=1)[clear].tolist(), method=method).depth == 0


@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_one_sample_a_class_needs_no_layer(n_features):
    """The nearest sample is an affine maximum: 2 x_i . x - |x_i|**2."""
    X = np.random.default_rng(0).normal(size=(60, n_features))
    assert certified(X, list(range(60))).depth == 0


def test_classes_in_intervals_need_no_layer():
    """Tangents of a parabola: what least squares, nearest means and logistic regression all miss."""
    X = np.sort(np.random.default_rng(0).exponential(size=24) ** 3)[:, None]
    assert certified(X, [i // 2 for i in range(24)]).depth == 0


def test_affinely_independent_samples_need_no_layer():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(21, 20)), rng.integers(0, 4, 21).tolist()
    assert certified(X, y).depth == 0


def test_negative_zero_equals_zero():
    X = [[0.0, 1.0], [-0.0, 1.0], [1.0, -0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    certified(X, [0, 0, 0, 0, 1, 1])
    with pytest.raises(ConflictingLabelsError, match="samples 0 and 1 are equal but labelled 0 and 1"):
        shatter(X, [0, 1, 0, 0, 1, 1])


def test_duplicates_count_once():
    X, y = XOR * 5, list("aabb") * 5
    for method in ("minority-merge", "projection-merge"):
        net = certified(X, y, method=method)
        assert net.depth == 1
        assert all(
            i < 4 for layer in net.provenance["merges"] for pair in layer for i in pair
        )  # the first of equal samples
    net = certified(X, y)
    assert net.depth == 1
    assert all(i < 4 for layer in net.provenance["merges"] for pair in layer for i in pair)


@pytest.mark.parametrize("method", METHODS)
def test_largest_floats(method):
    big = np.finfo(float).max
    certified([[big], [-big], [0.0], [1.0]], [0, 0, 1, 0], method=method)
    certified([[big, 0], [-big, 1], [0, 3], [1, 1]], [0, 0, 1, 1], method=method)


# ------------------------------------------------------------------------------------- what is refused


def test_conflicting_duplicates_name_both():
    X = [[1.0, 2.0], [0.0, 0.0], [3.0, 1.0], [0.0, 0.0]]
    with pytest.raises(ConflictingLabelsError, match=r"samples 1 and 3 .* 'b' and 'c'"):
        shatter(X, ["a", "b", "a", "c"])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[np.nan], [1.0]], [0, 1], "nan at sample 0, feature 0"),
        ([[0.0, 1.0], [1.0, -np.inf]], [0, 1], "-inf at sample 1, feature 1"),
        (np.zeros((0, 2)), [], "shape"),
        (np.zeros((2, 0)), [0, 1], "shape"),
        ([1.0, 2.0], [0, 1], "reshape"),
        (np.zeros((2, 2, 2)), [0, 1], "shape"),
        ([[0.0], [1.0]], [0, 1, 2], "3 labels for 2 samples"),
        ([[0.0], [1.0]], [0, None], "no label"),
        ([[0.0], [1.0]], [0, np.nan], "nan"),
        ([[0.0], [1.0]], [0, np.inf], "inf"),
        ([[0.0], [1.0]], "ab", "one string"),
        ([["a"], ["b"]], [0, 1], "real numbers"),
        ([[0.0], [1.0, 2.0]], [0, 1], "rectangular"),
        ([[2**53 + 1], [0]], [0, 1], "no float64 equals"),
    ],
)
def test_unusable_input_is_named(X, y, message):
    with pytest.raises(InvalidInputError, match=f"(?i){message}"):
        shatter(X, y)


@pytest.mark.parametrize("random_state", [-1, 1.5, "0", None, True])
def test_random_state_is_a_seed_or_a_generator(random_state):
    with pytest.raises(InvalidInputError, match="random_state"):
        shatter(XOR, [0, 0, 1, 1], random_state=random_state)


def test_unknown_methods_and_impossible_class_sizes_are_refused():
    with pytest.raises(InvalidInputError, match=r"no-such-method.*minority-merge"):
        shatter(XOR, [0, 0, 1, 1], method="no-such-method")
    with pytest.raises(InvalidInputError, match="no-such-method"):
        guaranteed_depth([1, 2], method="no-such-method")
    for sizes in ([], [0, 3], [-1]):
        with pytest.raises(InvalidInputError, match="class_sizes"):
            guaranteed_depth(sizes)


def test_guaranteed_depth_in_numbers():
    """m samples, C classes, k outside the largest: max(1, m - 2); max(1, k - C + 1); k - C + 2."""
    table = [
        ([7], 0, 0, 0),
        ([1, 1], 1, 1, 1),
        ([2, 1], 1, 1, 1),
        ([2, 2], 2, 1, 2),
        ([5, 4], 7, 3, 4),
        ([3, 3, 3], 7, 4, 5),
        ([50, 50], 98, 49, 50),
    ]
    for sizes, paper, general, distinct in table:
        assert guaranteed_depth(sizes, method="projection-merge") == paper
        for method in ({"method": "minority-merge"}, {"method": "auto"}, {}):
            assert guaranteed_depth(sizes, **method, general_position=True) == general
            assert guaranteed_depth(sizes, **method) == distinct


def test_certificate_refuses_the_net_for_other_labels():
    """The judge is not the builder's friend."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
    net = shatter(X, y)
    with pytest.raises(RefutedError) as refused:
        certify(net, X, np.where(np.arange(12) == 5, 1 - y, y))
    assert refused.value.samples == (5,)


# ------------------------------------------------------------------- determinism, progress, interruption


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_net_in_other_processes(method):
    program = (
        "import numpy as np; from lntheory import shatter; rng = np.random.default_rng(3); "
        "X, y = rng.normal(size=(20, 2)), rng.integers(0, 3, 20); "
        f"print(shatter(X, y, method={method!r}, random_state=11).sha256)"
    )
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 3, 20)
    here = shatter(X, y, method=method, random_state=11)
    assert here == shatter(X, y, method=method, random_state=np.random.default_rng(11))
    assert here.sha256 != shatter(X, y, method=method, random_state=12).sha256
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here.sha256


def test_provenance_says_how_the_net_was_made():
    y = [0, 0, 1, 1]
    net = shatter(XOR, y, method="minority-merge", random_state=4)
    assert net.provenance["method"] == "minority-merge"
    assert net.provenance["seed"] == 4
    assert net.provenance["safety"] > 1
    again = shatter(XOR, y, method="minority-merge", random_state=np.random.default_rng(4))
    assert again.provenance["seed"] is None
    assert LNNet.from_dict(json.loads(json.dumps(net.to_dict()))) == net


def test_progress_counts_the_merges():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    calls = []
    net = shatter(
        X, y, method="minority-merge", progress=lambda done, total: calls.append((done, total))
    )  # fmt: skip
    assert calls
    assert all(0 < done <= total for done, total in calls)
    restarts = [after for before, after in pairwise(calls) if after[0] != before[0] + 1]
    assert all(done == 1 for done, _ in restarts)
    assert net.depth - 1 in [done for done, _ in calls]


@pytest.mark.parametrize("spacing", [1.0, 2.0**-52])
def test_interruption_leaves_nothing_behind(spacing):
    """In float64 and in balls: flint's precision and numpy's error handling are as they were."""

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    X, y = (1 + np.arange(12) * spacing)[:, None], [0, 1] * 6
    before = flint.ctx.prec, np.geterr()
    with pytest.raises(KeyboardInterrupt):
        shatter(X, y, method="minority-merge", progress=interrupt)
    assert (flint.ctx.prec, np.geterr()) == before
    certified(X, y, method="minority-merge")


def test_input_is_not_changed():
    X = np.array([[0.0, -0.0], [1e300, 1e-300], [0.0, 1.0], [1.0, 0.0]])
    y = np.array(["a", "a", "b", "b"])
    kept = X.copy(), y.copy()
    shatter(X, y)
    assert X.tobytes() == kept[0].tobytes()
    assert (y == kept[1]).all()


# ------------------------------------------------------------------------------------------ fold and auto


@pytest.fixture
def short(monkeypatch):
    """Chains of few folds: what holds of any chain holds of short ones."""
    monkeypatch.setattr(fold_search, "STEPS", 400)


def planar(m, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 2)), rng.permutation(np.arange(m) % n_classes).tolist()


def test_auto_is_the_default_and_the_same_at_any_number_of_threads(short):
    X, y = planar(26)
    net = certified(X, y)
    assert net.provenance["method"] == "auto"
    assert net.provenance["units"] > 0
    for n_jobs in (1, 3):
        again = shatter(X, y, method="auto", n_jobs=n_jobs)
        assert again == net
        assert again.provenance == net.provenance


def test_auto_takes_the_shallowest_of_what_it_tried(short):
    for seed in range(3):
        X, y = planar(26, seed)
        told = certified(X, y).provenance
        assert set(told["tried"]) == {"pairs", "fold"}
        depths = {name: depth for name, depth in told["tried"].items() if depth is not None}
        assert depths[told["construction"]] == min(depths.values())
        assert told["tried"]["pairs"] == shatter(X, y, method="pairs").depth


def test_nothing_is_searched_for_where_pairs_cannot_be_beaten():
    """And then the compiler is not even loaded: small calls stay quick."""
    program = (
        "import sys, numpy as np; from lntheory import shatter; "
        "told = shatter([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]).provenance; "
        "print('numba' in sys.modules, told['untried']['fold'], told['units'])"
    )
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == "False affine scores were tried 0"


@pytest.mark.parametrize(("m", "depth"), [(3, 1), (4, 2), (5, 2), (6, 3), (9, 3), (10, 4), (17, 4), (18, 5)])
def test_least_depth_of_alternating_samples_of_a_line(m, depth):
    """2^L + 1 of them at most: `lntheory.vc.upper_bound`."""
    X = np.column_stack([np.full(m, 7.0), np.random.default_rng(m).normal(size=m)])
    codes = np.argsort(np.argsort(X[:, 1])) % 2
    assert [why_no_shallower(X, codes, d) for d in (depth, depth + 1)] == ["no net is shallower", None]
    X, codes = np.vstack([X, [[7.0, 9.0]]]), np.append(codes, 2)  # another class takes nothing away
    assert [why_no_shallower(X, codes, d) for d in (depth, depth + 1)] == ["no net is shallower", None]


@given(labelled(max_samples=9))
def test_no_construction_is_shallower_than_what_is_said_to_be_least(data):
    X, y = data
    distinct, first = np.unique(X + 0.0, axis=0, return_index=True)
    codes = np.unique(np.array(y)[first], return_inverse=True)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_search, "STEPS", 100)
        nets = [shatter(X, y, method=method) for method in ("minority-merge", "pairs")]
        nets.append(shatter(X, y, method="fold", budget=36))
    depth = min(net.depth for net in nets)
    assert depth == 0 or why_no_shallower(distinct, codes, depth + 1) != "no net is shallower"


@pytest.mark.parametrize("method", ["fold", "auto"])
@pytest.mark.parametrize("reading", [1.5, 4.5, 9.5])
def test_a_time_limit_is_a_budget_found_out_later(short, monkeypatch, method, reading):
    """Stopped by the clock after some layers: the same net as with the units spent until then."""
    X, y = planar(40, 1)
    ticks = iter(range(10**6))
    monkeypatch.setattr(portfolio.time, "monotonic", lambda: float(next(ticks)))
    stopped = shatter(X, y, method=method, budget=400, time_limit=reading)
    told = stopped.provenance
    assert told["time_limit"] == reading
    assert told["units"] == fold_search.CHAINS * int(reading)
    assert told["units"] < told["budget"] == 400
    again = shatter(X, y, method=method, budget=told["units"])
    assert again == stopped
    assert again.provenance["tried"] == told["tried"]


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "1", True])
def test_a_time_limit_is_a_positive_number(limit):
    with pytest.raises(InvalidInputError, match="time_limit"):
        shatter(XOR, [0, 0, 1, 1], time_limit=limit)
    with pytest.raises(InvalidInputError, match="time_limit"):
        shatter(XOR, [0, 0, 1, 1], method="pairs", time_limit=1.0)


@settings(max_examples=30)
@given(labelled(max_samples=14), st.sampled_from(["fold", "auto"]), st.sampled_from([1, 36]))
@example(([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]), "fold", 36)
def test_many_samples_keep_to_the_guarantee_too(data, method, budget):
    """The way of more than `QUICK` samples, where pairs do not come first, on hostile data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_search, "STEPS", 100)
        patch.setattr(portfolio, "QUICK", 1)
        net = certified(*data, method=method, budget=budget)
    if net.depth and net.provenance["tried"]["fold"] is None:
        assert net.provenance["construction"] == {"fold": "pairs", "auto": "minority-merge"}[method]
    if net.depth:
        assert net.depth == min(depth for depth in net.provenance["tried"].values() if depth is not None)


def test_many_samples_in_general_position_keep_to_its_guarantee(short, monkeypatch):
    monkeypatch.setattr(portfolio, "QUICK", 1)
    for seed in range(4):
        X, y = planar(9, seed)
        for method in ("fold", "auto"):
            net = certified(X, y, method=method, budget=60)
            assert net.depth <= guaranteed_depth(class_sizes(X, y), method=method, general_position=True)


def test_with_a_target_what_is_right_in_it_comes_first():
    """Merges that float32 does not carry are passed over, however shallow, for a net that it does."""
    X, y = planar(20)
    codes = np.array(y)
    problem = Problem(X, codes, np.random.default_rng(0))
    right = pair_merge(problem)
    wrong = replace(right, layers=right.layers[:-1])
    for target, depth in (("float64", len(wrong.layers)), ("float32", len(right.layers))):
        tried = Portfolio(replace(problem, target=target), MINORITY_MERGE, lambda problem: 0)
        taken = tried.chosen({"pairs": wrong, "fold": right}, {})
        assert taken.depth == depth
        assert taken.account["target"] == target
    assert tried.chosen({"pairs": wrong, "fold": None}, {}).account["target"] == "float64"


def test_merges_right_in_the_target_leave_less_to_search_for(short):
    X, y = planar(26)
    X = X.astype(np.float32).astype(float)
    net = certified(X, y, target="float32")
    assert net.provenance["target"] == "float32"
    assert (np.asarray(net.classes)[net.winners(net.plain_scores(X, np.float32))] == y).all()


def test_auto_searches_longer_for_float32(monkeypatch):
    """Merges that do in float64 hardly ever do in float32: 300 bits are 390 units, or 1,200."""
    asked = []

    def search(X, codes, *, budget, **options):
        asked.append(budget)
        return fold_search.FoldSearch(None, 0, 0)

    monkeypatch.setattr(fold_search, "fold_search", search)
    X, y = planar(300)
    for target in ("float64", "float32"):
        shatter(X, y, target=target)
    assert asked == [390, 1200]


@pytest.mark.parametrize(("quick", "below"), [(300, "pairs"), (1, "guaranteed")])
def test_only_nets_are_searched_for_that_keep_the_guarantee(quick, below, monkeypatch):
    """Below the depth of pairs, or, where they come last, within theirs in general position."""
    asked = []

    def search(X, codes, *, below, **options):
        asked.append(below)
        return fold_search.FoldSearch(None, 0, 0)

    monkeypatch.setattr(fold_search, "fold_search", search)
    monkeypatch.setattr(portfolio, "QUICK", quick)
    X, y = planar(26)
    pairs = shatter(X, y, method="pairs").depth
    general = guaranteed_depth([13, 13], method="fold", general_position=True)
    for method in ("fold", "auto"):
        certified(X, y, method=method)
    assert asked == [{"pairs": pairs, "guaranteed": general + 1}[below]] * 2
