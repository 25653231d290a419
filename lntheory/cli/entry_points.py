"""Commands of other packages, by entry point.

::

    [project.entry-points."lntheory.commands"]        lntheory --help     lists the name, imports nothing
    prove = "lntheory.proofs_checks.command:prove"    lntheory prove ...  imports it, and runs it

The entry point names a typer application, or a function that typer makes into a command. Like our own
commands, it returns a `lntheory.base.terminal.Report`, an exit code, or None. Its ``typer.Context.obj`` is
the list of its own arguments. Its module may define ``interrupted(arguments) -> str``, which says in words
what Ctrl-C leaves behind; without it the message is "nothing was written".
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lntheory.errors import MissingDependencyError

__all__ = ["GROUP", "Commands", "load_command", "module_name"]

GROUP = "lntheory.commands"


class Commands(TyperGroup):
    """Our own commands, then those of other packages, which cannot replace a command of ours."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, for help; nothing is imported."""
        own = super().list_commands(ctx)
        return [*own, *sorted(set(_entries()) - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of ours, or a placeholder that help can list; None if there is no such name."""
        own = super().get_command(ctx, cmd_name)
        entry = None if own is not None else _entries().get(cmd_name)
        return own if entry is None else _Placeholder(entry)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is to run, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, _Placeholder):
            ctx.obj = list(rest)  # parsing empties the other
            return name, load_command(command.entry), rest
        return name, command, rest


class _Placeholder(TyperCommand):
    """A stand-in for a command that is listed but not called."""

    def __init__(self, entry: EntryPoint) -> None:
        package = entry.module.partition(".")[0]
        super().__init__(
            entry.name, short_help=f"From the package {package}: see lntheory {entry.name} --help."
        )
        self.entry = entry


def load_command(entry: EntryPoint) -> Any:
    """The command that an entry point names.

    Raises
    ------
    MissingDependencyError
        If the command cannot be imported, or is neither a typer application nor a function; the message names
        the entry point.
    """
    try:
        target = entry.load()
    except Exception as error:
        raise _broken(entry, f"{type(error).__name__}: {error}") from error
    if not callable(target):
        raise _broken(entry, f"it is {type(target).__name__}, not a typer application or a function")
    if not isinstance(target, typer.Typer):
        function, target = target, typer.Typer(add_completion=False)
        target.command(entry.name)(function)
    return typer.main.get_command(target)


def module_name(name: str) -> str:
    """The module of another package's command; empty if no other package has that command."""
    entry = _entries().get(name)
    return "" if entry is None else entry.module


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _broken(entry: EntryPoint, why: str) -> MissingDependencyError:
    package = "its package" if entry.dist is None else f"the package {entry.dist.name!r}"
    return MissingDependencyError(
        f"the command {entry.name!r} ({entry.value}) cannot be used: {why}; install {package} anew"
    )
