"""VC dimension of width-3 LN-Nets: lower bounds, built and certified by a net for every labeling.

The formulas of the bounds and their proofs are in `lntheory.bounds`; its functions can be imported from here
too.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lntheory.base.files import replaced_file
from lntheory.base.parallel import parallel_map
from lntheory.base.types import Progress
from lntheory.base.validation import as_count, as_exact_samples
from lntheory.bounds import (
    SIX,
    THIRTEEN,
    alternating_depth,
    counting_bound,
    least_depth,
    lower_bound,
    paper_lower_bound,
    upper_bound,
)
from lntheory.construct import shatter
from lntheory.errors import InvalidInputError, RefutedError, UndecidedError
from lntheory.exact.shattering import (
    MAX_SAMPLES,
    ShatteringProof,
    header_line,
    labeling,
    net_to_line,
    prove_signs,
    verify_shattering,
    write_record,
)
from lntheory.network import Layer, LNNet

__all__ = [
    "SIX",
    "THIRTEEN",
    "Shattering",
    "build_lower_bound",
    "counting_bound",
    "in_convex_position",
    "least_depth",
    "lower_bound",
    "net_of_labeling",
    "paper_lower_bound",
    "shatters",
    "upper_bound",
    "why_impossible",
    "witness",
]

TRIES = 4
"""Number of nets that are tried for a labeling."""
CHUNK = 128
"""Labelings that are built, saved and resumed together."""
FloatArray = NDArray[np.float64]


# ----------------------------------------------------------------------------------------- witnesses and nets


def witness(n_samples: int, dim: int, depth: int | None = None) -> FloatArray:
    """Points to be shattered, shape (n_samples, dim): unevenly spaced on a line, or on the unit circle.

    For dim >= 2 they are in convex position in the first two coordinates, with two exceptions: six points at
    depth 1 and thirteen at depth 2 are `SIX` and `THIRTEEN`, since no such sets in convex position are
    shattered; and up to ``dim + 1`` points are affinely independent, so that affine classifiers shatter them.

    Raises
    ------
    InvalidInputError
        If `n_samples` or `dim` is below 1.

    Examples
    --------
    >>> witness(3, 1).ravel().tolist()
    [0.0, 1.25, 1.77]
    """
    if n_samples < 1:
        raise InvalidInputError(f"n_samples={n_samples}; give at least one sample")
    as_count(dim, "dim", 1)
    if dim > 1 and n_samples <= dim + 1:
        return np.eye(n_samples, dim, -1)
    chosen = {1: SIX, 2: THIRTEEN}.get(depth or 0, ())
    if dim > 1 and n_samples == len(chosen):
        return np.pad(np.array(chosen), ((0, 0), (0, dim - 2)))
    steps = np.arange(n_samples)
    spaced = np.round(steps + 0.3 * np.sin(steps**2), 2)  # uneven: no parallel chords, no symmetry
    if dim == 1:
        return spaced[:, None]
    angles = 2 * np.pi * spaced / n_samples
    points = np.zeros((n_samples, dim))
    points[:, 0], points[:, 1] = np.round(np.cos(angles), 12), np.round(np.sin(angles), 12)
    return points


def net_of_labeling(points: FloatArray, depth: int, number: int, seed: int) -> LNNet | None:
    """A net of at most this depth that is proved to realise labeling `number`; None if none was built."""
    labels = labeling(number, len(points))
    if not labels.any():
        return LNNet((), Layer(np.zeros((1, points.shape[1])), [-1.0]), (0, 1))
    for attempt in range(TRIES):
        rng = np.random.default_rng([seed, number, attempt])
        net = shatter(points, labels, method="pairs", random_state=rng)
        if net.depth <= depth:
            try:
                prove_signs(net, points, labels)
            except (RefutedError, UndecidedError):
                continue
            return net
    return None


# -------------------------------------------------------------------------------------------- all labelings


@dataclass(frozen=True)
class Shattering:
    """The result of `shatters` for a set of points and a depth.

    Attributes
    ----------
    points : ndarray, shape (n_samples, dim)
    depth : int
    nets : tuple of LNNet or None
        The certified net of each labeling number (see `lntheory.exact.shattering.labeling`), one for each
        pair of complementary labelings; None where no net was built.
    impossible : str or None
        The reason why the points cannot be shattered at this depth, in words; None if none is known.
    """

    points: FloatArray
    depth: int
    nets: tuple[LNNet | None, ...]
    impossible: str | None

    @property
    def shattered(self) -> bool:
        """Whether every labeling has its certified net."""
        return all(net is not None for net in self.nets)

    @property
    def missing(self) -> tuple[tuple[int, ...], ...]:
        """Labelings for which no net was built, which does not prove that there is none."""
        return tuple(
            tuple(labeling(number, len(self.points)).tolist())
            for number, net in enumerate(self.nets)
            if net is None
        )

    @property
    def verdict(self) -> str:
        """One sentence that says what is proved and what is not."""
        if self.shattered:
            return (
                f"shattered at depth {self.depth}: {len(self.nets)} nets certified, one a pair of labelings"
            )
        if self.impossible is not None:
            return f"not shattered at depth {self.depth}: {self.impossible}"
        left = f"{len(self.missing)} of {len(self.nets)} pairs of labelings"
        return f"undecided at depth {self.depth}: no net built for {left}, which does not prove there is none"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a record, which `lntheory.exact.verify_shattering` can prove afresh.

        Raises
        ------
        InvalidInputError
            If some labeling has no net.
        """
        if not self.shattered:
            raise InvalidInputError(f"{self.verdict}; only a shattered set has a record")
        lines = (net_to_line(net) for net in self.nets if net is not None)
        write_record(path, header_line(self.points, self.depth), lines)


def shatters(
    points: ArrayLike, depth: int, *, random_state: int = 0, n_jobs: int = 1, progress: Progress | None = None
) -> Shattering:
    """Try to realise every labeling of the points by a certified width-3 LN-Net of at most `depth` LN layers.

    Parameters
    ----------
    points : array_like, shape (n_samples, dim)
        At most 20 distinct points.
    depth : int
    random_state : int
        The same seed gives the same nets, whatever the number of workers.
    n_jobs : int
        Number of processes; -1 for one on each core.
    progress : callable (labelings done, labelings), optional

    Returns
    -------
    Shattering
        The points are shattered (with a certified net for each labeling), or not shattered (with a proof: by
        `upper_bound`, or for points in convex position by the halving of alternating runs), or undecided.

    Raises
    ------
    InvalidInputError
        If two points are equal, there are too many points, or a coordinate is NaN or infinite.

    Examples
    --------
    >>> square = [[0, 0], [1, 0.1], [1.2, 1], [0.1, 1.3]]
    >>> shatters(square, 1).shattered
    True
    >>> shatters(square, 0).verdict
    'not shattered at depth 0: no 4 points of R^2 are, affine classifiers shatter dim + 1 at most'
    """
    samples = _distinct_points(points, 20)
    as_count(depth, "depth", 0)
    impossible = why_impossible(samples, depth)
    total = 2 ** (len(samples) - 1)
    build = functools.partial(net_of_labeling, samples, depth, seed=random_state)
    nets = parallel_map(build, range(total), n_jobs=n_jobs, progress=progress)
    return Shattering(samples, depth, tuple(nets), impossible)


def why_impossible(points: FloatArray, depth: int) -> str | None:
    """The reason, in words, why no nets of this depth shatter the points; None if no bound gives one."""
    n_samples, dim = points.shape
    if (most := upper_bound(depth, dim)) < n_samples:
        if depth == 0:
            how = "affine classifiers shatter dim + 1 at most"
        elif most == counting_bound(depth, dim):
            how = "by counting sign patterns (Warren)"
        else:
            how = (
                "a score changes sign 2^L times at most"
                if dim == 1
                else "by the orientations of seven points"
            )
        return f"no {most + 1} points of R^{dim} are, {how}"
    needed = alternating_depth(n_samples)
    if dim == 2 and n_samples >= 4 and depth < needed and in_convex_position(points):
        return (
            f"labels that alternate around {n_samples} points in convex position need {needed} layers, for a "
            "layer at best halves the number of runs"
        )
    return None


def in_convex_position(points: FloatArray) -> bool:
    """Whether every point of the plane is a vertex of the convex hull, decided exactly; shape (n, 2)."""
    exact = [tuple(flint.fmpq(*float(v).as_integer_ratio()) for v in point) for point in points]
    order = sorted(range(len(exact)), key=lambda i: (float(points[i, 0]), float(points[i, 1])))
    hull: list[int] = []
    for chain in (order, order[::-1]):
        start = len(hull)
        for i in chain:
            while len(hull) - start >= 2 and _turn(exact[hull[-2]], exact[hull[-1]], exact[i]) <= 0:
                hull.pop()
            hull.append(i)
        hull.pop()
    return len(hull) == len(exact)


def _turn(p: tuple[flint.fmpq, ...], q: tuple[flint.fmpq, ...], r: tuple[flint.fmpq, ...]) -> flint.fmpq:
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def build_lower_bound(
    depth: int,
    dim: int,
    n_samples: int | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> ShatteringProof:
    """Certify that width-3 LN-Nets of this depth shatter `n_samples` points of R^dim, and write the record.

    Every labeling of a `witness` set gets a net, certified as it is built: one for each pair of complementary
    labelings, since the net with the negated read-out gives the complement. If the work is interrupted, its
    finished parts are kept beside the record, and the next call continues there. The record's bytes do not
    depend on the number of workers.

    Parameters
    ----------
    depth, dim : int
    n_samples : int, optional
        ``lower_bound(depth, dim)`` by default. A larger number may be tried.
    path : path, optional
        The record; see `lntheory.exact.shattering` for its format. By default
        ``shattering-L<depth>-d<dim>-m<n_samples>.json.gz`` in the current directory.
    random_state : int
    n_jobs : int
        Number of processes; -1 for one on each core.
    progress : callable (labelings done, labelings), optional

    Returns
    -------
    ShatteringProof
        The result of `lntheory.exact.verify_shattering` on the finished file.

    Raises
    ------
    InvalidInputError
        If no net was built for some labeling; the message names the first, and no record is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     proof = build_lower_bound(1, 2, path=Path(folder, "record.json.gz"))
    >>> proof.n_samples, proof.depth, proof.n_nets
    (6, 1, 32)
    """
    as_count(depth, "depth", 0)
    size = lower_bound(depth, dim) if n_samples is None else n_samples
    points = _distinct_points(witness(size, dim, depth), MAX_SAMPLES)
    if path is None:
        path = f"shattering-L{depth}-d{dim}-m{size}.json.gz"
    header, total = header_line(points, depth), 2 ** (len(points) - 1)
    parts = _parts(Path(path), f"{header} {random_state}")
    chunks = [range(start, min(start + CHUNK, total)) for start in range(0, total, CHUNK)]
    done = sum(len(chunk) for chunk in chunks if _part(parts, chunk).exists())
    if progress is not None:
        progress(done, total)
    todo = [chunk for chunk in chunks if not _part(parts, chunk).exists()]
    build = functools.partial(_build_chunk, points, depth, seed=random_state, parts=parts)
    for missing, chunk in zip(parallel_map(build, todo, n_jobs=n_jobs), todo, strict=True):
        if missing is not None:
            raise InvalidInputError(
                f"no net of depth {depth} was built for labels {labeling(missing, len(points)).tolist()} of "
                f"{len(points)} points; take fewer points or a greater depth"
            )
        done += len(chunk)
        if progress is not None:
            progress(done, total)
    write_record(path, header, _joined(parts, chunks))
    proof = verify_shattering(path)
    for chunk in chunks:
        _part(parts, chunk).unlink()
    parts.rmdir()
    return proof


def _build_chunk(points: FloatArray, depth: int, chunk: range, *, seed: int, parts: Path) -> int | None:
    """Build and save the nets of a chunk of labelings; return the first labeling that fails, if any."""
    lines = []
    for number in chunk:
        net = net_of_labeling(points, depth, number, seed)
        if net is None:
            return number
        lines.append(net_to_line(net))
    with replaced_file(_part(parts, chunk)) as beside:
        beside.write_bytes(gzip.compress("\n".join(lines).encode("ascii"), mtime=0))
    return None


def _parts(path: Path, content: str) -> Path:
    """The folder beside a record that holds its unfinished parts; its name depends on what is being built."""
    key = hashlib.sha256(content.encode("ascii")).hexdigest()[:12]
    folder = path.with_name(f"{path.name}.{key}.parts")
    folder.mkdir(exist_ok=True)
    return folder


def _part(parts: Path, chunk: range) -> Path:
    return parts / f"{chunk.start:09d}.gz"


def _joined(parts: Path, chunks: list[range]) -> Iterator[str]:
    for chunk in chunks:
        yield from gzip.decompress(_part(parts, chunk).read_bytes()).decode("ascii").split("\n")


def _distinct_points(points: ArrayLike, most: int) -> FloatArray:
    samples = as_exact_samples(points)
    if len(samples) > most:
        raise InvalidInputError(f"{len(samples)} points have 2^{len(samples)} labelings; give at most {most}")
    _, first = np.unique(samples + 0.0, axis=0, return_index=True)
    if len(first) < len(samples):
        twin = int(min(set(range(len(samples))) - set(first.tolist())))
        raise InvalidInputError(f"point {twin} equals an earlier one; equal points cannot be shattered")
    return samples
