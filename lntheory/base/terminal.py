"""What all commands share: exit codes, reports, progress bars, and messages for errors.

Results go to standard output (one JSON object with ``--json``), progress and errors to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bar,
)
from rich.table import Table

from lntheory.base.types import Progress
from lntheory.errors import LNTheoryError, RefutedError, UndecidedError

__all__ = ["ExitCode", "Report", "progress_bar", "run"]


class ExitCode(IntEnum):
    """The exit codes of all commands, with their meaning."""

    DONE = 0
    """The statement was proved, or the work was done as asked."""
    REFUTED = 1
    """The statement to be proved is false."""
    BAD_INPUT = 2
    """The command cannot take these options, data or files."""
    UNDECIDED = 3
    """The statement was neither proved nor refuted within the precision limit."""
    INTERRUPTED = 130
    """The command was stopped by Ctrl-C."""

    @property
    def words(self) -> str:
        """The name of the code as messages write it, such as "bad input"."""
        return self.name.lower().replace("_", " ")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with 1, which is the code for "refuted"


@dataclass(frozen=True)
class Report:
    """The result of a command, for programs (`values`) and for people (`rows` and `tables`).

    Attributes
    ----------
    values : dict
        The JSON object that is printed if `as_json` is true.
    rows : list of (name, text)
        The lines that are printed otherwise.
    as_json : bool
    tables : list of rich tables
        Tables that are printed below the lines.
    exit_code : int
    """

    values: dict[str, Any]
    rows: list[tuple[str, str]]
    as_json: bool
    tables: list[Table] = field(default_factory=list)
    exit_code: int = ExitCode.DONE

    def show(self) -> None:
        """Print the report to standard output."""
        if self.as_json:
            print(json.dumps(self.values, allow_nan=False))
            return
        console = _Console(soft_wrap=True, highlight=False, markup=False)
        width = max((len(name) for name, _ in self.rows), default=0)
        for name, text in self.rows:
            console.print(f"{name:<{width}}  {text}")
        for table in self.tables:
            console.print(table)


def run(
    app: typer.Typer,
    program: str,
    argv: Sequence[str] | None = None,
    *,
    interrupted: Callable[[Sequence[str]], str] = lambda arguments: "nothing was written",
) -> int:
    """Run a command line and return its exit code; the library's errors become a message and a code.

    Parameters
    ----------
    app : typer.Typer
        Its commands return a `Report`, an exit code or None.
    program : str
        The name of the program in messages and help.
    argv : sequence of str, optional
        The arguments; by default those of the process.
    interrupted : callable, optional
        Maps the arguments to the message that says what an interruption leaves behind.

    Returns
    -------
    int
        A value of `ExitCode`, or the exit code of the command itself.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        command = typer.main.get_command(app)
        result = command.main(arguments, prog_name=program, standalone_mode=False, obj=arguments)
        if result == ExitCode.INTERRUPTED:  # newer versions of typer turn KeyboardInterrupt into this code
            raise KeyboardInterrupt
        if isinstance(result, Report):
            result.show()
        sys.stdout.flush()
        return result.exit_code if isinstance(result, Report) else int(result or 0)
    except BrokenPipeError:
        _give_up_output()
        return ExitCode.DONE
    except _USAGE_ERROR as error:
        error.show()
        return ExitCode.BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return _failed(ExitCode.INTERRUPTED, f"interrupted; {interrupted(arguments)}", arguments)
    except RefutedError as error:
        return _failed(ExitCode.REFUTED, str(error), arguments, samples=list(error.samples))
    except UndecidedError as error:
        details = {"samples": list(error.samples), "precision": error.precision}
        return _failed(ExitCode.UNDECIDED, str(error), arguments, **details)
    except (LNTheoryError, ImportError) as error:
        return _failed(ExitCode.BAD_INPUT, str(error), arguments)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _failed(ExitCode.BAD_INPUT, f"{where}{error.strerror or error}", arguments)


# The base class of all errors about options and arguments, whichever parser this version of typer uses.
_USAGE_ERROR: Any = typer.BadParameter.__base__


def _failed(code: ExitCode, message: str, arguments: Sequence[str], **details: Any) -> int:
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    console.print(f"{code.words}: {message}")
    if "--json" in arguments:
        values = {"status": code.words, "exit_code": int(code), "message": message, **details}
        try:
            print(json.dumps(values))
            sys.stdout.flush()
        except BrokenPipeError:  # the exit code is the same even if nobody reads the message
            _give_up_output()
    return code


def _give_up_output() -> None:
    """Discard further output, since the reader has closed the pipe, so that no error is raised at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """A callback that shows a progress bar on standard error, or one line if that is not a terminal.

    Examples
    --------
    >>> with progress_bar("proving") as progress:
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
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
