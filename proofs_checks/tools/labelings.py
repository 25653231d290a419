"""Every labeling of concrete points, fitted by a construction and certified; and what refutes a depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from lntheory import exact, shatter, vc

from ..claim import Evidence, Method, Tally, Verdict

__all__ = ["affinely_separable", "deepest", "shattered_up_to"]

Points = NDArray[np.float64]


def affinely_separable(points: Points, labels: Sequence[int]) -> bool:
    """Whether an affine function separates two classes of points in R^1 or R^2, decided exactly.

    By the theorems of Kirchberger and Radon it does iff no d + 2 points contain a Radon partition along the
    labels, that is, iff every d + 2 of them are separable; in d <= 2 dimensions those cases are checked by
    rational linear algebra.
    """
    size = points.shape[1] + 2
    if len(points) <= size:
        return _few_separable(points, labels)
    return all(
        _few_separable(points[list(chosen)], [labels[i] for i in chosen])
        for chosen in combinations(range(len(points)), size)
    )


def _few_separable(points: Points, labels: Sequence[int]) -> bool:
    """At most d + 2 points are separable unless some affine dependence has its signs along the labels.

    Hulls of the classes meet iff some dependence sum(c_i p_i) = 0, sum(c_i) = 0 has c_i >= 0 on one class and
    c_i <= 0 on the other and is not zero. Dependences of least support decide, and those are unique.
    """
    n = len(points)
    for support in (chosen for size in range(2, n + 1) for chosen in combinations(range(n), size)):
        rows = [[fmpq(1)] * len(support)]
        rows += [
            [fmpq(*float(points[i, j]).as_integer_ratio()) for i in support] for j in range(points.shape[1])
        ]
        reduced, rank = fmpq_mat(rows).rref()
        if rank != len(support) - 1:
            continue
        free = next(j for j in range(len(support)) if not _is_pivot(reduced, rank, j))
        pivots = [j for j in range(len(support)) if j != free]
        coefficients = {free: fmpq(1)} | {j: -reduced[r, free] for r, j in enumerate(pivots)}
        signs = [coefficients[j] * (1 if labels[i] else -1) for j, i in enumerate(support)]
        if all(s >= 0 for s in signs) or all(s <= 0 for s in signs):
            return False
    return True


def _is_pivot(reduced: fmpq_mat, rank: int, column: int) -> bool:
    leading = [next(j for j in range(reduced.ncols()) if reduced[r, j] != 0) for r in range(rank)]
    return column in leading


def deepest(sets: Sequence[Points], bound: Callable[[int, int], int], method: str, text: str) -> Evidence:
    """Fit every labeling (one a complementary pair) of each set, certify each net, compare depth with a
    bound.

    Parameters
    ----------
    sets : sequence of point sets
    bound : callable (n_samples, k) -> depth
        k is the number of samples with the rarer label.
    """
    nets, spare = 0, []
    for points in sets:
        for labels in _labelings(len(points)):
            k = min(sum(labels), len(labels) - sum(labels))
            net = shatter(points, labels, method=method)
            exact.certify(net, points, labels)
            nets += 1
            spare.append(bound(len(points), k) - net.depth)
            if spare[-1] >= 0:
                continue
            detail = f"{text}: labels {labels} of {points.tolist()} took {net.depth} layers"
            if bound(len(points), k) <= 0 and not affinely_separable(points, labels):
                detail = f"{text}: labels {labels} of {points.tolist()} are not affinely separable"
                return Evidence(Method.EXHAUSTIVE, f"depth {net.depth}", "0", Verdict.REFUTED, detail)
            return Evidence(Method.EXHAUSTIVE, f"depth {net.depth}", "less", Verdict.UNDECIDED, detail)
    detail = f"{nets} labelings of {len(sets)} point sets built and certified"
    return Evidence(
        Method.EXHAUSTIVE,
        (f"bound - depth >= {min(spare)}", Tally("certified net", nets)),
        text,
        Verdict.PROVED,
        detail,
    )


def _labelings(n_samples: int) -> Iterator[list[int]]:
    for number in range(2 ** (n_samples - 1)):
        yield [(number >> i) & 1 for i in range(n_samples)]


def shattered_up_to(depths: Sequence[int], dim: int, n_samples: Callable[[int], int], text: str) -> Evidence:
    """Shatter n_samples(L) points of R^dim at each depth L, certified; refuted where more than can be are
    asked.

    At depth 0 the VC dimension is dim + 1, and at any depth the counting bound holds.
    """
    nets, shattered = 0, []
    with TemporaryDirectory() as folder:
        for depth in depths:
            asked, most = n_samples(depth), vc.upper_bound(depth, dim)
            if asked > most:
                detail = f"{text}: at L = {depth}, d = {dim} no {asked} points are shattered, at most {most}"
                return Evidence(Method.EXHAUSTIVE, f"at most {most}", str(asked), Verdict.REFUTED, detail)
            record = Path(folder, f"{depth}.json.gz")
            vc.build_lower_bound(depth, dim, path=record, n_samples=asked)
            proved = exact.verify_shattering(record)
            nets += proved.n_nets
            shattered.append(f"{proved.n_samples} shattered at L = {depth}")
    detail = f"{nets} nets, one a pair of labelings, built and proved right (d = {dim})"
    return Evidence(
        Method.EXHAUSTIVE, (*shattered, Tally("certified net", nets)), text, Verdict.PROVED, detail
    )
