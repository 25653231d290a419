"""One version, and what a wheel holds: no top-level name but ours. `make package` builds and tries it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lntheory import __version__

ROOT = Path(__file__).parent.parent


def test_the_version_is_that_of_citation_and_changelog():
    cited = re.search(
        r"^version: (.*)\ndate-released: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE
    )
    latest = re.search(r"^## (\d\S*) - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited.groups() == latest.groups()
    assert latest[1] == __version__


def test_all_packages_are_installed_inside_ours(tmp_path):
    """Every folder with modules, under its name in a checkout or, for the two beside lntheory, inside it."""
    pytest.importorskip("setuptools", minversion="77")
    (tmp_path / "recorded.py").write_text(
        "import runpy, setuptools; setuptools.setup = lambda **given: print(*given['packages']); "
        "runpy.run_path('setup.py')"
    )
    command = [sys.executable, tmp_path / "recorded.py"]
    installed = set(
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    )
    assert {name.partition(".")[0] for name in installed} == {"lntheory"}
    for top, prefix in (("lntheory", ""), ("proofs_checks", "lntheory."), ("training", "lntheory.")):
        folders = {path.parent.relative_to(ROOT) for path in (ROOT / top).rglob("*.py")}
        assert {prefix + ".".join(folder.parts) for folder in folders} <= installed
