r"""Scatter of labelled tensors that arrive in batches, accumulated in float64 on the device that they are on.

```
 batch on the device            kept between batches                        at the end, on the CPU
 ───────────────────            ────────────────────                        ───────────────────────
 X (n, d), codes (n,)   ──►     n_k, mean_k of every class   (C, d)    ──►  SSR, LSSR
                                R with R'R = S_w             (d, d)
```

The algorithm is that of `lntheory.ScatterAccumulator`: means are merged as Welford and Chan do, deviations go
into a triangular factor by QR, nothing is squared. What that one does beyond, it does on the CPU: features
scaled apart before every step, and a rank modulo a prime.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lntheory.centering import exponents, scale
from lntheory.errors import InvalidInputError
from lntheory.separability import _between, _Scatter
from lntheory.validation import FloatArray

__all__ = ["ScatterSummary", "TensorScatter"]

_LEAST_ROWS = 512  # rows worth a QR factorization: fewer are kept until there are more


@dataclass(frozen=True)
class ScatterSummary:
    """What LSSR needs to know of labelled samples, as arrays.

    Attributes
    ----------
    scatter : scatter factors, in units of a power of two a feature
    magnitudes : ndarray, shape (n_features,)
        Norm of each feature over all samples, not centred, in the same units.
    """

    scatter: _Scatter
    magnitudes: FloatArray


class TensorScatter:
    """Class counts, class means and the within-class factor of tensors, one pass, float64, on their device.

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
            Finite, on any one device that has float64.
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
        between = _between(counts, scaled)
        mean = scale(origin, -powers) + counts @ scaled / counts.sum()
        squares = (within**2).sum(axis=0) + (between**2).sum(axis=0) + self.n_samples * mean**2
        return ScatterSummary(_Scatter(within, between, powers, self.n_samples), np.sqrt(squares))

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

    Sums are products with the membership matrix: unlike index_add, the same on every run on a GPU.
    """
    membership = torch.nn.functional.one_hot(codes, n_classes).to(samples.dtype)
    counts = membership.sum(dim=0)
    average = (membership / counts.clamp(min=1)).T
    means = average @ samples
    deviations = samples - means[codes]
    correction = average @ deviations
    return counts, means + correction, deviations - correction[codes]
