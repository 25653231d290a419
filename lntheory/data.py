"""Labelled samples: from CSV and NPZ files, from scikit-learn's bundled sets, with random labels.

Samples are float64 and labels are strings, integers, floats or booleans. The numbers of each source:

=========  ======================================================================================
source     what a cell becomes
=========  ======================================================================================
``.csv``   the nearest double (`load_dataset`, what nets use), or the decimal exactly as it is
           written (`read_fractions`, for exact SSR and LSSR): ``0.1`` is 1/10 only as written
``.npz``   the nearest double, of whatever real type the array has
bundled    scikit-learn's doubles
=========  ======================================================================================
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lntheory.base.files import replaced_file
from lntheory.base.validation import as_count, as_samples, as_seed
from lntheory.errors import FileFormatError, InvalidInputError, excerpt

__all__ = ["BUNDLED", "Dataset", "load_dataset", "random_labels", "read_fractions", "save_dataset"]

BUNDLED = ("digits", "iris", "wine", "breast_cancer", "xor")

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?[1-9][0-9]*|0")
_MOST_DIGITS = 4000  # of a cell's mantissa or of the power of ten it spans: more is a mistake, or an attack


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled samples, read-only.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        Real and finite; held as float64.
    y : array_like, shape (n_samples,)
        Labels of one kind: strings, integers, finite floats or booleans.
    name : str
        The source of the samples, for messages and titles.
    feature_names : sequence of str, optional

    Raises
    ------
    InvalidInputError
        If X or y is not of this kind, or their lengths differ; the message names the sample and feature.

    Examples
    --------
    >>> Dataset([[0, 0], [1, 1]], ["no", "yes"], "two points")
    Dataset('two points', n_samples=2, n_features=2, n_classes=2)
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    name: str
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        X, y = _samples(self.X, self.name), _labels(self.y, self.name)
        if len(X) != len(y):
            raise InvalidInputError(
                f"{self.name}: {len(X)} samples but {len(y)} labels; give every sample one label"
            )
        names = None if self.feature_names is None else tuple(self.feature_names)
        if names is not None and len(names) != X.shape[1]:
            raise InvalidInputError(f"{self.name}: {len(names)} feature names for {X.shape[1]} features")
        X.setflags(write=False)
        y.setflags(write=False)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "feature_names", names)

    @property
    def classes(self) -> NDArray[Any]:
        """The distinct labels, sorted."""
        return np.unique(self.y)

    def with_labels(self, y: ArrayLike, name: str) -> Dataset:
        """The same samples with other labels."""
        return replace(self, y=np.asarray(y), name=name)

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        return (
            f"Dataset({self.name!r}, n_samples={n_samples}, n_features={n_features}, "
            f"n_classes={len(self.classes)})"
        )


# ----------------------------------------------------------------------------------------------- loading


def load_dataset(source: str | os.PathLike[str], label: str | None = None) -> Dataset:
    """Read labelled samples.

    Parameters
    ----------
    source : str or path
        * ``NAME.csv``: comma-separated UTF-8 text with a header; `label` names the column of labels, all
          other columns are decimal numbers, read as the nearest doubles. Spaces around cells are dropped and
          blank lines skipped. Labels are int64 if every one is written as a plain integer that fits (``7``,
          ``-3``; not ``07`` or ``+7``), else strings as they stand.
        * ``NAME.npz``: an archive of exactly two numpy arrays; `label` (default ``"y"``) names the labels,
          of shape (n_samples,), the other is the samples, of shape (n_samples, n_features). Nothing in it is
          executed: arrays of Python objects are refused.
        * one of ``"digits"``, ``"iris"``, ``"wine"``, ``"breast_cancer"`` (scikit-learn's, with its integer
          labels) or ``"xor"``.
    label : str, optional
        Name of the labels; not used by the bundled sets.

    Raises
    ------
    FileFormatError
        If the file is not what its name says; the message names file, line, column and text, or file and
        array.
    InvalidInputError
        If the source is of no known kind.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> load_dataset("xor").y.tolist()
    [0, 1, 1, 0]
    >>> load_dataset("iris")
    Dataset('iris', n_samples=150, n_features=4, n_classes=3)
    """
    path = Path(source)
    if path.suffix.lower() == ".csv":
        table = _read_table(path, label)
        return Dataset(table.convert(_double), _text_labels(table.labels), path.name, table.feature_names)
    if path.suffix.lower() == ".npz":
        return _read_npz(path, "y" if label is None else label)
    if str(source) in BUNDLED:
        return _bundled(str(source))
    raise InvalidInputError(
        f"{str(source)!r} is no data: give a .csv file with a header, an .npz file with two arrays, "
        f"or one of {', '.join(BUNDLED)}"
    )


def read_fractions(path: str | os.PathLike[str], label: str | None = None) -> NDArray[Any]:
    """The samples of a CSV file exactly as they are written, for `lntheory.exact`.

    Parameters
    ----------
    path : str or path
        As for `load_dataset`; the order of rows and columns is the same.
    label : str
        The column that is left out.

    Returns
    -------
    ndarray of fractions.Fraction, shape (n_samples, n_features)

    Raises
    ------
    FileFormatError
        As `load_dataset` does, and for numbers of more than 4,000 digits.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "two.csv")
    ...     _ = path.write_text("a,label\\n0.1,x\\n2e-1,y\\n")
    ...     read_fractions(path, "label").tolist()
    [[Fraction(1, 10)], [Fraction(1, 5)]]
    """
    return _read_table(Path(path), label).convert(_fraction)


def save_dataset(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write samples and labels to an ``.npz`` with arrays ``X`` and ``y``, which `load_dataset` reads back.

    The same data gives the same bytes. The file appears whole or not at all.

    Parameters
    ----------
    dataset : Dataset
    path : str or path

    Raises
    ------
    InvalidInputError
        If `path` is not named ``*.npz``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_dataset(load_dataset("xor"), Path(folder, "xor.npz"))
    ...     load_dataset(Path(folder, "xor.npz"))
    Dataset('xor.npz', n_samples=4, n_features=2, n_classes=2)
    """
    if Path(path).suffix != ".npz":
        raise InvalidInputError(f"{path}: data is saved to a file named *.npz")
    with replaced_file(path) as beside:
        np.savez_compressed(beside, X=dataset.X, y=dataset.y)


def _bundled(name: str) -> Dataset:
    if name == "xor":
        return Dataset(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0]), name, ("a", "b"))
    from sklearn import datasets  # a second to import: only when asked for

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(bunch.data, bunch.target, name, tuple(str(feature) for feature in bunch.feature_names))


# --------------------------------------------------------------------------------------------------- CSV


@dataclass(frozen=True)
class _Table:
    """The cells of a CSV file as text, with what error messages need."""

    path: Path
    feature_names: tuple[str, ...]
    lines: list[int]
    cells: list[list[str]]
    labels: list[str]

    def convert(self, number: Callable[[str], float | Fraction]) -> NDArray[Any]:
        """All cells as numbers; the error of a bad one names line, column and text."""
        rows = [[self._number(number, i, j) for j in range(len(row))] for i, row in enumerate(self.cells)]
        return np.array(rows, dtype=np.float64 if number is _double else object)

    def _number(self, number: Callable[[str], float | Fraction], i: int, j: int) -> float | Fraction:
        text = self.cells[i][j]
        try:
            return number(text)
        except ValueError as error:
            where = f"{self.path}, line {self.lines[i]}, column {self.feature_names[j]!r}"
            raise FileFormatError(f"{where}: {excerpt(text, 40)} {error}") from None


def _double(text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(_complaint(text))
    value = float(text)
    if math.isinf(value):
        raise ValueError("is too large for a double; scale the column")
    return value


def _fraction(text: str) -> Fraction:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(_complaint(text))
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) + len(exponent) > _MOST_DIGITS or abs(int(exponent or 0)) > _MOST_DIGITS:
        raise ValueError(f"has more than {_MOST_DIGITS} digits; round it")
    return Fraction(text)


def _complaint(text: str) -> str:
    if not text:
        return "is empty; fill it in or drop the row"
    if text.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return "is not finite; drop or repair the row"
    return "is not a decimal number; drop the column, or name it with --label if it holds the labels"


def _read_table(path: Path, label: str | None) -> _Table:
    rows = _rows(path)
    header_line, header = next(rows, (0, []))
    if not header:
        raise FileFormatError(f"{path} is empty; expected a header line and at least one sample")
    at = _label_column(path, header_line, header, label)
    lines, cells, labels = [], [], []
    for line, row in rows:
        if len(row) != len(header):
            raise FileFormatError(
                f"{path}, line {line}: {len(row)} cells where the header has {len(header)} columns"
            )
        if not row[at]:
            raise FileFormatError(f"{path}, line {line}, column {header[at]!r}: the label is empty")
        lines.append(line)
        labels.append(row.pop(at))
        cells.append(row)
    if not lines:
        raise FileFormatError(f"{path} has a header but no samples")
    return _Table(path, (*header[:at], *header[at + 1 :]), lines, cells, labels)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and stripped cells of every row that is not blank."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileFormatError(f"{path}, line {line}: holds a NUL character; this is no text file")
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    while True:
        first_line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise FileFormatError(f"{path}, line {first_line}: not readable as CSV ({error})") from None
        if row is None:
            return
        if row and row != [""]:
            yield first_line, [cell.strip() for cell in row]


def _label_column(path: Path, line: int, header: list[str], label: str | None) -> int:
    """Position of the label column, after checking the header."""
    listed = ", ".join(map(repr, header[:12])) + (", ..." if len(header) > 12 else "")
    if all(_DECIMAL.fullmatch(name) for name in header):
        raise FileFormatError(f"{path}, line {line}: {listed} are numbers, not a header; add a line of names")
    if "" in header:
        raise FileFormatError(
            f"{path}, line {line}: column {header.index('') + 1} has no name; name it, or drop it if it only "
            "numbers the rows (pandas: to_csv(index=False))"
        )
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise FileFormatError(f"{path}, line {line}: two columns are named {twice[0]!r}; rename one")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise FileFormatError(f"{path}, line {line}: {listed} is one column; separate columns with commas")
    if label is None:
        raise InvalidInputError(f"{path}: say which column holds the labels (--label); it has {listed}")
    if label.strip() not in header:
        raise FileFormatError(f"{path}, line {line}: no column is named {label!r}; it has {listed}")
    if len(header) == 1:
        raise FileFormatError(f"{path}, line {line}: {listed} is the only column; expected numbers beside it")
    return header.index(label.strip())


def _text_labels(texts: list[str]) -> NDArray[Any]:
    if all(len(text) <= 20 and _INTEGER.fullmatch(text) for text in texts):
        values = [int(text) for text in texts]
        if all(-(2**63) <= value < 2**63 for value in values):
            return np.array(values, dtype=np.int64)
    return np.array(texts)


# --------------------------------------------------------------------------------------------------- NPZ


def _read_npz(path: Path, label: str) -> Dataset:
    names = _array_names(path)
    listed = ", ".join(map(repr, names)) or "none"
    if label not in names:
        raise FileFormatError(f"{path}: no array is named {label!r} (--label); it has {listed}")
    others = [name for name in names if name != label]
    if len(others) != 1:
        raise FileFormatError(
            f"{path}: expected one array beside the labels {label!r}, the samples; it has {listed}"
        )
    X, y = _read_array(path, others[0]), _read_array(path, label)
    return Dataset(
        _samples(X, f"{path}, array {others[0]!r}"), _labels(y, f"{path}, array {label!r}"), path.name
    )


def _array_names(path: Path) -> list[str]:
    with open(path, "rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise FileFormatError(f"{path} is not an .npz archive, or is cut off; write it with numpy.savez")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return list(archive.files)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise FileFormatError(f"{path} is not an .npz archive ({error})") from None


_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, MemoryError, ValueError)


def _read_array(path: Path, name: str) -> NDArray[Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            array = archive[name]
    except _UNREADABLE as error:
        reason = str(error) or type(error).__name__
        if "allow_pickle" in reason:
            reason = "it holds Python objects, which are never loaded; save numbers or strings"
        raise FileFormatError(f"{path}, array {name!r}: cannot be read ({reason})") from None
    if not isinstance(array, np.ndarray):
        raise FileFormatError(f"{path}, array {name!r}: is no numpy array; write the file with numpy.savez")
    return array


# ---------------------------------------------------------------------------------------------- checking


def _samples(values: Any, where: str) -> NDArray[np.float64]:
    """A fresh float64 array (n_samples, n_features), all finite."""
    return np.array(as_samples(values, where))


def _labels(values: Any, where: str) -> NDArray[Any]:
    """A fresh one-dimensional array of strings, int64, float64 or bool."""
    array = np.asarray(values) if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    if array.ndim != 1:
        raise InvalidInputError(f"{where}: labels of shape {array.shape}, expected (n_samples,)")
    if array.dtype.kind == "O":
        array = _unboxed(array, where)
    if array.dtype.kind not in "fiubU" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise InvalidInputError(
            f"{where}: labels of type {array.dtype}; expected strings, integers, floats or booleans"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise InvalidInputError(f"{where}: the label of sample {i} is {array[i]}; labels must be finite")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise InvalidInputError(f"{where}: the label {array.max()} does not fit in 64 bits; use strings")
    return array.astype({"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind, array.dtype))


def _unboxed(array: NDArray[Any], where: str) -> NDArray[Any]:
    """Labels held as Python objects, as an array of their one type."""
    values = [value.item() if isinstance(value, np.generic) else value for value in array]
    for i, value in enumerate(values):
        if type(value) is not type(values[0]) or type(value) not in (str, int, float, bool):
            raise InvalidInputError(
                f"{where}: the label of sample {i} is {excerpt(value, 40)}; labels are all str, all int, "
                "all float or all bool"
            )
        if isinstance(value, str) and value.endswith("\0"):
            raise InvalidInputError(f"{where}: the label of sample {i} ends in a NUL character; remove it")
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise InvalidInputError(f"{where}: the label {value} does not fit in 64 bits; use strings")
    return np.array(values)


# --------------------------------------------------------------------------------------------- random labels


def random_labels(X: ArrayLike, n_classes: int, seed: int | np.random.Generator = 0) -> NDArray[np.int64]:
    """Uniformly random labels 0 .. n_classes - 1, one for every *distinct* sample.

    The label of a sample is a pure function of the seed, `n_classes` and the sample's own numbers: SHA-256 of
    seed and row, modulo `n_classes`. Hence equal rows get equal labels (they have to, for any function to fit
    them), and neither the order of the rows, nor which rows are present, nor who draws how many at a time
    changes any label. 0.0 and -0.0 are the same number here. With few samples a class may stay empty.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
    n_classes : int
    seed : int or numpy.random.Generator
        A generator gives one seed of 128 bits, and so different labels at every call.

    Returns
    -------
    ndarray of int64, shape (n_samples,)

    Examples
    --------
    >>> X = [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [4.0, 5.0]]
    >>> random_labels(X, 10, seed=0).tolist()
    [4, 8, 4, 5]
    >>> random_labels(X[::-1], 10, seed=0).tolist()
    [5, 4, 8, 4]
    """
    samples = _samples(X, "X")
    as_count(n_classes, "n_classes", 1)
    if isinstance(seed, np.random.Generator):
        key = int.from_bytes(seed.bytes(16), "little")
    else:
        key = as_seed(seed, "seed")
    start = hashlib.sha256(f"lntheory.random_labels {key} {n_classes}\n".encode())
    rows = (samples + 0.0).astype("<f8")  # -0.0 + 0.0 is 0.0
    return np.array([_digest(start, row.tobytes()) % n_classes for row in rows], dtype=np.int64)


def _digest(start: Any, row: bytes) -> int:
    digest = start.copy()
    digest.update(row)
    return int.from_bytes(digest.digest(), "little")
