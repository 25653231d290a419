r"""Scatter of labelled tensors that arrive in batches, accumulated in float64 on the device that they are on.

```
 batch on the device            kept between batches                        at the end, on the CPU
 ───────────────────            ────────────────────                        ───────────────────────
 X (n, d), codes (n,)   ──►     n_k, mean_k of every class   (C, d)    ──►  SSR, LSSR
                                R with R'R = S_w             (d, d)
```

The algorithm is that of `lntheory.ScatterAccumulator`: means are merged as Welford and Chan do, deviations go
into a triangular factor by QR, nothing is squared. `lntheory.ScatterAccumulator`, which works on the CPU,
also scales each feature before every step and computes a rank modulo a prime.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from lntheory.base.compensated import exponents, scale
from lntheory.base.types import FloatArray
from lntheory.errors import InvalidInputError
from lntheory.separability import (
    ScatterFactors,
    Separability,
    between_scatter,
    least_singular,
    separability_of,
    triangle,
)

__all__ = ["ResolvedLSSR", "ScatterSummary", "TensorScatter"]

_EPS = float(np.finfo(np.float64).eps)
_LEAST_ROWS = 512  # fewer rows are not worth a QR factorization and are kept until there are more


_SAFETY = 16.0  # the assumed largest relative error of a computed activation, in units of roundoff
_MARGIN = 8.0  # singular values by this factor above (below) the resolution are taken for data (rounding)


@dataclass(frozen=True)
class ResolvedLSSR:
    """Bounds of LSSR if every entry of the samples is known only up to a relative roundoff.

    Attributes
    ----------
    lower, upper : float
        0 <= lower <= upper <= 1.
    rank : int
        Number of directions in which the samples spread by more than their rounding.
    """

    lower: float
    upper: float
    rank: int


@dataclass(frozen=True)
class ScatterSummary:
    """The arrays from which LSSR of labelled samples is computed.

    Attributes
    ----------
    scatter : scatter factors, in units of a power of two for each feature
    magnitudes : ndarray, shape (n_features,)
        Norm of each feature over all samples, not centred, in the same units.
    """

    scatter: ScatterFactors
    magnitudes: FloatArray

    @property
    def all_coincide(self) -> bool:
        """Whether SS = 0, so that SSR is 0/0."""
        return self.scatter.all_coincide

    @property
    def shift(self) -> float:
        """Norm of the samples divided by that of their deviations from the mean, at least 1.

        If the mean is subtracted (by a bias, by batch normalization), the relative size of the rounding grows
        by this factor.
        """
        units = self.scatter.powers - self.scatter.powers.max()
        spread = np.linalg.norm(scale(np.vstack([self.scatter.within, self.scatter.between]), units))
        return max(1.0, float(np.linalg.norm(scale(self.magnitudes, units)) / spread))

    def separability(self, data_rank: int | None = None) -> Separability:
        """SSR and LSSR of the samples as the float64 numbers that they are.

        Parameters
        ----------
        data_rank : int, optional
            Rank of the centred samples, if it is known; by default the rank that the cut-off gives.

        Raises
        ------
        DegenerateInputError
            If all samples coincide.
        """
        result = separability_of(self.scatter, lambda: 0)
        return replace(result, data_rank=result.rank if data_rank is None else data_rank)

    def resolved(self, roundoff: float) -> ResolvedLSSR:
        r"""Bounds of LSSR if each entry is off by a few `roundoff` of itself.

        In exact arithmetic the activations of a linear layer lie in a subspace. Computed activations leave it
        by their rounding, and LSSR, which is invariant under scaling, would read labels from the rounding as
        well. So features are scaled to norm 1 without centring, which makes the rounding of all features
        equally large, and singular values are classified:

        ```
          s_1  s_2   s_3      s_4  |     8 r      r      r / 8   |    s_5      s_6
         ──●────●─────●────────●───|──────┼───────┼────────┼─────|─────●────────●────►  0
              surely the samples'  |        undecided            |   surely rounding
        ```

        Here r = 16 roundoff (1 + sqrt(n_features / n_samples)), the norm of random errors of 16 roundoff. The
        lower end is LSSR of the directions above r/8, the upper end that of the directions above 8r: fewer
        directions give a higher LSSR. Both ends are widened by the effect of errors of norm r on the
        directions that were kept. With s the smallest singular value kept, their span turns by at most
        arcsin(r/s), so sqrt(LSSR) moves by at most r/s.

        That errors are below 16 roundoff is assumed, not proved: it holds for sums of moderate length.
        """
        matrix, n_within = _equalized(self.scatter, self.magnitudes)
        left, values, _ = np.linalg.svd(matrix, full_matrices=False)
        n_samples, n_features = self.scatter.n_samples, matrix.shape[1]
        resolution = max(
            _SAFETY * roundoff * (1.0 + math.sqrt(n_features / n_samples)),
            # The rounding of the accumulation itself.
            max(n_samples, n_features) * _EPS * float(values[0]),
        )
        full = min(n_samples - 1, n_features)

        def rank(cutoff: float) -> int:
            return min(int((values > cutoff).sum()), int(full))

        def root(r: int) -> tuple[float, float]:
            return least_singular(left[:n_within, :r])[0], resolution / float(values[r - 1])

        lower, upper, most = 0.0, 1.0, rank(resolution / _MARGIN)
        if most:
            cosine, turn = root(most)
            lower = max(0.0, cosine - turn) ** 2
        # Any number of leading directions gives an upper bound; with fewer, their span turns less.
        for r in {rank(resolution * _MARGIN**k) for k in range(1, 12)} - {0}:
            cosine, turn = root(r)
            upper = min(upper, (cosine + turn) ** 2)
        return ResolvedLSSR(min(lower, upper), upper, rank(resolution))


def _equalized(scatter: ScatterFactors, magnitudes: FloatArray) -> tuple[FloatArray, int]:
    """Scatter rows with features scaled to norm 1, constant features left out; the number of within rows."""
    rows = np.vstack([triangle(scatter.within), scatter.between])
    active = np.flatnonzero(rows.any(axis=0))
    return rows[:, active] / magnitudes[active], len(rows) - len(scatter.between)


class TensorScatter:
    """Class counts, class means and within-class factor of tensors, in one pass, in float64, on their device.

    Memory: O(n_features**2 + n_classes n_features), whatever the number of samples.

    Examples
    --------
    >>> accumulator = TensorScatter(1)
    >>> accumulator.update(torch.tensor([[0.0], [3.0]]), torch.tensor([0, 1]))
    >>> accumulator.update(torch.tensor([[4.0], [1.0]]), torch.tensor([1, 0]))
    >>> accumulator.n_samples, accumulator.summary().scatter.between.shape
    (4, (2, 1))
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.n_samples = 0
        # Offsets from the first sample: subtracting a sample loses nothing of shifted data.
        self._origin: Tensor | None = None
        self._counts = torch.zeros(0, dtype=torch.float64)
        self._offsets = torch.zeros(0, n_features, dtype=torch.float64)
        self._factor = torch.zeros(0, n_features, dtype=torch.float64)
        self._pending: list[Tensor] = []

    def update(self, samples: Tensor, codes: Tensor) -> None:
        """Add a batch.

        Parameters
        ----------
        samples : Tensor, shape (n_batch, n_features)
            Finite entries, on one device that has float64, always the same.
        codes : Tensor of int64, shape (n_batch,)
            Classes, numbered from 0; any class may appear at any time.

        Raises
        ------
        InvalidInputError
            If the shape is another.
        """
        if samples.ndim != 2 or samples.shape[1] != self.n_features or len(codes) != len(samples):
            raise InvalidInputError(
                f"samples have the shape {tuple(samples.shape)} and there are {len(codes)} labels; expected "
                f"({len(codes)}, {self.n_features})."
            )
        if not len(samples):
            return
        samples = samples.detach().to(torch.float64)
        codes = codes.to(samples.device)
        if self._origin is None:
            self._origin = samples[0].clone()
            self._counts, self._offsets, self._factor = (
                kept.to(samples.device) for kept in (self._counts, self._offsets, self._factor)
            )
        self._grow(int(codes.max()) + 1)
        counts, means, deviations = _within(samples - self._origin, codes, len(self._counts))
        self._pending += [deviations, self._merge(counts, means)]
        self.n_samples += len(samples)
        if sum(map(len, self._pending)) >= max(self.n_features, _LEAST_ROWS):
            self._compress()

    @property
    def held(self) -> tuple[Tensor, ...]:
        """The tensors that are kept; their size does not depend on the number of samples."""
        return self._factor, self._offsets, *self._pending

    def summary(self) -> ScatterSummary:
        """The scatter of all samples seen.

        Raises
        ------
        InvalidInputError
            If there are none.
        """
        if self._origin is None:
            raise InvalidInputError("No samples were added; call update(samples, codes) first.")
        self._compress()
        present = (self._counts > 0).cpu()
        counts, offsets, factor, origin = (
            t.cpu().numpy() for t in (self._counts, self._offsets, self._factor, self._origin)
        )
        counts, offsets = counts[present.numpy()], offsets[present.numpy()]
        largest = np.maximum(np.abs(factor).max(axis=0, initial=0.0), np.abs(offsets).max(axis=0))
        powers = exponents(np.maximum(largest, np.abs(origin)))
        within = scale(factor, -powers)
        scaled = scale(offsets, -powers)
        between = between_scatter(counts, scaled)
        mean = scale(origin, -powers) + counts @ scaled / counts.sum()
        squares = (within**2).sum(axis=0) + (between**2).sum(axis=0) + self.n_samples * mean**2
        return ScatterSummary(ScatterFactors(within, between, powers, self.n_samples), np.sqrt(squares))

    def _grow(self, n_classes: int) -> None:
        missing = n_classes - len(self._counts)
        if missing > 0:
            self._counts = torch.cat([self._counts, self._counts.new_zeros(missing)])
            self._offsets = torch.cat([self._offsets, self._offsets.new_zeros(missing, self.n_features)])

    def _merge(self, counts: Tensor, means: Tensor) -> Tensor:
        """Merge counts and means; return the rows that the differences of means add to the factor."""
        total = self._counts + counts
        share = counts / total.clamp(min=1)
        known, seen = self._counts > 0, counts > 0
        difference = means - self._offsets
        rows = torch.sqrt(self._counts * share)[:, None] * difference
        # A class met for the first time takes its mean as it is, to the last bit.
        self._offsets = torch.where(
            known[:, None],
            self._offsets + share[:, None] * difference,
            torch.where(seen[:, None], means, 0.0),
        )
        self._counts = total
        return rows[known & seen]

    def _compress(self) -> None:
        rows = torch.cat([self._factor, *self._pending])
        if len(rows) > self.n_features:
            rows = torch.linalg.qr(rows, mode="r").R
        self._factor, self._pending = rows, []


def _within(samples: Tensor, codes: Tensor, n_classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Counts and means of the classes of a batch, and the deviations from them, centred twice.

    Sums are products with the membership matrix, which on a GPU are the same in every run, unlike index_add.
    """
    membership = torch.nn.functional.one_hot(codes, n_classes).to(samples.dtype)
    counts = membership.sum(dim=0)
    average = (membership / counts.clamp(min=1)).T
    means = average @ samples
    deviations = samples - means[codes]
    correction = average @ deviations
    return counts, means + correction, deviations - correction[codes]
