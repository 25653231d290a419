"""The command ``python -m training``: experiments, and tables of their records.

Exit codes: 0 done, 1 refuted (a certificate could not be proved), 2 bad input, 3 undecided, 130 interrupted.
Tables go to standard output, progress and errors to standard error. Torch is imported only where nets are
trained: ``--help``, ``--dry-run``, ``tables`` and ``data-info`` do without.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from lntheory.errors import InvalidInputError, LNTheoryError, RefutedError, UndecidedError
from lntheory.files import replaced_file
from training import data as datasets
from training.config import PRECISIONS, Grid, RunConfig
from training.figures import figure
from training.progress import progress_bar
from training.random_labels import CERTIFIED_SAMPLES, EXPERIMENT, planned_grid, run_experiment
from training.records import Record, read_records, record_name, write_record
from training.tables import markdown, write_tables

__all__ = ["main"]

Number = TypeVar("Number", int, float)

DONE, REFUTED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130

RECORDS = Path(__file__).parent / "records"
"""The records that come with the project, all of real runs."""

MOST_SEEDS = 1000
"""Of one command: each of them is the whole grid again."""

app = typer.Typer(
    name="python -m training",
    help="Training of linear networks with normalization: experiments, records, tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        result = typer.main.get_command(app).main(
            arguments, prog_name="python -m training", standalone_mode=False, obj=arguments
        )
        if result == INTERRUPTED:  # what newer versions of typer make of KeyboardInterrupt
            raise KeyboardInterrupt
        sys.stdout.flush()
        return int(result or 0)
    except BrokenPipeError:  # whoever was reading has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except _USAGE_ERROR as error:
        error.show()
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        training = arguments[:1] == [EXPERIMENT]
        goes_on = "; the same command with --resume goes on" if training else "; nothing was written"
        return _fail(INTERRUPTED, f"interrupted{goes_on}")
    except RefutedError as error:
        return _fail(REFUTED, f"refuted: {error}")
    except UndecidedError as error:
        return _fail(UNDECIDED, f"undecided: {error}")
    except (LNTheoryError, ImportError) as error:
        return _fail(BAD_INPUT, f"bad input: {error}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(BAD_INPUT, f"bad input: {where}{error.strerror or error}")


_USAGE_ERROR: Any = typer.BadParameter.__base__  # of whichever parser this version of typer brings


def _fail(code: int, message: str) -> int:
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(message)
    return code


def _numbers(text: str | None, option: str) -> list[int]:
    """Such as ``1,2,4``."""
    return _listed(text, int, f"{option} {text!r}; give whole numbers separated by commas, such as 1,2,4")


def _rates(text: str | None, option: str) -> list[float]:
    """Such as ``0.001,0.01``."""
    return _listed(text, float, f"{option} {text!r}; give numbers separated by commas, such as 0.001,0.01")


def _listed(text: str | None, kind: Callable[[str], Number], complaint: str) -> list[Number]:
    if text is None:
        return []
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(complaint) from None


@app.command("random-labels")
def random_labels(
    context: typer.Context,
    preset: Annotated[
        str, typer.Option(help="quick (minutes on two CPU cores) or paper (256 wide, 150 epochs; for a GPU).")
    ] = "quick",
    data: Annotated[str, typer.Option(help=", ".join(datasets.DATASETS))] = "digits",
    root: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of the genuine files of the data.")
    ] = None,
    n_samples: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many training samples.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    width: Annotated[int | None, typer.Option(min=1, help="Neurons a layer.")] = None,
    depths: Annotated[str | None, typer.Option(metavar="N,N,...", help="Norm layers of the nets.")] = None,
    groups: Annotated[str | None, typer.Option(metavar="N,N,...", help="Numbers of groups of LN-G.")] = None,
    net_rates: Annotated[
        str | None, typer.Option(metavar="X,X,...", help="Learning rates of the nets.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help=f"How many, from 0 on; {MOST_SEEDS} at most.")
    ] = None,
    label_seed: Annotated[int | None, typer.Option(min=0, help="Seed of the labels.")] = None,
    precision: Annotated[str | None, typer.Option(help=", ".join(PRECISIONS))] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of the training.")] = 1,
    certified_samples: Annotated[
        int, typer.Option(min=0, help="Build the certified net for at most so many samples; 0: none.")
    ] = CERTIFIED_SAMPLES,
    ceiling_seconds: Annotated[
        float, typer.Option(min=0, help="Search so long for proofs against linear classifiers; 0: none.")
    ] = 60.0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where record, table and figure go.")] = Path(
        "out", EXPERIMENT
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the grid and its size; train nothing.")
    ] = False,
) -> int:
    """Train linear, LN-, BN- and LN-G-nets on random labels; print the table beside the reported numbers."""
    if seeds is not None and seeds > MOST_SEEDS:
        raise InvalidInputError(
            f"--seeds {seeds}: each seed trains the whole grid again; give at most {MOST_SEEDS}"
        )
    grid = planned_grid(
        preset, data=data, data_root=root, n_samples=n_samples, epochs=epochs, width=width,
        depths=_numbers(depths, "--depths"), groups=_numbers(groups, "--groups"),
        net_rates=_rates(net_rates, "--net-rates"), n_seeds=seeds, label_seed=label_seed, precision=precision,
    )  # fmt: skip
    if dry_run:
        print(_listing(grid))
        return DONE
    _check_folder(out)
    name = record_name(EXPERIMENT, data, grid.base.n_samples, preset)
    path, figure_path = out / f"{name}.json", out / f"{name}.png"
    checkpoint = out / f"{EXPERIMENT}-{data}-{preset}.ckpt"
    if checkpoint.exists() and not resume:
        raise InvalidInputError(
            f"{checkpoint} is left of an interrupted run; go on from it with --resume, or remove it"
        )
    if path.exists() and not checkpoint.exists():  # beside a checkpoint it is of the run that goes on
        raise InvalidInputError(
            f"{path} is the record of an earlier run and would be replaced; move it away, or choose another "
            "folder with --out"
        )
    images = datasets.load(data, root, n_samples)
    record = run_experiment(
        grid, images, preset=preset, command=_command(context.obj), device=device, threads=threads,
        checkpoint=checkpoint, certified_samples=certified_samples, ceiling_seconds=ceiling_seconds,
        bar=progress_bar,
    )  # fmt: skip
    write_record(record, path)
    _save_figure(record, figure_path)
    checkpoint.unlink(missing_ok=True)
    print(markdown(record))
    print(f"record {path}\nfigure {figure_path}")
    return DONE


def _check_folder(out: Path) -> None:
    """Make the folder and a file in it, and remove both: better refused now than after the training."""
    missing = []
    try:
        if out.exists() and not out.is_dir():
            raise InvalidInputError(f"{out} is a file, not a directory; choose another place for the results")
        missing = [folder for folder in (out, *out.parents) if not folder.exists()]
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"--out {out}: no results can be written there ({error.strerror or error}); choose another folder"
        ) from None
    finally:
        for folder in missing:
            with suppress(OSError):  # it was not made, or somebody else uses it by now
                folder.rmdir()


def _save_figure(record: Record, path: Path) -> None:
    with replaced_file(path) as beside:
        figure(record).savefig(beside, metadata={"Software": None})


def _command(arguments: Sequence[str]) -> str:
    """What makes the same record from the start."""
    return shlex.join(["python", "-m", "training", *(word for word in arguments if word != "--resume")])


def _listing(grid: Grid) -> str:
    """The grid in words: how many runs of which net, with which settings."""
    configs = grid.configs()
    counts = Counter(config.label for config in configs)
    base = grid.base
    samples = "all" if base.n_samples is None else f"the first {base.n_samples:,}"
    lines = [
        f"{len(configs)} runs of {base.epochs} epochs on {samples} samples of {base.data}, "
        f"width {base.width}, labels of seed {base.label_seed}, precision {base.precision}"
    ]
    for label, count in counts.items():
        own = [config for config in configs if config.label == label]
        lines.append(f"{count:5}  {label:<12} {_settings(own)}")
    return "\n".join(lines)


def _settings(configs: Sequence[RunConfig]) -> str:
    rates = {
        optimizer: list(dict.fromkeys(c.lr for c in configs if c.optimizer == optimizer))
        for optimizer in dict.fromkeys(c.optimizer for c in configs)
    }
    told = [f"{name} lr {', '.join(f'{lr:g}' for lr in values)}" for name, values in rates.items()]
    batches = ", ".join(str(size) for size in dict.fromkeys(c.batch_size for c in configs))
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(c.seed for c in configs))
    return "; ".join([*told, f"batch {batches}", f"seeds {seeds}"])


@app.command()
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
    found = read_records(records or [RECORDS])
    written = write_tables(found, out)
    for record in found:
        print(markdown(record))
    print("\n".join(f"wrote {path}" for path in written))
    return DONE


@app.command("data-info")
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
    return DONE
