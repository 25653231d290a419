"""The application with its commands, and the function that runs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from lntheory._version import __version__
from lntheory.base.terminal import run
from lntheory.cli.entry_points import Commands, module_name
from lntheory.cli.export import export
from lntheory.cli.shatter import shatter
from lntheory.cli.show import show
from lntheory.cli.ssr import ssr
from lntheory.cli.vc import vc
from lntheory.cli.verify import verify

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Commands,
    name="lntheory",
    help="LN-Nets that fit any labels, exactly certified. Exit codes: 0 proved, 1 refuted, 2 bad input, "
    "3 undecided, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (shatter, verify, ssr, show, export, vc):
    app.command()(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Examples
    --------
    >>> main(["--version"])
    lntheory 0.2.0
    0
    """
    return run(app, "lntheory", argv, interrupted=_interrupted)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"lntheory {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _interrupted(arguments: Sequence[str]) -> str:
    """The message after Ctrl-C: that of `interrupted` in the command's module, if it has one."""
    name = arguments[0] if arguments else ""
    module = sys.modules.get(f"lntheory.cli.{name}") or sys.modules.get(module_name(name))
    words = getattr(module, "interrupted", None)
    return str(words(arguments[1:])) if words else "nothing was written"
