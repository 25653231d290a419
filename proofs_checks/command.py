"""``lntheory prove``, also ``python -m proofs_checks``: the table of claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from lntheory.base.terminal import ExitCode, Report, progress_bar, run
from lntheory.errors import InvalidInputError

from . import registry, runner

__all__ = ["main", "prove"]


def prove(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="This claim; may be repeated.")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="More cases where a claim has them; slow.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the claims, prove nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> Report:
    """Prove every theorem that this library rests on, and refute the false twin of each.

    Exit code 1 if a claim fails or a false twin does not.
    """
    if list_names:
        return _list(as_json)
    unknown = sorted(set(only or ()) - {claim.name for claim in registry.claims()})
    if unknown:
        raise InvalidInputError(f"no claim is called {', '.join(unknown)}; lntheory prove --list names them")
    with progress_bar("proving") as progress:
        results = runner.run(only, deep=deep, progress=progress)
    return _report(results, as_json)


def _list(as_json: bool) -> Report:
    claims = registry.claims()
    values = {"status": "listed", "claims": [claim.name for claim in claims]}
    return Report(values, [(claim.name, f"{claim.title} ({claim.source})") for claim in claims], as_json)


def _report(results: Sequence[runner.Result], as_json: bool) -> Report:
    failures = [failure for result in results for failure in result.failures]
    skipped = [result.claim.name for result in results if result.evidence.outcome == "skipped"]
    values = {
        "status": "refuted" if failures else "skipped" if skipped else "proved",
        "claims": [runner.values(result) for result in results],
        "failures": failures,
        "skipped": skipped,
    }
    rows = [("failed", failure) for failure in failures]
    rows += [("skipped", f"{name} (needs z3: pip install 'lntheory[smt]')") for name in skipped]
    console = Console()
    table = runner.table(results, console.width if console.is_terminal else None)
    return Report(values, rows, as_json, [table], ExitCode.REFUTED if failures else ExitCode.DONE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``python -m proofs_checks``; returns the exit code.

    Examples
    --------
    >>> int(main(["--only", "no-such-claim"]))
    2
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(prove)
    return run(app, "python -m proofs_checks", argv)
