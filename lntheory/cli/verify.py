"""``lntheory verify``: prove again, from the files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lntheory.base.terminal import Report, progress_bar
from lntheory.cli.certificate import certificate_rows, certificate_values
from lntheory.cli.options import DataArgument, JsonOption, LabelOption, NetArgument, load_labelled

__all__ = ["verify"]


def verify(
    net: NetArgument,
    data: DataArgument,
    label: LabelOption = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check this certificate's hashes and claims as well."),
    ] = None,
    as_json: JsonOption = False,
) -> Report:
    """Prove again, from the files alone, that the net gives every sample its label."""
    from lntheory import exact
    from lntheory.network import LNNet

    claimed = None if certificate is None else exact.Certificate.load(certificate)
    network, dataset = LNNet.load(net), load_labelled(data, label)
    with progress_bar("proving") as progress:
        if claimed is None:
            proved = exact.certify(network, dataset.X, dataset.y, progress=progress)
        else:
            proved = exact.verify(network, dataset.X, dataset.y, claimed, progress=progress)
    values = {"status": "proved", "certificate_checked": claimed is not None, **certificate_values(proved)}
    rows = [("net", str(net)), *certificate_rows(proved)]
    if claimed is not None:
        rows.append(("certificate", f"{certificate}: hashes are right, and it claims no more than is true"))
    return Report(values, rows, as_json)
