"""``lntheory vc``: bounds of the VC dimension, and certified records of the lower ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from lntheory import bounds
from lntheory.base.terminal import Report, progress_bar
from lntheory.cli.options import JsonOption, SeedOption
from lntheory.errors import InvalidInputError

if TYPE_CHECKING:
    from lntheory.exact import ShatteringProof

__all__ = ["interrupted", "vc"]


def vc(
    depth: Annotated[int, typer.Option(min=0, help="Number of LN layers; the table goes up to it.")] = 5,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the samples.")] = 2,
    build: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Build and certify a net for every labeling at this depth; resumes if stopped.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, max=30, help="With --build: how many points, by default our bound.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--verify", metavar="FILE", help="Prove afresh a record that --build wrote."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="With --build: processes, -1 for one a core.")] = -1,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> Report:
    """Bounds of the VC dimension of width-3 LN-Nets, by depth; certified records of the lower ones."""
    if build is not None and record is not None:
        raise InvalidInputError("--build verifies what it writes; give either --build or --verify")
    if record is not None:
        return _proof_report(record, _proved(record), as_json)
    if build is not None:
        return _proof_report(build, _built(build, depth, dim, samples, jobs, seed), as_json)
    return _bounds_report(depth, dim, as_json)


def interrupted(arguments: Sequence[str]) -> str:
    """The message that says what Ctrl-C leaves behind."""
    building = any(argument.partition("=")[0] == "--build" for argument in arguments)
    return "the same command goes on where it stopped" if building else "nothing was written"


def _proved(record: Path) -> ShatteringProof:
    from lntheory.exact import verify_shattering

    with progress_bar("proving") as progress:
        return verify_shattering(record, progress=progress)


def _built(path: Path, depth: int, dim: int, samples: int | None, jobs: int, seed: int) -> ShatteringProof:
    from lntheory.vc import build_lower_bound

    with progress_bar("building and certifying every labeling") as progress:
        return build_lower_bound(
            depth, dim, path=path, n_samples=samples, random_state=seed, n_jobs=jobs, progress=progress
        )


def _bounds_report(depth: int, dim: int, as_json: bool) -> Report:
    rows = [
        {
            "depth": at,
            "lower_bound": bounds.lower_bound(at, dim),
            "paper_lower_bound": bounds.paper_lower_bound(at) if at else None,
            "upper_bound": bounds.upper_bound(at, dim),
        }
        for at in range(depth + 1)
    ]
    table = Table("depth", "ours, at least", "paper, at least", "at most", title=f"VC dimension on R^{dim}")
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row.values()))
    note = "every labeling of a bound's points is certified by --build FILE; the upper bound is by counting"
    return Report({"status": "computed", "dim": dim, "bounds": rows}, [("note", note)], as_json, [table])


def _proof_report(path: Path, proof: ShatteringProof, as_json: bool) -> Report:
    values = {"status": "proved", "file": str(path), **dataclasses.asdict(proof)}
    dimension = f"VC dimension at least {proof.n_samples} on R^{proof.dim} with {proof.depth} LN layers"
    nets = f"{proof.n_nets}, one a pair of complementary labelings; the deepest has {proof.deepest} layers"
    rows = [
        ("record", str(path)),
        ("proved", dimension),
        ("nets", nets),
        ("smallest margin", f"at least {proof.margin:.6g}: proved"),
    ]
    return Report(values, rows, as_json)
