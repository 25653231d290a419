"""Arguments and options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lntheory.data import BUNDLED, Dataset, load_dataset, random_labels

__all__ = [
    "DataArgument",
    "JsonOption",
    "LabelOption",
    "Labels",
    "LabelsOption",
    "NetArgument",
    "SeedOption",
    "load_labelled",
]


class Labels(StrEnum):
    """The labels to use: those of the data, or random ones."""

    given = "given"
    random = "random"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"A .csv with a header, an .npz with two arrays, or one of {', '.join(BUNDLED)}. The decimals "
        "of a .csv are read as the nearest doubles, which is what nets are built for.",
    ),
]
NetArgument = Annotated[Path, typer.Argument(metavar="NET", help="A net.json file.")]
LabelOption = Annotated[
    str | None,
    typer.Option("--label", metavar="NAME", help="Column (.csv) or array (.npz, default y) of the labels."),
]
LabelsOption = Annotated[
    Labels,
    typer.Option("--labels", help="Random: uniform over as many classes as the data has, one label a "
                 "distinct sample."),
]  # fmt: skip
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything that is random.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def load_labelled(data: str, label: str | None, labels: Labels = Labels.given, seed: int = 0) -> Dataset:
    """The data set that the argument DATA and its options name, with its own labels or random ones."""
    dataset = load_dataset(data, label)
    if labels is Labels.given:
        return dataset
    drawn = random_labels(dataset.X, len(dataset.classes), seed)
    return dataset.with_labels(drawn, f"{dataset.name} with random labels (seed {seed})")
