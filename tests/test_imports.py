"""The house has one direction: rooms import only what stands below them, and the checker not the builder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lntheory
from lntheory import exact, shatter, vc
from tests.imports import PACKAGE, ROOMS, room, sources, violations

FOLDER = Path(lntheory.__file__).parent
CONTRIBUTING = (FOLDER.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_rooms_import_in_one_direction_and_without_circles():
    assert violations(sources(FOLDER)) == []


PLANTED = {
    "at the top": ("lntheory.exact.certificate", "from lntheory import construct\n", "construct"),
    "in a function": (
        "lntheory.network.net",
        "def late():\n    import lntheory.exact.certificate\n",
        "exact",
    ),
    "relative": ("lntheory.base.files", "from ..network import net\n", "network"),
    "of the front": ("lntheory.exact.rational", "import lntheory\n", "front"),
    "of the front's names": ("lntheory.exact.rational", "from lntheory import shatter\n", "front"),
    "unless for type checkers": (
        "lntheory.base.files",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import lntheory.construct\n",
        "construct",
    ),
    "if not": ("lntheory.base.files", "if not TYPE_CHECKING:\n    import lntheory.construct\n", "construct"),
    "by name": ("lntheory.exact.rational", "import_module('lntheory.construct')\n", "construct"),
    "of what stands above": (
        "lntheory.exact.rational",
        "from proofs_checks import registry\n",
        "proofs_checks",
    ),
    "through a package": (
        "lntheory.construct.first_layer",
        "from lntheory.construct.pair_merge.views import Views\n",
        "circle",
    ),
    "beside": ("lntheory.separability", "from lntheory.bounds import least_depth\n", "bounds"),
    "a circle in a room": ("lntheory.base.files", "from lntheory.base import jsonfile\n", "circle"),
    "a room of no order": ("lntheory.attic", "import math\n", "no room"),
}


@pytest.mark.parametrize("how", PLANTED)
def test_a_planted_import_is_found(how):
    module, line, complaint = PLANTED[how]
    planted = sources(FOLDER)
    planted[module] = planted.get(module, "") + "\n" + line
    (found, *_) = violations(planted)
    assert module in found
    assert complaint in found


def test_imports_for_type_checkers_alone_are_allowed():
    modules = sources(FOLDER)
    modules["lntheory.base.files"] += "\nif TYPE_CHECKING:\n    from lntheory.network import LNNet\n"
    assert violations(modules) == []


def test_the_order_is_written_down():
    """In CONTRIBUTING, in the same order; and every folder says in its first lines what it imports."""
    lines = re.findall(r"^\d+\. (`.*)$", CONTRIBUTING, re.MULTILINE)
    listed = [tuple(re.findall(r"`([\w.]+?)/?`", line.split(":")[0])) for line in lines]
    assert listed == [names for names in ROOMS if names != ("__main__",)]
    for path in FOLDER.glob("*/__init__.py"):
        assert re.search(r"\b[Ii]mports? ", path.read_text(encoding="utf-8").split('"""')[1]), path


# --------------------------------------------------------------------------------- the checker at its work

CHECKS = """
import json, sys
import numpy as np
from lntheory import exact
from lntheory.network import LNNet

net, certificate = LNNet.load("net.json"), exact.Certificate.load("certificate.json")
with np.load("data.npz") as data:
    X, y = data["X"], data["y"]
exact.certify(net, X, y)
exact.verify(net, X, y, certificate)
exact.verify_shattering("record.json.gz")
exact.ssr(X, y), exact.lssr(X, y)
print(json.dumps(sorted(name for name in sys.modules if name.split(".")[0] == "lntheory")))
"""
KNOWN = {"errors", "_version", "base", "normalization", "separability", "network", "exact", "__init__"}
"""The rooms that a checker may load; the front of the package brings the float functions with it."""


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """A folder with a net, its data and certificate, and a record of a shattered set."""
    folder = tmp_path_factory.mktemp("evidence")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    net = shatter(X, y, method="pairs")
    net.save(folder / "net.json")
    exact.certify(net, X, y).save(folder / "certificate.json")
    np.savez(folder / "data.npz", X=X, y=y)
    vc.build_lower_bound(1, 2, path=folder / "record.json.gz", n_samples=4, n_jobs=1)
    return folder


def loaded(evidence: Path, root: Path) -> set[str]:
    """The rooms of the package below `root` that are loaded once everything has been checked."""
    done = subprocess.run(
        [sys.executable, "-c", CHECKS],
        cwd=evidence,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {room(name) for name in json.loads(done.stdout)}


def test_the_checker_does_not_know_the_builder(evidence):
    assert loaded(evidence, FOLDER.parent) <= KNOWN


@pytest.mark.parametrize(
    "violation",
    [
        "    import lntheory\n    lntheory.shatter\n",  # a lazy attribute of the front
        "    import lntheory.construct.methods\n",
        "    __import__('importlib').import_module('lntheory.construct')\n",  # that no reader of source sees
    ],
)
def test_a_checker_that_knows_the_builder_is_found_out(evidence, tmp_path, violation):
    shutil.copytree(
        FOLDER, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__", "nn", "plotting")
    )
    path = tmp_path / PACKAGE / "exact" / "certificate.py"
    source = path.read_text(encoding="utf-8")
    first = "    samples = as_exact_samples(X, net.n_features)\n"
    planted = source.replace(first, f"{violation}{first}")
    assert planted != source
    path.write_text(planted, encoding="utf-8")
    assert "construct" in loaded(evidence, tmp_path)
