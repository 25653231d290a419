"""Class labels: Python scalars that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory.errors import InvalidInputError, excerpt

Label = str | int | float | bool


def as_label(value: Any, where: str) -> Label:
    """A class label as a Python scalar that JSON can hold; else `InvalidInputError`, which names `where`."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (str, int, float)):
        raise InvalidInputError(f"{where}: {excerpt(value)} is no label; use a str, int, float or bool")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{where}: {value} cannot be a label; use a finite number or a string")
    return value


def as_classes(values: Iterable[Any]) -> tuple[Label, ...]:
    """The classes of a net: at least one label, all distinct; else `InvalidInputError`."""
    if isinstance(values, str):
        raise InvalidInputError("classes is one string; give a sequence of labels")
    classes = tuple(as_label(value, f"classes[{k}]") for k, value in enumerate(values))
    if not classes:
        raise InvalidInputError("classes is empty; a net has at least one class")
    seen: dict[Label, int] = {}
    for k, label in enumerate(classes):
        if label in seen:
            raise InvalidInputError(
                f"classes[{k}] = {label!r} equals classes[{seen[label]}]; labels are distinct"
            )
        seen[label] = k
    return classes


def label_array(classes: tuple[Label, ...]) -> NDArray[Any]:
    """The classes as an array of their own type, or of objects where numpy would convert or truncate them."""
    kinds = {type(label) for label in classes}
    if kinds == {str} and not any(str(label).endswith("\0") for label in classes):
        return np.array(classes)
    if kinds == {int} and all(abs(int(label)) < 2**63 for label in classes):
        return np.array(classes, dtype=np.int64)
    if kinds in ({float}, {bool}):
        return np.array(classes)
    result = np.empty(len(classes), dtype=object)
    result[:] = classes
    return result
