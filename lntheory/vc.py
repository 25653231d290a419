r"""VC dimension of width-3 LN-Nets: lower bounds certified over every labeling, an upper bound by counting.

For the nets of L LN layers of width 3 on R^d, with one affine score (positive or not) as read-out:

======================  ===========================================================================
lower, the paper's      L + 2
lower, ours             4L + 1 for d >= 2, but 6 at L = 1 and 13 at L = 2; 4L - 3 (and 2L + 1) for d = 1;
                        at least d + 1
upper, ours             of order P L with P = 2d + 4L - 2 effective parameters (`counting_bound`);
                        2^L + 1 for d = 1; 6 at L = 1, d = 2
======================  ===========================================================================

So the VC dimension is 3, 5 and 9 at L = 1, 2, 3 on a line, and 6 at L = 1 in the plane.

**Lower.** With m = 4L + 1 points in convex position the rarer label has k <= 2L of them, and ``pairs`` (two
merges a layer) needs max(1, ceil(k / 2)) <= L layers; for m = 4L - 3 distinct points of any dimension,
k <= 2L - 2 and 1 + ceil(k / 2) <= L. One and two layers do more on points that are not in convex position:
`SIX` and `THIRTEEN`. `build_lower_bound` does not rely on that argument: it builds a net for
each labeling and writes them all down, and `lntheory.exact.verify_shattering` proves each one right.

**Upper, on a line** [ours]. A layer's preimage of an arc of the circle is at most two arcs, so the positive
part of the first circle is at most 2^(L-1) arcs, with 2^L ends; each end is the image of at most one point of
the line, so a score changes sign at most 2^L times: 2^L + 2 alternating points are out of reach.

**Upper, one layer in the plane** [ours]. One layer and an affine score realise, on finite sets, just the
intersections and the unions of two half-planes (a wedge with the centre as its apex, or a strip). Whether two
half-planes do depends on the orientations of the triples alone, and none of the 908 normalised orientations
of seven points leaves all labelings to them (the claim ``vc-dimension-one-layer`` enumerates them).

**Upper, by counting** [ours]. Up to rotations and positive factors, which the next layer absorbs, a net is
determined by ``P = 2d + 4(L - 1) + 2`` numbers and one sign: layer 1 sends x to the direction of A x + c with
A in R^(2 x d), the later ones z to that of T z + c with T = [[1, s], [0, t]] (nets with singular A or T can
be perturbed, as strict signs are stable), the read-out is a direction and an offset. Write ``v_1 = A x + c``,
``q_k = |v_k|^2``, ``r_k = sqrt(q_k)`` and ``v_{k+1} = T v_k + c r_k``: the score has the sign of
``S = n . v_L + h r_L``, an element of R[parameters][r_1, ..., r_L] of weighted degree L + 1, where r_k has
weight k. The sign of ``a + b r_L`` follows from the signs of a, b and ``a^2 - b^2 q_L``, so eliminating r_L,
..., r_1 leaves at most 3^L polynomials in P variables a sample, of degree at most D = (L + 1) 2^L. Strict
signs being stable, parameters can be chosen off the zero sets, and by Warren's theorem the m 3^L polynomials
leave at most (4 e D m 3^L / P)^P sign patterns. Shattering m points needs 2^m labelings, so
``2^m <= 2 (4 e D m 3^L / P)^P``.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
Warren, "Lower bounds for approximation by nonlinear manifolds", Trans. AMS 133 (1968), theorem 2.
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
    "Shattering",
    "build_lower_bound",
    "counting_bound",
    "least_depth",
    "lower_bound",
    "paper_lower_bound",
    "shatters",
    "upper_bound",
    "witness",
]

TRIES = 4
"""Nets tried for a labeling before it counts as not built."""
CHUNK = 128
"""Labelings that are built, saved and resumed together."""
SIX = ((0.0, 6.0), (0.0, 1.0), (6.0, 2.0), (5.0, 6.0), (4.0, 0.0), (1.0, 3.0))
"""Six points of the plane that one layer shatters: no six in convex position are."""
THIRTEEN = (
    (-66.0, 258.0),
    (-34.0, 136.0),
    (-103.0, -151.0),
    (218.0, 128.0),
    (22.0, 135.0),
    (4.0, -183.0),
    (-169.0, -48.0),
    (156.0, -69.0),
    (-179.0, 24.0),
    (-44.0, -69.0),
    (-88.0, 45.0),
    (38.0, 5.0),
    (34.0, -38.0),
)
"""Thirteen points of the plane that two layers shatter: of points in convex position nine are the most."""

FloatArray = NDArray[np.float64]


# ------------------------------------------------------------------------------------------------ the bounds


def paper_lower_bound(depth: int) -> int:
    """The paper's lower bound of the VC dimension, ``depth + 2`` (any dimension, depth >= 1).

    Examples
    --------
    >>> paper_lower_bound(10)
    12
    """
    as_count(depth, "depth", 1)
    return depth + 2


def lower_bound(depth: int, dim: int) -> int:
    """Our lower bound of the VC dimension of width-3 LN-Nets with `depth` LN layers on R^dim.

    ``4 depth + 1`` for dim >= 2 (6 at depth 1, 13 at depth 2), ``4 depth - 3`` and at least ``2 depth + 1``
    for dim = 1, and never less than the ``dim + 1`` of affine classifiers, which is exact at depth 0.
    `build_lower_bound` certifies it for a given depth.

    Raises
    ------
    InvalidInputError
        For a negative depth or a dimension below 1.

    Examples
    --------
    >>> lower_bound(5, 2), lower_bound(5, 1), lower_bound(0, 7)
    (21, 17, 8)
    """
    as_count(depth, "depth", 0)
    as_count(dim, "dim", 1)
    if depth == 0:
        return dim + 1
    if dim == 1:
        return max(2 * depth + 1, 4 * depth - 3)
    return max(dim + 1, {1: len(SIX), 2: len(THIRTEEN)}.get(depth, 4 * depth + 1))


def upper_bound(depth: int, dim: int) -> int:
    """The best proved upper bound of the VC dimension of width-3 LN-Nets with `depth` LN layers on R^dim.

    `counting_bound`, and at most ``2^depth + 1`` for dim = 1 and 6 for depth 1, dim 2; see the module.

    Raises
    ------
    InvalidInputError
        For a negative depth or a dimension below 1.

    Examples
    --------
    >>> [upper_bound(depth, 1) == lower_bound(depth, 1) for depth in (0, 1, 2, 3)]
    [True, True, True, True]
    >>> upper_bound(0, 2), upper_bound(1, 2)
    (3, 6)
    """
    counted = counting_bound(depth, dim)
    if dim == 1:
        return min(counted, (1 << min(depth, 64)) + 1)
    return min(counted, 6) if (depth, dim) == (1, 2) else counted


def counting_bound(depth: int, dim: int) -> int:
    """An upper bound of the VC dimension by counting sign patterns.

    The largest m with ``2^m <= 2 (4 e D m 3^L / P)^P`` where ``P = 2 dim + 4 L - 2`` and ``D = (L + 1) 2^L``;
    see the module for the proof. At depth 0 it is dim + 1, exactly. Computed in ball arithmetic: the
    inequality provably fails for m + 1, and beyond, since there the left side grows faster.

    Raises
    ------
    InvalidInputError
        For a negative depth or a dimension below 1.

    Examples
    --------
    >>> counting_bound(0, 2), counting_bound(2, 2) >= lower_bound(2, 2)
    (3, True)
    """
    as_count(depth, "depth", 0)
    as_count(dim, "dim", 1)
    if depth == 0:
        return dim + 1
    low, high = 1, 2
    while not _too_many(high, depth, dim):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _too_many(middle, depth, dim) else (middle, high)
    return low


def least_depth(n_samples: int, dim: int) -> int:
    """A depth below which width-3 LN-Nets shatter no n_samples points of R^dim: some labeling is left out.

    Examples
    --------
    >>> least_depth(3, 2), least_depth(1000, 2) > 1
    (0, True)
    """
    if n_samples < 1:
        raise InvalidInputError(f"n_samples={n_samples}; give at least one sample")
    depth = 0
    while upper_bound(depth, dim) < n_samples:
        depth += 1
    return depth


def _too_many(n_samples: int, depth: int, dim: int) -> bool:
    """Whether 2^m provably exceeds the count of sign patterns, for this m and every larger one.

    m - log2 of the count is convex in m and increases from m = P / ln 2 on, where it is still negative.
    """
    parameters = 2 * dim + 4 * depth - 2
    with flint.ctx.workprec(128):
        m, p = flint.arb(n_samples), flint.arb(parameters)
        degree = flint.arb(depth + 1) * flint.arb(2) ** depth
        patterns = p * (4 * flint.arb(1).exp() * degree * m * flint.arb(3) ** depth / p).log()
        return bool(m > p / flint.arb.const_log2()) and bool((m - 1) * flint.arb.const_log2() > patterns)


# ----------------------------------------------------------------------------------------- witnesses and nets


def witness(n_samples: int, dim: int, depth: int | None = None) -> FloatArray:
    """Points to be shattered, shape (n_samples, dim): unevenly spaced on a line, or on the unit circle.

    From two dimensions on they are in convex position, in the first two coordinates; but for six points to be
    shattered at depth 1 and thirteen at depth 2, which is impossible in convex position, and for up to
    ``dim + 1`` points, which are affinely independent: affine classifiers shatter them.

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


def _net(points: FloatArray, depth: int, number: int, seed: int) -> LNNet | None:
    """A net of at most this depth, proved to realise labeling `number`; None if none was found."""
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
    """What `shatters` found out about a set of points at a depth.

    Attributes
    ----------
    points : ndarray, shape (n_samples, dim)
    depth : int
    nets : tuple of LNNet or None
        The certified net of each labeling number (see `lntheory.exact.shattering.labeling`), one a
        pair of complementary labelings; None where none was built.
    impossible : str or None
        A proof that the points cannot be shattered at this depth, in words, where there is one.
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
        """Labelings for which no net was built. That is no proof that there is none."""
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
        """Write the record that `lntheory.exact.verify_shattering` proves afresh; all nets must be there."""
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
        Processes, as in joblib (-1: all cores).
    progress : callable (labelings done, labelings), optional

    Returns
    -------
    Shattering
        Shattered (with a certified net for each labeling), or not (with a proof: by the counting bound, or
        for points in convex position by the halving of alternating runs), or undecided.

    Raises
    ------
    InvalidInputError
        For equal points, too many points, NaN or infinities.

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
    impossible = _impossible(samples, depth)
    total = 2 ** (len(samples) - 1)
    build = functools.partial(_net, samples, depth, seed=random_state)
    nets = parallel_map(build, range(total), n_jobs=n_jobs, progress=progress)
    return Shattering(samples, depth, tuple(nets), impossible)


def _impossible(points: FloatArray, depth: int) -> str | None:
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
    runs = n_samples // 2
    needed = max(0, (runs - 1).bit_length())
    if dim == 2 and n_samples >= 4 and depth < needed and _in_convex_position(points):
        return (
            f"labels that alternate around {n_samples} points in convex position need {needed} layers, for a "
            "layer at best halves the number of runs"
        )
    return None


def _in_convex_position(points: FloatArray) -> bool:
    """Whether every point is a vertex of the convex hull, decided exactly."""
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

    Every labeling of a `witness` set gets a net (one a pair of complementary labelings; the complement is
    the same net with its read-out negated), certified as it is built. Interrupted, the work done is kept
    beside the record and taken up again by the next call. The record's bytes do not depend on the number of
    workers.

    Parameters
    ----------
    depth, dim : int
    n_samples : int, optional
        ``lower_bound(depth, dim)`` by default. More may be tried.
    path : path, optional
        The record; see `lntheory.exact.shattering` for its format. By default
        ``shattering-L<depth>-d<dim>-m<n_samples>.json.gz`` in the current directory.
    random_state : int
    n_jobs : int
        Processes, as in joblib.
    progress : callable (labelings done, labelings), optional

    Returns
    -------
    ShatteringProof
        As `lntheory.exact.verify_shattering` proves it from the finished file.

    Raises
    ------
    InvalidInputError
        If some labeling could not be built, naming the first; no record is written.

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
        net = _net(points, depth, number, seed)
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
