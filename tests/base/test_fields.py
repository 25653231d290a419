"""The one reader of typed values: nothing is converted that is not the same value, faults are named."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from lntheory.base.fields import (
    Count,
    Items,
    Name,
    PositiveCount,
    PositiveReal,
    Real,
    Sha256,
    UnitReal,
    Value,
    require_fields,
)
from lntheory.errors import FileFormatError, InvalidInputError


class Inner(Value):
    values: Items[Real]
    kind: Literal["x", "y"] = "x"


class Outer(Value):
    inner: Inner
    name: Name = "a"
    n: PositiveCount | None = None
    rate: PositiveReal = 1.0
    share: UnitReal = 0.5
    sha256: Sha256 = "0" * 64
    counts: dict[str, Items[Count]] | None = None


def outer(**fields: Any) -> dict[str, Any]:
    return {"inner": {"values": [1, 2.5]}, **fields}


def test_a_value_goes_to_json_and_back() -> None:
    value = Outer.from_dict(outer(n=3, counts={"a": [0, 1]}), "file")
    assert value.inner.values == (1.0, 2.5)
    assert Outer.from_dict(value.to_dict()) == value
    assert hash(value.inner) == hash(Inner(values=(1.0, 2.5)))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"n": True}, "n"),
        ({"n": 0}, "n"),
        ({"n": 1.0}, "n"),
        ({"n": "1"}, "n"),
        ({"n": 2**63}, "n"),
        ({"rate": 0}, "rate"),
        ({"rate": False}, "rate"),
        ({"rate": 2**53 + 1}, "rate"),
        ({"rate": 10**400}, "rate"),
        ({"rate": float("nan")}, "rate"),
        ({"rate": None}, "rate"),
        ({"share": 1.5}, "share"),
        ({"sha256": "0" * 63}, "sha256"),
        ({"sha256": "A" * 64}, "sha256"),
        ({"name": ""}, "name"),
        ({"name": 3}, "name"),
        ({"counts": {"a": [0, -1]}}, r"counts.a\[1\]"),
        ({"counts": {"a": "01"}}, "counts.a"),
        ({"inner": {"values": [1, "2"]}}, r"inner.values\[1\]"),
        ({"inner": {"values": [1], "kind": "z"}}, "inner.kind"),
        ({"inner": {}}, "'inner.values' is missing"),
        ({"inner": [1]}, "inner"),
        ({"zzz": 1}, "'zzz'"),
        ({"a-b": 1}, "'a-b'"),
    ],
)
def test_what_a_field_does_not_take_is_refused_by_name(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(FileFormatError, match=rf"^some file: .*field {field}"):
        Outer.from_dict(outer(**fields), "some file")


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_refused(data: object) -> None:
    with pytest.raises(FileFormatError, match="is no JSON object"):
        Outer.from_dict(data, "some file")


def test_values_made_in_a_program_take_numpy_numbers_and_refuse_as_strictly() -> None:
    value = Inner(values=(np.float32(0.5), np.int64(3)))
    assert value.values == (0.5, 3.0)
    assert [type(number) for number in value.values] == [float, float]
    with pytest.raises(InvalidInputError, match=r"^Inner: field values\[0\] is True"):
        Inner(values=(True,))
    with pytest.raises(InvalidInputError, match=r"^Outer: field n is 0"):
        Outer(inner=value).replaced(n=0)


def test_values_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Inner(values=()).kind = "y"  # type: ignore[misc]


def test_fields_of_other_formats_are_all_there_and_no_others() -> None:
    assert require_fields({"a": 1, "b": 2}, "net", {"a"}, {"b"}) == {"a": 1, "b": 2}
    for data, complaint in (({}, "'a' is missing"), ({"a": 1, "c": 2}, "unknown field 'c'"), ([], "object")):
        with pytest.raises(FileFormatError, match=f"^net: .*{complaint}"):
            require_fields(data, "net", {"a"}, {"b"})
