"""TEMPLATE: the test accuracy of a small net with LN and without. Copy this file for a table of your own.

Claim     what the table is to show: here that LN makes a net without activations more than linear.
Data      scikit-learn's digits (embedded), their true labels.
Device    CPU or GPU.
Versions  in each record, with the hash of the program.
n         3 seeds.

1. Copy this file to ``experiments/my_table.py`` and change `EXPERIMENT`, `PRESETS` and these words.
2. Name it in ``experiments/__init__.py``: ``"my-table": "my_table",``.
3. ``python -m training my-table --preset smoke``.

The record goes to ``out/my-table/``, with the general table (``training/tables/summary.py``) until you write
a page of your own and name it in ``training/tables/__init__.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lntheory.errors import InvalidInputError

from .. import data as datasets
from ..models import MLP
from ..run.config import Data, Optimizer, RunConfig, Schedule, varied
from ..run.grid import Grid, axis
from .conduct import Places, conduct, listing, typed
from .options import DeviceName, DryRun, KeepWeights, Out, Resume

EXPERIMENT = "template"

_BASE = RunConfig(
    data=Data(name="digits"),
    model=MLP(width=32, depth=2),
    optimizer=Optimizer(name="adamw", weight_decay=0.01),
    schedule=Schedule(name="cosine", warmup=1),
    epochs=10,
)

PRESETS = {
    "quick": Grid(
        _BASE,
        ((axis("model.norm", ["none", "ln"]), axis("optimizer.lr", [1e-3, 1e-2]), axis("seed", [0, 1, 2])),),
    ),
    "smoke": Grid(
        varied(_BASE, {"epochs": 1, "data.n_samples": 64}), ((axis("model.norm", ["none", "ln"]),),)
    ),
}


def command(
    context: typer.Context,
    preset: Annotated[str, typer.Option(help=", ".join(PRESETS))] = "quick",
    device: DeviceName = "auto",
    out: Out = Path("out", EXPERIMENT),
    resume: Resume = False,
    keep_weights: KeepWeights = False,
    dry_run: DryRun = False,
) -> int:
    """A small net with LN and without, on digits."""
    if preset not in PRESETS:
        raise InvalidInputError(f"preset {preset!r}; choose one of {', '.join(PRESETS)}")
    grid = PRESETS[preset]
    if dry_run:
        print(listing(grid))
        return 0
    data = grid.base.data
    assert data is not None
    return conduct(
        grid, lambda: datasets.load(data.name, data.root, data.n_samples),
        Places(out, EXPERIMENT, preset, grid.base),
        command=typed(context), device=device, resume=resume, keep_weights=keep_weights,
    )  # fmt: skip
