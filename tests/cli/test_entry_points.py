"""Commands of other packages: listed unseen, run like our own, and named where they are broken."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lntheory.cli.entry_points import GROUP, load_command
from lntheory.errors import MissingDependencyError

ROOT = Path(__file__).parent.parent.parent

MODULE = '''
import sys, time
import typer
from lntheory.base.terminal import ExitCode, Report, progress_bar
from lntheory.errors import RefutedError, UndecidedError

def double(context: typer.Context, number: int, as_json: bool = typer.Option(False, "--json")) -> Report:
    """Twice a number."""
    if number < 0:
        raise RefutedError("a negative number", [number])
    if number == 0:
        print("READY", file=sys.stderr, flush=True)
        time.sleep(60)
    return Report({"twice": 2 * number, "arguments": context.obj}, [("twice", str(2 * number))], as_json)

def interrupted(arguments):
    return f"{' '.join(arguments)} may be called again"

app = typer.Typer(add_completion=False)

@app.command()
def first() -> int:
    """The first of two."""
    print("first")
    return ExitCode.UNDECIDED

@app.command()
def second() -> None:
    """The second of two."""

number = 3
'''

COMMANDS = """
[lntheory.commands]
double = numbers_of_mine:double
several = numbers_of_mine:app
broken = numbers_of_mine.missing:double
absent = numbers_of_mine:triple
three = numbers_of_mine:number
shatter = numbers_of_mine:double
"""


@pytest.fixture
def environment(tmp_path):
    """Where a package with commands is installed."""
    (tmp_path / "numbers_of_mine.py").write_text(MODULE)
    information = tmp_path / "numbers_of_mine-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: numbers-of-mine\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(COMMANDS)
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}


@pytest.fixture
def lntheory(environment):
    """Run the command in a process; exit code, standard output, standard error."""

    def lntheory(*arguments):
        command = [sys.executable, "-m", "lntheory", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert "Traceback" not in result.stderr
        return result.returncode, result.stdout, result.stderr

    return lntheory


def test_help_lists_them_and_imports_none(environment):
    code = (
        "import sys; from lntheory.cli import main; main(['--help']); main(['ssr', 'xor']); "
        "print([m for m in ('numbers_of_mine', 'proofs_checks', 'training', 'torch') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    for expected in ("double", "several", "From the package numbers_of_mine", "Build a width-3 LN-Net"):
        assert expected in result.stdout
    assert result.stdout.splitlines()[-1] == "[]"


def test_they_run_like_our_own(lntheory):
    assert lntheory("double", "4")[:2] == (0, "twice  8\n")
    values = {"twice": 8, "arguments": ["4", "--json"]}
    assert json.loads(lntheory("double", "4", "--json")[1]) == values
    assert lntheory("double", "--", "-1")[0] == 1
    assert lntheory("double", "four")[0] == 2
    assert "Twice a number." in lntheory("double", "--help")[1]
    assert lntheory("several", "first")[:2] == (3, "first\n")
    assert lntheory("several", "second")[0] == 0
    assert "The second of two." in lntheory("several", "--help")[1]


def test_a_command_of_ours_is_not_replaced(lntheory):
    assert "Build a width-3 LN-Net" in lntheory("shatter", "--help")[1]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("broken", "numbers_of_mine.missing:double", "No module named 'numbers_of_mine.missing'"),
        ("absent", "numbers_of_mine:triple", "has no attribute 'triple'"),
        ("three", "numbers_of_mine:number", "it is int, not a typer application or a function"),
    ],
)
def test_a_broken_one_is_named(lntheory, name, value, why):
    code, text, err = lntheory(name)
    assert (code, text) == (2, "")
    for expected in (
        f"the command '{name}' ({value}) cannot be used",
        why,
        "install the package 'numbers-of-mine'",
    ):
        assert expected in err
    assert lntheory("--help")[0] == 0


def test_they_say_what_an_interruption_leaves(environment):
    command = [sys.executable, "-m", "lntheory", "double", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stderr:
            if line.startswith("READY"):
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=50)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted: interrupted; 0 may be called again"


def registered():
    """The commands of the packages beside lntheory."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["entry-points"][GROUP]


def test_prove_and_train_are_registered():
    assert set(registered()) >= {"prove", "train"}


@pytest.mark.parametrize("name", registered())
def test_the_project_s_own_entry_points_lead_to_commands(name):
    command = load_command(EntryPoint(name, registered()[name], GROUP))
    assert command.main(["--help"], prog_name=f"lntheory {name}", standalone_mode=False) in (None, 0)


def test_an_error_of_ours_says_which_entry_point():
    with pytest.raises(MissingDependencyError, match=r"'gone' \(no_such_module:x\).*no_such_module"):
        load_command(EntryPoint("gone", "no_such_module:x", GROUP))
