"""The files of certificates: one JSON object with one field on each line, the margins last.

A certificate that is read from a file is only a claim. `lntheory.exact.verify` takes none of it on trust.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from lntheory.base import jsonfile
from lntheory.base.fields import TUPLE, Count, Items, Name, Real, Sha256, UnitReal, Value, Version1
from lntheory.errors import FileFormatError, excerpt

__all__ = ["from_dict", "read", "to_dict", "write"]

FORMAT = "lntheory.certificate"
VERSION = 1


def _ordered(interval: tuple[float, float]) -> tuple[float, float]:
    if interval[0] > interval[1]:
        raise ValueError("the lower end comes first")
    return interval


_Interval = Annotated[tuple[UnitReal, UnitReal], TUPLE, AfterValidator(_ordered)]
_Margin = Annotated[Real, Field(ge=0, lt=2.0**1023)]


class _Fields(Value):
    """The fields of a certificate's file; a margin of null stands for infinity (a net of a single class)."""

    format: Literal["lntheory.certificate"]
    version: Version1
    n_samples: Count
    n_classes: Count
    depth: Count
    width: Count
    arithmetic: Name
    precision: Count
    margin: _Margin | None
    margins: Items[_Margin | None]
    float64_wrong: Count | None
    float32_wrong: Count | None
    ssr_before: _Interval | None
    lssr_before: _Interval | None
    ssr_after: _Interval | None
    lssr_after: _Interval | None
    net_sha256: Sha256
    data_sha256: Sha256
    method: Name
    library_version: Name


def to_dict(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a certificate as a mapping that JSON can hold: infinite margins become None."""
    result = {"format": FORMAT, "version": VERSION, **values}
    result["margin"] = _finite_or_none(values["margin"])
    result["margins"] = [_finite_or_none(margin) for margin in values["margins"]]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in result.items()}


def from_dict(data: Any, where: str = "certificate") -> dict[str, Any]:
    """The fields of a certificate from a mapping as `to_dict` gives it.

    Raises
    ------
    FileFormatError
        If a field is missing, unknown or ill-formed; the message names `where` and the field.
    """
    kind = data.get("format") if isinstance(data, dict) else None
    if kind != FORMAT:
        raise FileFormatError(f'{where}: format {excerpt(kind)}, expected "{FORMAT}"; this is no certificate')
    values = dict(_Fields.from_dict(data, where))
    if len(values["margins"]) != values["n_samples"]:
        raise FileFormatError(
            f"{where}: margins has {len(values['margins'])} numbers for {values['n_samples']} samples"
        )
    del values["format"], values["version"]
    values["margin"] = _number(values["margin"])
    values["margins"] = tuple(map(_number, values["margins"]))
    return values


def write(path: str | os.PathLike[str], values: Mapping[str, Any]) -> None:
    """Write the fields of a certificate; the file appears whole or not at all."""
    data = to_dict(values)
    data["margins"] = data.pop("margins")  # the longest field comes last
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in data.items()]
    jsonfile.write(path, "{" + ",\n".join(lines) + "}\n")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a certificate; `FileFormatError` names file and field."""
    return from_dict(jsonfile.read(path), str(path))


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(margin: float | None) -> float:
    return math.inf if margin is None else margin
