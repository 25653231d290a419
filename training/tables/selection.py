"""What of a record stands in a table: of every method the best setting by a metric. No torch here.

::

    record ─► runs of one method (a net)
                └─► settings (all else but the seed), each with all its seeds
                      └─► best by mean final metric ─► mean, standard deviation over its seeds

Choosing the best setting by the very metric that is shown favours every method, and most the one with the
largest grid.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ..run.config import RunConfig
from ..run.record import Record, Run

__all__ = ["Setting", "all_settings", "best_of", "experiment_title"]


@dataclass(frozen=True)
class Setting:
    """All seeds of one net under one optimizer, schedule, batch size and so on.

    Attributes
    ----------
    runs : tuple of Run
        By seed.
    values : tuple of float
        The metric at the end of the runs that did not diverge.
    larger_is_better : bool
    """

    runs: tuple[Run, ...]
    values: tuple[float, ...]
    larger_is_better: bool = True

    @property
    def config(self) -> RunConfig:
        """Of the first seed."""
        return self.runs[0].config

    @property
    def n_diverged(self) -> int:
        """Runs that have no value."""
        return len(self.runs) - len(self.values)

    @property
    def mean(self) -> float | None:
        """Of the values; None if all runs diverged."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation (divisor n - 1); None for fewer than two runs."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def text(self) -> str:
        """Such as ``adam, lr 0.01, batch 128``."""
        optimizer = self.config.optimizer
        return f"{optimizer.name}, lr {optimizer.lr:g}, batch {self.config.batch_size}"

    @property
    def rank(self) -> tuple[int, float]:
        """Larger is better; a setting of which runs diverged comes behind all others."""
        value = -1e300 if self.mean is None else self.mean if self.larger_is_better else -self.mean
        return -self.n_diverged, value


def all_settings(record: Record, metric: str, *, larger_is_better: bool = True) -> list[Setting]:
    """Every setting of a record, by optimizer, learning rate and batch size."""
    runs: dict[str, list[Run]] = {}
    for run in record.runs:
        runs.setdefault(run.config.replaced(seed=0).canonical_json, []).append(run)
    settings = []
    for name in sorted(runs, key=lambda name: (*_order(runs[name][0].config), name)):
        ordered = sorted(runs[name], key=lambda run: run.config.seed)
        values = [run.value(metric) for run in ordered]
        reached = tuple(value for value in values if value is not None)
        settings.append(Setting(tuple(ordered), reached, larger_is_better))
    return settings


def _order(config: RunConfig) -> tuple[object, ...]:
    return config.optimizer.name, config.optimizer.lr, config.batch_size


def best_of(settings: Sequence[Setting], key: Callable[[RunConfig], Hashable]) -> list[Setting]:
    """Of the settings with each key the best, the first of equal ones, in order of appearance."""
    best: dict[Hashable, Setting] = {}
    for setting in settings:
        name = key(setting.config)
        if name not in best or setting.rank > best[name].rank:
            best[name] = setting
    return list(best.values())


def experiment_title(experiment: str) -> str:
    """What an experiment is called at the head of a page: "Random labels"."""
    return experiment.replace("-", " ").capitalize()
