"""Progress of long work as a bar on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["Callback", "progress_bar"]

Callback = Callable[[int, int], None]
"""Called with (done, total), as everywhere in the library."""


@contextmanager
def progress_bar(what: str) -> Iterator[Callback]:
    """A progress bar on standard error, as a callback; a single line where that is no terminal.

    Examples
    --------
    >>> with progress_bar("training") as progress:
    ...     progress(1, 2)
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        console.print(f"{what} ...", markup=False, highlight=False)
        yield lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
