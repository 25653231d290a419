"""``lntheory ssr``: separability in float64 and exactly."""

import json
from fractions import Fraction

import numpy as np

import lntheory
from lntheory import exact
from lntheory.data import load_dataset


def test_ssr_of_decimals_and_of_doubles(run, tmp_path):
    """XOR with the column of sums: LSSR 1 as written, 0 as the doubles that the decimals become."""
    path = tmp_path / "xor.csv"
    path.write_text("a,b,s,kind\n.1,.1,.2,e\n.7,.7,1.4,e\n.1,.7,.8,o\n.7,.1,.8,o\n")
    code, text, _ = run("ssr", path, "--label", "kind", "--json")
    values = json.loads(text)
    assert code == 0
    overall = values["overall"]
    assert overall["as_written"]["lssr"]["fraction"] == "1"
    assert overall["doubles"]["lssr"]["fraction"] == "0"
    assert [entry["class"] for entry in values["by_class"]] == ["e", "o"]
    code, text, _ = run("ssr", path, "--label", "kind")
    assert code == 0
    assert "as written" in text


def test_ssr_by_class_agrees_with_the_library(run):
    code, text, err = run("ssr", "iris", "--json")
    values = json.loads(text)
    assert code == 0
    assert "computing" in err
    data = load_dataset("iris")
    for entry, y in [(values["overall"], data.y.tolist())] + [
        (entry, [v == entry["class"] for v in data.y.tolist()]) for entry in values["by_class"]
    ]:
        assert entry["float64"]["ssr"] == lntheory.ssr(data.X, y)
        assert entry["float64"]["lssr"] == lntheory.lssr(data.X, y)
        ssr, lssr = exact.ssr(data.X, y), exact.lssr(data.X, y)
        assert Fraction(entry["doubles"]["ssr"]["lower"]) <= ssr <= Fraction(entry["doubles"]["ssr"]["upper"])
        printed = entry["doubles"]["lssr"]
        bounds = (lssr, lssr) if isinstance(lssr, Fraction) else (lssr.lower, lssr.upper)
        assert Fraction(printed["lower"]) <= bounds[0] <= bounds[1] <= Fraction(printed["upper"])
        assert printed["rational"] == isinstance(lssr, Fraction)
    assert [entry["class"] for entry in values["by_class"]] == [0, 1, 2]


def test_ssr_passes_warnings_on(run, tmp_path):
    """A column all but dependent: float64 has to decide the rank, and the command says that it did."""
    X = np.column_stack([np.arange(6.0), np.arange(6.0) + [0, 0, 1e-13, 0, 0, 0]])
    np.savez(tmp_path / "x.npz", X=X, y=np.array([0, 1, 0, 1, 0, 1]))
    code, text, err = run("ssr", tmp_path / "x.npz", "--json")
    values = json.loads(text)
    assert code == 0
    assert any(warning.startswith("all classes: ") for warning in values["warnings"])
    assert "Warning" not in err
