"""Sphinx: ``make docs`` builds the site in docs/_build/html."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import lntheory

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import claims_page  # noqa: E402  (beside this file)

project = "lntheory"
author = "The lntheory authors"
release = version = lntheory.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
html_theme = "furo"
html_title = f"lntheory {release}"
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 2
smartquotes = False  # a prime is a transpose here
suppress_warnings = ["ref.python"]  # ... such as `depth`, which several classes have
default_role = "py:obj"  # single backticks name things; what is no object of ours stays code
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_use_ivar = True

CLAIMS = HERE / "_build" / "claims.json"
"""What ``python -m proofs_checks --json`` printed: the page says what was proved, not what should be."""


def generate(app: object) -> None:
    """Pages that are made of something else: the claims, the notebooks."""
    if not CLAIMS.exists():
        raise SystemExit(f"{CLAIMS} is missing: `make docs` writes it by `python -m proofs_checks --json`")
    generated = HERE / "_generated"
    generated.mkdir(exist_ok=True)
    report = json.loads(CLAIMS.read_text(encoding="utf-8"))
    (generated / "claims.md").write_text(claims_page.page(report), encoding="utf-8")
    for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, generated)


def fences_to_literal_blocks(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Drawings stand between fences in docstrings, which reStructuredText does not know."""
    text = re.sub(
        r"^( *)```\n(.*?)^ *```$",
        lambda fence: f"{fence[1]}::\n\n" + re.sub(r"^(?=.)", "    ", fence[2], flags=re.MULTILINE),
        "\n".join(lines) + "\n",
        flags=re.MULTILINE | re.DOTALL,
    )
    lines[:] = text.split("\n")


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", generate)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", fences_to_literal_blocks, priority=100)  # type: ignore[attr-defined]
