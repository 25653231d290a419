"""The one reader of typed JSON values: records, configs and certificates. It is strict, and uses pydantic.

A format is a frozen class whose annotations describe every field that the file may have:

>>> class Point(Value):
...     name: str
...     x: Real
...     n_samples: Count = 0

A value is made in a program, or from the mapping that `lntheory.base.jsonfile.read` returns:

>>> Point(name="a", x=1)
Point(name='a', x=1.0, n_samples=0)
>>> Point.from_dict({"name": "a", "x": True}, "points.json")
Traceback (most recent call last):
...
lntheory.errors.FileFormatError: points.json: field x is True; give a finite number

A value is converted only to an equal one: True is not accepted as a number, 1.5 and "1" are not accepted as
counts, and an integer that float64 does not hold is not a real number. Unknown and missing fields are refused
by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from lntheory.errors import FileFormatError, InvalidInputError, excerpt

__all__ = [
    "TUPLE",
    "Count",
    "Items",
    "Name",
    "PositiveCount",
    "PositiveReal",
    "Real",
    "Sha256",
    "UnitReal",
    "Value",
    "Version1",
    "require_fields",
]

T = TypeVar("T")


# ------------------------------------------------------------------------------------------------ the types


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python number that it is."""
    return value.item() if isinstance(value, np.generic) else value


def _real(value: Any) -> Any:
    """The float64 that `value` is; anything else is refused, never rounded."""
    value = _plain(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            if int(float(value)) == value:
                return float(value)
        except OverflowError:
            pass
        raise ValueError("the integer is not a float64")
    if not isinstance(value, float) or not math.isfinite(value):
        raise ValueError("give a finite number")
    return value


def _first_version(value: int) -> int:
    if value != 1:
        raise ValueError("this library reads version 1")
    return value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Count = Annotated[int, BeforeValidator(_plain), Field(ge=0, lt=2**63)]
"""A whole number from 0 on, below 2^63."""
PositiveCount = Annotated[int, BeforeValidator(_plain), Field(ge=1, lt=2**63)]
"""A whole number from 1 on, below 2^63."""
Real = Annotated[float, BeforeValidator(_real)]
"""A finite float64, or an integer that is one."""
PositiveReal = Annotated[Real, Field(gt=0)]
"""A finite float64 above 0."""
UnitReal = Annotated[Real, Field(ge=0, le=1)]
"""A float64 in [0, 1]."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
"""A string of 1 to 1000 characters."""
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimals."""
Version1 = Annotated[int, AfterValidator(_first_version)]
"""The number 1, and nothing that equals it (True, 1.0): the version of a format."""
TUPLE = BeforeValidator(_tuple)
"""In the annotation of a tuple, lets a JSON list be read as a tuple."""
Items = Annotated[tuple[T, ...], TUPLE]
"""``Items[Real]`` is a tuple of reals, read from a JSON list."""


# ------------------------------------------------------------------------------------------------- reading


class Value(BaseModel):
    """A frozen value of typed fields, made in a program or read from JSON; see the module's docstring.

    Raises
    ------
    InvalidInputError
        If a field is missing, unknown or of the wrong type or range; the message names the field.
    FileFormatError
        The same from `from_dict`; the message names the file too.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidInputError(_complaint(error, type(self).__name__)) from None

    # Without this mark pydantic would call `__init__` for nested values, and errors would lose their path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """The value of a mapping as `to_dict` gives it; `where` names its file in messages."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise FileFormatError(_complaint(error, where or cls.__name__)) from None

    def to_dict(self) -> dict[str, Any]:
        """The fields as a mapping that JSON can hold."""
        return self.model_dump(mode="json")

    def replaced(self, **fields: Any) -> Self:
        """A copy in which these fields have other values; all fields are checked again.

        Raises
        ------
        InvalidInputError
            As the constructor does.
        """
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | fields)


def require_fields(
    data: Any, where: str, required: Set[str], optional: Set[str] = frozenset()
) -> dict[str, Any]:
    """`data`, if it is a JSON object with all required fields and none beyond the required and optional ones.

    This is for formats that annotations do not describe, such as the numbers of a net.

    Raises
    ------
    FileFormatError
        If `data` is no object, or a field is missing or unknown; the message names the first such field.
    """
    prefix = f"{where}: " if where else ""
    if not isinstance(data, dict):
        raise FileFormatError(f"{prefix}{excerpt(data)} is not an object with {', '.join(sorted(required))}")
    for missing in sorted(required - data.keys()):
        raise FileFormatError(f"{prefix}field {missing!r} is missing")
    for unknown in sorted(data.keys() - required - optional, key=str):
        raise FileFormatError(f"{prefix}unknown field {excerpt(unknown)}; is the file of a newer version?")
    return data


def _complaint(error: ValidationError, where: str) -> str:
    """The first fault in words: the place, the field, the value that it has and the value that it needs."""
    fault = error.errors(include_url=False)[0]
    path, value = _path(fault["loc"]), excerpt(fault["input"])
    match fault["type"]:
        case "missing":
            return f"{where}: field {path!r} is missing"
        case "extra_forbidden" | "unexpected_keyword_argument":
            unknown = excerpt(fault["loc"][-1])
            return f"{where}: unknown field {unknown}; remove it, or is the file of a newer version?"
        case "value_error" if not fault["loc"]:
            return f"{where}: {fault['ctx']['error']}"
        case "value_error":
            return f"{where}: field {path} is {value}; {fault['ctx']['error']}"
        case _ if not path:
            return f"{where}: {value} is no JSON object"
    advice = fault["msg"].removeprefix("Input ").replace("should be", "it should be", 1)
    return f"{where}: field {path} is {value}; {advice}"


def _path(location: Sequence[str | int]) -> str:
    """The path of a field, such as ``runs[3].loss``, without pydantic's names for the branches of a union."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier():
            path += f".{part}" if path else part
    return path
