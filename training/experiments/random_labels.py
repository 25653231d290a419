"""Random labels: nets without activations memorise labels that know nothing of the images.

Claim     LN-Nets fit random labels better than any linear classifier found; LN-G with more groups fits more.
Data      scikit-learn's digits (embedded) by default; MNIST, Fashion-MNIST, CIFAR-10 from the genuine files.
Device    CPU or GPU; float32, one thread by default.
Versions  in each record, with the hash of the program.
n         3 seeds a setting, best setting of each method by mean final training accuracy.

::

    grid ─► all runs, many at once ─► runs ┐
    images ─► labels, drawn once ─┬────────┼─► record ─► table, figure
                                  ├─► what no linear classifier can exceed ┤
                                  └─► width-3 LN-Net, certified ───────────┘

Known of the paper's set-up: width 256, 150 epochs, learning rate halved every 20, batch size searched in
{128, 256}, linear baseline with SGD (momentum 0.1) and Adam (0.9, 0.999) at its best over a grid of learning
rates, depth and number of groups varied. The learning rates, depths and seeds are ours; the paper's grid of
learning rates is lost.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

import lntheory
from lntheory import exact
from lntheory.base.terminal import ExitCode, progress_bar
from lntheory.errors import InvalidInputError

from .. import data as datasets
from ..data import DATASETS, ImageData, RandomLabels
from ..models import MLP
from ..run.config import Data, Optimizer, RunConfig, Schedule, varied
from ..run.grid import Axis, Grid, axis
from ..run.record import CertifiedNet
from .ceiling import linear_ceiling
from .conduct import Places, conduct, listing, typed
from .options import (
    DataName,
    DeviceName,
    DryRun,
    Epochs,
    KeepWeights,
    NSamples,
    Out,
    Resume,
    Root,
    Seeds,
    Threads,
    integers,
    reals,
)  # fmt: skip

__all__ = ["CERTIFIED_SAMPLES", "EXPERIMENT", "PRESETS", "certified_net", "command", "planned_grid", "proofs"]

EXPERIMENT = "random-labels"

CERTIFIED_SAMPLES = 2000
"""Samples that the certified net is built for, at most, unless more are asked for: under a minute of work."""

Rates = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Preset:
    """What varies.

    ::

        linear ─────────────────────────┬─ optimizer × its learning rates × batch size × seed
        net ───── norm (groups) × depth ┘

    Attributes
    ----------
    base : RunConfig
        What all runs share.
    norms : tuple of str
        Those without groups.
    groups : tuple of int
        Of LN-G.
    depths, batch_sizes, seeds : tuple of int
    linear_rates, net_rates : tuple of (optimizer, learning rates)
        What the linear baseline tries and what nets try: a single Linear bears, and needs, larger steps.
    """

    base: RunConfig
    norms: tuple[str, ...]
    groups: tuple[int, ...]
    depths: tuple[int, ...]
    linear_rates: Rates
    net_rates: Rates
    batch_sizes: tuple[int, ...] = (128,)
    seeds: tuple[int, ...] = (0, 1, 2)

    @property
    def grid(self) -> Grid:
        """The runs, the linear ones first."""
        linear: Axis = [{"model.norm": "linear", "model.depth": 0}]
        nets: Axis = [
            {"model.norm": norm, "model.num_groups": groups, "model.depth": depth}
            for norm, groups in [*((n, None) for n in self.norms), *(("ln-g", g) for g in self.groups)]
            for depth in self.depths
        ]
        return Grid(self.base, (self._part(linear, self.linear_rates), self._part(nets, self.net_rates)))

    def _part(self, nets: Axis, rates: Rates) -> tuple[Axis, ...]:
        steps: Axis = [{"optimizer.name": name, "optimizer.lr": lr} for name, own in rates for lr in own]
        return nets, steps, axis("batch_size", self.batch_sizes), axis("seed", self.seeds)


def _base(width: int, epochs: int) -> RunConfig:
    return RunConfig(
        data=Data(name="digits", label_seed=0), model=MLP(width=width), optimizer=Optimizer(momentum=0.1),
        schedule=Schedule(name="step", every=20, gamma=0.5), epochs=epochs,
    )  # fmt: skip


_PAPER_RATES: Rates = (("sgd", (1e-3, 1e-2, 1e-1, 1.0)), ("adam", (1e-4, 1e-3, 1e-2, 1e-1)))

PRESETS: Mapping[str, Preset] = {
    "quick": Preset(
        base=_base(width=64, epochs=60),
        norms=("none", "bn", "ln"),
        groups=(2, 4, 8, 16, 32),
        depths=(1, 2, 4, 8),
        linear_rates=(("sgd", (0.01, 0.03, 0.1, 0.3, 1.0)), ("adam", (1e-3, 3e-3, 0.01, 0.03, 0.1))),
        net_rates=(("adam", (1e-3, 3e-3, 1e-2)),),
    ),
    "paper": Preset(
        base=_base(width=256, epochs=150),
        norms=("bn", "ln"),
        groups=(2, 4, 8, 16, 32, 64, 128),
        depths=(1, 2, 4, 8),
        linear_rates=_PAPER_RATES,
        net_rates=_PAPER_RATES,
        batch_sizes=(128, 256),
    ),
}


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
    >>> sorted({config.label for config in grid.configs() if config.model.norm == "ln-g"})
    ['ln-g(16) x 2', 'ln-g(2) x 2', 'ln-g(4) x 2', 'ln-g(8) x 2']
    """
    if preset not in PRESETS:
        raise InvalidInputError(f"preset {preset!r}; choose one of {', '.join(PRESETS)}")
    if data not in DATASETS:
        raise InvalidInputError(f"data {data!r}; choose one of {', '.join(DATASETS)}")
    if n_seeds is not None and n_seeds < 1:
        raise InvalidInputError(f"seeds = {n_seeds}; give at least 1")
    chosen = PRESETS[preset]
    wanted = {
        "data.n_samples": n_samples, "epochs": epochs, "model.width": width, "data.label_seed": label_seed,
        "precision": precision,
    }  # fmt: skip
    changes = {name: value for name, value in wanted.items() if value is not None}
    base = varied(chosen.base, {"data.name": data, "data.root": data_root, **changes})
    own = tuple(dict.fromkeys(groups))
    if not own and width is not None:
        own = tuple(g for g in chosen.groups if width % g == 0 and width // g >= 2)
    rates = tuple(dict.fromkeys(net_rates))
    asked = replace(
        chosen,
        base=base,
        groups=own if own or width is not None else chosen.groups,
        depths=tuple(dict.fromkeys(depths)) or chosen.depths,
        net_rates=tuple((optimizer, rates or before) for optimizer, before in chosen.net_rates),
        seeds=chosen.seeds if n_seeds is None else tuple(range(n_seeds)),
    )
    replace(asked, seeds=(0,)).grid.configs()  # refuses what no run has
    return asked.grid


def proofs(
    data: ImageData,
    label_seed: int,
    *,
    certified_samples: int = CERTIFIED_SAMPLES,
    ceiling_seconds: float = 60.0,
) -> dict[str, Any]:
    """What is proved of the labels, as fields of a record; 0 samples or seconds leave a proof out."""
    X = data.train.flat
    y = RandomLabels(label_seed, data.n_classes).labels(len(X))
    fields: dict[str, Any] = {}
    if ceiling_seconds > 0:
        with progress_bar("proving what linear classifiers cannot do") as progress:
            fields["ceiling"] = linear_ceiling(
                X, y, data.n_classes, time_limit=ceiling_seconds, progress=progress
            )
    if certified_samples > 0:
        fields["certified"] = certified_net(X[:certified_samples], y[:certified_samples])
    return fields


def certified_net(X: NDArray[np.float32], y: NDArray[np.int64]) -> CertifiedNet:
    """Build the width-3 LN-Net for these labels and prove it right.

    Of equal samples with several labels the most frequent one is asked for: no function can do better.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray of int, shape (n_samples,)

    Raises
    ------
    RefutedError, UndecidedError
        If the net is not proved right. (It always has been.)
    """
    possible = _consistent(X, y)
    samples, wanted = X[possible].astype(np.float64), y[possible]
    started = time.perf_counter()
    with progress_bar(f"building the width-3 net of {len(samples)} samples") as progress:
        net = lntheory.shatter(samples, wanted, progress=progress)
    built = time.perf_counter()
    with progress_bar("certifying it") as progress:
        certificate = exact.certify(net, samples, wanted, progress=progress)
    made = net.provenance or {}
    return CertifiedNet(
        n_samples=len(X),
        n_contradictory=len(X) - len(samples),
        method=str(made.get("construction", made.get("method"))),
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


def command(
    context: typer.Context,
    preset: Annotated[
        str, typer.Option(help="quick (minutes on two CPU cores) or paper (256 wide, 150 epochs; for a GPU).")
    ] = "quick",
    data: DataName = "digits",
    root: Root = None,
    n_samples: NSamples = None,
    epochs: Epochs = None,
    width: Annotated[int | None, typer.Option(min=1, help="Neurons a layer.")] = None,
    depths: Annotated[str | None, typer.Option(metavar="N,N,...", help="Norm layers of the nets.")] = None,
    groups: Annotated[str | None, typer.Option(metavar="N,N,...", help="Numbers of groups of LN-G.")] = None,
    net_rates: Annotated[
        str | None, typer.Option(metavar="X,X,...", help="Learning rates of the nets.")
    ] = None,
    seeds: Seeds = None,
    label_seed: Annotated[int | None, typer.Option(min=0, help="Seed of the labels.")] = None,
    precision: Annotated[str | None, typer.Option(help="32-true, 64-true, bf16-mixed")] = None,
    device: DeviceName = "auto",
    threads: Threads = 1,
    certified_samples: Annotated[
        int, typer.Option(min=0, help="Build the certified net for at most so many samples; 0: none.")
    ] = CERTIFIED_SAMPLES,
    ceiling_seconds: Annotated[
        float, typer.Option(min=0, help="Search so long for proofs against linear classifiers; 0: none.")
    ] = 60.0,
    out: Out = Path("out", EXPERIMENT),
    resume: Resume = False,
    keep_weights: KeepWeights = False,
    dry_run: DryRun = False,
) -> int:
    """Train linear, LN-, BN- and LN-G-nets on random labels; print the table beside the reported numbers."""
    grid = planned_grid(
        preset, data=data, data_root=root, n_samples=n_samples, epochs=epochs, width=width,
        depths=integers(depths, "--depths"), groups=integers(groups, "--groups"),
        net_rates=reals(net_rates, "--net-rates"), n_seeds=seeds, label_seed=label_seed, precision=precision,
    )  # fmt: skip
    if dry_run:
        print(listing(grid))
        return ExitCode.DONE
    assert grid.base.data is not None
    seed = grid.base.data.label_seed or 0
    return conduct(
        grid, lambda: datasets.load(data, root, n_samples), Places(out, EXPERIMENT, preset, grid.base),
        command=typed(context), device=device, threads=threads, resume=resume, keep_weights=keep_weights,
        prove=lambda images: proofs(
            images, seed, certified_samples=certified_samples, ceiling_seconds=ceiling_seconds
        ),
    )  # fmt: skip
