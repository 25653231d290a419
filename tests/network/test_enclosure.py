"""Enclosures contain the truth, are narrow, and can fail."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from lntheory.errors import DegenerateInputError, InvalidInputError, UndecidedError
from lntheory.exact.normalization import group_layer_norm, layer_norm, rms_norm
from lntheory.network import Layer, LNNet, Normalization, enclosure
from lntheory.network.enclosure import enclose
from lntheory.network.numbers import as_integers
from tests import tolerances
from tests.highprecision import forward
from tests.planar import E, look_from
from tests.strategies import nets, norm_rows
from tests.tolerances import LAYER_NORM

finite = st.floats(allow_nan=False, allow_infinity=False)


def mpf_of(ball: arb, end: str) -> Any:
    with flint.ctx.workprec(4000):
        man, exp = getattr(ball, end)().man_exp()
    return mp.mpf(int(man)) * mp.mpf(2) ** int(exp)


def contains(ball: arb, value: Any) -> bool:
    """Whether the ball, widened by 1e-300, holds the value (itself rounded at 700 digits)."""
    with mp.workdps(700):
        slack = mp.mpf(10) ** -300 * (1 + abs(value))
        return bool(
            ball.is_finite() and mpf_of(ball, "lower") - slack <= value <= mpf_of(ball, "upper") + slack
        )


# ------------------------------------------------------------------------------------- normalizations


@given(norm_rows(max_features=12))
def test_layer_norm_encloses_the_true_value(row: Any) -> None:
    check_norm(layer_norm(row, precision=100), [row], centre=True)


@given(norm_rows(max_features=12))
def test_rms_norm_encloses_the_true_value(row: Any) -> None:
    check_norm(rms_norm(row, precision=100), [row], centre=False)


@given(norm_rows(max_features=6), norm_rows(max_features=6))
def test_group_layer_norm_encloses_the_true_value(a: Any, b: Any) -> None:
    size = min(len(a), len(b))
    assume((a[:size] != a[0]).any() and (b[:size] != b[0]).any())
    row = np.concatenate([a[:size], b[:size]])
    by_number = group_layer_norm(row, num_groups=2, precision=100)
    check_norm(by_number, [a[:size], b[:size]], centre=True)
    by_size = group_layer_norm(row, group_size=size, precision=100)
    assert all(p.mid() == q.mid() and p.rad() == q.rad() for p, q in zip(by_number, by_size, strict=True))


def check_norm(result: Any, groups: list[Any], centre: bool) -> None:
    with mp.workdps(1500):
        truth = []
        for group in groups:
            values = [mp.mpf(v.numerator) / v.denominator for v in map(Fraction, group.tolist())]
            mean = mp.fsum(values) / len(values) if centre else 0
            values = [v - mean for v in values]
            deviation = mp.sqrt(mp.fsum(v * v for v in values) / len(values))
            truth += [v / deviation for v in values]
        for ball, value in zip(result, truth, strict=True):
            with flint.ctx.workprec(200):
                assert ball.is_exact() or ball.rel_accuracy_bits() >= 100
            assert mpf_of(ball, "lower") - abs(value) * mp.mpf(10) ** -1000 <= value
            assert value <= mpf_of(ball, "upper") + abs(value) * mp.mpf(10) ** -1000


def test_eps_shapes_and_number_types() -> None:
    zero = layer_norm([[1.0, 1.0], [2.0, 2.0]], eps=1e-5)
    assert zero.shape == (2, 2)
    assert all(ball.contains(0) for ball in zero.flat)
    mixed = layer_norm([Fraction(1, 3), fmpq(1, 3), 1, np.float64(0.5), arb(2)])
    assert mixed.shape == (5,)
    assert mixed[0].overlaps(mixed[1])
    assert layer_norm(np.ones((2, 3, 4)) * np.arange(4)).shape == (2, 3, 4)


def test_zero_variance_of_exact_numbers_is_decided() -> None:
    with pytest.raises(DegenerateInputError, match="sample 1 has zero variance"):
        layer_norm([[1, 2], [Fraction(1, 3), Fraction(1, 3)]])
    with pytest.raises(DegenerateInputError, match="the row has zero variance"):
        rms_norm([0, 0])
    with pytest.raises(DegenerateInputError):
        group_layer_norm([1, 2, 3, 3], num_groups=2)
    assert layer_norm([1, 1 + Fraction(1, 10**400)], precision=64)[0].overlaps(arb(-1))


def test_zero_variance_of_balls_is_undecided() -> None:
    with pytest.raises(UndecidedError, match="contains zero"):
        layer_norm([arb(1, 0.1), arb(1, 0.1)])
    assert layer_norm([arb(1, 0.1), arb(2, 0.1)])[0].contains(-1)


@pytest.mark.parametrize(
    "bad", [[float("nan"), 1], [float("inf"), 1], ["1", 2], [arb("nan"), 1], [], 5.0, [[1, 2], [3]], [1j, 2]]
)
def test_bad_rows_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidInputError):
        layer_norm(bad)


def test_bad_groups_are_refused() -> None:
    for groups in (
        {"num_groups": 3},
        {"group_size": 3},
        {"group_size": 0},
        {"num_groups": 0},
        {},
        {"num_groups": 4},
    ):
        with pytest.raises(InvalidInputError):
            group_layer_norm([1, 2, 3, 4], **groups)
    with pytest.raises(InvalidInputError):
        layer_norm([[1], [2]])


# ------------------------------------------------------------------------------------------- whole nets


@given(nets(), st.sampled_from([64, 128, 300]))
def test_enclosures_of_nets_contain_the_true_values(problem: tuple[LNNet, Any], precision: int) -> None:
    check_net(*problem, precision)


@given(nets(width_3=True), st.sampled_from([4, 10, 64, 300]))
def test_arcs_contain_the_true_values(problem: tuple[LNNet, Any], precision: int) -> None:
    check_net(*problem, precision)


def check_net(net: LNNet, X: Any, precision: int) -> None:
    enclosure = enclose(net, X, precision=precision)
    for i, x in enumerate(X):
        truth = forward(net, x)
        if truth is None or i in enclosure.lost:
            continue
        assert i not in enclosure.degenerate
        trace, scores = truth
        for balls_, values in [
            (enclosure.scores[i], scores),
            (enclosure.points[i], trace[-1] if trace else []),
        ]:
            for ball, value in zip(balls_, values, strict=False):
                assert contains(ball, value)


def circle_net(depth: int, seed: int, stretch: float = 0.5) -> LNNet:
    """A net that keeps its points moving: centres inside the circle, shapes that stretch."""
    rng = np.random.default_rng(seed)
    plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    layers = [Layer(rng.normal(size=(3, 2)), rng.normal(size=3))]
    for _ in range(depth - 1):
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        A = turn @ np.diag([1, rng.uniform(stretch, 1)])
        centre = rng.uniform(-0.4, 0.4, 2) * math.sqrt(3)
        layers.append(Layer(plane.T @ A @ plane, -plane.T @ A @ centre))
    return LNNet(layers, Layer(rng.normal(size=(3, 3)), rng.normal(size=3)), [0, 1, 2])


@pytest.fixture(scope="module")
def deep() -> tuple[LNNet, Any, list[list[Any]]]:
    net, X = circle_net(80, 3), np.random.default_rng(4).normal(size=(6, 2))
    truth = [forward(net, x) for x in X]
    return net, X, [t[0][-1] for t in truth if t is not None]


def test_arcs_stay_narrow_where_balls_do_not(deep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    net, X, truth = deep
    arcs = enclose(net, X, precision=128)
    assert arcs.method == "arcs"
    assert not arcs.lost
    for row, values in zip(arcs.points, truth, strict=True):
        assert all(
            contains(ball, value) and ball.rad() < tolerances.NARROW_BALL
            for ball, value in zip(row, values, strict=True)
        )
    monkeypatch.setattr(enclosure, "propagation", enclosure.Balls)
    naive = enclose(net, X, precision=128)
    assert naive.method == "balls"
    assert set(naive.lost) == set(range(len(X)))
    accurate = enclose(net, X, precision=1000)
    for narrow, wide in zip(accurate.points, arcs.points, strict=True):
        assert all(a.contains(b) for a, b in zip(wide, narrow, strict=True))


def test_a_net_with_another_weight_is_told_apart(deep: Any) -> None:
    net, X, truth = deep
    weight = net.layers[10].weight.astype(object)
    weight[0, 0] = Fraction(weight[0, 0]) + Fraction(1, 2**80)
    layers = list(net.layers)
    layers[10] = Layer(weight, net.layers[10].bias)
    other = enclose(LNNet(layers, net.readout, net.classes), X, precision=128)
    assert not any(contains(row[0], values[0]) for row, values in zip(other.points, truth, strict=True))


def test_rounding_is_accounted_for(deep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers at 40 bits, looked at with 300: the truth is kept, not so by a false twin without rounding."""
    net, X, _ = deep
    traces = [truth[0] for truth in (forward(net, x) for x in X) if truth is not None]

    def kept() -> list[bool]:
        state = enclosure.Arcs(net, X)
        result = []
        for k in range(net.depth):
            with flint.ctx.workprec(40):
                state.advance(k)
            with flint.ctx.workprec(300):
                sharp = enclosure.Arcs(net, X)
                sharp.arcs = [(v, w, (v * (v + w) + w * w).sqrt(), rho) for v, w, _, rho in state.arcs]
                points = sharp.points()
            result += [contains(row[0], trace[k][0]) for row, trace in zip(points, traces, strict=True)]
        return result

    assert all(kept())
    keep = enclosure.Arcs.keep

    def forget(self: Any, arcs: Any, k: int) -> None:
        keep(self, [(v1, v2, s, arb(0)) for v1, v2, s, _ in arcs], k)

    monkeypatch.setattr(enclosure.Arcs, "keep", forget)
    assert not any(kept())


def on_circle(turn: float) -> Any:
    return math.sqrt(2) * np.cos([turn, turn - 2 * np.pi / 3, turn + 2 * np.pi / 3])


def arc_holds_image(layer: Layer, angle: float, radius: float) -> bool:
    """Whether the image of an arc, as enclosed, holds the images of points across the arc."""
    net = LNNet([Layer(np.eye(3), np.zeros(3)), layer], Layer(np.ones((1, 3)), [0]), [0, 1])
    with flint.ctx.workprec(80):
        state = enclosure.Arcs(net, on_circle(angle)[None, :])
        state.advance(0)
        ((v1, v2, s, rho),) = state.arcs
        state.arcs = [(v1, v2, s, rho + s * arb(0, radius))]
        state.advance(1)
        image = state.points()[0]
    if not image[0].is_finite():
        return True  # the arc may run through the centre: nothing is claimed
    turns = angle + np.linspace(-radius, radius, 9) * 0.999
    images = layer_norm([layer.weight @ on_circle(turn) + layer.bias for turn in turns])
    return all(image[j].overlaps(row[j] + arb(0, 1e-12)) for row in images for j in range(3))


def random_layer(seed: int) -> tuple[Layer, float]:
    rng = np.random.default_rng(seed)
    return Layer(rng.normal(size=(3, 3)), rng.normal(size=3) * rng.choice([0.1, 1, 10])), rng.uniform(0, 6.28)


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1.0))
def test_the_derivative_bounds_how_arcs_move(seed: int, radius: float) -> None:
    assert arc_holds_image(*random_layer(seed), radius)


def test_a_smaller_derivative_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A false twin: three quarters of the derivative are too little, so the bound above is nearly sharp.

    (Coordinates move at most √2 per unit of angle; the three reach that at angles 60 degrees apart.)
    """
    plane = enclosure.plane_of

    def smaller(layer: Layer) -> Any:
        true = plane(layer)
        return true._replace(det=true.det * 0.75, g=(true.g[0] * 0.75, true.g[1] * 0.75))

    monkeypatch.setattr(enclosure, "plane_of", smaller)
    assert not all(arc_holds_image(*random_layer(seed), 1e-6) for seed in range(20))


def test_lost_and_degenerate_samples_are_told_apart() -> None:
    first = Layer([[1], [0], [0]], [0, 0, 1])
    exactly = LNNet([first, Layer(np.zeros((3, 3)), [1, 1, 1])], Layer([[1, 0, 0]], [0]), [0, 1])
    enclosure = enclose(exactly, np.array([[0.0], [2.0]]), precision=64)
    assert enclosure.degenerate == {0: 1, 1: 1}
    assert not enclosure.lost
    # Sample 0 becomes (-1, -1, 2)/sqrt(2); u = (3x1 + x3 - x2, 0, 0) is 0 there, but only exactly.
    nearly = LNNet(
        [first, Layer([[3, -1, 1], [0, 0, 0], [0, 0, 0]], [0, 0, 0])], Layer([[1, 0, 0]], [0]), [0, 1]
    )
    enclosure = enclose(nearly, np.array([[0.0], [2.0]]), precision=64)
    assert enclosure.lost == {0: 1}
    assert not enclosure.degenerate
    assert enclose(nearly, np.array([[1.0], [2.0]]), precision=64).lost == {}
    assert (
        enclose(LNNet([first], Layer([[1, 0, 0]], [0]), [0, 1]), np.array([[1.0]]), precision=64).lost == {}
    )
    first_layer = LNNet([Layer([[1], [0], [0]], [0, 0, 0])], Layer([[1, 0, 0]], [0]), [0, 1])
    assert enclose(first_layer, np.array([[1.0], [0.0]]), precision=64).degenerate == {1: 0}


def test_general_balls_tell_degenerate_from_lost() -> None:
    norm = Normalization("rms_norm")
    net = LNNet([Layer([[1], [1]], [0, 0])], Layer([[1, 0]], [0]), [0, 1], norm)
    assert enclose(net, np.array([[1.0], [0.0]]), precision=64).degenerate == {1: 0}
    cancel = LNNet([*net.layers, Layer([[1, -1], [1, -1]], [0, 0])], net.readout, [0, 1], norm)
    enclosure = enclose(cancel, np.array([[0.1]]), precision=64)
    assert set(enclosure.lost) | set(enclosure.degenerate) == {0}


def test_precision_is_restored_and_progress_reported() -> None:
    before = flint.ctx.prec
    steps: list[tuple[int, int]] = []
    enclose(
        circle_net(4, 0),
        np.ones((2, 2)),
        precision=777,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        enclose(circle_net(4, 0), np.ones((2, 2)), precision=777, progress=interrupt)
    with pytest.raises(DegenerateInputError):
        layer_norm([1, 1], precision=777)
    assert flint.ctx.prec == before


# -------------------------------------------------------------------------------- rounding and decisions


def test_only_narrow_balls_are_rounded() -> None:
    assert enclosure.rounded_row([arb(3), arb(1, 2**-70)]) == [3.0, 1.0]
    assert enclosure.rounded_row([arb(3), arb(1, 2**-40)]) is None
    assert enclosure.rounded_row([arb((1, -1100), 0) + arb(0, 1) * arb((1, -1101))]) == [0.0]
    assert enclosure.rounded_row([arb(0, 1e-300)]) is None
    assert enclosure.rounded_row([arb("nan")]) is None


def test_winner() -> None:
    wide, nan = arb(0, 1), arb("nan")
    assert enclosure.winner([arb(1), arb(2)], 2) == 1
    assert enclosure.winner([arb(2), arb(2), arb(1)], 3) == 0  # the first of exactly equal ones
    assert enclosure.winner([arb(1), arb(2), arb(2)], 3) == 1
    assert enclosure.winner([wide, arb(0)], 2) is None
    assert enclosure.winner([nan, arb(0)], 2) is None
    assert [enclosure.winner([arb(v)], 2) for v in (1, 0, -1)] == [1, 0, 0]
    assert enclosure.winner([wide], 2) is None
    assert enclosure.winner([nan], 2) is None
    assert enclosure.winner([nan], 1) == 0


@given(st.lists(st.lists(finite, min_size=2, max_size=2), min_size=1, max_size=4))
def test_integers_are_exact(rows: list[list[float]]) -> None:
    integers, exponent = as_integers(np.array(rows))
    assert exponent <= 0
    assert [[Fraction(int(v)) * Fraction(2) ** exponent for v in row] for row in integers] == [
        [Fraction(v) for v in row] for row in rows
    ]


def test_rounding_a_point_needs_a_narrow_arc() -> None:
    """Points are called proved only where half-width and rounding stay below the stated 8u."""
    net = LNNet([Layer(np.eye(3), np.zeros(3))], Layer(np.ones((1, 3)), [0]), [0, 1])
    for exponent, narrow in ((-54, False), (-57, True)):
        with flint.ctx.workprec(128):
            state = enclosure.Arcs(net, on_circle(0.7)[None, :])
            state.advance(0)
            exact_points = state.points()[0]
            state.arcs = [(v1, v2, s, rho + s * arb(0, 2.0**exponent)) for v1, v2, s, rho in state.arcs]
            points, proved = state.rounded()
            assert proved.tolist() == [narrow]
            largest = max(abs(points[0]))
            assert all(
                abs(arb(value) - true) <= LAYER_NORM * largest
                for value, true in zip(points[0].tolist(), exact_points, strict=True)
            )


@pytest.mark.parametrize(
    ("layer", "slack"),
    [(look_from([2.0, 0.0]), "slack_n"), (Layer(E @ np.diag([1.0, 10.0]) @ E.T, np.zeros(3)), "slack_s")],
    ids=["fold", "stretch"],
)
def test_the_derivative_is_bounded_across_the_arc(
    layer: Layer, slack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the circle folds the derivative at the base is 0; where it is stretched, lengths change fast.

    The false twins take numerator or length for constant across the arc.
    """
    angles = np.linspace(0, 2 * np.pi, 200)
    assert all(arc_holds_image(layer, angle, 0.1) for angle in angles)
    plane = enclosure.plane_of
    monkeypatch.setattr(enclosure, "plane_of", lambda layer: plane(layer)._replace(**{slack: arb(0)}))
    assert not all(arc_holds_image(layer, angle, 0.1) for angle in angles)


def test_every_normalization_takes_its_epsilon() -> None:
    """eps = 1/2 is exact: the squares of the outputs are rational."""
    row = [3, -4, 0, 1]
    for function, squares in (
        (layer_norm, Fraction(9) / (Fraction(26, 4) + Fraction(1, 2))),
        (rms_norm, Fraction(9) / (Fraction(26, 4) + Fraction(1, 2))),
        (lambda x, eps: group_layer_norm(x, num_groups=2, eps=eps), Fraction(49, 4) / Fraction(51, 4)),
    ):
        out = function(row, eps=0.5)
        assert (out[0] ** 2 - arb(squares.numerator) / squares.denominator).contains(0)
        plain = function(row, eps=0.0)
        assert not plain[0].overlaps(out[0])


def test_ragged_rows_are_named() -> None:
    with pytest.raises(InvalidInputError, match=r"^x has rows of different lengths"):
        layer_norm([np.zeros((2, 3)), np.zeros((2, 4))])
    with pytest.raises(InvalidInputError, match=r"^give exactly one of num_groups and group_size"):
        group_layer_norm([1, 2, 3, 4])


def dyadic_net(kind: str = "layer_norm") -> LNNet:
    wide = 1 + Fraction(1, 2**80)
    first = Layer([[1, 0], [0, 1], [1, wide]], [0, 0, 0])
    second = Layer([[1, 0, 2], [0, 3, 1], [1, 1, 0]], [1, 0, 0])
    return LNNet([first, second], Layer([[1, -1, 0]], [0]), [0, 1], Normalization(kind))


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_what_is_rounded_does_not_depend_on_where_the_precision_starts(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 20 bits nothing is narrow enough: the precision has to rise, for the points of every layer."""
    net, X = dyadic_net(kind), np.array([[1.0, 0.3], [-2.0, 5.0], [0.1, -0.7]])
    assert net.arithmetic == "dyadic"
    trace, scores, classes = net.trace(X), net.decision_function(X), net.predict(X)
    monkeypatch.setattr(enclosure, "starting_precision", lambda net: 20)
    for points, again in zip(trace, net.trace(X), strict=True):
        np.testing.assert_allclose(points, again, rtol=LAYER_NORM, atol=0)
    np.testing.assert_allclose(scores, net.decision_function(X), rtol=LAYER_NORM, atol=0)
    assert net.predict(X).tolist() == classes.tolist()


def test_undefined_samples_of_dyadic_nets_are_named() -> None:
    for call in (LNNet.trace, LNNet.decision_function, LNNet.predict):
        with pytest.raises(DegenerateInputError, match=r"^layers\[0\]: sample 1 has zero variance"):
            call(dyadic_net(), np.array([[1.0, 2.0], [0.0, 0.0]]))
