"""The application: bad input, interruption, and what starting up imports."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lntheory
from tests.cli.files import names


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
    plotting.save_pictures = ready
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


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["ssr", "xor"], ["vc"]])
def test_starting_up_imports_no_more_than_it_needs(arguments):
    code = (
        f"import sys; from lntheory.cli import main; main({arguments!r}); "
        "unneeded = ('matplotlib', 'sklearn', 'torch', 'PIL', 'lntheory.construct', 'proofs_checks'); "
        "print([name for name in unneeded if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
