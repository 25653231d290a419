"""Tables and figures made of records alone: no torch, no data, the same bytes every time.

::

    records ─► best settings ─┬─► markdown: tables, verdicts, how it was made
                              ├─► CSV: one line a method
                              └─► figures

An experiment with words or figures of its own has a page in `PAGES`; others get the general one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lntheory.base.files import replaced_directory_files
from lntheory.errors import InvalidInputError

from ..run.record import Record
from . import random_labels, summary
from .page import Page
from .selection import experiment_title

__all__ = ["PAGES", "page_of", "write_tables"]

PAGES: dict[str, Page] = {
    "random-labels": random_labels.PAGE,
}
"""The registry: how the records of an experiment are shown."""


def page_of(experiment: str) -> Page:
    """How the records of an experiment are shown."""
    return PAGES.get(experiment, summary.PAGE)


def write_tables(records: Sequence[Record], directory: str | os.PathLike[str]) -> list[Path]:
    """Write for every experiment one ``.md`` and one ``.csv``, and a ``.png`` for every record; all or none.

    Parameters
    ----------
    records : sequence of Record
    directory : str or path
        Other files in it stay as they are.

    Returns
    -------
    list of Path
        What was written.
    """
    if not records:
        raise InvalidInputError("no records, so there is no table; run an experiment first")
    names = []
    with replaced_directory_files(directory) as staging:
        for experiment in sorted({record.experiment for record in records}):
            page = page_of(experiment)
            own = [record for record in records if record.experiment == experiment]
            sections = (f"{page.section(r)}\n![{page.heading(r)}]({r.name}.png)\n" for r in own)
            text = "\n".join([f"# {experiment_title(experiment)}: tables of records\n", *sections])
            (staging / f"{experiment}.md").write_text(text, encoding="utf-8", newline="\n")
            (staging / f"{experiment}.csv").write_text(page.csv(own), encoding="utf-8", newline="\n")
            names += [f"{experiment}.md", f"{experiment}.csv"]
            for record in own:
                page.figure(record).savefig(staging / f"{record.name}.png", metadata={"Software": None})
                names.append(f"{record.name}.png")
    return [Path(directory, name) for name in names]
