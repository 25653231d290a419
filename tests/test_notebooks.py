"""Notebooks: stored without results, run by nbmake where the `notebooks` extra is installed."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

needs_jupyter = pytest.mark.skipif(
    find_spec("nbmake") is None or find_spec("ipywidgets") is None,
    reason="running notebooks needs the notebooks extra: pip install -e '.[notebooks]'",
)


def code_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run(path):
    """nbmake in a pytest of its own, without this project's settings."""
    command = [sys.executable, "-m", "pytest", "--nbmake", "-q", "-c", os.devnull, "-p", "no:cacheprovider"]
    return subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=path.parent, check=False)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_results_and_compiles(path):
    for cell in code_cells(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        lines = "".join(cell["source"]).splitlines()
        compile("\n".join(line for line in lines if not line.startswith("%")), path.name, "exec")


@needs_jupyter
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path):
    result = run(path)
    assert result.returncode == 0, result.stdout + result.stderr


@needs_jupyter
def test_a_false_one_does_not(tmp_path):
    text = NOTEBOOKS[0].read_text(encoding="utf-8")
    false = text.replace("assert exact.lssr(X, y) == 1", "assert exact.lssr(X, y) == 2")
    assert false != text
    (tmp_path / "false.ipynb").write_text(false, encoding="utf-8")
    assert run(tmp_path / "false.ipynb").returncode == 1
