"""Pickles of plain data, read without running anything that they name.

A pickle is a program: it may call any function that it can name. Here it can name only what numpy's arrays
and Python 3's byte strings are pickled with, and even these names lead to stand-ins of this module, which
check what they are given and build the array themselves::

    numpy...._reconstruct, numpy...._frombuffer ──► _Array     state checked: integers, shape x size = bytes
    numpy.dtype                                 ──► _Dtype     integer types only
    numpy.ndarray                               ──► a mark
    _codecs.encode, bytes                       ──► latin-1 only, empty only
    every other name                            ──► FileFormatError
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory.errors import FileFormatError, LNTheoryError

__all__ = ["Plain", "read_plain_pickle"]

Plain = int | str | bytes | list[int | str | bytes] | NDArray[Any]

_INTEGERS = frozenset({"u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"})


def read_plain_pickle(data: bytes, where: str) -> dict[str, Plain]:
    """The dictionary in a pickle, as Python 2 or 3 wrote it.

    Parameters
    ----------
    data : bytes
    where : str
        What the messages call it.

    Returns
    -------
    dict
        From strings to integers, strings, byte strings, lists of these, and integer arrays.

    Raises
    ------
    FileFormatError
        If the pickle is cut off or damaged, something follows it, or it holds or names anything else.

    Examples
    --------
    >>> read_plain_pickle(pickle.dumps({"data": np.arange(3), "labels": [1, 2]}), "a.pickle")
    {'data': array([0, 1, 2]), 'labels': [1, 2]}
    >>> read_plain_pickle(pickle.dumps({"data": print}), "a.pickle")
    Traceback (most recent call last):
        ...
    lntheory.errors.FileFormatError: a.pickle: expected plain arrays, strings, integers and lists, found a ...

    References
    ----------
    Python's documentation of pickle, "Restricting globals".
    """
    try:
        _scan(data, where)
        return _plain_dictionary(_Unpickler(io.BytesIO(data), where).load(), where)
    except LNTheoryError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise FileFormatError(
            f"{where}: expected a pickle, found data that is cut off or damaged "
            f"({type(error).__name__}: {str(error)[:80]}); fetch it again"
        ) from None


def _scan(data: bytes, where: str) -> None:
    """Read over the program without running it: where it ends, and that it asks for no giant memo."""
    end = 0
    for opcode, argument, position in pickletools.genops(data):
        end = (position or 0) + 1
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= int(argument or 0) <= len(data):
            raise FileFormatError(f"{where}: expected memo numbers up to {len(data)}, found {argument}")
    if end != len(data):
        raise FileFormatError(
            f"{where}: expected the pickle to end the file at byte {end}, found {len(data) - end} more bytes"
        )


def _plain_dictionary(value: object, where: str) -> dict[str, Plain]:
    if type(value) is not dict:
        raise FileFormatError(f"{where}: expected a dictionary, found {type(value).__name__}")
    plain: dict[str, Plain] = {}
    for key, entry in value.items():
        if type(key) not in (str, bytes):
            raise FileFormatError(f"{where}: expected names as keys, found {type(key).__name__}")
        name = key if type(key) is str else key.decode("latin-1")
        if type(entry) is _Array:
            plain[name] = entry.to_numpy(f"{where}, entry {name[:40]!r}")
        elif type(entry) in (int, str, bytes) or (
            type(entry) is list and all(type(item) in (int, str, bytes) for item in entry)
        ):
            plain[name] = entry
        else:
            raise FileFormatError(
                f"{where}, entry {name[:40]!r}: expected an integer array, a string, an integer or a list of "
                f"these two, found {type(entry).__name__}"
            )
    return plain


# ----------------------------------------------------------------------------------------------- stand-ins


class _Dtype:
    """What numpy.dtype is called with, and its byte order."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = code.decode("latin-1") if isinstance(code, bytes) else code
        self.order = "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1] if isinstance(state[1], str) else state[1].decode("latin-1")

    def to_numpy(self, where: str) -> np.dtype[Any]:
        if not isinstance(self.code, str) or self.code not in _INTEGERS or self.order not in ("<", ">", "|"):
            raise FileFormatError(f"{where}: expected an array of integers, found another type of array")
        return np.dtype((">" if self.order == ">" else "<") + self.code)


class _Array:
    """What an array's pickle says of it, unchecked until `to_numpy`."""

    def __init__(self, shape: object, dtype: object, fortran: object, data: object) -> None:
        self.shape, self.dtype, self.fortran, self.data = shape, dtype, fortran, data

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.shape, self.dtype, self.fortran, self.data = state[-4:]

    def to_numpy(self, where: str) -> NDArray[Any]:
        if type(self.dtype) is not _Dtype:
            raise FileFormatError(f"{where}: expected an array of integers, found an array without a type")
        dtype = self.dtype.to_numpy(where)
        data = self.data.encode("latin-1") if isinstance(self.data, str) else self.data
        shape = self.shape
        if (
            type(shape) is not tuple
            or len(shape) > 8
            or not all(type(length) is int and length >= 0 for length in shape)
            or not isinstance(data, (bytes, bytearray))
        ):
            raise FileFormatError(f"{where}: expected a shape and the array's bytes, found something else")
        if math.prod(shape) * dtype.itemsize != len(data):
            raise FileFormatError(
                f"{where}: expected {math.prod(shape) * dtype.itemsize} bytes for {dtype} of shape {shape}, "
                f"found {len(data)}"
            )
        return np.frombuffer(bytes(data), dtype).reshape(shape, order="F" if self.fortran else "C")


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, where: str) -> None:
        super().__init__(stream, encoding="latin-1")
        self.where = where

    def find_class(self, module: str, name: str) -> Any:
        function = _STAND_INS.get(f"{module}.{name}")
        if function is None:
            raise FileFormatError(
                f"{self.where}: expected plain arrays, strings, integers and lists, found a pickle that asks "
                f"for {f'{module}.{name}'[:80]!r}, which is never loaded; do not use this file"
            )
        return _Callable(function)


class _Callable:
    """A stand-in as the pickle sees it: a fresh object that can be called, and has nothing to set."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: object) -> Any:
        return self._function(*arguments)

    def __setstate__(self, state: object) -> None:
        raise ValueError("a function is given a state")


def _reconstruct(*_: object) -> _Array:
    return _Array(None, None, None, None)


def _frombuffer(data: object, dtype: object, shape: object, order: object) -> _Array:
    return _Array(shape, dtype, order == "F", data)


def _encode(text: str, encoding: str) -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"byte strings are pickled as latin1, not {encoding[:20]!r}")
    return text.encode("latin-1")


def _empty_bytes() -> bytes:
    return b""


def _array_type(*_: object) -> None:
    raise ValueError("an array is called like a function")


_STAND_INS: dict[str, Callable[..., Any]] = {
    "numpy.dtype": _Dtype,
    "numpy.ndarray": _array_type,
    "_codecs.encode": _encode,
    **{f"{module}.bytes": _empty_bytes for module in ("builtins", "__builtin__")},
    **{f"numpy.{core}.multiarray._reconstruct": _reconstruct for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _frombuffer for core in ("core", "_core")},
}
