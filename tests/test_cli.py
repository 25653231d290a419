"""The command line: what it prints, what it writes, and what it exits with, good and bad."""

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lntheory
from lntheory import exact, plotting
from lntheory.cli import main
from lntheory.construct import fold_search
from lntheory.data import load_dataset, random_labels
from lntheory.errors import InvalidInputError, UndecidedError
from lntheory.network import Layer, LNNet
from tests.planar import XOR_X, XOR_Y, xor_net

EVERY_FILE = ["animation.gif", "certificate.json", "data.npz", "layers.png", "net.json", "runs.png"]


@pytest.fixture(autouse=True)
def short_animations(monkeypatch):
    """Frames are the slow part, and tests/test_plotting.py looks at them."""
    short = partial(plotting.save_animation, max_frames=2, size=150)
    monkeypatch.setattr(plotting, "save_animation", short)


@pytest.fixture
def built_by_hand(monkeypatch):
    """Stands in for the construction, so that these tests are of the command alone."""

    def shatter(X, y, *, method, random_state, progress, n_jobs=1):
        assert np.array_equal(X, XOR_X)
        assert n_jobs == (os.cpu_count() if method == "auto" else 1)
        progress(1, 1)
        return xor_net(provenance={"method": method, "seed": random_state, "merges": [[0, 3]]})

    monkeypatch.setattr(lntheory, "shatter", shatter)


@pytest.fixture
def run(capsys):
    """Run the command; exit code, standard output, standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def files(tmp_path):
    """net.json, data.npz, certificate.json of XOR."""
    net = xor_net()
    net.save(tmp_path / "net.json")
    np.savez(tmp_path / "data.npz", X=XOR_X, y=XOR_Y)
    exact.certify(net, XOR_X, XOR_Y).save(tmp_path / "certificate.json")
    return tmp_path


def names(directory):
    return sorted(path.name for path in directory.iterdir())


# ------------------------------------------------------------------------------------------------ shatter


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
    told = json.loads(run("shatter", *data, "--budget", 120, "--json")[1])
    tried, units = told["provenance"]["tried"], told["provenance"]["units"]
    assert told["depth"] == tried["fold"] < tried["pairs"]
    assert 0 < units <= 120 == told["provenance"]["budget"]
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


# ------------------------------------------------------------------------------------------------- verify


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


# ---------------------------------------------------------------------------------------------------- ssr


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
        found = entry["doubles"]["lssr"]
        bounds = (lssr, lssr) if isinstance(lssr, Fraction) else (lssr.lower, lssr.upper)
        assert Fraction(found["lower"]) <= bounds[0] <= bounds[1] <= Fraction(found["upper"])
        assert found["rational"] == isinstance(lssr, Fraction)
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


# --------------------------------------------------------------------------------------------------- show


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


# -------------------------------------------------------------------------------------------- bad input, --


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["shatter", "nothing.csv", "--label", "y"], "nothing.csv: No such file"),
        (["shatter", "mnist"], "'mnist' is no data"),
        (["shatter", "bad.csv", "--label", "y"], "bad.csv, line 3, column 'a': 'two'"),
        (["shatter", "bad.csv"], "--label"),
        (["ssr", "bad.npz"], "bad.npz is not an .npz archive"),
        (["ssr", "same.csv", "--label", "y"], "coincide"),
        (["verify", "nothing.json", "xor"], "nothing.json: No such file"),
        (["verify", "bad.csv", "xor"], "bad.csv"),
        (["show", "bad.csv"], "bad.csv"),
        (["shatter"], "Missing argument"),
        (["shatter", "xor", "--labels", "odd"], "--labels"),
        (["shatter", "xor", "--seed", "-1"], "--seed"),
        (["shatter", "xor", "--nonsense"], "--nonsense"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_input_exits_2_with_one_message(run, tmp_path, monkeypatch, arguments, fragment):
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("a,y\n1,x\ntwo,x\n")
    Path("same.csv").write_text("a,y\n1,x\n1,x\n")
    Path("bad.npz").write_text("no archive")
    before = names(tmp_path)
    code, text, err = run(*arguments)
    assert code == 2
    assert text == ""
    assert fragment in err
    assert names(tmp_path) == before


def test_bad_input_as_json(run):
    code, text, err = run("shatter", "mnist", "--json")
    values = json.loads(text)
    assert (code, values["status"], values["exit_code"]) == (2, "bad input", 2)
    assert values["message"] in err


def test_version_and_help(run):
    assert run("--version")[:2] == (0, f"lntheory {lntheory.__version__}\n")
    for arguments in (["--help"], ["shatter", "--help"], ["ssr", "--help"], ["show", "--help"]):
        code, text, _ = run(*arguments)
        assert code == 0
        assert "Usage" in text


# -------------------------------------------------------------------------------------------- as a process

_SLOW = """
import sys, time, lntheory
from lntheory import cli, exact, plotting
from tests.planar import xor_net
def ready(*_, **__):
    print("READY", file=sys.stderr, flush=True)
    time.sleep(60)
def shatter(X, y, **_):
    {in_shatter}
    return xor_net()
lntheory.shatter = shatter
if {in_pictures}:
    plotting.save_animation = ready
sys.exit(cli.main(sys.argv[1:]))
"""


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


@pytest.mark.parametrize("where", ["in_shatter", "in_pictures"])
def test_ctrl_c_leaves_no_half_file(tmp_path, where):
    """Interrupted while building, and while drawing, when net, certificate and data are already written."""
    code = _SLOW.format(
        in_shatter="ready()" if where == "in_shatter" else "pass", in_pictures=where == "in_pictures"
    )
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "net.json").write_text("old")
    for out in (tmp_path / "kept", tmp_path / "new" / "place"):
        with start(code, "shatter", "xor", "--out", out) as process:
            for line in process.stderr:
                if line.startswith("READY"):
                    break
            if where == "in_pictures":  # the net is there, beside its place
                assert list(out.parent.glob(".*/net.json"))
            process.send_signal(signal.SIGINT)
            text, err = process.communicate(timeout=50)
        assert process.returncode == 130
        assert text == ""
        assert "Traceback" not in err
        assert "interrupted" in err
    assert names(tmp_path) == ["kept"]
    assert names(tmp_path / "kept") == ["net.json"]
    assert (tmp_path / "kept" / "net.json").read_text() == "old"


def test_python_m_lntheory():
    result = subprocess.run(
        [sys.executable, "-m", "lntheory", "ssr", "xor", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout)["overall"]["doubles"]["lssr"]["fraction"] == "1"


def test_a_reader_that_goes_away_is_no_error():
    with start("from lntheory.cli import main; import sys; sys.exit(main(['ssr', 'xor']))") as process:
        process.stdout.close()
        assert process.wait(timeout=50) == 0
        assert "Traceback" not in process.stderr.read()


def test_starting_up_imports_no_more_than_it_needs():
    code = (
        "import sys, lntheory.cli; "
        "print([m for m in ('matplotlib', 'sklearn', 'sympy', 'torch', 'PIL') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------------- export


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


# ----------------------------------------------------------------------------------------------------- vc


def test_vc_prints_all_three_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    from lntheory import vc

    assert main(["vc", "--depth", "3", "--dim", "1", "--json"]) == 0
    bounds = json.loads(capsys.readouterr().out)["bounds"]
    assert bounds == [
        {
            "depth": at,
            "lower_bound": vc.lower_bound(at, 1),
            "paper_lower_bound": at + 2 if at else None,
            "upper_bound": vc.upper_bound(at, 1),
        }
        for at in range(4)
    ]
    assert main(["vc", "--depth", "3"]) == 0
    assert "VC dimension on R^2" in capsys.readouterr().out


def test_vc_builds_a_record_and_proves_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = str(tmp_path / "record.json.gz")
    assert main(["vc", "--depth", "1", "--build", record, "--jobs", "1", "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    assert main(["vc", "--verify", record, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == built
    assert (built["n_samples"], built["depth"], built["n_nets"]) == (6, 1, 32)
    assert main(["vc", "--verify", record, "--build", record]) == 2
    Path(record).write_bytes(b"no gzip")
    assert main(["vc", "--verify", record]) == 2
    assert "corrupt or truncated" in capsys.readouterr().err
