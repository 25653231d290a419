"""``lntheory verify``: proved again, refuted, undecided."""

import json

import numpy as np

from lntheory import exact
from lntheory.errors import UndecidedError
from lntheory.network import Layer, LNNet
from tests.cli.files import names
from tests.planar import XOR_X, XOR_Y, xor_net


def test_verify_proves_from_the_files_alone(run, files):
    for arguments in ([], ["--certificate", files / "certificate.json"], ["--label", "y"]):
        code, text, _ = run("verify", files / "net.json", files / "data.npz", *arguments, "--json")
        values = json.loads(text)
        assert code == 0
        assert values["status"] == "proved"
        assert values["certificate_checked"] == ("--certificate" in arguments)
        assert values["margin"] > 0


def test_verify_refutes_false_twins(run, files):
    """A swapped label, a corrupted weight, other data, a certificate that claims too much."""
    net, data = files / "net.json", files / "data.npz"
    claim = files / "certificate.json"

    np.savez(files / "swapped.npz", X=XOR_X, y=1 - XOR_Y)
    code, _, err = run("verify", net, files / "swapped.npz")
    assert (code, "refuted: sample 0" in err) == (1, True)

    np.savez(files / "moved.npz", X=XOR_X + 1e-9, y=XOR_Y)
    assert run("verify", net, files / "moved.npz")[0] == 0
    code, _, err = run("verify", net, files / "moved.npz", "--certificate", claim)
    assert (code, "data_sha256" in err) == (1, True)

    original = xor_net()
    weight = original.layers[0].weight.copy()
    weight[1, 1] += 1
    LNNet([Layer(weight, original.layers[0].bias)], original.readout, (0, 1)).save(files / "corrupt.json")
    assert run("verify", files / "corrupt.json", data)[0] == 1

    content = json.loads(claim.read_text())
    content["margins"][2] *= 2
    (files / "boast.json").write_text(json.dumps(content))
    code, text, err = run("verify", net, data, "--certificate", files / "boast.json", "--json")
    assert (code, "margin" in err) == (1, True)
    assert json.loads(text)["samples"] == [2]


def test_verify_leaves_a_tie_undecided(run, files):
    tie = LNNet(xor_net().layers, Layer(np.zeros((2, 3)), [1, 1]), (0, 1))
    tie.save(files / "tie.json")
    code, text, err = run("verify", files / "tie.json", files / "data.npz", "--json")
    assert code == 3
    assert err.splitlines()[-1].startswith("undecided: ")
    values = json.loads(text)
    assert (values["status"], values["exit_code"], values["samples"]) == ("undecided", 3, [0, 1, 2, 3])
    assert values["precision"] > 0


def test_undecided_shattering_exits_3_and_writes_nothing(built_by_hand, run, tmp_path, monkeypatch):
    def certify(*_, **__):
        raise UndecidedError("too close", [1], 64)

    monkeypatch.setattr(exact, "certify", certify)
    assert run("shatter", "xor", "--out", tmp_path / "o")[0] == 3
    assert not names(tmp_path)
