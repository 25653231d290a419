"""How the records of an experiment are shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..run.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "csv_of", "provenance"]


@dataclass(frozen=True)
class Page:
    """Four functions of a record, or of all records of the experiment.

    Attributes
    ----------
    heading : callable
        One line that says what was run, on what, and whether the data are stand-ins.
    section : callable
        Markdown: what it is, tables, how it was made.
    csv : callable
        Of all records: one line a method.
    figure : callable
    """

    heading: Callable[[Record], str]
    section: Callable[[Record], str]
    csv: Callable[[Sequence[Record]], str]
    figure: Callable[[Record], Figure]


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Lines of these columns; None is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: "" if value is None else value for name, value in row.items()})
    return stream.getvalue()


def provenance(record: Record, *words: str) -> str:
    """How a record was made: the command, then a paragraph with `words` in it."""
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    device = record.device
    where = device.name + (f", {device.threads} threads" if device.threads > 1 else "")
    where += f", {device.processes} processes" if device.processes > 1 else ""
    hashes = f"Data SHA-256 {record.data.sha256[:16]}…"
    hashes += f", labels {record.labels.sha256[:16]}…" if record.labels is not None else ""
    hashes += f", program {record.source_sha256[:16]}…" if record.source_sha256 is not None else ""
    made = f"{record.started[:10]}; {record.seconds:,.0f} s of training on {where}; {versions}."
    return f"    {record.command}\n\n" + " ".join([made, *words, f"{hashes}."])
