"""``lntheory export``: what runtimes run, and only if it is proved."""

import json
from fractions import Fraction

import numpy as np
import pytest

from lntheory.network import Layer, LNNet
from tests.cli.files import names
from tests.planar import XOR_X, XOR_Y


@pytest.fixture
def runtimes(monkeypatch):
    """torch, onnx and onnxruntime, or the test is skipped."""
    for name in ("torch", "onnx"):
        pytest.importorskip(name)
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "1")
    return pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_export_writes_what_onnxruntime_runs(runtimes, run, files, dtype):
    out = files / "xor.onnx"
    arguments = ["--eps", "1e-5", "--dtype", dtype]
    code, text, err = run("export", files / "net.json", files / "data.npz", "-o", out, *arguments)
    assert code == 0
    assert "proving" in err
    for expected in (str(out), dtype, "eps 1e-05", "0 of 4", "in any order: proved", "the same labels"):
        assert expected in text
    session = runtimes.InferenceSession(out)
    _, index = session.run(None, {"X": XOR_X.astype(dtype)})
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    assert [classes[i] for i in index] == list(XOR_Y)


def test_export_writes_what_torch_runs(runtimes, run, files):
    import torch

    out = files / "xor.pt2"
    code, text, _ = run("export", files / "net.json", files / "data.npz", "--out", out, "--json")
    values = json.loads(text)
    assert code == 0
    assert (values["status"], values["file"], values["dtype"], values["exponent"]) == (
        "proved",
        str(out),
        "float64",
        0,
    )
    assert 0 < 2 * values["score_error"] < values["margin"]
    assert values["net_sha256"] == LNNet.load(files / "net.json").sha256
    scores = torch.export.load(out).module()(torch.from_numpy(XOR_X)).detach().numpy()
    assert (scores[:, 0] > 0).astype(int).tolist() == list(XOR_Y)


def test_export_without_data_claims_nothing(runtimes, run, files):
    out = files / "xor.onnx"
    code, text, _ = run("export", files / "net.json", "-o", out)
    assert code == 0
    assert "nothing; name the DATA" in text
    assert json.loads(run("export", files / "net.json", "-o", out, "--json")[1])["status"] == "shown"
    assert out.is_file()


def test_export_writes_only_what_is_proved(runtimes, run, files):
    before = names(files)
    out = files / "xor.onnx"
    np.savez(files / "data.npz", X=XOR_X, y=1 - np.array(XOR_Y))
    assert run("export", files / "net.json", files / "data.npz", "-o", out)[0] == 1
    LNNet([], Layer([[1.0]], [-1.0]), [0, 1]).save(files / "net.json")
    np.savez(files / "data.npz", X=[[1 - 2.0**-30], [1 + 2.0**-30]], y=[0, 1])
    code, _, err = run("export", files / "net.json", files / "data.npz", "-o", out, "--dtype", "float32")
    assert (code, "float32 cannot be vouched for" in err) == (3, True)
    code, _, err = run("export", files / "net.json", "--eps", "1e-5", "-o", out)
    assert (code, "pass the samples" in err) == (2, True)
    code, _, err = run("export", files / "net.json", "-o", files / "net.pkl")
    assert (code, "ends in .onnx or .pt2" in err) == (2, True)
    assert run("export", files / "net.json")[0] == 2
    LNNet([], Layer([[Fraction(1, 2**2000)]], [0]), [0, 1]).save(files / "net.json")
    code, _, err = run("export", files / "net.json", "-o", out)
    assert (code, "dyadic" in err) == (2, True)
    assert names(files) == before


def test_export_checks_the_file_itself(runtimes, run, files, monkeypatch):
    """A runtime that gives other scores is found out, and its file is not kept."""
    genuine = runtimes.InferenceSession.run
    monkeypatch.setattr(runtimes.InferenceSession, "run", lambda *a: [-x for x in genuine(*a)])
    code, _, err = run("export", files / "net.json", files / "data.npz", "-o", files / "xor.onnx")
    assert code == 1
    assert "the file gives sample 0 another label" in err
    assert "xor.onnx" not in names(files)
