"""``lntheory show``: what a net is, and its pictures."""

import json

import numpy as np
import pytest

from tests.cli.files import names
from tests.planar import XOR_X, XOR_Y, xor_net


def test_show_says_what_a_net_is(run, files):
    code, text, _ = run("show", files / "net.json")
    assert code == 0
    for expected in ("1 layer of layer_norm, width 3", "2: 0, 1", "float64", xor_net().sha256):
        assert expected in text
    values = json.loads(run("show", files / "net.json", "--json")[1])
    assert values["sha256"] == xor_net().sha256
    assert (values["depth"], values["width"], values["n_parameters"]) == (1, 3, 13)


def test_show_draws_beside_the_net_or_elsewhere(run, files, tmp_path):
    code, text, _ = run("show", files / "net.json", files / "data.npz", "--layers", "1")
    assert code == 0
    assert "0 of 4, as computed" in text
    assert {"layers.png", "runs.png", "animation.gif"} < set(names(files))
    values = json.loads(run("show", files / "net.json", "xor", "--out", tmp_path / "p", "--json")[1])
    assert names(tmp_path / "p") == ["animation.gif", "layers.png", "runs.png"]
    assert values["proved"] is False
    np.savez(files / "swapped.npz", X=XOR_X, y=1 - XOR_Y)
    values = json.loads(run("show", files / "net.json", files / "swapped.npz", "--json")[1])
    assert values["wrong_samples"] == 4


@pytest.mark.parametrize("layers", ["two", "0,,1", "5", "-1"])
def test_show_names_bad_layers(run, files, layers):
    before = names(files)
    code, _, err = run("show", files / "net.json", "xor", f"--layers={layers}")
    assert code == 2
    assert "layer" in err
    assert names(files) == before
