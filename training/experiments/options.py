"""Options that several experiments take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from lntheory.errors import InvalidInputError

from ..data import DATASETS

__all__ = ["DataName", "DeviceName", "DryRun", "Epochs", "KeepWeights", "NSamples", "Out", "Resume", "Root",
           "Seeds", "Threads", "integers", "reals"]  # fmt: skip

Number = TypeVar("Number", int, float)

MOST_SEEDS = 1000
"""Of one command: each of them is the whole grid again."""


def _few(seeds: int | None) -> int | None:
    if seeds is not None and seeds > MOST_SEEDS:
        raise InvalidInputError(
            f"--seeds {seeds}: each seed trains the whole grid again; give at most {MOST_SEEDS}"
        )
    return seeds


DataName = Annotated[str, typer.Option("--data", help=", ".join(DATASETS))]
Root = Annotated[str | None, typer.Option(metavar="DIR", help="Folder of the genuine files of the data.")]
NSamples = Annotated[int | None, typer.Option(min=1, help="Only the first so many training samples.")]
Epochs = Annotated[int | None, typer.Option(min=1)]
Seeds = Annotated[
    int | None, typer.Option(min=1, callback=_few, help=f"How many, from 0 on; {MOST_SEEDS} at most.")
]
DeviceName = Annotated[str, typer.Option("--device", help="auto (a GPU if there is one), cpu or cuda.")]
Threads = Annotated[int, typer.Option(min=1, help="CPU threads of the training.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where record, table and figure go.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the grid and its size; train nothing.")]
KeepWeights = Annotated[
    bool, typer.Option("--keep-weights", help="Keep the trained weights of every run, beside the record.")
]


def integers(text: str | None, option: str) -> list[int]:
    """Such as ``1,2,4``.

    Examples
    --------
    >>> integers("1,2,4", "--depths")
    [1, 2, 4]
    """
    return _listed(text, int, f"{option} {text!r}; give whole numbers separated by commas, such as 1,2,4")


def reals(text: str | None, option: str) -> list[float]:
    """Such as ``0.001,0.01``."""
    return _listed(text, float, f"{option} {text!r}; give numbers separated by commas, such as 0.001,0.01")


def _listed(text: str | None, kind: Callable[[str], Number], complaint: str) -> list[Number]:
    if text is None:
        return []
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(complaint) from None
