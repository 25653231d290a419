"""From a grid to a record, a table and a figure: what every experiment on images does alike.

::

    grid, images ─► places checked ─► all runs ─┬─► record.json
                                     proofs ────┘    figure.png, table, weights/
         interrupted: <name>.ckpt/ stays, and --resume goes on from it

Under torchrun the processes share the runs; the first one proves, writes and prints.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from lntheory.base.files import replaced_file
from lntheory.base.terminal import ExitCode, progress_bar
from lntheory.errors import InvalidInputError

from ..data import ImageData, RandomLabels
from ..data.labels import labels_sha256
from ..models import MLP
from ..run.config import RunConfig
from ..run.grid import Grid
from ..run.record import DataSource, LabelSource, Record, Run, record_name, write_record
from ..run.result import RunResult
from ..run.source import device_of, source_sha256, versions
from ..tables import page_of

__all__ = ["Places", "conduct", "listing", "recorded", "typed"]

Trainer = Callable[..., Sequence[RunResult]]
"""`training.engine.train_grid`."""


@dataclass(frozen=True)
class Places:
    """Where the results of one command go.

    Parameters
    ----------
    out : Path
    experiment, preset : str
    config : RunConfig
        Any of the runs: names the data and their number.
    """

    out: Path
    experiment: str
    preset: str
    config: RunConfig

    @property
    def name(self) -> str:
        """What the record is called."""
        data = self.config.data
        assert data is not None
        return record_name(self.experiment, data.name, data.n_samples, self.preset)

    @property
    def record(self) -> Path:
        """The record's file."""
        return self.out / f"{self.name}.json"

    @property
    def figure(self) -> Path:
        """The figure's file."""
        return self.out / f"{self.name}.png"

    @property
    def weights(self) -> Path:
        """The folder of weights that are kept."""
        return self.out / f"{self.name}-weights"

    @property
    def checkpoint(self) -> Path:
        """The folder that is there while the training is not done; the same for any number of samples."""
        data = self.config.data
        assert data is not None
        return self.out / f"{self.experiment}-{data.name}-{self.preset}.ckpt"

    def check(self, *, resume: bool) -> None:
        """Refuse what could not be written, or would be replaced: better now than after the training."""
        _check_folder(self.out)
        if self.checkpoint.exists() and not resume:
            raise InvalidInputError(
                f"{self.checkpoint} is left of an interrupted run; go on from it with --resume, or remove it"
            )
        if self.record.exists() and not self.checkpoint.exists():  # beside one it is of the run that goes on
            raise InvalidInputError(
                f"{self.record} is the record of an earlier run and would be replaced; move it away, or "
                "choose another folder with --out"
            )


def _check_folder(out: Path) -> None:
    """Make the folder and a file in it, and remove both."""
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


def conduct(
    grid: Grid,
    images: Callable[[], ImageData],
    places: Places,
    *,
    command: str,
    device: str = "auto",
    threads: int = 1,
    resume: bool = False,
    keep_weights: bool = False,
    prove: Callable[[ImageData], dict[str, Any]] | None = None,
) -> int:
    """Train a grid, prove what is to be proved beside it, write record and figure, print the table.

    Parameters
    ----------
    grid : Grid
    images : callable
        Loads the data, of at most the config's number of samples.
    places : Places
    command : str
        For the record.
    device, threads
        Of the training, as for `training.train_grid`.
    resume, keep_weights : bool
    prove : callable, optional
        Gives further fields of the record, from the data as they were trained on.

    Returns
    -------
    int
        The exit code.
    """
    first = int(os.environ.get("RANK", "0")) == 0
    if first:
        places.check(resume=resume)
    record = recorded(
        grid, images(), experiment=places.experiment, preset=places.preset, command=command, device=device,
        threads=threads, folder=places.checkpoint, weights=places.weights if keep_weights else None,
        prove=prove,
    )  # fmt: skip
    if record is not None:
        write_record(record, places.record)
        page = page_of(places.experiment)
        with replaced_file(places.figure) as beside:
            page.figure(record).savefig(beside, metadata={"Software": None})
        shutil.rmtree(places.checkpoint, ignore_errors=True)
        print(page.section(record))
        print(f"record {places.record}\nfigure {places.figure}")
        if keep_weights:
            print(f"weights {places.weights}")
    return ExitCode.DONE


def recorded(
    grid: Grid,
    data: ImageData,
    *,
    experiment: str,
    preset: str,
    command: str,
    device: str = "auto",
    threads: int = 1,
    folder: Path | None = None,
    weights: Path | None = None,
    prove: Callable[[ImageData], dict[str, Any]] | None = None,
    train: Trainer | None = None,
) -> Record | None:
    """The record of a grid that is trained here; None in all processes of torchrun but the first.

    Parameters
    ----------
    grid, experiment, preset, command, device, threads, prove
        As for `conduct`.
    data : ImageData
        The grid's data, as `training.data.load` gives it.
    folder, weights : Path, optional
        Of checkpoints, and of weights that are kept.
    train : callable, optional
        Stands in for `training.train_grid`.
    """
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    source = source_sha256()  # before hours of training, in which the program may be edited
    if train is None:
        from ..engine import train_grid  # torch takes a second

        train = train_grid
    configs = grid.configs()
    with progress_bar(f"training {len(configs)} nets") as progress:
        results = train(
            configs, data, device=device, threads=threads, folder=folder, weights=weights, progress=progress
        )
    if int(os.environ.get("RANK", "0")) > 0:
        return None
    n_samples, seed = len(data.train), configs[0].data.label_seed if configs[0].data else None
    labels = data.train.y if seed is None else RandomLabels(seed, data.n_classes).labels(n_samples)
    n_test = len(data.test) if data.test is not None and seed is None else 0
    return Record(
        experiment=experiment,
        preset=preset,
        command=command,
        started=started,
        seconds=round(sum(result.seconds for result in results), 1),
        versions=versions(),
        device=device_of(device, threads),
        source_sha256=source,
        data=DataSource(
            name=data.name, origin=data.origin, embedded=data.embedded, sha256=data.sha256,
            n_samples=n_samples, n_features=data.n_features, n_classes=data.n_classes, n_test_samples=n_test,
        ),
        labels=LabelSource(seed=seed, sha256=labels_sha256(labels)),
        runs=tuple(Run.of(result, {"train": n_samples, "test": n_test}) for result in results),
        **({} if prove is None else prove(data)),
    )  # fmt: skip


def typed(context: typer.Context) -> str:
    """What makes the same record from the start: the command as it was typed, without --resume."""
    program = context.find_root().info_name or ""
    words = program.split() + (["train"] if program == "lntheory" else [])
    return shlex.join([*words, *(word for word in context.obj if word != "--resume")])


def listing(grid: Grid) -> str:
    """The grid in words: how many runs of which net, with which settings."""
    configs, base = grid.configs(), grid.base
    data = base.data
    samples = "all" if data is None or data.n_samples is None else f"the first {data.n_samples:,}"
    length = f"{base.epochs} epochs" if base.epochs is not None else f"{base.steps} steps"
    words = [f"precision {base.precision}"]
    if isinstance(base.model, MLP):
        words.insert(0, f"width {base.model.width}")
    if data is not None and data.label_seed is not None:
        words.insert(-1, f"labels of seed {data.label_seed}")
    lines = [
        f"{len(configs)} runs of {length} on {samples} samples of {data.name if data else 'own data'}, "
        + ", ".join(words)
    ]
    counts = Counter(config.label for config in configs)
    for label, count in counts.items():
        lines.append(f"{count:5}  {label:<12} {_settings([c for c in configs if c.label == label])}")
    return "\n".join(lines)


def _settings(configs: Sequence[RunConfig]) -> str:
    rates = {
        name: list(dict.fromkeys(c.optimizer.lr for c in configs if c.optimizer.name == name))
        for name in dict.fromkeys(c.optimizer.name for c in configs)
    }
    words = [f"{name} lr {', '.join(f'{lr:g}' for lr in values)}" for name, values in rates.items()]
    batches = ", ".join(str(size) for size in dict.fromkeys(c.batch_size for c in configs))
    own = list(dict.fromkeys(c.seed for c in configs))
    seeds = ", ".join(map(str, own)) if len(own) < 10 else f"{own[0]}, {own[1]}, ..., {own[-1]}"
    return "; ".join([*words, f"batch {batches}", f"seeds {seeds}"])
