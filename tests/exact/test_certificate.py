"""Certificates accept all right nets and only those; false claims are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
from flint import arb
from hypothesis import assume, given
from hypothesis import strategies as st

from lntheory.errors import FileFormatError, InvalidInputError, RefutedError, UndecidedError
from lntheory.exact import Certificate, certificate, certify, data_sha256, ssr, ssr_enclosure, verify
from lntheory.network import Layer, LNNet, enclosure
from tests import tolerances
from tests.highprecision import forward, margins
from tests.problems import PROBLEMS, exact_xor_net
from tests.strategies import nets

XOR = next(problem for problem in PROBLEMS if problem.name == "xor")
LINE = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
LINE_X, LINE_Y = [[-2.0], [3.0], [4.0]], ["low", "high", "high"]


def true_margins(net: LNNet, X: Any) -> list[list[Any]]:
    """For every sample and class the margin, by mpmath; draws near a tie or a singularity are discarded."""
    result = []
    for x in X:
        truth = forward(net, x)
        assume(truth is not None)
        assert truth is not None
        wins = margins(truth[1], len(net.classes))
        assume(all(abs(win) > 1e-30 for win in wins))
        result.append(wins)
    return result


# -------------------------------------------------------------------------------- all and only right nets


@given(st.one_of(nets(), nets(width_3=True)))
def test_right_labels_are_proved(problem: tuple[LNNet, Any]) -> None:
    net, X = problem
    wins = true_margins(net, X)
    right = [max(range(len(win)), key=win.__getitem__) for win in wins]
    y = [net.classes[k] for k in right]
    proved = certify(net, X, y)
    for margin, win, k in zip(proved.margins, wins, right, strict=True):
        assert 0 < margin <= win[k]
        if len(net.classes) > 1:
            with mp.workdps(50):
                assert mp.mpf(margin) >= win[k] * (1 - mp.mpf(2) ** -51)
    assert proved.margin == min(proved.margins)
    assert (proved.n_samples, proved.depth, proved.width) == (len(X), net.depth, net.width)
    assert verify(net, X, y, proved) == proved


@given(st.one_of(nets(), nets(width_3=True)), st.data())
def test_a_swapped_label_is_refuted(problem: tuple[LNNet, Any], data: st.DataObject) -> None:
    net, X = problem
    assume(len(net.classes) > 1)
    wins = true_margins(net, X)
    y = [net.classes[max(range(len(win)), key=win.__getitem__)] for win in wins]
    i = data.draw(st.integers(0, len(X) - 1))
    y[i] = data.draw(st.sampled_from([label for label in net.classes if label != y[i]]))
    with pytest.raises(RefutedError, match=f"sample {i} does not get its label") as error:
        certify(net, X, y)
    assert error.value.samples == (i,)


@given(nets(width_3=True))
def test_both_enclosures_prove_the_same(problem: tuple[LNNet, Any]) -> None:
    net, X = problem
    wins = true_margins(net, X)
    y = [net.classes[max(range(len(win)), key=win.__getitem__)] for win in wins]
    arcs = certify(net, X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enclosure, "propagation", enclosure.Balls)
        general = certify(net, X, y)
    assert (arcs.method, general.method) == tuple(certificate.METHODS[name] for name in ("arcs", "balls"))
    assert np.allclose(arcs.margins, general.margins, rtol=tolerances.ARC_MARGINS, atol=0)
    for name in ("ssr_after", "lssr_after"):
        a, b = getattr(arcs, name), getattr(general, name)
        if a is not None and b is not None:
            assert max(a[0], b[0]) <= min(a[1], b[1])


def test_xor_by_integers() -> None:
    proved = certify(exact_xor_net(), XOR.X, XOR.y)
    assert proved.depth == 2
    assert proved.float64_agrees is True
    assert proved.float32_agrees is True
    assert proved.ssr_before == proved.lssr_before == (1.0, 1.0)
    assert proved.ssr_after is not None
    assert proved.lssr_after is not None
    assert proved.ssr_after[0] == proved.lssr_after[0] == 0.0  # exactly zero is inside
    assert proved.ssr_after[1] < tolerances.NARROW
    assert proved.lssr_after[1] <= proved.ssr_after[1]


def test_a_corrupted_weight_is_refuted() -> None:
    weight = exact_xor_net().layers[1].weight.copy()
    weight[0, 2] = 17.5  # (even: 25 - 23.8, odd: 25 - 24.7) both positive now
    net = LNNet(
        [exact_xor_net().layers[0], Layer(weight, [25, 1, 0])],
        exact_xor_net().readout,
        exact_xor_net().classes,
    )
    with pytest.raises(RefutedError) as error:
        certify(net, XOR.X, XOR.y)
    assert error.value.samples == (2, 3)


def test_a_net_for_other_data_is_refuted() -> None:
    with pytest.raises(RefutedError, match="is not among the net's classes") as error:
        certify(exact_xor_net(), XOR.X, ["even", "even", "red", "blue"])
    assert error.value.samples == (2, 3)
    with pytest.raises(InvalidInputError, match="X has 3 features a sample, the net takes 2"):
        certify(exact_xor_net(), np.ones((4, 3)), XOR.y)
    with pytest.raises(InvalidInputError, match="y has 3 labels for 4 samples"):
        certify(exact_xor_net(), XOR.X, XOR.y[:3])
    with pytest.raises(InvalidInputError):
        certify(exact_xor_net(), [[np.nan, 0], [0, 0], [0, 1], [1, 0]], XOR.y)
    proved = certify(LINE, LINE_X, LINE_Y)
    with pytest.raises(RefutedError, match="data_sha256"):
        verify(LINE, [[-2.0], [3.0], [5.0]], LINE_Y, proved)
    with pytest.raises(RefutedError, match="net_sha256"):
        verify(LNNet(LINE.layers, Layer([[2, -1, 0]], [0]), LINE.classes), LINE_X, LINE_Y, proved)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("rows", [1, 2])
def test_exact_ties_end_undecided(depth: int, rows: int) -> None:
    """On the middle of the line both classes score the same."""
    readout = Layer([[1, 0, 0], [0, 1, 0]][:rows], [0, 0][:rows]) if rows == 2 else Layer([[1, -1, 0]], [0])
    layers = [Layer([[1, 0, 0], [0, 1, 0], [0, 0, 3]], [0, 0, 1])][:depth]
    net = LNNet(layers, readout, ["a", "b"])
    X = [[0.3, 0.3, 0.7], [0.0, 5.0, 0.0]]
    y = ["a", "a" if rows == 1 else "b"]
    with pytest.raises(
        UndecidedError, match=r"sample 0 is undecided at the limit of 300 bits.*exact tie"
    ) as error:
        certify(net, X, y, max_precision=300)
    assert (error.value.samples, error.value.precision) == ((0,), 300)


def test_precision_rises_until_it_decides() -> None:
    """Scores that differ from the tenth decimal to far beyond 128 bits."""
    tiny = Fraction(1, 2**400)
    net = LNNet([], Layer([[1], [1 + tiny]], [0, 0]), ["a", "b"])
    assert certify(net, [[1.0], [3.0]], ["b", "b"]).margin == 2.0**-400
    net = LNNet(LINE.layers, Layer([[1, 0, 0], [1, 0, 0]], [0, 2.0**-300]), ["a", "b"])
    proved = certify(net, LINE_X, ["b", "b", "b"])
    assert proved.precision == 512
    assert math.nextafter(2.0**-300, 0) <= proved.margin <= 2.0**-300  # a lower bound, to the last place
    with pytest.raises(UndecidedError):
        certify(net, LINE_X, ["b", "b", "b"], max_precision=256)
    with pytest.raises(RefutedError):
        certify(net, LINE_X, ["b", "a", "b"])
    below = LNNet([], Layer([[1], [1 + Fraction(1, 2**2000)]], [0, 0]), ["a", "b"])
    assert certify(below, [[1.0]], ["b"]).margin == 0.0  # proved positive, but no float64 is that small


def test_nan_is_undecided_never_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_numbers(net: LNNet, X: Any, *, precision: int, progress: Any = None) -> enclosure.Enclosure:
        nan = [[arb("nan")] * 3 for _ in X]
        return enclosure.Enclosure(nan, nan, {}, {}, "balls", precision)

    monkeypatch.setattr(certificate, "enclose", without_numbers)
    net = LNNet(LINE.layers, Layer(np.eye(3), [0, 0, 0]), ["a", "b", "c"])
    with pytest.raises(UndecidedError):
        certify(net, LINE_X, ["a", "b", "c"], max_precision=200)


def test_zero_variance() -> None:
    zero = LNNet([Layer([[1], [0], [0]], [0, 0, 0])], LINE.readout, LINE.classes)
    with pytest.raises(RefutedError, match=r"sample 1 has zero variance at layers\[0\]") as error:
        certify(zero, [[1.0], [0.0], [2.0]], LINE_Y)
    assert error.value.samples == (1,)
    later = Layer([[3, -1, 1], [0, 0, 0], [0, 0, 0]], [0, 0, 0])  # zero where the first layer sends 0
    lost = LNNet([LINE.layers[0], later], LINE.readout, LINE.classes)
    with pytest.raises(UndecidedError, match=r"sample 1 is undecided.*variance at layers\[1\]"):
        certify(lost, [[3.0], [0.0]], ["high", "low"], max_precision=200)


def test_one_class_and_one_sample() -> None:
    undefined = LNNet(
        [LINE.layers[0], Layer([[3, -1, 1], [0, 0, 0], [0, 0, 0]], [0, 0, 0])], LINE.readout, ["only"]
    )
    with pytest.raises(UndecidedError):
        certify(undefined, [[3.0], [0.0]], ["only", "only"], max_precision=200)
    net = LNNet([], Layer([[0.0]], [1]), ["only"])
    proved = certify(net, [[1.0], [2.0]], ["only", "only"])
    assert proved.margin == math.inf
    assert proved.ssr_before == proved.lssr_after == (1.0, 1.0)
    assert json.loads(json.dumps(proved.to_dict(), allow_nan=False))["margin"] is None
    assert Certificate.from_dict(proved.to_dict()) == proved
    alone = certify(net, [[1.0]], ["only"])
    assert alone.ssr_before is None
    assert alone.lssr_after is None


def test_classes_may_be_any_scalars() -> None:
    for classes, y in [
        ((0, 1), np.array([0, 1, 1])),
        ((False, True), [False, True, True]),
        ((0.5, 2), [0.5, 2, 2.0]),
    ]:
        net = LNNet(LINE.layers, LINE.readout, classes)
        assert certify(net, LINE_X, y).n_classes == 2
    shifted = LNNet(LINE.layers, LINE.readout, (1, 0))
    with pytest.raises(RefutedError):
        certify(shifted, LINE_X, [0, 1, 1])


def test_max_precision_is_checked() -> None:
    for bad in (0, -5, 1.5, "128", True):
        with pytest.raises(InvalidInputError, match="max_precision"):
            certify(LINE, LINE_X, LINE_Y, max_precision=bad)
    assert certify(LINE, LINE_X, LINE_Y, max_precision=30).precision == 30


def test_precision_is_local() -> None:
    before = flint.ctx.prec
    certify(LINE, LINE_X, LINE_Y)
    with pytest.raises(RefutedError):
        certify(LINE, LINE_X, LINE_Y[::-1])
    assert flint.ctx.prec == before


# --------------------------------------------------------------------------------------- what else it says


def test_plain_passes_are_reported() -> None:
    # The margins are 3e-9 wide where float32 keeps 7 digits.
    far = LNNet([Layer([[1], [0], [0]], [-1e8, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    proved = certify(far, [[1e8 - 3], [1e8 + 1]], ["low", "high"])
    assert proved.float64_agrees is True
    assert proved.float32_wrong == 1
    assert proved.float32_agrees is False
    # Without its eps a float32 pass divides by zero here: NaN is a wrong answer, not a right one.
    small = LNNet([Layer([[1e-30], [0], [0]], [0, 0, 1e-30])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    assert certify(small, [[-2.0], [3.0]], ["low", "high"]).float32_wrong == 2
    dyadic = LNNet([], Layer([[1 + Fraction(1, 2**99)]], [0]), ["low", "high"])
    proved = certify(dyadic, [[-2.0], [3.0]], ["low", "high"])
    assert proved.float64_agrees is proved.float32_agrees is None
    assert proved.arithmetic == "dyadic"


@given(nets(), st.integers(0, 2**32 - 1))
def test_separability_after_is_enclosed(problem: tuple[LNNet, Any], seed: int) -> None:
    """Against float64 formulas on points from mpmath: the pencil's least eigenvalue, by scipy."""
    from lntheory.separability import lssr as float_lssr
    from lntheory.separability import ssr as float_ssr

    net, _ = problem
    assume(net.depth > 0 and len(net.classes) > 1)
    X = np.random.default_rng(seed).normal(size=(12, net.n_features))
    wins = true_margins(net, X)
    y = [net.classes[max(range(len(win)), key=win.__getitem__)] for win in wins]
    proved = certify(net, X, y)
    points = np.array([[float(v) for v in forward(net, x)[0][-1]] for x in X])  # type: ignore[index]
    if proved.ssr_after is None or np.ptp(points, axis=0).max() < 1e-3:
        return
    assert (
        proved.ssr_after[0] - tolerances.FLOAT_SSR
        <= float_ssr(points, y)
        <= proved.ssr_after[1] + tolerances.FLOAT_SSR
    )
    assert proved.ssr_after[1] - proved.ssr_after[0] < tolerances.NARROW_SSR
    kept = points[:, ssr_enclosure.free_coordinates(net)]
    assert proved.lssr_after is not None
    if np.linalg.eigvalsh(np.atleast_2d(np.cov(kept.T)))[0] > 1e-6:
        assert (
            proved.lssr_after[0] - tolerances.FLOAT_LSSR
            <= float_lssr(kept, y)
            <= proved.lssr_after[1] + tolerances.FLOAT_LSSR
        )


def test_lssr_after_is_narrow_in_the_plane() -> None:
    """Three classes on the circle: the quadratic; two classes: the closed form; both far from [0, SSR]."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    layers = [Layer(rng.normal(size=(3, 2)), rng.normal(size=3))]
    for n_classes in (2, 3):
        net = LNNet(
            layers, Layer(rng.normal(size=(n_classes, 3)), np.zeros(n_classes)), list(range(n_classes))
        )
        y = net.predict(X)
        assert len(set(y.tolist())) == n_classes
        proved = certify(net, X, y)
        assert proved.lssr_after is not None
        assert proved.ssr_after is not None
        assert proved.lssr_after[1] - proved.lssr_after[0] < tolerances.NARROW_LSSR
        assert proved.lssr_after[1] < proved.ssr_after[0]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_separability_before_is_exact(problem: Any) -> None:
    X = np.array([[float(v) for v in row] for row in problem.X])
    lower, lssr_ = ssr_enclosure.enclosed_ssr_of_samples(X, list(problem.y))
    assert lower is not None
    assert lssr_ is not None
    exact = ssr(X, problem.y)
    assert Fraction(lower[0]) <= exact <= Fraction(lower[1])
    assert lower[1] <= math.nextafter(lower[0], 2)
    if problem.ssr is not None and "decimals" not in problem.name:
        assert Fraction(lssr_[0]) <= problem.lssr <= Fraction(lssr_[1])


def test_the_hash_of_data_is_as_documented() -> None:
    import hashlib

    X = np.array([[1.0, -0.0], [np.pi, 5e-324]])
    bytes_ = b"2 2\n" + X.astype("<f8").tobytes() + b'["\\u00e9",1]'
    assert data_sha256(X, ["é", 1]) == hashlib.sha256(bytes_).hexdigest()
    assert data_sha256(np.asfortranarray(X), np.array(["é", 1], dtype=object)) == data_sha256(X, ["é", 1])
    assert data_sha256(X, [1, 0]) != data_sha256(X, ["1", "0"])
    assert data_sha256(X, np.array([1, 0])) == data_sha256(X, [1, 0])
    assert data_sha256(X.reshape(1, 4), [1]) != data_sha256(X.reshape(4, 1), [1] * 4)
    with pytest.raises(InvalidInputError, match="is no label"):
        data_sha256(X, [("tuple",), ("other",)])


# ------------------------------------------------------------------------------------- files and claims


def test_files_round_trip(tmp_path: Path) -> None:
    proved = certify(exact_xor_net(), XOR.X, XOR.y)
    proved.save(tmp_path / "certificate.json")
    assert Certificate.load(tmp_path / "certificate.json") == proved
    assert [path.name for path in tmp_path.iterdir()] == ["certificate.json"]
    assert verify(exact_xor_net(), XOR.X, XOR.y, Certificate.load(tmp_path / "certificate.json")) == proved


FALSE_CLAIMS: list[tuple[str, Callable[[Certificate], dict[str, Any]]]] = [
    ("margin", lambda c: {"margin": math.nextafter(c.margin, 9)}),
    ("margins", lambda c: {"margins": (c.margins[0], math.nextafter(c.margins[1], 9), *c.margins[2:])}),
    ("fewer margins", lambda c: {"margins": c.margins[:-1]}),
    ("NaN margin", lambda c: {"margin": math.nan}),
    ("NaN margins", lambda c: {"margins": (math.nan,) * len(c.margins)}),
    ("n_samples", lambda c: {"n_samples": 4}),
    ("n_classes", lambda c: {"n_classes": 3}),
    ("depth", lambda c: {"depth": 2}),
    ("width", lambda c: {"width": 2}),
    ("arithmetic", lambda c: {"arithmetic": "dyadic"}),
    ("precision", lambda c: {"precision": 64}),
    ("method", lambda c: {"method": "magic"}),
    ("net", lambda c: {"net_sha256": "0" * 64}),
    ("data", lambda c: {"data_sha256": "0" * 64}),
    ("ssr after", lambda c: {"ssr_after": (0.0, 0.0)}),
    ("ssr after, narrower", lambda c: {"ssr_after": (c.ssr_after[1], c.ssr_after[1])}),  # type: ignore[index]
    ("ssr after, empty", lambda c: {"ssr_after": (0.5, 0.1)}),
    ("lssr after", lambda c: {"lssr_after": (0.9, 1.0)}),
    ("ssr before", lambda c: {"ssr_before": (0.3, 0.4)}),
    ("lssr before", lambda c: {"lssr_before": (0.3, 0.4)}),
    ("float32", lambda c: {"float32_wrong": 0}),
]


@pytest.fixture(scope="module")
def claimed() -> tuple[LNNet, Any, Any, Certificate]:
    far = LNNet([Layer([[1], [0], [0]], [-1e8, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    X, y = [[1e8 - 3], [1e8 + 1], [1e8 + 3]], ["low", "high", "high"]
    return far, X, y, certify(far, X, y)


@pytest.mark.parametrize(("name", "change"), FALSE_CLAIMS, ids=[name for name, _ in FALSE_CLAIMS])
def test_false_claims_are_refused(
    claimed: Any, name: str, change: Callable[[Certificate], dict[str, Any]]
) -> None:
    net, X, y, honest = claimed
    assert verify(net, X, y, honest) == honest
    with pytest.raises(RefutedError, match="certificate"):
        verify(net, X, y, replace(honest, **change(honest)))


def test_weaker_claims_are_accepted(claimed: Any) -> None:
    net, X, y, honest = claimed
    weaker = replace(
        honest, margin=0.0, margins=(0.0,) * 3, ssr_after=None, lssr_before=(0.0, 1.0), float32_wrong=None
    )
    assert verify(net, X, y, weaker) == honest
    precise = replace(honest, precision=1000, library_version="0.0.9")
    assert verify(net, X, y, precise).precision == 1000


def test_a_certificate_of_a_wrong_net_is_refused() -> None:
    """Hashes and all are right, but the net is not."""
    wrong = ["high", "high", "high"]
    proved = certify(LINE, LINE_X, LINE_Y)
    forged = replace(proved, data_sha256=data_sha256(LINE_X, wrong))
    with pytest.raises(RefutedError, match="does not get its label"):
        verify(LINE, LINE_X, wrong, forged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "lntheory.lnnet"}, "format"),
        ({"version": 2}, "version"),
        ({"version": True}, "version"),
        ({"margin": "1"}, "margin is '1'"),
        ({"margin": -1.0}, "margin is -1.0"),
        ({"margins": 3}, "margins"),
        ({"margins": [1.0]}, "margins has 1 numbers for 3 samples"),
        ({"margins": [1.0, True, 1.0]}, r"margins\[1\]"),
        ({"n_samples": -3}, "n_samples"),
        ({"depth": 1.5}, "depth"),
        ({"precision": 10**400}, "precision"),
        ({"net_sha256": "abc"}, "net_sha256"),
        ({"data_sha256": 3}, "data_sha256"),
        ({"method": None}, "method"),
        ({"ssr_after": [0.5, 0.1]}, "ssr_after"),
        ({"ssr_after": [0.5]}, "ssr_after"),
        ({"lssr_before": ["0", "1"]}, "lssr_before"),
        ({"float32_wrong": "0"}, "float32_wrong"),
        ({"surprise": 1}, "unknown field 'surprise'"),
    ],
)
def test_bad_fields_are_named(claimed: Any, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**claimed[3].to_dict(), **change}))
    with pytest.raises(FileFormatError, match=message) as error:
        Certificate.load(path)
    assert "c.json" in str(error.value)


def test_missing_fields_and_broken_files_are_refused(claimed: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    data = claimed[3].to_dict()
    for name in data:
        path.write_text(json.dumps({key: value for key, value in data.items() if key != name}))
        with pytest.raises(FileFormatError, match=name):
            Certificate.load(path)
    claimed[3].save(path)
    whole = path.read_text()
    for length in range(0, len(whole) - 2, 7):
        path.write_text(whole[:length])
        with pytest.raises(FileFormatError):
            Certificate.load(path)
    path.write_text(whole.replace('"margin": ', '"margin": NaN, "was": '))
    with pytest.raises(FileFormatError):
        Certificate.load(path)
    path.write_text("[]")
    with pytest.raises(FileFormatError):
        Certificate.load(path)


# ------------------------------------------------------------------------------------ what is told on the way


def test_progress_is_reported() -> None:
    for prove in (certify, lambda *args, **kw: verify(*args, certify(*args), **kw)):
        seen: list[tuple[int, int]] = []
        prove(LINE, LINE_X, LINE_Y, progress=lambda done, total, seen=seen: seen.append((done, total)))
        assert seen
        assert seen[-1] == (LINE.depth, LINE.depth)


@pytest.mark.parametrize(
    ("n_others", "told"), [(0, None), (1, "(and 1 other sample)"), (2, "(and 2 other samples)")]
)
def test_refusals_count_the_other_samples(n_others: int, told: str | None) -> None:
    y = (
        ["high", "low", "high"]
        if n_others == 1
        else ["high", "low", "low"]
        if n_others
        else ["high", *LINE_Y[1:]]
    )
    with pytest.raises(RefutedError, match="sample 0 does not get its label") as caught:
        certify(LINE, LINE_X, y)
    assert caught.value.samples == tuple(range(n_others + 1))
    assert (told in str(caught.value)) if told else ("other" not in str(caught.value))


def test_refused_claims_say_what_was_proved_instead() -> None:
    right = certify(LINE, LINE_X, LINE_Y)
    assert right.ssr_after is not None
    beyond = (min(1.0, right.ssr_after[1] + 0.25), 1.0)
    for change, proved in (
        ({"depth": 7}, 1),
        ({"data_sha256": "0" * 64}, right.data_sha256),
        ({"ssr_after": beyond}, right.ssr_after),
        ({"float64_wrong": 3, "arithmetic": "dyadic"}, "float64"),
    ):
        with pytest.raises(RefutedError, match="proved here: ") as caught:
            verify(LINE, LINE_X, LINE_Y, replace(right, **change))
        assert str(caught.value).endswith(f"proved here: {proved}")
    with pytest.raises(RefutedError, match=f"claims margin = .*proved here: {right.margin}"):
        verify(LINE, LINE_X, LINE_Y, replace(right, margin=right.margin * 2))


def test_intervals_stay_in_the_unit_interval() -> None:
    lower, upper = ssr_enclosure.unit_interval(arb(1, 0.5))
    assert 0.49 < lower <= 0.5
    assert upper == 1.0
    lower, upper = ssr_enclosure.unit_interval(arb(0, 0.5))
    assert lower == 0.0
    assert 0.5 <= upper < 0.51


def test_margins_of_zero_are_read_and_those_beyond_float64_are_not() -> None:
    data = certify(LINE, LINE_X, LINE_Y).to_dict()
    assert Certificate.from_dict({**data, "margin": 0}).margin == 0.0
    assert Certificate.from_dict({**data, "margin": None}).margin == math.inf
    for bad in (2**1023, -1e-300, True, "1"):
        with pytest.raises(FileFormatError, match=r"field margin is"):
            Certificate.from_dict({**data, "margin": bad})
