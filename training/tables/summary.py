"""The general page of an experiment: every net at its best setting, with mean and deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lntheory.base.markdown import markdown_table

from ..run.record import Record
from .page import Page, csv_of, provenance
from .selection import Setting, all_settings, best_of, experiment_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PAGE"]

_CHOICES = (("test_accuracy", True), ("test_loss", False), ("train_accuracy", True), ("train_loss", False))
"""By what the best setting is chosen, and whether larger is better: the first that the record has."""


def _metric(record: Record) -> tuple[str, bool]:
    measured = {name for run in record.runs for name in (*run.epochs, *run.final)}
    return next((choice for choice in _CHOICES if choice[0] in measured), _CHOICES[-1])


def _best(record: Record) -> list[Setting]:
    metric, larger = _metric(record)
    settings = all_settings(record, metric, larger_is_better=larger)
    return best_of(settings, lambda config: config.label)


def _heading(record: Record) -> str:
    why = " (embedded or stand-in data)" if record.data.embedded else ""
    return f"{experiment_title(record.experiment)} on {record.data.name}, preset {record.preset}{why}"


def _section(record: Record) -> str:
    metric, _ = _metric(record)
    rows = [
        [s.config.label, s.text, _shown(s.mean), _shown(s.deviation), str(len(s.values)), str(s.n_diverged)]
        for s in _best(record)
    ]
    header = ["net", "best setting", metric.replace("_", " "), "sd", "n", "diverged"]
    words = f"{record.data.origin}: {record.data.n_samples:,} training samples. Each row is the best setting"
    parts = [
        f"## {_heading(record)}",
        f"{words} of its net by mean final {metric.replace('_', ' ')}, over its n seeds.",
        markdown_table(header, rows),
        provenance(record),
    ]
    return "\n\n".join(parts) + "\n"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _csv(records: Sequence[Record]) -> str:
    columns = ("record", "net", "setting", "metric", "mean", "sd", "n", "n_diverged")
    return csv_of(
        columns,
        (
            dict(zip(columns, (r.name, s.config.label, s.text, _metric(r)[0], s.mean, s.deviation,
                               len(s.values), s.n_diverged), strict=True))
            for r in records for s in _best(r)
        ),
    )  # fmt: skip


def _figure(record: Record) -> Figure:
    """The metric by epoch, mean over seeds."""
    from matplotlib.figure import Figure

    metric, _ = _metric(record)
    drawn = Figure(figsize=(7.0, 4.5), layout="constrained", dpi=110)
    axes = drawn.subplots()
    for setting in _best(record):
        curves = [run.series(metric) for run in setting.runs if not run.diverged and metric in run.epochs]
        if curves:
            means = [sum(values) / len(values) for values in zip(*curves, strict=True)]
            axes.plot(range(1, len(means) + 1), means, label=setting.config.label)
    axes.set(xlabel="epoch", ylabel=metric.replace("_", " "), title=_heading(record))
    axes.legend(frameon=False)
    return drawn


PAGE = Page(_heading, _section, _csv, _figure)
