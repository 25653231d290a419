"""The LN-Net as a value, as a function, and as a file."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lntheory.errors import DegenerateInputError, FileFormatError, InvalidInputError, UndecidedError
from lntheory.network import Layer, LNNet, Normalization
from tests import tolerances
from tests.highprecision import forward, margins
from tests.problems import PROBLEMS, exact_xor_net
from tests.strategies import nets
from tests.tolerances import LAYER_NORM, SUBNORMAL

XOR = next(problem for problem in PROBLEMS if problem.name == "xor")
finite = st.floats(allow_nan=False, allow_infinity=False)
dyadic = st.builds(
    lambda n, e: Fraction(n) * Fraction(2) ** e, st.integers(-(2**90), 2**90), st.integers(-2000, 2000)
)


def line(**changes: Any) -> LNNet:
    fields: dict[str, Any] = {
        "layers": [Layer([[1], [0], [0]], [0, 0, 1])],
        "readout": Layer([[1, -1, 0]], [0]),
        "classes": ["low", "high"],
    }
    return LNNet(**{**fields, **changes})


def linear(values: list[Any], **changes: Any) -> LNNet:
    """A net without layers whose read-out has these weights."""
    return LNNet([], Layer([values], [0]), ["low", "high"], **changes)


# ------------------------------------------------------------------------------------------------- values


@given(st.one_of(nets(), nets(width_3=True)))
def test_shapes_and_counts(problem: tuple[LNNet, Any]) -> None:
    net, _ = problem
    sizes = [net.n_features, *(layer.n_out for layer in net.layers), net.readout.n_out]
    assert net.depth == len(net.layers)
    assert net.width == max(sizes[1:-1], default=0)
    assert net.n_parameters == sum((n + 1) * m for n, m in itertools.pairwise(sizes))
    assert len({layer.arithmetic for layer in (*net.layers, net.readout)} | {net.arithmetic}) == 1
    again = LNNet(net.layers, net.readout, net.classes, net.normalization, {"seed": 1})
    assert again == net
    assert hash(again) == hash(net)
    assert pickle.loads(pickle.dumps(again)) == copy.deepcopy(again) == copy.copy(net) == net
    assert pickle.loads(pickle.dumps(again)).provenance == {"seed": 1}
    assert LNNet.from_dict(json.loads(json.dumps(again.to_dict()))) == net


def test_nets_are_immutable() -> None:
    given_weight = np.array([[1.0], [0.0], [0.0]])
    source = {"merges": [[0, 1]], "seed": np.int64(7)}
    net = line(layers=[Layer(given_weight, [0, 0, 1])], provenance=source)
    given_weight[0] = 5
    source["seed"] = 8
    assert net.layers[0].weight[0, 0] == 1
    assert net.provenance == {"merges": ((0, 1),), "seed": 7}
    for change in (
        lambda: net.layers[0].weight.__setitem__((0, 0), 2.0),
        lambda: pickle.loads(pickle.dumps(net)).layers[0].weight.__setitem__((0, 0), 2.0),
        lambda: setattr(net, "classes", ()),
        lambda: net.provenance.__setitem__("seed", 9),  # type: ignore[index]
    ):
        with pytest.raises((ValueError, AttributeError, TypeError)):
            change()
    assert net.to_dict()["provenance"] == {"merges": [[0, 1]], "seed": 7}


def test_equality_is_exact() -> None:
    net = line()
    assert net == line(provenance={"anything": 1})
    assert net != "a net"
    for other in (
        line(layers=[Layer([[1], [0], [0]], [0, 0, math.nextafter(1, 2)])]),
        line(layers=[Layer([[1], [0], [0]], [-0.0, 0, 1])]),
        line(classes=["high", "low"]),
        line(normalization=Normalization("layer_norm", eps=1e-5)),
        line(normalization=Normalization("rms_norm")),
        line(layers=[Layer([[1], [0], [0]], [0, 0, 1 + Fraction(1, 2**60)])]),
    ):
        assert other != net
        assert other.sha256 != net.sha256
    assert Layer([[1]], [2]) == Layer(np.array([[1.0]], dtype=np.float32), [Fraction(2)]) != Layer([[1]], [3])
    assert len({line(), line(), line(classes=[0, 1])}) == 2
    assert line(classes=[0, 1]) != line(classes=[False, True])


def test_parameters_are_float64_only_if_all_are() -> None:
    assert Layer([[Fraction(1, 4), 3]], [0.5]).arithmetic == "float64"
    assert Layer([[2**53 + 1]], [0]).arithmetic == "dyadic"
    assert Layer(np.array([[2**53 + 1]]), [0]).arithmetic == "dyadic"
    assert Layer([[Fraction(1, 2**1074)]], [0]).arithmetic == "float64"
    assert Layer([[Fraction(1, 2**1075)]], [0]).arithmetic == "dyadic"
    assert Layer([[Fraction(2) ** 1024]], [0]).arithmetic == "dyadic"
    assert Layer([[flint.fmpq(1, 4)]], [flint.fmpz(3)]) == Layer([[0.25]], [3])
    wide = linear([1.0, Fraction(1, 2**2000)])
    assert wide.arithmetic == "dyadic"
    mixed = line(readout=Layer([[1, Fraction(1, 2**2000), 0]], [0]))
    assert mixed.layers[0].weight.dtype == object
    assert all(isinstance(value, Fraction) for value in mixed.layers[0].weight.flat)
    assert not mixed.layers[0].weight.flags.writeable
    assert math.copysign(1, Layer([[-0.0, 1]], [0]).weight[0, 0]) == -1
    assert math.copysign(1, Layer([[-0.0, Fraction(1, 2)]], [0]).weight[0, 0]) == -1


@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        ([[Fraction(1, 3)]], [0], "1/3 is not a binary number"),
        ([[1.0, math.nan]], [0], r"weight\[0, 1\] is nan"),
        (np.array([[math.inf]]), [0], "is inf"),
        ([[1, 2], [3]], [0, 0], "rows of different lengths"),
        ([1, 2], [0], r"weight has shape \(2,\)"),
        ([[]], [0], "shape"),
        ([[1]], [[0]], "bias has shape"),
        ([[Fraction(1, 2**100_001)]], [0], "more than 100000 bits"),
        ([[1]], [0, 1], "bias has 2 numbers for the 1 rows"),
        ([["1"]], [0], "not a real number"),
        ([[True]], [0], "not a real number"),
        ([[1j]], [0], "not a real number"),
        ([[None]], [0], "not a finite real number"),
        ([[Fraction(1, 2), math.inf]], [0], "not a finite real number"),
    ],
)
def test_bad_parameters_are_refused(weight: Any, bias: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Layer(weight, bias)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"readout": Layer([[1, 0]], [0])},
            r"readout.weight has 2 columns, expected 3, the outputs of layers\[0\]",
        ),
        ({"layers": [*line().layers, Layer([[1, 2], [3, 4]], [0, 0])]}, r"layers\[1\].weight has 2 columns"),
        ({"classes": ["a", "b", "c"]}, "readout has 1 rows for 3 classes"),
        ({"classes": ["a", "a"]}, r"classes\[1\] = 'a' equals classes\[0\]"),
        ({"classes": [1, True]}, "labels are distinct"),
        ({"classes": [math.nan, 1.0]}, "cannot be a label"),
        ({"classes": [(1, 2), "b"]}, "is no label"),
        ({"classes": []}, "classes is empty"),
        ({"classes": "ab"}, "one string"),
        ({"layers": [3]}, r"layers\[0\] is a int"),
        ({"readout": None}, "readout is a NoneType"),
        (
            {"normalization": Normalization("group_layer_norm", 2)},
            "3 neurons do not divide into num_groups=2",
        ),
        ({"normalization": Normalization("group_layer_norm", 3)}, "single neuron"),
        ({"provenance": [1]}, "provenance must be a mapping"),
        ({"normalization": "layer_norm"}, "expected a Normalization"),
        ({"provenance": {"a": {1: 2}}}, "provenance.a: key 1"),
        ({"provenance": {"a": [math.nan]}}, r"provenance.a\[0\]: nan"),
        ({"provenance": {"a": object()}}, "cannot be written as JSON"),
    ],
)
def test_bad_nets_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        line(**changes)


def test_bad_normalizations_are_refused() -> None:
    for bad in (
        {"kind": "batch_norm"},
        {"kind": "layer_norm", "num_groups": 2},
        {"kind": "group_layer_norm"},
        {"kind": "group_layer_norm", "num_groups": 0},
        {"kind": "group_layer_norm", "num_groups": True},
        {"kind": "group_layer_norm", "num_groups": 1.5},
        {"kind": "layer_norm", "eps": -1e-5},
        {"kind": "layer_norm", "eps": math.nan},
        {"kind": "layer_norm", "eps": "0"},
        {"kind": "layer_norm", "eps": True},
    ):
        with pytest.raises(InvalidInputError):
            Normalization(**bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"layers\[0\]: layer_norm of a single neuron is 0/0"):
        LNNet([Layer([[1]], [0])], Layer([[1]], [0]), ["a", "b"])
    assert LNNet([Layer([[1]], [0])], Layer([[1]], [0]), ["a", "b"], Normalization("rms_norm")).width == 1


# ---------------------------------------------------------------------------------------------- functions


@given(st.one_of(nets(), nets(width_3=True)))
def test_a_net_computes_what_it_says(problem: tuple[LNNet, Any]) -> None:
    net, X = problem
    truths = [forward(net, x) for x in X]
    assume(all(truth is not None for truth in truths))
    right = []
    for truth in truths:
        wins = margins(truth[1], len(net.classes))  # type: ignore[index]
        assume(all(abs(win) > 1e-30 for win in wins))
        right.append(net.classes[max(range(len(wins)), key=wins.__getitem__)])
    scores = net.decision_function(X)
    assert scores.dtype == np.float64
    assert scores.shape == ((len(X),) if net.readout.n_out == 1 else (len(X), net.readout.n_out))
    trace = net.trace(X)
    assert [points.shape for points in trace] == [(len(X), layer.n_out) for layer in net.layers]
    if net.arithmetic == "dyadic":  # proved, whatever the conditioning
        assert net.predict(X).tolist() == right
        for i, (points, values) in enumerate(truths):  # type: ignore[misc]
            for value, true in zip(scores.reshape(len(X), -1)[i], values, strict=True):
                assert abs(mp.mpf(float(value)) - true) <= math.ulp(float(true))
            for layer, point in zip(trace, points, strict=True):
                largest = max(abs(v) for v in point)
                for value, true in zip(layer[i], point, strict=True):
                    assert abs(mp.mpf(float(value)) - true) <= LAYER_NORM * largest + SUBNORMAL
    if net.normalization.eps == 0 and net.normalization.kind == "layer_norm":
        for points in trace:
            assert np.abs(points.mean(axis=1)).max() < tolerances.POINT_STATISTICS
            assert np.abs(points.std(axis=1) - 1).max() < tolerances.POINT_STATISTICS


def test_xor() -> None:
    net = exact_xor_net()
    assert net.predict(XOR.X).tolist() == list(XOR.y)
    assert net.decision_function(XOR.X).shape == (4,)
    assert net.width == 3


def test_ties_and_labels() -> None:
    assert linear([1.0]).predict([[0.0], [-1.0], [1.0]]).tolist() == ["low", "low", "high"]
    two = LNNet([], Layer([[1], [1]], [0, 0]), ["first", "second"])
    assert two.predict([[5.0]]).tolist() == ["first"]
    assert LNNet([], Layer([[0]], [-1]), ["only"]).predict([[5.0], [6.0]]).tolist() == ["only", "only"]
    for classes, kind in [((0, 1), "i"), ((False, True), "b"), ((0.5, 2.0), "f"), (("a", "bc"), "U")]:
        predicted = linear([1.0]) if classes == ("low", "high") else LNNet([], Layer([[1]], [0]), classes)
        labels = predicted.predict([[-1.0], [1.0]])
        assert labels.tolist() == list(classes)
        assert labels.dtype.kind == kind
    for classes in (("a", 1), (2**70, 1), ("a\0", "a"), (1.5, 2)):
        labels = LNNet([], Layer([[1]], [0]), classes).predict([[-1.0], [1.0]])
        assert labels.dtype == object
        assert list(labels) == list(classes)
    assert LNNet([], Layer([[1]], [0]), np.array(["a", "b"])).classes == ("a", "b")
    assert type(LNNet([], Layer([[1]], [0]), np.array([3, 4])).classes[0]) is int


def test_dyadic_nets_never_round_silently() -> None:
    tiny = Fraction(1, 2**3000)
    net = LNNet(line().layers, Layer([[1, 0, 0], [1, tiny, 0]], [0, 0]), ["a", "b"])
    assert net.predict([[-3.0], [3.0]]).tolist() == ["b", "a"]  # second coordinate 2/sqrt(26) and -4/sqrt(26)
    assert linear([tiny]).decision_function([[1.0], [-1.0]]).tolist() == [0.0, 0.0]
    assert linear([tiny]).predict([[1.0], [-1.0]]).tolist() == ["high", "low"]
    assert linear([tiny]).predict([[0.0]]).tolist() == ["low"]  # an exact zero, proved: the first class
    tied = LNNet(line().layers, Layer([[1 + tiny, 1 + tiny, 1 + tiny]], [0]), ["a", "b"])
    with pytest.raises(UndecidedError, match="exact tie") as error:
        tied.predict([[1.5], [3.0]])
    assert error.value.samples == (0, 1)
    zero = LNNet([Layer([[1], [0], [0]], [0, 0, 0])], Layer([[tiny, 0, 0]], [0]), ["a", "b"])
    with pytest.raises(DegenerateInputError, match=r"layers\[0\]: sample 1 has zero variance"):
        zero.predict([[1.0], [0.0]])
    with pytest.raises(DegenerateInputError, match=r"layers\[0\]: sample 1"):
        zero.trace([[1.0], [0.0]])
    with pytest.raises(InvalidInputError, match="no plain forward pass"):
        zero.plain_scores([[1.0]])


def test_zero_variance_is_named() -> None:
    net = line(layers=[Layer([[1], [0], [0]], [0, 0, 1]), Layer([[0, 0, 0]] * 3, [2, 2, 2])])
    with pytest.raises(DegenerateInputError, match=r"layers\[1\]: sample 0 has zero variance"):
        net.predict([[1.0], [2.0]])
    with pytest.raises(DegenerateInputError, match=r"layers\[0\]: sample 2 has zero variance"):
        line(layers=[Layer([[1], [0], [0]], [0, 0, 0])]).trace([[1.0], [-1.0], [0.0]])
    with pytest.raises(InvalidInputError, match=r"layers\[0\]: sample 1 overflows"):
        line(layers=[Layer([[1e10], [0], [0]], [0, 0, 1])]).predict([[1.0], [1e300]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"expected \(n_samples, n_features\)"),
        ([[1.0, 2.0]], "X has 2 features a sample, the net takes 1"),
        ([[math.nan]], "sample 0"),
        ([[1.0], [math.inf]], "sample 1"),
        (np.empty((0, 1)), "at least one"),
        ([["a"]], "X"),
        ([[1.0], [2.0, 3.0]], "X"),
        (np.array([[2**53 + 1]]), "no float64 equals"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "decision_function", "trace", "plain_scores"])
def test_bad_samples_are_refused(X: Any, message: str, method: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        getattr(line(), method)(X)


@given(nets())
def test_plain_scores_are_what_torch_would_do(problem: tuple[LNNet, Any]) -> None:
    """Affine, mean, std, straight from numpy; float32 only where asked for."""
    net, X = problem
    assume(net.arithmetic == "float64")
    points = X
    with np.errstate(all="ignore"):
        for layer in net.layers:
            points = points @ layer.weight.T + layer.bias
            split = np.split(points, net.normalization.num_groups or 1, axis=1)
            if net.normalization.kind != "rms_norm":
                split = [part - part.mean(axis=1, keepdims=True) for part in split]
            points = np.hstack(
                [p / np.sqrt(np.mean(p**2, axis=1, keepdims=True) + net.normalization.eps) for p in split]
            )
        scores = points @ net.readout.weight.T + net.readout.bias
    plain = net.plain_scores(X)
    assert plain.dtype == np.float64
    assert (
        np.allclose(
            plain.reshape(scores.shape),
            scores,
            rtol=tolerances.FLOAT32_SCORES,
            atol=tolerances.FLOAT32_SCORES,
            equal_nan=True,
        )
        or net.depth > 0
    )
    assert net.plain_scores(X, np.float32).dtype == np.float32


# -------------------------------------------------------------------------------------------------- files


@given(st.lists(st.one_of(finite, dyadic), min_size=1, max_size=6), st.lists(finite, min_size=1, max_size=6))
def test_every_bit_survives_a_file(tmp_path_factory: Any, numbers: list[Any], floats: list[float]) -> None:
    folder = tmp_path_factory.mktemp("net")
    for values in (numbers, floats, [-0.0, 5e-324, 1.7976931348623157e308, 0.1]):
        net = linear(values, provenance={"seed": 1, "nested": [{"a": [None, True, 1.5, "é"]}]})
        net.save(folder / "net.json")
        again = LNNet.load(folder / "net.json")
        assert again == net
        assert again.provenance == net.provenance
        assert again.arithmetic == net.arithmetic
        if net.arithmetic == "float64":
            assert again.readout.weight.tobytes() == net.readout.weight.tobytes()
        assert [path.name for path in folder.iterdir()] == ["net.json"]


def test_the_file_is_as_documented(tmp_path: Path) -> None:
    """Read with nothing but json, as anyone may."""
    net = LNNet(
        [Layer([[0.1, -0.0], [1, 2], [Fraction(3, 2**1100), 2**60 + 1]], [0, 0, 5e-324])],
        Layer([[1, -1, 0]], [0]),
        ["no", "yes"],
        Normalization("layer_norm", eps=1e-5),
        {"method": "by hand"},
    )
    net.save(tmp_path / "net.json")
    assert json.loads((tmp_path / "net.json").read_text()) == {
        "format": "lntheory.lnnet",
        "version": 1,
        "normalization": {"kind": "layer_norm", "eps": 1e-5},
        "layers": [
            {
                "weight": [[0.1, 0.0], [1.0, 2.0], ["3p-1100", "1152921504606846977p0"]],
                "bias": [0.0, 0.0, 5e-324],
            }
        ],
        "readout": {"weight": [[1.0, -1.0, 0.0]], "bias": [0.0]},
        "classes": ["no", "yes"],
        "provenance": {"method": "by hand"},
    }
    group = LNNet(
        [Layer(np.eye(4), np.zeros(4))],
        Layer(np.ones((1, 4)), [0]),
        [0, 1],
        Normalization("group_layer_norm", 2),
    )
    group.save(tmp_path / "net.json")
    assert json.loads((tmp_path / "net.json").read_text())["normalization"] == {
        "kind": "group_layer_norm",
        "num_groups": 2,
    }
    assert LNNet.load(tmp_path / "net.json") == group


def test_the_hash_is_as_documented() -> None:
    import hashlib

    data = line(provenance={"seed": 1}).to_dict()
    del data["provenance"]
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    assert line().sha256 == hashlib.sha256(text.encode()).hexdigest()


def valid() -> dict[str, Any]:
    layers = [Layer(np.eye(3), [0, 0, k]) for k in range(5)]
    return LNNet(layers, Layer(np.eye(3), [0, 0, 0]), ["a", "b", "c"]).to_dict()


def changed(path: str, value: Any) -> dict[str, Any]:
    data: Any = valid()
    node = data
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        node = node[step]
    node[last] = value
    return dict(data)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "lntheory.certificate", "format: 'lntheory.certificate', expected"),
        ("version", 2, "version: 2, this library reads version 1"),
        ("version", True, "version: True"),
        ("version", "1", "version: '1'"),
        ("layers.3.weight.1", [1, 2], r"layers\[3\].weight\[1\]: row has 2 numbers, expected 3"),
        ("layers.3.weight.0", [], r"layers\[3\].weight\[0\]: row has 0 numbers"),
        ("layers.3.weight", [], r"layers\[3\].weight: has no rows"),
        ("layers.3.weight", {"a": 1}, r"layers\[3\].weight: .* is not a list"),
        ("layers.3.weight.1.2", True, r"layers\[3\].weight\[1\]\[2\]: True is not a finite"),
        ("layers.3.weight.1.2", None, r"layers\[3\].weight\[1\]\[2\]: None"),
        ("layers.3.weight.1.2", "0.5", r"layers\[3\].weight\[1\]\[2\]: '0.5' is not of the form"),
        ("layers.3.weight.1.2", "1p", "not of the form"),
        ("layers.3.weight.1.2", "1p2\n", "not of the form"),
        ("layers.3.weight.1.2", "٣p0", "not of the form"),
        ("layers.3.weight.1.2", "0x1p3", "not of the form"),
        ("layers.3.weight.1.2", "1p100001", "bits"),
        ("layers.3.weight.1.2", "1p-99999999999999999999", "bits"),
        ("layers.3.weight.1.2", "9" * 400_000 + "p0", "bits"),
        ("layers.3.weight.1.2", 2**53 + 1, "is not a float64; write it as the string"),
        ("layers.3.weight.1.2", 10**400, "is not a float64"),
        ("layers.3.bias", [0, 0], r"layers\[3\].bias: has 2 numbers, expected 3"),
        ("layers.3", [1], r"layers\[3\]: \[1\] is not an object"),
        ("layers.3.extra", 1, r"layers\[3\]: unknown field 'extra'"),
        ("layers", {}, "layers: {} is not a list"),
        ("readout.weight", [[1, 2]], "readout"),
        ("classes", "abc", "classes: 'abc' is not a list"),
        ("classes", ["a", "b", "b"], "labels are distinct"),
        ("classes", ["a", "b", None], r"classes\[2\]: None is no label"),
        ("classes", ["a", "b"], "3 rows for 2 classes"),
        ("normalization", "layer_norm", "normalization: 'layer_norm' is not an object"),
        ("normalization.kind", "batch_norm", "normalization: normalization kind 'batch_norm'"),
        ("normalization.kind", ["layer_norm"], "normalization"),
        ("normalization.eps", -1, "normalization: eps=-1"),
        ("normalization.eps", 10**400, "normalization: eps=1000"),
        ("normalization.num_groups", 3, "normalization: num_groups=3"),
        ("provenance", 3, "provenance must be a mapping"),
        ("surprise", 3, "unknown field 'surprise'"),
    ],
)
def test_bad_fields_are_named(tmp_path: Path, path: str, value: Any, message: str) -> None:
    file = tmp_path / "net.json"
    file.write_text(json.dumps(changed(path, value)))
    with pytest.raises(FileFormatError, match=message) as error:
        LNNet.load(file)
    assert str(error.value).startswith(f"{file}: ")
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("field", list(valid()))
def test_missing_fields_are_named(tmp_path: Path, field: str) -> None:
    data = valid()
    del data[field]
    (tmp_path / "net.json").write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match=field):
        LNNet.load(tmp_path / "net.json")


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", "1" * 5000])
@pytest.mark.parametrize("place", ['"bias": [0.0, 0.0, 4.0]', '"version": 1', '"classes": ["a"', '"seed": 3'])
def test_numbers_that_are_none_are_refused(tmp_path: Path, token: str, place: str) -> None:
    data = {**valid(), "provenance": {"seed": 3}}
    text = json.dumps(data)
    assert place in text
    cut = max(place.rfind(" "), place.rfind("[") + 1)
    head, tail = place[:cut], place[cut:]
    end = "]" if tail.endswith("]") else ""
    (tmp_path / "net.json").write_text(text.replace(place, f"{head} {token}{end}"))
    with pytest.raises(FileFormatError, match=r"net\.json"):
        LNNet.load(tmp_path / "net.json")


def test_decimal_numbers_are_read_as_doubles(tmp_path: Path) -> None:
    text = json.dumps(valid()).replace(
        '"bias": [0.0, 0.0, 4.0]', '"bias": [-0, 1, 0.1000000000000000055511151]'
    )
    (tmp_path / "net.json").write_text(text)
    bias = LNNet.load(tmp_path / "net.json").layers[4].bias
    assert bias.tolist() == [0.0, 1.0, 0.1]
    assert math.copysign(1, bias[0]) == -1


def test_broken_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "net.json"
    line().save(file)
    whole = file.read_bytes()
    for length in range(len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"net\.json"):
            LNNet.load(file)
    for content in (
        b"[" * 100_000,
        b"\xff\xfe",
        b"3",
        b"null",
        b'{"format": "lntheory.lnnet"}',
        whole + b"{}",
        b"\x80\x04K\x01.",
    ):
        file.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"net\.json"):
            LNNet.load(file)
    file.write_text(whole.decode().replace('"version": 1', '"version": 1, "version": 1'))
    with pytest.raises(FileFormatError, match="field 'version' appears twice"):
        LNNet.load(file)
    with pytest.raises(FileNotFoundError):
        LNNet.load(tmp_path / "none.json")


def test_saving_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "net.json"
    line().save(file)
    before = file.read_bytes()

    def fail(self: Any, *args: Any, **kwargs: Any) -> None:
        with open(self, "w") as stream:
            stream.write("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(KeyboardInterrupt):
        exact_xor_net().save(file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["net.json"]
