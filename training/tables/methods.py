"""The methods of the random-label table: norms with their groups, by depth, and the linear bound."""

from __future__ import annotations

from collections.abc import Sequence

from lntheory.errors import InvalidInputError

from ..models import MLP
from ..run.config import RunConfig
from ..run.record import Record
from .reported import FULL_SIZES
from .selection import Setting, all_settings, best_of, experiment_title

__all__ = ["LINEAR", "best_depths", "best_settings", "final_accuracies", "heading", "linear_bound", "method",
           "net_of", "norm_of", "stand_in", "title"]  # fmt: skip

LINEAR = ("linear", "none")
"""Nets that are linear classifiers whatever their depth."""

METRIC = "train_accuracy"

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


def net_of(config: RunConfig) -> MLP:
    """What decides the net.

    Raises
    ------
    InvalidInputError
        If it is no net of this table.
    """
    if not isinstance(config.model, MLP):
        raise InvalidInputError(
            f"the net of a run is {config.label!r}; the random-label table is of mlp alone"
        )
    return config.model


def method(config: RunConfig) -> tuple[str, int | None, int]:
    """Norm, number of groups, depth."""
    net = net_of(config)
    return net.norm, net.num_groups, net.depth


def norm_of(setting: Setting) -> tuple[str, int | None]:
    """Norm and number of groups."""
    norm, num_groups, _ = method(setting.config)
    return norm, num_groups


def best_settings(record: Record) -> list[Setting]:
    """The best setting of every method, in the order of the table: by norm, groups, depth.

    Best is the largest mean final training accuracy over seeds. Ties go to the first by optimizer, learning
    rate and batch size.
    """
    best = best_of(all_settings(record, METRIC), method)
    return sorted(best, key=lambda s: _place(*method(s.config)))


def _place(norm: str, num_groups: int | None, depth: int) -> tuple[int, int, int]:
    known = list(_TITLES)
    return known.index(norm) if norm in known else len(known), num_groups or 0, depth


def linear_bound(record: Record) -> float | None:
    """The best accuracy of any linear run, of any seed, optimizer and depth: what the others must exceed."""
    return max(final_accuracies(record, LINEAR), default=None)


def final_accuracies(record: Record, norms: Sequence[str]) -> list[float]:
    """Of all runs of these norms that did not diverge."""
    reached = (run.value(METRIC) for run in record.runs if net_of(run.config).norm in norms)
    return [accuracy for accuracy in reached if accuracy is not None]


def best_depths(settings: Sequence[Setting]) -> list[Setting]:
    """Of every norm and number of groups the best depth."""
    return best_of(settings, lambda config: method(config)[:2])


def title(norm: str, num_groups: int | None) -> str:
    """What tables call the nets of a norm."""
    return _TITLES.get(norm, norm) + ("" if num_groups is None else f", {num_groups} groups")


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


def heading(record: Record) -> str:
    """One line that says what was run, on what, and whether the data are those of the paper's table."""
    words = f"{experiment_title(record.experiment)} on {record.data.name}, preset {record.preset}"
    why = stand_in(record)
    return f"{words} ({why})" if why else words
