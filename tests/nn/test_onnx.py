"""ONNX files, run back in onnxruntime: same labels, any number of samples, classes inside."""

import json
import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import lntheory  # noqa: E402
from lntheory.errors import DegenerateInputError, InvalidInputError  # noqa: E402
from lntheory.network import Layer, LNNet, Normalization  # noqa: E402
from lntheory.network.roundoff import score_error  # noqa: E402
from lntheory.nn import export_onnx, from_torch, to_torch  # noqa: E402
from tests import tolerances  # noqa: E402
from tests.planar import XOR_X, XOR_Y, xor_net  # noqa: E402
from tests.strategies import nets  # noqa: E402

DTYPES = {torch.float64: np.float64, torch.float32: np.float32}


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.fixture
def run(tmp_path):
    """Export, then run: scores and class indices."""

    def run(net, X, dtype=np.float64):
        export_onnx(net, tmp_path / "net.onnx")
        return session(tmp_path / "net.onnx").run(None, {"X": np.array(X, dtype=dtype)})

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("onnx")


@given(nets())
@settings(max_examples=25)
def test_scores_are_those_of_the_net(folder, drawn):
    net, X = drawn
    assume(net.arithmetic == "float64")
    try:
        error = score_error(net, X)
    except DegenerateInputError:
        assume(False)
    export_onnx(net, folder / "net.onnx")
    scores, index = session(folder / "net.onnx").run(None, {"X": X})
    assert scores.shape == (len(X), net.readout.n_out)
    assert index.shape == (len(X),)
    known = np.isfinite(error)
    off = np.abs(scores - net.decision_function(X).reshape(scores.shape)).max(axis=1)
    assert (off[known] <= 2 * error[known]).all()
    plain = scores[:, 0] if net.readout.n_out == 1 else scores
    assert (index == net.winners(plain))[known].all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-5]), st.sampled_from(list(DTYPES)))
@settings(max_examples=8)
def test_built_nets_keep_their_labels(folder, seed, eps, dtype):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 2)), rng.choice(["ja", "nein"], 10)
    assume(len(set(y)) == 2)
    net = lntheory.shatter(X, y, method="minority-merge", random_state=0)
    try:
        module = to_torch(net, eps, X=X, y=y, dtype=dtype)
    except lntheory.errors.LNTheoryError:
        assert dtype is torch.float32  # which holds not every net
        assume(False)
    export_onnx(module, folder / "built.onnx")
    runtime = session(folder / "built.onnx")
    classes = np.array(json.loads(runtime.get_modelmeta().custom_metadata_map["classes"]))
    for part in (slice(None), slice(0, 1), slice(2, 9)):
        scores, index = runtime.run(None, {"X": X[part].astype(DTYPES[dtype])})
        assert scores.dtype == DTYPES[dtype]
        assert classes[index].tolist() == y[part].tolist() == module.labels(scores).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", [("layer_norm", None), ("rms_norm", None), ("group_layer_norm", 3)], ids=str)
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_every_kind_and_read_out(run, dtype, kind, n_classes):
    rng = np.random.default_rng(0)
    layers = [Layer(rng.normal(size=(6, n)), rng.normal(size=6)) for n in (2, 6)]
    net = LNNet(
        layers,
        Layer(rng.normal(size=(n_classes, 6)), [0.0] * n_classes),
        range(n_classes),
        Normalization(*kind),
    )
    X = rng.normal(size=(30, 2))
    y = net.predict(X)
    module = to_torch(net, 1e-5, X=X, y=y, dtype=dtype)
    scores, index = run(module, X, DTYPES[dtype])
    assert index.tolist() == y.tolist()
    with torch.no_grad():
        theirs = module(torch.as_tensor(X, dtype=dtype)).numpy()
    assert np.abs(scores - theirs).max() <= 2 * module.score_error


def test_the_file_says_what_it_is(tmp_path):
    net = LNNet(xor_net().layers, xor_net().readout, ["no", True])
    export_onnx(net, tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx")
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(metadata["classes"]) == ["no", True]
    assert metadata["net_sha256"] == net.sha256
    assert [dim.dim_param for dim in model.graph.input[0].type.tensor_type.shape.dim] == ["n_samples", ""]
    first = (tmp_path / "net.onnx").read_bytes()
    export_onnx(to_torch(net), tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx").read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_ties_go_to_the_first_class(run):
    net = LNNet([], Layer([[1.0], [1.0]], [0.0, 0.0]), ["a", "b"])
    assert run(net, [[3.0]])[1].tolist() == [0]
    one_row = LNNet([], Layer([[1.0]], [0.0]), ["a", "b"])
    assert run(one_row, [[0.0], [1.0], [-1.0]])[1].tolist() == [0, 1, 0]


def test_means_are_taken_away_before_squaring(run):
    """Deviations of 1 about a mean of 1e7: mean(x^2) - mean(x)^2 is wrong by 1e-2 in float64."""
    net = LNNet([Layer([[1], [0], [-1]], [1e7] * 3)], Layer([[1, 0, -1]], [0]), [0, 1])
    scores, _ = run(net, [[1.0]])
    assert (
        abs(scores[0, 0] - net.decision_function([[1.0]])[0])
        <= 2 * score_error(net, [[1.0]])[0]
        < tolerances.SMALL_SCORE_ERROR
    )


def test_a_corrupted_module_gives_other_labels(run):
    """The check of labels bites: the same export of a spoiled module fails it."""
    module = to_torch(xor_net(), X=XOR_X, y=XOR_Y)
    assert run(module, XOR_X)[1].tolist() == list(XOR_Y)
    with torch.no_grad():
        module[2].bias.neg_()
    assert run(module, XOR_X)[1].tolist() != list(XOR_Y)


def test_what_no_file_can_hold_is_refused(tmp_path):
    nn = torch.nn
    for bad, message in [
        (nn.Sequential(nn.Linear(2, 3), nn.ReLU()), "no place"),
        (to_torch(xor_net()).half(), "torch.float16"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            export_onnx(bad, tmp_path / "net.onnx")
    generator = torch.Generator().manual_seed(0)
    affine = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 2))
    with torch.no_grad():
        for p in affine.parameters():
            p.copy_(torch.randn(p.shape, generator=generator))
    assert from_torch(affine).depth == 1
    with pytest.raises(InvalidInputError, match="wider than float32"):
        export_onnx(affine, tmp_path / "net.onnx")
    giant = nn.Sequential(
        nn.Linear(2, 3), nn.LayerNorm(3, eps=1e39, elementwise_affine=False), nn.Linear(3, 2)
    )
    with pytest.raises(InvalidInputError, match=r"eps=1e\+39 overflows float32"):
        export_onnx(giant, tmp_path / "net.onnx")
    with pytest.raises(InvalidInputError, match=r"ends in \.onnx"):
        export_onnx(xor_net(), tmp_path / "net.json")
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_behind_when_writing_fails(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="no space left"):
        export_onnx(xor_net(), tmp_path / "net.onnx")
    assert not list(tmp_path.iterdir())
