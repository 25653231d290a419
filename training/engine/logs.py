"""Logs of a run in its folder: a CSV file of all epochs, and TensorBoard's events where it is installed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lntheory.base.files import replaced_file

from ..run.result import EpochMetrics

__all__ = ["Log"]


class Log:
    """The log of one run, written again after every epoch, so that a resumed run has no epoch twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._events: Any = None

    def write(self, history: Sequence[EpochMetrics], per_epoch: int, total: int) -> None:
        """Write ``log.csv``; add the last epoch to TensorBoard's events."""
        if not history:
            return
        rows = [
            {"epoch": row.epoch, "step": min(row.epoch * per_epoch, total), "lr": row.lr, **row.metrics,
             "seconds": row.seconds}
            for row in history
        ]  # fmt: skip
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        with replaced_file(self.folder / "log.csv") as beside:
            beside.write_text(text.getvalue(), encoding="utf-8", newline="\n")
        self._add_events(rows[-1])

    def _add_events(self, row: dict[str, Any]) -> None:
        if self._events is None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:  # an option
                self._events = False
            else:
                self._events = SummaryWriter(str(self.folder / "tensorboard"), purge_step=row["step"])
        if self._events:
            for name, value in row.items():
                if name not in ("epoch", "step"):
                    self._events.add_scalar(name, value, row["step"])
            self._events.flush()
