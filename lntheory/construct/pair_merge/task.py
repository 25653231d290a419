"""What pairs are merged for, and how many layers are left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lntheory.base.types import FloatArray, Progress
from lntheory.circle.runs import is_readable
from lntheory.construct.first_layer import powers_of_two
from lntheory.construct.problem import Codes, free_class

__all__ = ["Task", "counts_after", "layers_needed"]


def layers_needed(n_points: int) -> int:
    """f(k): layers that take k points of the circle to one, two pairs a layer: ceil(k / 2), and f(1) = 0.

    Examples
    --------
    >>> [layers_needed(k) for k in range(1, 8)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (n_points + 1) // 2 if n_points > 1 else 0


@dataclass(frozen=True)
class Task:
    """What is to be fitted; `free` is the class that may stay where it is.

    `scale` (n_features,) holds the powers of two that bring every feature near 1.
    """

    X: FloatArray
    scale: FloatArray
    codes: Codes
    free: int
    progress: Progress | None

    @classmethod
    def of(cls, X: FloatArray, codes: Codes, progress: Progress | None) -> Task:
        return cls(X, powers_of_two(X), codes, free_class(codes), progress)

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1

    @property
    def potential(self) -> int:
        """Layers that the merges of all points take, once they are on the circle."""
        return int(self.potentials(np.bincount(self.codes)[None])[0])

    def potentials(self, counts: Codes) -> Codes:
        """Sum of f over the classes that have to be merged, from the numbers of points (K, C)."""
        needed: Codes = np.where(counts > 1, (counts + 1) // 2, 0)
        needed[:, self.free] = 0
        total: Codes = needed.sum(axis=1)
        return total

    def left(self, cyclic: Codes, counts: Codes) -> Codes:
        """Layers that suffice after views with these cyclic labels (K, n) and these numbers of points."""
        left = self.potentials(counts)
        runs = (cyclic != np.roll(cyclic, 1, axis=1)).sum(axis=1)
        if self.n_classes == 2:
            return np.where(runs <= 2, 0, np.where(runs <= 4, np.minimum(left, 1), left))
        for k in np.flatnonzero((runs <= 2 * self.n_classes - 2) & (left > 0)):
            if is_readable(cyclic[k]):
                left[k] = 0
        return left


def counts_after(counts: Codes, codes: Codes, pairs: Codes) -> Codes:
    """Numbers of points a class (K, C) after the pairs (K, 2, 2) are merged."""
    left = np.repeat(counts[None], len(pairs), axis=0)
    for side in (0, 1):
        rows = np.flatnonzero(pairs[:, side, 0] >= 0)
        left[rows, codes[pairs[rows, side, 0]]] -= 1
    return left
