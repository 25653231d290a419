r"""Records of shattered point sets: a net for every labeling, and the proof that each is right.

A set of m points is *shattered* by the width-3 LN-Nets of depth L if every one of its 2^m labelings by two
classes is realised by such a net; then their VC dimension is at least m. A record holds the points and one
net for every pair of complementary labelings: its scores are proved to be strictly positive on one class and
strictly negative on the other, so the net with the negated read-out realises the complement.

Format: a gzip file of JSON lines in ASCII. The first line is the header ::

    {"format": "lntheory.shattering", "version": 1, "depth": L, "points": [[...], ...]}

and line 2 + n, for n = 0 .. 2^(m-1) - 1, is the net of the labeling whose sample i has label ``(n >> i) & 1``
(so the last sample always has label 0) ::

    {"layers": [{"weight": [[...]], "bias": [...]}, ...], "readout": {"weight": [[...]], "bias": [...]}}

with layers of three neurons, each followed by LN without epsilon, and a read-out of one row whose score is
positive on label 1. Numbers are written as in a net's own file (`lntheory.network`).
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lntheory.base import jsonfile
from lntheory.base.fields import Count, Items, Real, Value, Version1, require_fields
from lntheory.base.files import replaced_file
from lntheory.base.rounding import float_down
from lntheory.base.validation import as_samples
from lntheory.errors import FileFormatError, RefutedError, UndecidedError
from lntheory.network import Layer, LNNet
from lntheory.network.enclosure import Enclosure, enclose
from lntheory.network.numbers import as_list

__all__ = ["ShatteringProof", "labeling", "net_from_line", "net_to_line", "prove_signs", "verify_shattering"]

FORMAT = "lntheory.shattering"
VERSION = 1
MAX_PRECISION = 8192
MAX_SAMPLES = 30
_LONGEST_LINE = 10_000_000

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ShatteringProof:
    """What a record proves: nets of this depth shatter its points, which bounds their VC dimension below.

    Attributes
    ----------
    n_samples, dim, depth : int
        The width-3 LN-Nets with `depth` LN layers shatter `n_samples` points of R^`dim`, so that their VC
        dimension is at least `n_samples`.
    n_nets : int
        Number of nets checked, one for each pair of complementary labelings: ``2 ** (n_samples - 1)``.
    deepest : int
        Depth of the deepest net of the record, at most `depth`.
    margin : float
        A lower bound of ``|score|`` over all nets and samples.
    """

    n_samples: int
    dim: int
    depth: int
    n_nets: int
    deepest: int
    margin: float


def labeling(number: int, n_samples: int) -> NDArray[np.int64]:
    """Labels of the samples in labeling `number`: its binary digits, the lowest first.

    Examples
    --------
    >>> labeling(5, 4).tolist()
    [1, 0, 1, 0]
    """
    return np.array([(number >> i) & 1 for i in range(n_samples)], dtype=np.int64)


def prove_signs(net: LNNet, X: FloatArray, labels: NDArray[np.int64], precision: int = 64) -> float:
    """Prove that the single score is > 0 on label 1 and < 0 on label 0; return a lower bound of ``|score|``.

    Raises
    ------
    RefutedError
        If a score provably has the wrong sign, or a layer provably meets zero variance.
    UndecidedError
        If some sign is undecided at the precision limit.
    """
    signs = np.where(labels == 1, 1, -1)
    while True:
        enclosure = enclose(net, X, precision=precision)
        undecided, margin = signed_scores(enclosure, signs)
        if not undecided:
            return margin
        precision *= 2
        if precision > MAX_PRECISION:
            raise UndecidedError(
                f"the sign of sample {undecided[0]} is undecided at {MAX_PRECISION} bits",
                undecided,
                MAX_PRECISION,
            )


def signed_scores(enclosure: Enclosure, signs: NDArray[np.int64]) -> tuple[list[int], float]:
    """The samples whose sign is undecided, and a proved lower bound of ``|score|`` over the others.

    Raises `RefutedError` if a score provably has the wrong sign or a sample has zero variance at a layer.
    """
    undecided, margin = [], np.inf
    for i, sign in enumerate(signs.tolist()):
        if i in enclosure.degenerate:
            raise RefutedError(f"sample {i} has zero variance at layer {enclosure.degenerate[i]}", [i])
        score = enclosure.scores[i][0] * sign
        if score < 0 or score == 0:
            raise RefutedError(f"sample {i} gets the wrong sign", [i])
        if i not in enclosure.lost and score > 0:
            margin = min(margin, float_down(score.abs_lower()))
        else:
            undecided.append(i)
    return undecided, float(margin)


def net_to_line(net: LNNet) -> str:
    """A net as a line of a record."""
    data = {"layers": [layer.to_dict() for layer in net.layers], "readout": net.readout.to_dict()}
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def net_from_line(line: str) -> LNNet:
    """The net of a record's line, with classes 0 and 1; `FileFormatError` if the line holds no net."""
    data = require_fields(jsonfile.parse(line, "the net"), "the net", {"layers", "readout"})
    layers = [
        Layer.from_dict(layer, f"layers[{k}]") for k, layer in enumerate(as_list(data["layers"], "layers"))
    ]
    try:
        return LNNet(tuple(layers), Layer.from_dict(data["readout"], "readout"), (0, 1))
    except ValueError as error:
        raise FileFormatError(str(error)) from None


def header_line(points: FloatArray, depth: int) -> str:
    """The first line of a record."""
    data = {"format": FORMAT, "version": VERSION, "depth": depth, "points": points.tolist()}
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def verify_shattering(
    path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None
) -> ShatteringProof:
    """Prove afresh, from the file alone, that its points are shattered at its depth.

    Every labeling must be there, in order; every net must have three neurons a layer, LN without epsilon, at
    most the depth claimed, and provably the right sign on every point.

    Parameters
    ----------
    path : path
        A record as `lntheory.vc.build_lower_bound` writes it.
    progress : callable (done, total), optional

    Returns
    -------
    ShatteringProof

    Raises
    ------
    RefutedError
        If a net is wrong, too deep or too wide; the message names the labeling.
    UndecidedError
        If a sign cannot be decided at the precision limit.
    FileFormatError
        If the file is corrupt, truncated or no record; the message names the file and the line.

    Examples
    --------
    Two points of the line are shattered at depth 0, by the scores -1 and 1/2 - x:

    >>> import tempfile
    >>> nets = [LNNet([], Layer([[0]], [-1]), (0, 1)), LNNet([], Layer([[-1]], [0.5]), (0, 1))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two_points.jsonl.gz")
    ...     write_record(path, header_line(np.array([[0.0], [1.0]]), 0), map(net_to_line, nets))
    ...     verify_shattering(path)
    ShatteringProof(n_samples=2, dim=1, depth=0, n_nets=2, deepest=0, margin=0.5)
    """
    with _lines(path) as lines:
        points, depth = _header(next(lines, ""), path)
        n_samples, total = len(points), 2 ** (len(points) - 1)
        deepest, margin = 0, float("inf")
        for number in range(total):
            line = next(lines, "")
            if not line:
                raise FileFormatError(f"{path}: ends after {number} of {total} nets; is it truncated?")
            try:
                net = net_from_line(line)
                _check_shape(net, points.shape[1], depth)
                margin = min(margin, prove_signs(net, points, labeling(number, n_samples)))
            except FileFormatError as error:
                raise FileFormatError(f"{path}, line {number + 2}: {error}") from None
            except RefutedError as error:
                raise RefutedError(f"{path}, labeling {number}: {error}", error.samples) from None
            except UndecidedError as error:
                raise UndecidedError(
                    f"{path}, labeling {number}: {error}", error.samples, error.precision
                ) from None
            deepest = max(deepest, net.depth)
            if progress is not None:
                progress(number + 1, total)
        if next(lines, ""):
            raise FileFormatError(f"{path}: goes on after its {total} nets")
    return ShatteringProof(n_samples, points.shape[1], depth, total, deepest, margin)


def _check_shape(net: LNNet, dim: int, depth: int) -> None:
    if net.n_features != dim:
        raise FileFormatError(f"the net takes {net.n_features} features, the points have {dim}")
    if net.readout.n_out != 1:
        raise FileFormatError(f"the read-out has {net.readout.n_out} rows, expected 1")
    if any(layer.n_out != 3 for layer in net.layers):
        raise RefutedError("the net is not of width 3")
    if net.depth > depth:
        raise RefutedError(f"the net has {net.depth} layers, more than the {depth} claimed")


class _Header(Value):
    """The first line of a record."""

    format: Literal["lntheory.shattering"]
    version: Version1
    depth: Count
    points: Items[Items[Real]]


def _header(line: str, path: str | os.PathLike[str]) -> tuple[FloatArray, int]:
    where = f"{path}, line 1"
    header = _Header.from_dict(jsonfile.parse(line, where), where)
    try:
        points = as_samples(np.array(header.points))
    except ValueError as error:
        raise FileFormatError(f"{where}: points: {error}") from None
    if len(points) > MAX_SAMPLES:
        raise FileFormatError(
            f"{where}: {len(points)} points; records of more than {MAX_SAMPLES} are not read"
        )
    if len(np.unique(points + 0.0, axis=0)) < len(points):
        raise FileFormatError(f"{where}: two points are equal; no labeling tells them apart")
    return points, header.depth


class _lines:
    """The lines of a gzip file, one at a time; a file that is not gzip or not text is a `FileFormatError`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Iterator[str]:
        self._file = gzip.open(self._path, "rb")
        return self._read()

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self) -> Iterator[str]:
        while True:
            try:
                raw = self._file.readline(_LONGEST_LINE)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise FileFormatError(f"{self._path}: corrupt or truncated gzip file ({error})") from None
            if not raw:
                return
            if not raw.endswith(b"\n"):
                raise FileFormatError(f"{self._path}: a line is cut off or longer than {_LONGEST_LINE} bytes")
            try:
                yield raw.decode("ascii").rstrip("\n")
            except UnicodeDecodeError:
                raise FileFormatError(f"{self._path}: not ASCII text inside; is it a record?") from None


def write_record(path: str | os.PathLike[str], header: str, lines: Sequence[str] | Iterator[str]) -> None:
    """Write a record; the file appears whole or not at all, and equal content gives equal bytes."""
    with (
        replaced_file(path) as beside,
        open(beside, "wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, 0) as packed,
    ):
        packed.write(f"{header}\n".encode("ascii"))
        for line in lines:
            packed.write(f"{line}\n".encode("ascii"))
