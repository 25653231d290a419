"""``lntheory shatter``: build a net, and prove it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lntheory
from lntheory.base.files import replaced_directory_files
from lntheory.base.terminal import Report, progress_bar
from lntheory.cli.certificate import certificate_rows, certificate_values
from lntheory.cli.options import (
    DataArgument,
    JsonOption,
    LabelOption,
    Labels,
    LabelsOption,
    SeedOption,
    load_labelled,
)
from lntheory.cli.pictures import save_net_pictures
from lntheory.cli.words import counted
from lntheory.data import Dataset, save_dataset

if TYPE_CHECKING:
    from lntheory.exact import Certificate
    from lntheory.network import LNNet

__all__ = ["shatter"]


def shatter(
    data: DataArgument,
    label: LabelOption = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto (the shallowest within the budget), fold (searched for: far shallower), pairs (two "
            "merges a layer), minority-merge, or projection-merge (the paper's)."
        ),
    ] = "auto",
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Units of search for fold (default 2400) and auto (by the labels, at most 600); one takes "
            "0.01 to 0.1 s. The same seed and budget give the same net.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Search no longer, between layers; the units spent are told. For fold, auto.",
        ),
    ] = None,
    labels: LabelsOption = Labels.given,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where net.json, certificate.json, data.npz and the pictures go; all or none."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> Report:
    """Build a width-3 LN-Net that gives every sample its label, and prove that it does."""
    dataset = load_labelled(data, label, labels, seed)
    given = {"budget": budget, "time_limit": time_limit}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if method in ("auto", "fold"):
        options["n_jobs"] = os.cpu_count() or 1  # has no influence on the net
    if out is None:
        net, certificate = _build_and_certify(dataset, method, seed, options)
        return _report(dataset, net, certificate, None, [], as_json)
    with replaced_directory_files(out) as staging:
        net, certificate = _build_and_certify(dataset, method, seed, options)
        net.save(staging / "net.json")
        certificate.save(staging / "certificate.json")
        save_dataset(dataset, staging / "data.npz")
        pictures = save_net_pictures(net, dataset, staging)
    files = [out / name for name in ("net.json", "certificate.json", "data.npz", *(p.name for p in pictures))]
    return _report(dataset, net, certificate, out, files, as_json)


def _build_and_certify(
    dataset: Dataset, method: str, seed: int, options: dict[str, Any]
) -> tuple[LNNet, Certificate]:
    with progress_bar("building the net") as progress:
        net = lntheory.shatter(
            dataset.X, dataset.y, method=method, random_state=seed, progress=progress, **options
        )
    with progress_bar("certifying it") as progress:
        return net, lntheory.exact.certify(net, dataset.X, dataset.y, progress=progress)


def _report(
    dataset: Dataset,
    net: LNNet,
    certificate: Certificate,
    out: Path | None,
    files: list[Path],
    as_json: bool,
) -> Report:
    values = {
        "status": "proved",
        "data": dataset.name,
        "n_samples": len(dataset.X),
        "n_features": dataset.X.shape[1],
        "n_classes": len(dataset.classes),
        "n_parameters": net.n_parameters,
        "provenance": net.to_dict().get("provenance"),
        **certificate_values(certificate),
        "files": {path.stem: str(path) for path in files},
    }
    rows = [("samples", f"{len(dataset.X)} of {dataset.name}, {dataset.X.shape[1]} features")]
    rows += _construction_rows(net) + certificate_rows(certificate) + _file_rows(net, out, files)
    return Report(values, rows, as_json)


def _construction_rows(net: LNNet) -> list[tuple[str, str]]:
    """If several constructions were tried, the lines on their depths, the work spent, and the one taken."""
    provenance = net.provenance or {}
    if "tried" not in provenance:
        return []
    texts = []
    for name, depth in provenance["tried"].items():
        text = f"{name} {'no shallower net' if depth is None else depth}"
        if name == "fold":
            units, runs = counted(provenance["units"], "unit"), counted(provenance["runs"], "run")
            text += f" ({units} of {provenance['budget']:,}, {runs})"
        texts.append(text)
    texts += [f"not {name}: {why}" for name, why in provenance.get("untried", {}).items()]
    return [("tried", f"{', '.join(texts)}; took {provenance['construction']}")]


def _file_rows(net: LNNet, out: Path | None, files: list[Path]) -> list[tuple[str, str]]:
    if out is None:
        return [("files", "none; name a directory with --out DIR to keep net, certificate and pictures")]
    rows = [("files", f"{out}{os.sep}: " + ", ".join(path.name for path in files))]
    if net.depth == 0:
        rows.append(("pictures", "none: no LN layer was needed, so there is no circle to draw"))
    return rows
