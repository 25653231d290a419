"""Bounds on rounding: no emulated machine exceeds them, and they are small enough to prove something."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lntheory import exact
from lntheory.errors import DegenerateInputError, InvalidInputError
from lntheory.network import Layer, LNNet, Normalization, enclosure
from lntheory.network.roundoff import score_error
from tests import tolerances
from tests.planar import XOR_X, XOR_Y, xor_net
from tests.strategies import nets


def rounded(net, dtype):
    """The net with parameters of this type."""

    def layer(given):
        return Layer(*(values.astype(dtype).astype(float) for values in (given.weight, given.bias)))

    return LNNet([layer(k) for k in net.layers], layer(net.readout), net.classes, net.normalization)


class Machine:
    """Arithmetic whose every operation is off by a random part of u, by u itself, or always upwards.

    Sums are taken in a random order. In float64 underneath: its own rounding is 2**-29 of the u emulated.
    """

    def __init__(self, unit, rng, worst):
        self.unit, self.rng, self.worst = unit, rng, worst

    def fl(self, x):
        if self.worst == "upwards":
            return x * (1 + self.unit)
        delta = (
            np.sign(self.rng.normal(size=np.shape(x))) if self.worst else self.rng.uniform(-1, 1, np.shape(x))
        )
        return x * (1 + self.unit * delta)

    def sum(self, x):
        """Over the last axis."""
        total = 0.0
        for k, j in enumerate(self.rng.permutation(x.shape[-1])):
            total = x[..., j] if k == 0 else self.fl(total + x[..., j])
        return total

    def affine(self, layer, x):
        terms = [
            self.fl(x[:, None, :] * layer.weight),
            np.broadcast_to(layer.bias[:, None], (len(x), layer.n_out, 1)),
        ]
        return self.sum(np.concatenate(terms, axis=2))

    def welford(self, x):
        mean, square = x[..., 0], np.zeros(x.shape[:-1])
        for k in range(1, x.shape[-1]):
            delta = self.fl(x[..., k] - mean)
            mean = self.fl(mean + self.fl(delta / (k + 1)))
            square = self.fl(square + self.fl(delta * self.fl(x[..., k] - mean)))
        return mean, self.fl(square / x.shape[-1])

    def two_passes(self, x, centred):
        mean = self.fl(self.sum(x) / x.shape[-1]) if centred else np.zeros(x.shape[:-1])
        x = self.fl(x - mean[..., None]) if centred else x
        return mean, self.fl(self.sum(self.fl(x * x)) / x.shape[-1])

    def normalize(self, x, norm):
        groups = x.reshape(len(x), norm.num_groups or 1, -1)
        centred = norm.kind != "rms_norm"
        mean, variance = (
            self.welford(groups) if centred and self.rng.random() < 0.5 else self.two_passes(groups, centred)
        )
        centres = self.fl(groups - mean[..., None]) if centred else groups
        root = self.fl(np.sqrt(self.fl(variance + norm.eps)))[..., None]
        y = self.fl(centres / root) if self.rng.random() < 0.5 else self.fl(centres * self.fl(1 / root))
        return y.reshape(x.shape)

    def scores(self, net, X):
        for layer in net.layers:
            X = self.normalize(self.affine(layer, X), net.normalization)
        return self.affine(net.readout, X)


def true_scores(net, X):
    return enclosure.rounded_scores(net, X)


def float_net(net):
    assume(net.arithmetic == "float64")
    return net


@given(nets(), st.sampled_from([np.float64, np.float32]))
def test_plain_passes_stay_within_the_bound(drawn, dtype):
    net, X = drawn
    net = rounded(float_net(net), dtype)
    try:
        error = score_error(net, X, np.dtype(dtype).name)
    except DegenerateInputError:
        assume(False)
    plain = net.plain_scores(X, dtype).astype(float).reshape(len(X), -1)
    known = np.isfinite(error)
    off = np.abs(plain - true_scores(net, X)).max(axis=1)
    assert (off[known] <= error[known]).all()


@given(nets(), st.integers(0, 2**32 - 1), st.booleans())
def test_no_machine_exceeds_the_bound(drawn, seed, worst):
    net, X = drawn
    net = rounded(float_net(net), np.float32)
    X = X.astype(np.float32).astype(float)
    try:
        error = score_error(net, X, "float32")
    except DegenerateInputError:
        assume(False)
    known = np.isfinite(error)
    true = true_scores(net, X)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        off = np.abs(Machine(2.0**-24, rng, worst).scores(net, X) - true).max(axis=1)
        assert (off[known] <= error[known]).all()


def random_net(seed, norm, widths=(4, 6, 4, 4), n_features=3):
    rng = np.random.default_rng(seed)
    sizes = [n_features, *widths, 3]
    layers = [Layer(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in itertools.pairwise(sizes)]
    return LNNet(layers[:-1], layers[-1], list("abc"), norm), rng.normal(size=(50, n_features))


KINDS = [
    Normalization(),
    Normalization("rms_norm"),
    Normalization("group_layer_norm", 2),
    Normalization("layer_norm", eps=1e-3),
    Normalization("group_layer_norm", 2, eps=1e-2),
]


@pytest.mark.parametrize("norm", KINDS, ids=str)
def test_a_machine_that_rounds_worse_exceeds_it(norm):
    """The bound is of this unit and no other: false for a machine with a few bits less."""
    net, X = random_net(0, norm)
    net = rounded(net, np.float32)
    error, true = score_error(net, X, "float32"), true_scores(net, X)
    assert np.isfinite(error).mean() > 0.9
    for unit in (2.0**-24, 2.0**-14):
        off = np.abs(Machine(unit, np.random.default_rng(1), True).scores(net, X) - true).max(axis=1)
        assert (off <= error).all() if unit == 2.0**-24 else (off > error).mean() > 0.5


READ = Layer([[1.0, 2.0, -3.0]], [0.0])
CANCELLING = Layer([[4096.0], [0.0], [-8192.0]], [-4095.0, 0.0, 8191.0])  # what is left at x = 1 is +-1
SOURCES = {
    "affine map": LNNet([CANCELLING], READ, [0, 1]),
    "passed on": LNNet([CANCELLING, Layer(np.eye(3), [0.5, 0.0, 0.0])], READ, [0, 1]),
    "mean": LNNet(
        [Layer([[1.0], [0.0], [-2.0]], [4096.0] * 3), Layer([[1.0, 0, 0], [0, 1, 0], [0, 1, 4]], [0.0] * 3)],
        READ,
        [0, 1],
    ),
    "eps": LNNet(
        [Layer([[4096.0], [0.0]], [-4095.0, 0.0])],
        Layer([[1.0, 0.0]], [0.0]),
        [0, 1],
        Normalization(eps=2.0**20),
    ),
    "eps, then passed on": LNNet(
        [Layer([[4096.0], [0.0]], [-4095.0, 0.0]), Layer(np.eye(2), [0.0, 0.0])],
        Layer([[1.0, 0.0]], [0.0]),
        [0, 1],
        Normalization(eps=256.0),
    ),
    "mean of many": LNNet(
        [Layer(np.eye(64, 1), [64.0] * 64), Layer(np.eye(3, 64) + [[0], [0.125], [0]], [0.0] * 3)],
        READ,
        [0, 1],
    ),
    "read-out": LNNet([], Layer([[4096.0, 4096.0]], [-8191.0]), [0, 1]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_of_error_is_counted(name):
    """Nets in which one source outweighs all others: the bound holds, and is at most 100 times the error."""
    net = SOURCES[name]
    X = np.ones((200, net.n_features))
    error, true = score_error(net, X, "float32"), true_scores(net, X)
    rng = np.random.default_rng(0)
    machines = [Machine(2.0**-24, rng, worst) for worst in (True, "upwards") for _ in range(20)]
    off = np.max([np.abs(machine.scores(net, X) - true) for machine in machines])
    assert off <= error[0] <= 100 * off


def test_the_bound_proves_float32_of_xor():
    net = rounded(xor_net(), np.float32)
    margins = np.array(exact.certify(net, XOR_X, XOR_Y).margins)
    assert (2 * score_error(net, XOR_X, "float32") < margins).all()


def test_inputs_are_rounded_too():
    """2**24 + 1 is no float32, and the score is the sample itself."""
    net = LNNet([], Layer([[1.0]], [0.0]), ["no", "yes"])
    X = [[2.0**24 + 1], [2.0**24]]
    error = score_error(net, X, "float32")
    assert error[0] >= 1
    assert error[0] > error[1] >= 0


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_what_float32_underflows_or_overflows_is_not_vouched_for(scale):
    net = LNNet([Layer([[scale], [0.0], [-scale]], [0.0, 0.0, 0.0])], Layer([[1.0, 0, -1]], [0.0]), [0, 1])
    net = rounded(net, np.float32)
    assert np.isinf(score_error(net, [[1.0]], "float32")).all()
    assert np.isfinite(score_error(net, [[1.0]], "float64")).all()


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_an_eps_that_float32_has_not_is_not_vouched_for(kind):
    """It would be infinite there, and every point zero."""
    layer = Layer([[2.0**50], [0.0], [-(2.0**50)]], [0.0, 0.0, 0.0])
    net = LNNet([layer], Layer([[1.0, 0, -1]], [0.0]), [0, 1], Normalization(kind, eps=2.0**130))
    assert np.isinf(score_error(net, [[1.0]], "float32")).all()
    assert np.isfinite(score_error(net, [[1.0]], "float64")).all()


def test_a_cancelled_mean_is_not_vouched_for():
    """Deviations of 1 about a mean of 2**22: float32 rounds the mean by as much as matters."""
    net = LNNet([Layer([[1], [0], [-1]], [2.0**22] * 3)], Layer([[1, 0, -1]], [0]), [0, 1])
    assert np.isinf(score_error(net, [[1.0]], "float32")).all()
    assert score_error(net, [[1.0]])[0] < tolerances.SMALL_SCORE_ERROR


def test_bad_input_is_named():
    net = xor_net()
    with pytest.raises(InvalidInputError, match="dtype='float16'"):
        score_error(net, XOR_X, "float16")
    tenth = LNNet([], Layer([[0.1, 0.0]], [0.0]), [0, 1])
    with pytest.raises(InvalidInputError, match="no float32"):
        score_error(tenth, XOR_X, "float32")
    dyadic = LNNet([], Layer([[Fraction(1, 2**2000), 0]], [0]), [0, 1])
    with pytest.raises(InvalidInputError, match="dyadic"):
        score_error(dyadic, XOR_X)
    with pytest.raises(InvalidInputError, match="1 features"):
        score_error(net, [[1.0]])
