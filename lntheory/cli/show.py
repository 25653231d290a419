"""``lntheory show``: what a net is, and pictures of what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lntheory.base.files import replaced_directory_files
from lntheory.base.terminal import Report, progress_bar
from lntheory.cli.options import JsonOption, LabelOption, NetArgument, load_labelled
from lntheory.cli.pictures import save_net_pictures
from lntheory.cli.words import counted
from lntheory.errors import InvalidInputError

if TYPE_CHECKING:
    from lntheory.network import LNNet

__all__ = ["show"]


def show(
    net: NetArgument,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="Draw what it does to these.")] = None,
    label: LabelOption = None,
    layers: Annotated[
        str | None, typer.Option(metavar="K,K,...", help="Draw the points after these many layers.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the pictures go; by default beside the net.")
    ] = None,
    as_json: JsonOption = False,
) -> Report:
    """Say what a net is; with data, draw what it does to it (nothing is proved: see verify)."""
    from lntheory.network import LNNet

    network = LNNet.load(net)
    values, rows = _net_values(network), _net_rows(network)
    if data is None:
        return Report(values, rows, as_json)
    dataset, chosen = load_labelled(data, label), _layer_numbers(layers, network.depth)
    with progress_bar("predicting") as progress:
        progress(0, 1)
        predicted = network.predict(dataset.X).tolist()
    wrong = sum(ours != theirs for ours, theirs in zip(predicted, dataset.y.tolist(), strict=True))
    with replaced_directory_files(out or net.parent) as staging:
        names = [path.name for path in save_net_pictures(network, dataset, staging, chosen)]
    files = [(out or net.parent) / name for name in names]
    values |= {"wrong_samples": wrong, "proved": False, "files": {path.stem: str(path) for path in files}}
    rows.append(("wrong samples", f"{wrong} of {len(dataset.X)}, as computed (lntheory verify proves it)"))
    rows.append(("pictures", ", ".join(map(str, files)) or "none: a net without LN layers draws no circle"))
    return Report(values, rows, as_json)


def _layer_numbers(text: str | None, depth: int) -> list[int] | None:
    if text is None:
        return None
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise InvalidInputError(f"--layers {text}: give numbers separated by commas, as in 0,10,20") from None
    if not all(0 <= number <= depth for number in numbers):
        raise InvalidInputError(f"--layers {text}: the net has layers from 0 (the samples) to {depth}")
    return numbers


def _net_values(network: LNNet) -> dict[str, Any]:
    return {
        "status": "shown",
        "depth": network.depth,
        "width": network.width,
        "n_features": network.n_features,
        "n_parameters": network.n_parameters,
        "classes": list(network.classes),
        "normalization": network.normalization.to_dict(),
        "arithmetic": network.arithmetic,
        "sha256": network.sha256,
        "provenance": network.to_dict().get("provenance"),
    }


def _net_rows(network: LNNet) -> list[tuple[str, str]]:
    classes = [str(label) for label in network.classes]
    listed = ", ".join(classes[:12]) + (", ..." if len(classes) > 12 else "")
    layers = f"{counted(network.depth, 'layer')} of {network.normalization.kind}, width {network.width}"
    return [
        ("LN-Net", layers),
        ("features", str(network.n_features)),
        ("classes", f"{len(classes)}: {listed}"),
        ("parameters", f"{network.n_parameters}, {network.arithmetic}"),
        ("provenance", _provenance(network) or "not stated"),
        ("SHA-256", network.sha256),
    ]


def _provenance(network: LNNet) -> str:
    """The numbers and words of the net's provenance, without nested values, which are for programs."""
    provenance = network.to_dict().get("provenance") or {}
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in provenance.items()
        if isinstance(value, (str, int, float))
    )
