"""What of a record stands in a table: of every method the best setting, and the linear bound. No torch here.

::

    record ─► runs of one method (norm, groups, depth)
                └─► settings (optimizer, learning rate, batch size), each with all its seeds
                      └─► best by mean final training accuracy ─► mean, standard deviation over its seeds

Choosing the best setting by the very accuracy that is shown favours every method, the linear baseline most:
its grid is the largest. That is the paper's way, and what makes the linear row a bound from above.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from training.config import RunConfig
from training.records import Record, Run
from training.reported import FULL_SIZES

__all__ = [
    "LINEAR",
    "Method",
    "Setting",
    "best_depths",
    "best_settings",
    "experiment_title",
    "final_accuracies",
    "heading",
    "linear_bound",
    "runs_of",
    "stand_in",
    "title",
]

LINEAR = ("linear", "none")
"""Nets that are linear classifiers whatever their depth."""

_TITLES = {
    "linear": "linear",
    "none": "deep linear",
    "bn": "BN-Net",
    "ln": "LN-Net",
    "ln-g": "LN-G",
    "gn": "GN",
    "rms": "RMSNorm-Net",
    "rms-g": "RMSNorm-G",
}

Method = tuple[str, int | None, int]
"""Norm, number of groups, depth."""


@dataclass(frozen=True)
class Setting:
    """All seeds of one method under one optimizer, learning rate and batch size.

    Attributes
    ----------
    config : RunConfig
        Of the first seed.
    accuracies : tuple of float
        Final training accuracies of the runs that did not diverge.
    n_diverged : int
    """

    config: RunConfig
    accuracies: tuple[float, ...]
    n_diverged: int

    @property
    def method(self) -> Method:
        """Norm, number of groups, depth."""
        return self.config.norm, self.config.num_groups, self.config.depth

    @property
    def mean(self) -> float | None:
        """Of the accuracies; None if all runs diverged."""
        return statistics.fmean(self.accuracies) if self.accuracies else None

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation (divisor n - 1); None for fewer than two runs."""
        return statistics.stdev(self.accuracies) if len(self.accuracies) > 1 else None

    @property
    def text(self) -> str:
        """Such as ``adam, lr 0.01, batch 128``."""
        return f"{self.config.optimizer}, lr {self.config.lr:g}, batch {self.config.batch_size}"


def best_settings(record: Record) -> list[Setting]:
    """The best setting of every method, in the order of the table: by norm, groups, depth.

    Best is the largest mean final training accuracy over seeds; a setting of which runs diverged comes behind
    all others. Ties go to the first by optimizer, learning rate and batch size.
    """
    runs: dict[RunConfig, list[Run]] = {}
    for run in record.runs:
        runs.setdefault(_without_seed(run.config), []).append(run)
    best: dict[Method, Setting] = {}
    for config in sorted(runs, key=_order):
        setting = _setting(record, runs[config])
        if setting.method not in best or _rank(setting) > _rank(best[setting.method]):
            best[setting.method] = setting
    return list(best.values())


def runs_of(record: Record, setting: Setting) -> list[Run]:
    """The runs of a setting, one a seed."""
    wanted = _without_seed(setting.config)
    return [run for run in record.runs if _without_seed(run.config) == wanted]


def _without_seed(config: RunConfig) -> RunConfig:
    """What the runs of a setting have in common."""
    return replace(config, seed=0)


def _setting(record: Record, runs: Sequence[Run]) -> Setting:
    ordered = sorted(runs, key=lambda run: run.config.seed)
    accuracies = [record.accuracy(run) for run in ordered]
    reached = tuple(accuracy for accuracy in accuracies if accuracy is not None)
    return Setting(ordered[0].config, reached, len(runs) - len(reached))


def _rank(setting: Setting) -> tuple[int, float]:
    return -setting.n_diverged, -1.0 if setting.mean is None else setting.mean


def _order(config: RunConfig) -> tuple[object, ...]:
    place = list(_TITLES).index(config.norm), config.num_groups or 0, config.depth
    return *place, config.optimizer, config.lr, config.batch_size, config.canonical_json


def linear_bound(record: Record) -> float | None:
    """The best accuracy of any linear run, of any seed, optimizer and depth: what the others must exceed."""
    return max(final_accuracies(record, LINEAR), default=None)


def final_accuracies(record: Record, norms: Sequence[str]) -> list[float]:
    """Of all runs of these norms that did not diverge."""
    reached = (record.accuracy(run) for run in record.runs if run.config.norm in norms)
    return [accuracy for accuracy in reached if accuracy is not None]


def best_depths(settings: Sequence[Setting]) -> list[Setting]:
    """Of every norm and number of groups the best depth."""
    best: dict[tuple[str, int | None], Setting] = {}
    for setting in settings:
        key = setting.method[:2]
        if key not in best or _rank(setting) > _rank(best[key]):
            best[key] = setting
    return list(best.values())


# ----------------------------------------------------------------------------------------------- wording


def title(norm: str, num_groups: int | None) -> str:
    """What tables call the nets of a norm."""
    return _TITLES[norm] + ("" if num_groups is None else f", {num_groups} groups")


def stand_in(record: Record) -> str | None:
    """Why numbers of this record are none of the paper's table; None if they are."""
    data = record.data
    if data.embedded:
        return "embedded or stand-in data, not the paper's"
    if data.name not in FULL_SIZES:
        return "stand-in data, not the paper's"
    if data.n_samples != FULL_SIZES[data.name]:
        return f"a subset, {data.n_samples:,} of {FULL_SIZES[data.name]:,} samples"
    return None


def experiment_title(experiment: str) -> str:
    """What an experiment is called at the head of a page: "Random labels"."""
    return experiment.replace("-", " ").capitalize()


def heading(record: Record) -> str:
    """One line that says what was run, on what, and whether the data are those of the paper's table."""
    words = f"{experiment_title(record.experiment)} on {record.data.name}, preset {record.preset}"
    why = stand_in(record)
    return f"{words} ({why})" if why else words
