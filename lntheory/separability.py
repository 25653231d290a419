"""SSR and LSSR in float64: the separability of labelled points, before and after the best linear map.

```
 SS(X)   = sum of squared distances to the mean
 SSR     = (SS of class 1 + SS of class 2 + ...) / SS(all)            in [0, 1]
 LSSR    = inf over linear maps phi of SSR(phi(X), y)

   o o          x x            seen along the x-axis the classes are points far apart: SSR small
   o o          x x            seen along the y-axis they coincide:                    SSR = 1
   ───────────────► best direction w: LSSR = SSR(X w, y)
```

Let A = [W; B] stack the rows of within-class deviations W and the class rows B_k = sqrt(n_k)(mean_k - mean).
Then the scatter matrices are S_w = W'W and S_t = A'A. If the columns of U = [U_w; U_b] are an orthonormal
basis of the range of A, LSSR is the square of the least singular value of U_w. It is computed as a small
residual, never as 1 minus a number near 1, and no matrix is squared (this is the generalized SVD of W and B).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lntheory.base.compensated import centred, compensated_sum, exponents, scale, sum_of_squares, two_sum
from lntheory.base.modular import PRIME, ModularRowSpace, residues
from lntheory.base.types import FloatArray, IntArray
from lntheory.base.validation import as_samples, encode_labels
from lntheory.errors import DegenerateInputError, InvalidInputError, RankWarning

__all__ = ["ScatterAccumulator", "Separability", "lssr", "separability", "ssr"]

_EPS = float(np.finfo(np.float64).eps)
_NEAR = 100.0  # a retained singular value this close (as a ratio) to the cut-off is reported as near


@dataclass(frozen=True)
class Separability:
    """SSR and LSSR of labelled samples, with the direction and the rank decision behind LSSR.

    The singular values are those of the centred samples, each feature scaled by a power of two to a norm in
    [1/2, 1). This is an invertible linear map, so LSSR is unchanged; and the rank decision does not depend on
    the units of the features.

    Attributes
    ----------
    ssr, lssr : float
        0 <= lssr <= ssr <= 1.
    direction : ndarray, shape (n_features,)
        Unit vector w with SSR(X w, y) = lssr; its entry of largest magnitude is positive.
    rank : int
        The rank of the total scatter matrix according to the cut-off.
    cutoff : float
        Singular values at most ``max(n_samples, n_features) * eps * singular_values[0]`` count as zero.
    singular_values : ndarray
        All singular values that were computed, descending; the first `rank` were retained.
    data_rank : int
        Rank over the rationals of the centred float64 samples, computed modulo a prime. It is never above
        the true rank, and below it with a probability of about rank/2**31. Where the singular values leave
        no doubt, it is not computed and equals `rank`.
    n_samples : int

    Examples
    --------
    >>> s = separability([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [4.0, 0.0]], ["a", "a", "b", "b"])
    >>> s.rank, round(s.lssr, 6), s.error_bound < 1e-12
    (2, 0.074074, True)
    """

    ssr: float
    lssr: float
    direction: FloatArray = field(repr=False)
    rank: int
    cutoff: float
    singular_values: FloatArray = field(repr=False)
    data_rank: int
    n_samples: int

    @property
    def smallest_retained(self) -> float:
        """The least singular value that counted as non-zero."""
        return float(self.singular_values[self.rank - 1])

    @property
    def largest_discarded(self) -> float:
        """The largest singular value that counted as zero (0.0 if none was computed)."""
        return float(self.singular_values[self.rank]) if self.rank < len(self.singular_values) else 0.0

    @property
    def cutoff_decided(self) -> bool:
        """Whether LSSR depends on the cut-off: it dropped a direction of the data, or nearly did."""
        return self.data_rank != self.rank or self.smallest_retained < _NEAR * self.cutoff

    @property
    def error_bound(self) -> float:
        """Bound of the distance of lssr from the exact LSSR of the samples as the rationals that they are.

        Let A be the exact matrix (see the module), and A + E the matrix whose exact SVD was computed.
        Column-wise centring errors of a few units and the backward error of the SVD give ‖E‖ <= cutoff
        (the usual reading of LAPACK's "modestly growing" factor as max(n_samples, n_features)). With P the
        projection off the range of A, P U S = P (A + E) V = P E V, so the retained left singular vectors
        U lie within angle arcsin(‖E‖/s) of that range, s being the smallest retained singular value (if A
        has directions that were discarded, the same holds for its leading part, with ‖E‖ enlarged by the
        discarded part). Angles obey the triangle inequality, so sqrt(LSSR), the cosine of the angle to
        the within-class coordinates, moves by at most

            rho = 8 cutoff / smallest_retained

        with room for the rounding of the second SVD (a few cutoff/singular_values[0]). Hence

            distance <= rho (2 sqrt(lssr) + rho),

        which keeps relative accuracy for small values until lssr is about rho**2. If the cut-off discarded
        directions of the data (data_rank > rank), the exact value may lie anywhere below: the bound is
        then at least lssr itself.
        """
        rho = 8.0 * self.cutoff / self.smallest_retained
        bound = rho * (2.0 * math.sqrt(self.lssr) + rho)
        if self.data_rank > self.rank:
            bound = max(bound, self.lssr)
        return min(1.0, bound)


def ssr(X: npt.ArrayLike, y: Iterable[Any]) -> float:
    """Sum-of-squares ratio: within-class scatter over total scatter, in float64.

    SSR(X, y) = sum over classes k of SS(X_k), divided by SS(X).

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
    y : iterable of hashable, length n_samples
        Labels of any type, any number of classes.

    Returns
    -------
    float
        In [0, 1], with a relative error of a few units of 2**-53. It is 0 if every class is a single point
        and, up to underflow of squares, only then; it is 1 if there is a single class.

    Raises
    ------
    DegenerateInputError
        If all samples coincide (one sample included): the ratio is 0/0.
    InvalidInputError
        For NaN, infinities, wrong shapes or lengths.

    Examples
    --------
    >>> round(ssr([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]), 12)
    0.1

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
    """
    return _ratio(scatter_factors(as_samples(X), y))


def lssr(X: npt.ArrayLike, y: Iterable[Any]) -> float:
    """Linear SSR: the infimum of SSR over linear maps of the features, in float64.

    LSSR(X, y) = inf of SSR(phi(X), y) over linear maps phi whose images do not all coincide. It is the
    least eigenvalue of the pencil (S_w, S_t) on the range of S_t, and for two classes 1 - R**2 of the
    least-squares fit of the labels. `separability` gives the same number with the rank decision, the
    direction and an error bound.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
    y : iterable of hashable, length n_samples

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    DegenerateInputError
        If all samples coincide.
    InvalidInputError
        For NaN, infinities, wrong shapes or lengths.

    Warns
    -----
    RankWarning
        If the value depends on the rank cut-off.

    Examples
    --------
    >>> lssr([[0.0], [1.0], [1.0]], [0, 1, 1])
    0.0
    >>> round(lssr([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["even", "even", "odd", "odd"]), 12)
    1.0

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
    """
    return _warned(_one_shot(as_samples(X), y)).lssr


def separability(X: npt.ArrayLike, y: Iterable[Any]) -> Separability:
    """SSR and LSSR, with the direction that attains LSSR, the rank, its cut-off and an error bound.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
    y : iterable of hashable, length n_samples

    Returns
    -------
    Separability

    Raises
    ------
    DegenerateInputError
        If all samples coincide.
    InvalidInputError
        For NaN, infinities, wrong shapes or lengths.

    Warns
    -----
    RankWarning
        If the value depends on the rank cut-off: LSSR jumps where the rank of S_t changes, so no float
        routine can be right on both sides. `lntheory.exact.lssr` decides the rank exactly.

    Examples
    --------
    >>> s = separability([[0, 0], [1, 0], [0, 2], [1, 2]], [0, 0, 1, 1])
    >>> s.lssr, s.rank, s.direction
    (0.0, 2, array([0., 1.]))
    """
    return _warned(_one_shot(as_samples(X), y))


class ScatterAccumulator:
    """SSR and LSSR of samples that arrive in batches and are never in memory together.

    Counts and means of the classes are merged as Welford and Chan do; the within-class scatter is held as a
    triangular factor R with R'R = S_w, updated by QR, so that nothing is squared. The accuracy, bounds and
    warnings are those of the one-shot routines. Batches may have any sizes and order, and new classes may
    appear at any time. The memory is O(n_features**2 + n_classes n_features).

    ```
    R          old within-class scatter            Q R' with R' the new factor: the sum
    X_k - m_k  deviations within the batch    =    of the outer products of all these
    c (m - m') a row for each pair of means        rows is S_w of everything seen
    ```

    Attributes
    ----------
    n_samples : int
        Samples seen.
    classes : tuple
        Labels seen, in order of appearance.

    Examples
    --------
    >>> accumulator = ScatterAccumulator()
    >>> for batch, labels in [([[0.0], [3.0]], "ab"), ([[4.0], [1.0]], ["b", "a"])]:
    ...     accumulator.update(batch, list(labels))
    >>> round(accumulator.ssr(), 12), accumulator.n_samples
    (0.1, 4)
    """

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}
        # Means are held as offsets from the first sample: subtracting a sample is exact for shifted data.
        self._offsets: dict[Hashable, FloatArray] = {}
        self._origin: FloatArray = np.zeros(0)
        self._factor: FloatArray = np.zeros((0, 0))
        self._powers: IntArray = np.zeros(0, dtype=np.int64)
        self._space = ModularRowSpace(0)

    @property
    def n_samples(self) -> int:
        """Samples seen so far."""
        return sum(self._counts.values())

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """Labels seen so far, in order of appearance."""
        return tuple(self._counts)

    def update(self, X: npt.ArrayLike, y: Iterable[Any]) -> None:
        """Add a batch of samples.

        Parameters
        ----------
        X : array_like, shape (n_batch, n_features)
        y : iterable of hashable, length n_batch

        Raises
        ------
        InvalidInputError
            For NaN, infinities, wrong shapes or lengths; nothing of such a batch is added.
        """
        samples = as_samples(X)
        codes, classes = encode_labels(y, len(samples))
        if not self._counts:
            self._start(samples[0])
        self._require_features(samples.shape[1])
        self._rescale(_least_powers(np.abs(samples).max(axis=0)))
        scaled = scale(samples, -self._powers)
        offsets = scaled - scale(self._origin, -self._powers)
        rows = [self._factor]
        for code, label in enumerate(classes):
            members = codes == code
            rows.append(centred(scaled[members]))
            count = int(np.count_nonzero(members))
            mean = compensated_sum(offsets[members])[0] / count
            rows.append(self._merge_mean(label, count, mean))
        self._factor = triangle(np.vstack(rows))
        origin = residues(self._origin)
        self._space.add((residues(samples) - origin) % PRIME)

    @property
    def rank(self) -> int:
        """Rank of the centred samples modulo a prime: never above their true rank."""
        return self._space.rank

    def merge(self, other: ScatterAccumulator) -> None:
        """Add all samples that another accumulator has seen.

        Parameters
        ----------
        other : ScatterAccumulator
            It is not changed.

        Raises
        ------
        InvalidInputError
            If the numbers of features differ.
        """
        if not other._counts:
            return
        if not self._counts:
            self._start(other._origin)
        self._require_features(len(other._origin))
        self._rescale(other._powers)
        shift, error = two_sum(scale(other._origin, -self._powers), -scale(self._origin, -self._powers))
        change = other._powers - self._powers
        rows = [self._factor, scale(other._factor, change)]
        for label, count in other._counts.items():
            mean = shift + (error + scale(other._offsets[label], change))
            rows.append(self._merge_mean(label, count, mean))
        self._factor = triangle(np.vstack(rows))
        origins = residues(np.stack([other._origin, self._origin]))
        self._space.add(np.vstack([other._space.basis, (origins[0] - origins[1]) % PRIME]))

    def ssr(self) -> float:
        """SSR of all samples seen; as in `lntheory.ssr`, it raises DegenerateInputError if all coincide.

        InvalidInputError is raised if no sample was added.
        """
        return _ratio(self._factors())

    def lssr(self) -> float:
        """LSSR of all samples seen; raises as `ssr` does, and warns as `lntheory.lssr` does."""
        return _warned(self._separability()).lssr

    def separability(self) -> Separability:
        """The result that `lntheory.separability` gives for all samples seen; raises as `ssr` does."""
        return _warned(self._separability())

    def _separability(self) -> Separability:
        return separability_of(self._factors(), lambda: self.rank)

    def _start(self, origin: FloatArray) -> None:
        d = len(origin)
        self._origin = origin.copy()
        self._factor = np.zeros((0, d))
        self._powers = _least_powers(np.abs(origin))
        self._space = ModularRowSpace(d)

    def _require_features(self, n_features: int) -> None:
        if n_features != len(self._origin):
            raise InvalidInputError(
                f"The batch has {n_features} features, the samples before it {len(self._origin)}; "
                "use one accumulator for one number of features."
            )

    def _rescale(self, powers: IntArray) -> None:
        """Raise the power of two of each feature so that it holds magnitudes below 2**powers."""
        grown = np.maximum(self._powers, powers)
        change = self._powers - grown
        self._factor = scale(self._factor, change)
        self._offsets = {label: scale(offset, change) for label, offset in self._offsets.items()}
        self._powers = grown

    def _merge_mean(self, label: Hashable, count: int, mean: FloatArray) -> FloatArray:
        """Merge a count and mean into a class; return the row that the difference adds to the factor."""
        before = self._counts.get(label, 0)
        total = before + count
        difference = mean - self._offsets[label] if before else np.zeros_like(mean)
        self._counts[label] = total
        self._offsets[label] = self._offsets[label] + difference * (count / total) if before else mean
        return math.sqrt(before * (count / total)) * difference[np.newaxis]

    def _factors(self) -> ScatterFactors:
        if not self._counts:
            raise InvalidInputError("No samples were added; call update(X, y) first.")
        counts = np.array(list(self._counts.values()), dtype=np.float64)
        offsets = np.stack(list(self._offsets.values()))
        between = between_scatter(counts, offsets)
        return ScatterFactors(self._factor, between, self._powers, self.n_samples)


def _least_powers(magnitudes: FloatArray) -> IntArray:
    """Exponents of the least powers of two above the magnitudes; -1074 for zero, which any sample raises."""
    return np.where(magnitudes > 0, exponents(magnitudes), -1074)


@dataclass(frozen=True)
class ScatterFactors:
    """Rows (n_rows, n_features) of within- and between-class deviations, feature j in units 2**powers[j]."""

    within: FloatArray
    between: FloatArray
    powers: IntArray
    n_samples: int

    @cached_property
    def all_coincide(self) -> bool:
        """Whether SS = 0, so that SSR is 0/0."""
        return not (self.within.any() or self.between.any())

    def require_spread(self) -> None:
        """Raise `DegenerateInputError` if all samples coincide."""
        if self.all_coincide:
            count = "There is one sample" if self.n_samples == 1 else f"All {self.n_samples} samples coincide"
            raise DegenerateInputError(
                f"{count}, so SS(X) = 0 and the ratio is 0/0; at least two distinct samples are needed."
            )


def scatter_factors(samples: FloatArray, y: Iterable[Any]) -> ScatterFactors:
    """The factors of samples (n_samples, n_features) with labels y."""
    codes, classes = encode_labels(y, len(samples))
    powers = exponents(np.abs(samples).max(axis=0))
    scaled = scale(samples, -powers)
    deviations = centred(scaled)
    counts = np.bincount(codes, minlength=len(classes)).astype(np.float64)
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.cumsum(counts.astype(np.int64))[:-1])
    means = np.stack([compensated_sum(deviations[rows])[0] / len(rows) for rows in members])
    spread = [centred(scaled[rows]) for rows in members if len(rows) > 1]
    within = np.vstack(spread) if spread else np.zeros((0, samples.shape[1]))
    return ScatterFactors(within, between_scatter(counts, means), powers, len(samples))


def between_scatter(counts: FloatArray, means: FloatArray) -> FloatArray:
    """Rows sqrt(n_k) (mean_k - mean), shape (n_classes, n_features); exactly zero if all means are equal."""
    weights = (counts / counts.sum())[:, np.newaxis]
    difference = means - means[0]
    deviation = difference - compensated_sum(weights * difference)[0]
    rows: FloatArray = np.sqrt(counts)[:, np.newaxis] * deviation
    return rows


def triangle(rows: FloatArray) -> FloatArray:
    """The factor R of a QR factorization if there are more rows than columns, else the rows themselves."""
    if rows.shape[0] <= rows.shape[1]:
        return rows
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)


def _ratio(scatter: ScatterFactors) -> float:
    scatter.require_spread()
    within = sum_of_squares(scatter.within) if len(scatter.within) else np.zeros(len(scatter.powers))
    between = sum_of_squares(scatter.between)
    # Back to common units (SSR is not invariant under scaling single features), relative to the largest.
    active = (within > 0) | (between > 0)
    powers = np.where(active, 2 * (scatter.powers - scatter.powers[active].max()), 0)
    powers = np.maximum(powers, -2200)
    ss_within = scale(within, powers).sum()
    ss_between = scale(between, powers).sum()
    return float(ss_within / (ss_within + ss_between))


def _one_shot(samples: FloatArray, y: Iterable[Any]) -> Separability:
    def data_rank() -> int:
        space = ModularRowSpace(samples.shape[1])
        rows = residues(samples)
        space.add((rows - rows[0]) % PRIME)
        return space.rank

    return separability_of(scatter_factors(samples, y), data_rank)


def separability_of(scatter: ScatterFactors, find_data_rank: Callable[[], int]) -> Separability:
    """SSR and LSSR from the scatter factors; `find_data_rank` is called only if the cut-off is in doubt."""
    ratio = _ratio(scatter)
    within, between = triangle(scatter.within), scatter.between
    norms = np.sqrt((within**2).sum(axis=0) + (between**2).sum(axis=0))
    active = np.flatnonzero(norms)
    equilibrated = exponents(norms[active])
    stacked = scale(np.vstack([within, between])[:, active], -equilibrated)
    left, values, right = np.linalg.svd(stacked, full_matrices=False)
    cutoff = max(scatter.n_samples, len(scatter.powers)) * _EPS * float(values[0])
    full = min(scatter.n_samples - 1, len(active))
    rank = min(int(np.count_nonzero(values > cutoff)), full)
    doubtful = rank < full or values[rank - 1] < _NEAR * cutoff
    data_rank = int(find_data_rank()) if doubtful else rank

    cosine, coefficients = least_singular(left[: len(within), :rank])
    value = 1.0 if len(between) == 1 else min(cosine * cosine, ratio)
    direction = np.zeros(len(scatter.powers))
    weights = right[:rank].T @ (coefficients / values[:rank])
    direction[active] = unit_vector(weights, -(equilibrated + scatter.powers[active]))
    direction.flags.writeable = False
    values.flags.writeable = False
    return Separability(ratio, value, direction, rank, cutoff, values, data_rank, scatter.n_samples)


def least_singular(matrix: FloatArray) -> tuple[float, FloatArray]:
    """The least singular value and its right singular vector; 0 if there are fewer rows than columns."""
    rows, columns = matrix.shape
    padded = np.vstack([matrix, np.zeros((max(0, columns - rows), columns))])
    _, values, right = np.linalg.svd(padded, full_matrices=False)
    return float(values[-1]), right[-1]


def unit_vector(weights: FloatArray, powers: IntArray) -> FloatArray:
    """weights * 2**powers, scaled to unit norm with the entry of largest magnitude positive."""
    sizes = exponents(weights) + powers
    top = sizes[weights != 0].max()
    vector = scale(weights, np.maximum(powers - top, -2200))
    vector = vector / np.linalg.norm(vector)
    if vector[np.abs(vector).argmax()] < 0:
        vector = -vector
    oriented: FloatArray = vector + 0.0  # no negative zeros
    return oriented


def _warned(result: Separability) -> Separability:
    """The result; if the cut-off decided, after a warning that points at the public function's caller."""
    if not result.cutoff_decided:
        return result
    if result.data_rank > result.rank:
        what = (
            f"the samples, as the float64 numbers that they are, have rank {result.data_rank} about their "
            f"mean, of which the cut-off {result.cutoff:.3g} took {result.data_rank - result.rank} for zero "
            f"(largest discarded singular value {result.largest_discarded:.3g})"
        )
    else:
        what = (
            f"the smallest retained singular value {result.smallest_retained:.3g} is near the cut-off "
            f"{result.cutoff:.3g}"
        )
    warnings.warn(
        f"LSSR = {result.lssr:.6g} hangs on the rank {result.rank} that was decided on: {what}. "
        "Use lntheory.exact.lssr to decide exactly (with Decimal or Fraction entries for decimal data).",
        RankWarning,
        stacklevel=3,
    )
    return result
