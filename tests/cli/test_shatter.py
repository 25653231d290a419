"""``lntheory shatter``: what it prints, what it writes, and what it exits with."""

import json
from pathlib import Path

import numpy as np
import pytest

import lntheory
from lntheory import exact
from lntheory.construct import fold_search
from lntheory.data import load_dataset, random_labels
from lntheory.errors import InvalidInputError
from lntheory.network import Layer, LNNet
from tests.cli.files import EVERY_FILE, names
from tests.planar import xor_net


def test_shatter_writes_everything_and_says_so(built_by_hand, run, tmp_path):
    out = tmp_path / "deep" / "xor"
    code, text, err = run("shatter", "xor", "--out", out, "--seed", 3)
    assert code == 0
    assert names(out) == EVERY_FILE
    assert names(out.parent) == ["xor"]
    for expected in ("1 LN layer of width 3", "0 of 4", "smallest margin  at least 0.0", "128 bits",
                     "float64 parameters; plain float64 pass agrees", *EVERY_FILE, str(out)):  # fmt: skip
        assert expected in text
    assert "building" in err
    net = LNNet.load(out / "net.json")
    assert net.provenance["seed"] == 3
    data = load_dataset(out / "data.npz")
    claimed = exact.Certificate.load(out / "certificate.json")
    assert exact.verify(net, data.X, data.y, claimed) == claimed
    assert (
        run("verify", out / "net.json", out / "data.npz", "--certificate", out / "certificate.json")[0] == 0
    )


def test_shatter_json_is_one_object_and_nothing_else(built_by_hand, run, tmp_path):
    code, text, _ = run("shatter", "xor", "--json", "--out", tmp_path / "o", "--method", "projection-merge")
    values = json.loads(text)
    assert code == 0
    assert values["status"] == "proved"
    assert (values["depth"], values["wrong_samples"], values["n_samples"], values["n_classes"]) == (
        1,
        0,
        4,
        2,
    )
    assert values["margin"] > 0
    assert values["precision"] >= 2
    assert values["arithmetic"] == "float64"
    assert values["provenance"]["method"] == "projection-merge"
    assert {Path(p).name for p in values["files"].values()} == set(EVERY_FILE)
    assert all(Path(p).is_file() for p in values["files"].values())


def test_shatter_without_a_place_writes_nothing(built_by_hand, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text, _ = run("shatter", "xor")
    assert code == 0
    assert "--out DIR" in text
    assert not names(tmp_path)


def test_shatter_keeps_foreign_files_and_replaces_its_own(built_by_hand, run, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "net.json").write_text("old")
    assert run("shatter", "xor", "--out", tmp_path)[0] == 0
    assert names(tmp_path) == sorted([*EVERY_FILE, "notes.txt"])
    assert LNNet.load(tmp_path / "net.json") == xor_net()


def test_random_labels_are_those_of_the_library_and_are_stored(run, tmp_path, monkeypatch):
    seen = {}

    def shatter(X, y, *, method, random_state, progress, n_jobs):
        seen.update(y=y, seed=random_state)
        raise InvalidInputError("enough")

    monkeypatch.setattr(lntheory, "shatter", shatter)
    code, _, err = run("shatter", "iris", "--labels", "random", "--seed", 7, "--out", tmp_path / "o")
    assert (code, err.splitlines()[-1]) == (2, "bad input: enough")
    X = load_dataset("iris").X
    assert seen["y"].tolist() == random_labels(X, 3, 7).tolist()
    assert seen["seed"] == 7


def test_a_wrong_net_is_refused_and_nothing_is_written(run, tmp_path, monkeypatch):
    wrong = LNNet(xor_net().layers, xor_net().readout, (1, 0))
    monkeypatch.setattr(lntheory, "shatter", lambda X, y, **_: wrong)
    code, text, err = run("shatter", "xor", "--out", tmp_path / "a" / "b", "--json")
    assert code == 1
    assert "refuted" in err
    assert json.loads(text)["samples"] == [0, 1, 2, 3]
    assert not names(tmp_path)


def test_a_net_without_layers_has_no_pictures(run, tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("a,b,kind\n0,0,no\n1,2,yes\n")
    linear = LNNet([], Layer([[1.0, 0.0]], [-0.5]), ["no", "yes"])
    monkeypatch.setattr(lntheory, "shatter", lambda X, y, **_: linear)
    code, text, _ = run("shatter", tmp_path / "x.csv", "--label", "kind", "--out", tmp_path / "o")
    assert code == 0
    assert names(tmp_path / "o") == ["certificate.json", "data.npz", "net.json"]
    assert "no LN layer was needed" in text
    assert run("verify", tmp_path / "o" / "net.json", tmp_path / "x.csv", "--label", "kind")[0] == 0


def test_the_place_for_results_is_checked_before_the_work(run, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setattr(lntheory, "shatter", lambda *_, **__: pytest.fail("worked for nothing"))
    code, _, err = run("shatter", "xor", "--out", tmp_path / "taken")
    assert code == 2
    assert "taken is a file" in err
    code, _, err = run("shatter", "xor", "--out", tmp_path / "taken" / "below")
    assert code == 2
    assert "taken" in err


@pytest.mark.parametrize("method", ["minority-merge", "projection-merge"])
def test_the_whole_way_with_the_real_construction(run, tmp_path, method):
    """A CSV with random labels: built, certified, written, proved again from the files, drawn."""
    rows = np.random.default_rng(0).normal(size=(14, 2)).tolist()
    (tmp_path / "x.csv").write_text(
        "a,b,kind\n" + "".join(f"{a},{b},{k % 3}\n" for k, (a, b) in enumerate(rows))
    )
    out = tmp_path / "out"
    arguments = ["--label", "kind", "--labels", "random", "--seed", "5", "--method", method]
    code, text, _ = run("shatter", tmp_path / "x.csv", *arguments, "--out", out, "--json")
    values = json.loads(text)
    assert code == 0
    assert (values["status"], values["wrong_samples"], values["width"]) == ("proved", 0, 3)
    assert names(out) == EVERY_FILE
    assert load_dataset(out / "data.npz").y.tolist() == random_labels(rows, 3, 5).tolist()
    files = [out / "net.json", out / "data.npz"]
    assert run("verify", *files, "--certificate", out / "certificate.json")[0] == 0
    assert run("shatter", tmp_path / "x.csv", *arguments, "--out", tmp_path / "again")[0] == 0
    for name in EVERY_FILE:  # same seed, same bytes
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert run("shatter", tmp_path / "x.csv", "--label", "kind", "--method", "magic")[0] == 2


def random_csv(path, m):
    rows = np.random.default_rng(0).normal(size=(m, 2)).tolist()
    path.write_text("a,b,kind\n" + "".join(f"{a},{b},{k % 2}\n" for k, (a, b) in enumerate(rows)))
    return [path, "--label", "kind"]


def test_the_default_says_what_it_tried(run, tmp_path, monkeypatch):
    code, text, _ = run("shatter", "xor")
    assert code == 0
    assert "pairs 1, not fold: affine scores were tried; took pairs" in text
    monkeypatch.setattr(fold_search, "STEPS", 2000)
    data = random_csv(tmp_path / "x.csv", 24)
    values = json.loads(run("shatter", *data, "--budget", 120, "--json")[1])
    tried, units = values["provenance"]["tried"], values["provenance"]["units"]
    assert values["depth"] == tried["fold"] < tried["pairs"]
    assert 0 < units <= 120 == values["provenance"]["budget"]
    text = run("shatter", *data, "--budget", 120)[1]
    line = next(line for line in text.splitlines() if line.startswith("tried"))
    assert f"pairs {tried['pairs']}, fold {tried['fold']} ({units} units of 120, " in line
    assert line.endswith("; took fold")
    assert not any(line.startswith("tried") for line in run("shatter", *data, "--method", "pairs")[1].split())


def test_a_time_limit_leaves_what_was_found(run, tmp_path):
    data = random_csv(tmp_path / "x.csv", 24)
    code, text, _ = run("shatter", *data, "--time-limit", 1e-9)
    assert code == 0
    assert "fold no shallower net (0 units of 32, 1 run); took pairs" in text
    for limit in (0, -1, "nan"):
        assert run("shatter", *data, f"--time-limit={limit}")[0] == 2
    assert run("shatter", *data, "--time-limit", 5, "--method", "pairs")[0] == 2
