"""The paper's first table: nets without activations on random labels, beside what is proved of the labels.

::

    grid ─► all runs, many at once ─► runs ┐
    images ─► labels, drawn once ─┬────────┼─► record ─► table, figure
                                  ├─► what no linear classifier can exceed ┤
                                  └─► width-3 LN-Net, certified ───────────┘

Only the training needs torch; it is imported when it starts.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lntheory
from lntheory import exact
from lntheory.errors import InvalidInputError
from training.ceiling import linear_ceiling
from training.config import PRESETS, Grid
from training.data import DATASETS, ImageData
from training.labels import RandomLabels
from training.progress import Callback
from training.records import CertifiedNet, DataSource, Device, LabelSource, Record, Run
from training.result import RunResult

__all__ = ["CERTIFIED_SAMPLES", "certified_net", "planned_grid", "run_experiment"]

EXPERIMENT = "random-labels"

CERTIFIED_SAMPLES = 2000
"""Samples that the certified net is built for, at most, unless more are asked for: under a minute of work."""

Bar = Callable[[str], AbstractContextManager[Callback]]
"""Opens a progress bar of the given name."""

Trainer = Callable[..., Sequence[RunResult]]
"""`training.stacked.train_many`."""


def planned_grid(
    preset: str = "quick",
    *,
    data: str = "digits",
    data_root: str | None = None,
    n_samples: int | None = None,
    epochs: int | None = None,
    width: int | None = None,
    depths: Sequence[int] = (),
    groups: Sequence[int] = (),
    net_rates: Sequence[float] = (),
    n_seeds: int | None = None,
    label_seed: int | None = None,
    precision: str | None = None,
) -> Grid:
    """The grid of a preset with what the user wants otherwise.

    Parameters
    ----------
    preset : {"quick", "paper"}
    data, data_root, n_samples, epochs, width, label_seed, precision
        As in `RunConfig`; None leaves what the preset has.
    depths, groups : sequence of int
        Of the nets, and of LN-G; empty leaves what the preset has. With another width and no groups given,
        the preset's groups that divide it into groups of two or more are kept.
    net_rates : sequence of float
        Learning rates of the nets, with each of their optimizers; empty leaves what the preset has.
    n_seeds : int, optional
        Seeds 0 .. n_seeds - 1.

    Raises
    ------
    InvalidInputError
        If there is no such preset, or a value or combination that no run has.

    Examples
    --------
    >>> grid = planned_grid("quick", width=48, depths=[2], n_seeds=1)
    >>> sorted({config.label for config in grid.configs() if config.norm == "ln-g"})
    ['ln-g(16) x 2', 'ln-g(2) x 2', 'ln-g(4) x 2', 'ln-g(8) x 2']
    """
    if preset not in PRESETS:
        raise InvalidInputError(f"preset {preset!r}; choose one of {', '.join(PRESETS)}")
    if data not in DATASETS:
        raise InvalidInputError(f"data {data!r}; choose one of {', '.join(DATASETS)}")
    grid = PRESETS[preset]
    wanted = {
        "n_samples": n_samples, "epochs": epochs, "width": width, "label_seed": label_seed,
        "precision": precision,
    }  # fmt: skip
    changes: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    base = replace(grid.base, data=data, data_root=data_root, **changes)
    nets = grid.nets
    if groups:
        plain = tuple(net for net in nets if net[1] is None)
        nets = plain + tuple(("ln-g", count) for count in dict.fromkeys(groups))
    elif width is not None:
        nets = tuple(net for net in nets if net[1] is None or (width % net[1] == 0 and width // net[1] >= 2))
    if n_seeds is not None and n_seeds < 1:
        raise InvalidInputError(f"seeds = {n_seeds}; give at least 1")
    rates = tuple(dict.fromkeys(net_rates))
    grid = replace(
        grid,
        base=base,
        nets=nets,
        depths=tuple(dict.fromkeys(depths)) or grid.depths,
        net_rates=tuple((optimizer, rates or own) for optimizer, own in grid.net_rates),
        seeds=grid.seeds if n_seeds is None else tuple(range(n_seeds)),
    )
    grid.configs()  # refuses what no run has
    return grid


def run_experiment(
    grid: Grid,
    data: ImageData,
    *,
    preset: str,
    command: str,
    device: str = "auto",
    threads: int = 1,
    checkpoint: Path | None = None,
    certified_samples: int = CERTIFIED_SAMPLES,
    ceiling_seconds: float = 60.0,
    bar: Bar,
    train: Trainer | None = None,
) -> Record:
    """Train the grid and prove what can be proved beside it.

    Parameters
    ----------
    grid : Grid
    data : ImageData
        The grid's data, as `training.data.load` gives it, of at most ``grid.base.n_samples`` samples.
    preset, command : str
        For the record.
    device, threads, checkpoint
        Of the training, as for `training.stacked.train_many`.
    certified_samples : int
        Samples that the certified net is built for, at most; 0 for no such net.
    ceiling_seconds : float
        Time for the search for conflicts of linear classifiers; 0 for no statement on them.
    bar : callable
        ``with bar("training") as progress:`` shows progress.
    train : callable, optional
        Stands in for `training.stacked.train_many`.

    Returns
    -------
    Record
    """
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    if grid.base.label_seed is None:
        raise InvalidInputError("label_seed is None; random labels need a seed")
    if device not in ("auto", "cpu", "cuda"):
        raise InvalidInputError(f"device = {device!r}; choose auto, cpu or cuda")
    if device == "cuda" and _device(device, threads).kind != "cuda":
        raise InvalidInputError("device is 'cuda', but torch finds no CUDA device; choose cpu")
    labels = RandomLabels(grid.base.label_seed, data.n_classes)
    n_samples = len(data.train)
    y = labels.labels(n_samples)
    if train is None:
        from training.stacked import train_many  # torch takes a second

        train = train_many
    configs = grid.configs()
    with bar(f"training {len(configs)} nets") as progress:
        results = train(
            configs, data, device=device, threads=threads, checkpoint=checkpoint, progress=progress
        )
    X = data.train.flat
    ceiling = certified = None
    if ceiling_seconds > 0:
        with bar("proving what linear classifiers cannot do") as progress:
            ceiling = linear_ceiling(X, y, data.n_classes, time_limit=ceiling_seconds, progress=progress)
    if certified_samples > 0:
        certified = certified_net(X[:certified_samples], y[:certified_samples], bar=bar)
    return Record(
        experiment=EXPERIMENT,
        preset=preset,
        command=command,
        started=started,
        seconds=round(sum(result.seconds for result in results), 1),
        versions=_versions(),
        device=_device(device, threads),
        data=DataSource(
            data.name, data.origin, data.embedded, data.sha256, n_samples, data.n_features, data.n_classes
        ),
        labels=LabelSource(labels.seed, labels.sha256(n_samples)),
        ceiling=ceiling,
        certified=certified,
        runs=tuple(Run.of(result, n_samples) for result in results),
    )


def certified_net(X: NDArray[np.float32], y: NDArray[np.int64], *, bar: Bar) -> CertifiedNet:
    """Build the width-3 LN-Net for these labels and prove it right.

    Of equal samples with several labels the most frequent one is asked for: no function can do better.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray of int, shape (n_samples,)
    bar : callable
        As for `run_experiment`.

    Raises
    ------
    RefutedError, UndecidedError
        If the net is not proved right. (It always has been.)
    """
    possible = _consistent(X, y)
    samples, wanted = X[possible].astype(np.float64), y[possible]
    started = time.perf_counter()
    with bar(f"building the width-3 net of {len(samples)} samples") as progress:
        net = lntheory.shatter(samples, wanted, progress=progress)
    built = time.perf_counter()
    with bar("certifying it") as progress:
        certificate = exact.certify(net, samples, wanted, progress=progress)
    told = net.provenance or {}
    return CertifiedNet(
        n_samples=len(X),
        n_contradictory=len(X) - len(samples),
        method=str(told.get("construction", told.get("method"))),
        depth=net.depth,
        width=net.width,
        n_parameters=net.n_parameters,
        arithmetic=net.arithmetic,
        precision=certificate.precision,
        build_seconds=round(built - started, 2),
        certify_seconds=round(time.perf_counter() - built, 2),
        net_sha256=net.sha256,
    )


def _consistent(X: NDArray[np.float32], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of a largest set of samples of which equal ones have equal labels."""
    _, group = np.unique(X, axis=0, return_inverse=True)
    group = group.ravel()
    votes = np.zeros((group.max() + 1, int(y.max()) + 1), dtype=np.int64)
    np.add.at(votes, (group, y), 1)
    return np.flatnonzero(votes.argmax(axis=1)[group] == y)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "lntheory": lntheory.__version__}
    for package in ("torch", "numpy", "python-flint"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _device(device: str, threads: int) -> Device:
    """Where `train_many` trains when it is asked for `device`."""
    if device != "cpu":
        try:
            import torch

            if torch.cuda.is_available():
                return Device("cuda", torch.cuda.get_device_name(), threads)
        except ImportError:  # a stand-in trains
            pass
    return Device("cpu", f"{_processor()}, {os.cpu_count()} cores", threads)


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        names = [
            line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")
        ]
    except OSError:
        names = []
    return names[0] if names and names[0] else platform.processor() or platform.machine() or "CPU"
