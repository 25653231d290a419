"""``lntheory ssr``: how separable labelled data is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from lntheory.base.rounding import rounded_outward
from lntheory.base.terminal import Report, progress_bar
from lntheory.cli.options import (
    DataArgument,
    JsonOption,
    LabelOption,
    Labels,
    LabelsOption,
    SeedOption,
    load_labelled,
)
from lntheory.data import Dataset, read_fractions
from lntheory.separability import separability

if TYPE_CHECKING:
    from lntheory.exact import AlgebraicEnclosure

__all__ = ["ssr"]

_SOURCES = {"doubles": "exact, of the doubles", "as_written": "exact, as written"}
_LONGEST_FRACTION = 400  # the most digits of a fraction that is reported as such


def ssr(
    data: DataArgument,
    label: LabelOption = None,
    labels: LabelsOption = Labels.given,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> Report:
    """SSR and LSSR, overall and of each class against the rest: in float64, and exactly.

    Exactly means of the doubles that the data is; of a .csv also of its decimals as they are written, which
    is not the same data (0.1 is no double).
    """
    dataset = load_labelled(data, label, labels, seed)
    sources: dict[str, Any] = {"doubles": dataset.X}
    if Path(data).suffix.lower() == ".csv":
        sources["as_written"] = read_fractions(data, label)
    measured, notes = _measure_all(dataset, sources)
    values = {
        "status": "computed",
        "data": dataset.name,
        "n_samples": len(dataset.X),
        "n_classes": len(dataset.classes),
        "overall": measured[0],
        "by_class": measured[1:],
        "warnings": notes,
    }
    rows = [("data", f"{len(dataset.X)} samples of {dataset.name}, {len(dataset.classes)} classes")]
    rows += [("warning", note) for note in notes]
    return Report(values, rows, as_json, [_table(measured, list(sources))])


def _measure_all(dataset: Dataset, sources: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The measures of all classes and of each against the rest, and the warnings of the float64 routines."""
    measured, notes = [], []
    with progress_bar("computing exactly") as progress:
        for done, (name, label, y) in enumerate(_groupings(dataset), start=1):
            result, warned = _measure(dataset.X, y, sources)
            measured.append({"labels": name, "class": label, **result})
            notes += [f"{name}: {text}" for text in warned]
            progress(done, len(dataset.classes) + 1)
    return measured, notes


def _groupings(dataset: Dataset) -> Iterator[tuple[str, Any, list[Any]]]:
    """Each grouping's name, its class (None for all classes), and its labels."""
    y = dataset.y.tolist()
    yield "all classes", None, y
    for label in dataset.classes.tolist():
        yield f"{label} against the rest", label, [own == label for own in y]


def _measure(X: Any, y: list[Any], sources: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    from lntheory import exact

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rounded = separability(X, y)
    result: dict[str, Any] = {
        "float64": {
            "ssr": rounded.ssr,
            "lssr": rounded.lssr,
            "rank": rounded.rank,
            "error_bound": rounded.error_bound if math.isfinite(rounded.error_bound) else None,
        }
    }
    result |= {
        name: {"ssr": _exact_value(exact.ssr(samples, y)), "lssr": _exact_value(exact.lssr(samples, y))}
        for name, samples in sources.items()
    }
    return result, [str(warning.message) for warning in caught]


def _exact_value(value: Fraction | AlgebraicEnclosure) -> dict[str, Any]:
    """Bounds as float64, rounded outwards, and the fraction itself if it is short."""
    rational = isinstance(value, Fraction)
    lower, upper = (value, value) if isinstance(value, Fraction) else (value.lower, value.upper)
    below, above = rounded_outward(lower, upper)
    result = {"value": float(value), "lower": below, "upper": above, "rational": rational}
    bits = lower.numerator.bit_length() + lower.denominator.bit_length()
    if lower == upper and bits * math.log10(2) < _LONGEST_FRACTION:
        return {**result, "rational": True, "fraction": str(lower)}
    return {**result, "fraction": None}


def _table(measured: list[dict[str, Any]], sources: list[str]) -> Table:
    table = Table("labels", "", "float64", *(_SOURCES[name] for name in sources))
    for entry in measured:
        for verb in ("ssr", "lssr"):
            cells = [f"{entry['float64'][verb]:.12g}", *(_exact_text(entry[name][verb]) for name in sources)]
            table.add_row(entry["labels"] if verb == "ssr" else "", verb.upper(), *cells)
    return table


def _exact_text(value: dict[str, Any]) -> str:
    fraction = value["fraction"]
    if fraction is not None and len(fraction) <= 24:
        return f"{fraction} = {value['value']:.12g}" if "/" in fraction else str(fraction)
    return f"{value['value']:.15g} ({'rational' if value['rational'] else 'algebraic'})"
