"""The command ``python -m training``, or ``lntheory train``: experiments, and tables of their records.

Exit codes are those of `lntheory.base.terminal`. Tables go to standard output, progress and errors to
standard error. Torch is imported only where nets are trained: ``--help``, ``--dry-run``, ``tables`` and
``data-info`` do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lntheory.base.terminal import ExitCode, run

from . import data as datasets
from .experiments import EXPERIMENTS, experiment
from .run.record import read_records
from .tables import page_of, write_tables

__all__ = ["RECORDS", "app", "application", "interrupted", "main"]

RECORDS = Path(__file__).parent / "records"
"""The records that come with the project, all of real runs."""


def tables(
    records: Annotated[
        list[Path] | None,
        typer.Argument(help="Record files, or folders of them; by default those that come with the project."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where tables and figures go.")] = Path(
        "out", "tables"
    ),
) -> int:
    """Rebuild every table (markdown and CSV) and figure from records alone."""
    read = read_records(records or [RECORDS])
    written = write_tables(read, out)
    for record in read:
        print(page_of(record.experiment).section(record))
    print("\n".join(f"wrote {path}" for path in written))
    return ExitCode.DONE


def data_info(
    name: Annotated[str, typer.Argument(help=", ".join(datasets.DATASETS))],
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Folder of its files.")] = None,
) -> int:
    """Read a data set, check its files, and say what it is."""
    images = datasets.load(name, root)
    n_test = 0 if images.test is None else len(images.test)
    shape = " x ".join(map(str, images.shape))
    print(f"{name}: {images.origin}")
    print(f"train {len(images.train):,}, test {n_test:,}, shape {shape}, {images.n_classes} classes")
    print(f"SHA-256 {images.sha256}")
    return ExitCode.DONE


def application() -> typer.Typer:
    """The commands: one for each experiment that is registered, and those that need none."""
    made = typer.Typer(
        name="python -m training",
        help="Training of linear networks with normalization: experiments, records, tables.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name in EXPERIMENTS:
        made.command(name)(experiment(name).command)
    made.command()(tables)
    made.command("data-info")(data_info)
    return made


app = application()
"""What ``lntheory train`` runs."""


def interrupted(arguments: Sequence[str]) -> str:
    """What an interruption leaves, in words."""
    training = bool(arguments) and arguments[0] in EXPERIMENTS
    return "the same command with --resume goes on" if training else "nothing was written"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Examples
    --------
    >>> main(["data-info", "digits"])  # doctest: +ELLIPSIS
    digits: scikit-learn's digits (8 x 8), embedded; our own split into train and test
    train 1,438, test 359, shape 1 x 8 x 8, 10 classes
    SHA-256 a38298fecb39c397...
    0
    """
    return run(app, "python -m training", argv, interrupted=interrupted)
