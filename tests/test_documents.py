"""What README and docs say is run as it stands: code, commands, hashes."""

import doctest
import io
import re
import shlex
from contextlib import redirect_stdout
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lntheory
from lntheory import exact, plotting
from lntheory.cli import main
from lntheory.data import Dataset, save_dataset
from lntheory.network import Layer, LNNet

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FORMATS = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(code):
    """The names that a block defines, and what it prints."""
    names, printed = {}, io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "document", "exec"), names)
    return names, printed.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(net, X, y):
    net.save("net.json")
    save_dataset(Dataset(X, y, "test"), "data.npz")


# ------------------------------------------------------------------------------------------------ README


@pytest.fixture
def session(folder):
    """The Python session of the README, run in an empty folder."""
    (text,) = blocks(README, "pycon")
    test = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert (runner.failures, runner.tries) == (0, len(test.examples))
    assert runner.tries >= 8
    return folder


def test_the_python_session(session):
    assert sorted(path.name for path in session.iterdir()) == ["certificate.json", "data.npz", "net.json"]


def test_a_net_is_checked_with_nothing_of_ours(session):
    (code,) = (block for block in blocks(README, "python") if "mpmath" in block)
    assert "lntheory" not in code
    assert run(code)[1] == "proved: all 40 labels are right\n"


@pytest.mark.parametrize("damage", ["label", "weight", "tie"])
def test_that_check_fails_where_it_should(session, damage):
    (code,) = (block for block in blocks(README, "python") if "mpmath" in block)
    net = LNNet.load("net.json")
    with np.load("data.npz") as data:
        X, y = data["X"], data["y"]
    if damage == "label":
        y[7] = 1 - y[7]
    elif damage == "weight":
        weight = np.array(net.layers[1].weight)
        weight[0] *= -1
        layers = (net.layers[0], Layer(weight, net.layers[1].bias), *net.layers[2:])
        net = LNNet(layers, net.readout, net.classes)
    else:
        net = LNNet(net.layers, Layer(np.zeros((2, 3)), [1, 1]), net.classes)
    write(net, X, y)
    with pytest.raises(AssertionError, match="not proved for"):
        run(code)


def test_that_check_reads_wide_parameters(folder):
    (code,) = (block for block in blocks(README, "python") if "mpmath" in block)
    first = Layer([[1], [0], [Fraction(1, 2**80)]], [0, 0, 1])
    net = LNNet([first], Layer([[1, -1, 0]], [Fraction(-(3**50), 2**200)]), ["low", "high"])
    assert net.arithmetic == "dyadic"
    X = np.array([[-2.0], [3.0]])
    write(net, X, net.predict(X))
    assert run(code)[1] == "proved: all 2 labels are right\n"


def test_the_commands(folder, monkeypatch, capsys):
    monkeypatch.setattr(plotting, "save_pictures", partial(plotting.save_pictures, max_frames=2, size=150))
    rows = [f"{a},{b},{'setosa' if (a * b) % 3 else 'virginica'}" for a in range(4) for b in range(3)]
    Path("data.csv").write_text("\n".join(["length,width,species", *rows]))
    (text,) = (block for block in blocks(README, "sh") if "shatter" in block)
    commands = [shlex.split(line) for line in text.splitlines()]
    assert {command[1] for command in commands} == {"shatter", "verify", "ssr", "show"}
    for program, *arguments in commands:
        assert program == "lntheory"
        assert main(arguments) == 0, capsys.readouterr().err
    assert {path.name for path in Path("out/mine").iterdir()} == {
        "net.json", "certificate.json", "data.npz", "layers.png", "runs.png", "animation.gif",
    }  # fmt: skip


def test_the_files_that_the_readme_shows_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 300_000


def test_every_public_name_of_the_table_exists():
    table = README[README.index("| you ask |") : README.index("A float64 is the rational")]
    names = set(re.findall(r"`((?:exact\.)?[a-z_]+)`", table))
    assert len(names) > 8
    for name in names:
        module, _, verb = name.rpartition(".")
        assert hasattr(getattr(lntheory, module) if module else lntheory, verb), name


# ---------------------------------------------------------------------------------------------- hashes

LABELS = {
    "text": ["é", "b", 'quo"te', "\U0001f600"],
    "integer": [3, -1, 0, 3],
    "float": [0.5, 1.0, -1e-7, 1e22],
    "boolean": [True, False, True, True],
}


@pytest.mark.parametrize("kind", LABELS)
def test_the_hash_of_data_as_defined(folder, kind):
    y = np.array(LABELS[kind])
    X = np.array([[0.1, -0.0], [5e-324, 1e308], [1.0, 2.0], [3.0, -1 / 3]])
    save_dataset(Dataset(X, y, kind), "data.npz")
    code = next(block for block in blocks(FORMATS, "python") if "data_sha256" in block)
    assert "lntheory" not in code
    assert run(code)[0]["data_sha256"] == exact.data_sha256(X, y)


@pytest.mark.parametrize("wide", [False, True])
def test_the_hash_of_a_net_as_defined(folder, wide):
    small = Fraction(1, 2**80) if wide else 1e-7
    layers = [Layer([[1, -0.0], [0.1, 0], [1e22, 7]], [0, small, 1])]
    net = LNNet(layers, Layer([[1, -1, 0]], [0]), ["é", "b"], provenance={"seed": 3, "method": "by hand"})
    net.save("net.json")
    code = next(block for block in blocks(FORMATS, "python") if "net_sha256" in block)
    assert "lntheory" not in code
    assert run(code)[0]["net_sha256"] == net.sha256


def test_the_fields_of_a_certificate_are_documented():
    net = LNNet([], Layer([[1.0]], [0.0]), [0, 1])
    fields = exact.certify(net, [[-1.0], [1.0]], [0, 1]).to_dict()
    documented = FORMATS[FORMATS.index("## A certificate") : FORMATS.index("## CSV")]
    for name in fields:
        assert f'`"{name}"`' in documented, name
