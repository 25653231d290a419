"""Strict JSON files: ambiguous text is refused, and no half-written file is left behind."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lntheory.base.files import replaced_file
from lntheory.errors import FileFormatError

_LONGEST_INTEGER = 4000  # digits; Python itself refuses to read more than 4300


@dataclass(frozen=True)
class Unreadable:
    """A JSON token that stands for no finite float64; the code that reads the field names it in its error."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _read_float(text: str) -> float | Unreadable:
    value = float(text)
    mantissa = text.lower().partition("e")[0]
    underflows = value == 0 and any(digit in mantissa for digit in "123456789")
    return Unreadable(text) if underflows or value in (float("inf"), float("-inf")) else value


def _read_int(text: str) -> int | float | Unreadable:
    if text == "-0":
        return -0.0  # JSON has no integer type: "-0" is the negative zero of other readers
    return Unreadable(text) if len(text) > _LONGEST_INTEGER else int(text)


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FileFormatError(f"field {twice!r} appears twice in one object; remove one of them")
    return result


def read(path: str | os.PathLike[str]) -> Any:
    """Read one JSON value; `FileFormatError` names the file and the line at fault.

    Tokens that are no finite float64 (``NaN``, ``1e999``, ``1e-999``, integers of thousands of digits) come
    back as `Unreadable`, so that the reader of the field can name it.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not a UTF-8 text file (byte {error.start}); is it JSON?") from None
    return parse(text, str(path))


def parse(text: str, where: str) -> Any:
    """The JSON value of a text, parsed as strictly as `read` does; `where` names the text in messages.

    Raises
    ------
    FileFormatError
        If the text is not one valid JSON value or repeats a field; the message names `where` and the place.

    Examples
    --------
    >>> parse('{"a": 1, "a": 2}', "line 3")
    Traceback (most recent call last):
    ...
    lntheory.errors.FileFormatError: line 3: field 'a' appears twice in one object; remove one of them
    """
    try:
        return json.loads(
            text,
            parse_float=_read_float,
            parse_int=_read_int,
            parse_constant=Unreadable,
            object_pairs_hook=_read_object,
        )
    except json.JSONDecodeError as error:
        at = f"line {error.lineno} column {error.colno}"
        raise FileFormatError(f"{where}: not valid JSON at {at} ({error.msg}); is it cut off?") from None
    except RecursionError:
        raise FileFormatError(f"{where}: JSON nested too deeply to be one of our files") from None
    except FileFormatError as error:
        raise FileFormatError(f"{where}: {error}") from None


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` beside `path`, then rename it to `path`: readers see the old file or the whole new one."""
    with replaced_file(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def canonical(value: Any) -> str:
    """The canonical JSON text of a value, used for hashes: sorted keys, no spaces, ASCII, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
