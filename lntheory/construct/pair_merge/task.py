"""The samples and labels that pair merges fit, and the number of layers that are still needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lntheory.base.types import FloatArray, Progress
from lntheory.circle.runs import is_readable
from lntheory.construct.first_layer import powers_of_two
from lntheory.construct.problem import Codes, free_class

__all__ = ["Task", "counts_after", "layers_needed"]


def layers_needed(n_points: int) -> int:
    """The number f(k) of layers that merge k points of the circle into one, two pairs in each layer.

    It is ceil(k / 2), and 0 for k = 1.

    Examples
    --------
    >>> [layers_needed(k) for k in range(1, 8)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (n_points + 1) // 2 if n_points > 1 else 0


@dataclass(frozen=True)
class Task:
    """The samples and labels to fit; `free` is the class that may stay where it is.

    `scale` (n_features,) holds the powers of two that bring every feature near 1.
    """

    X: FloatArray
    scale: FloatArray
    codes: Codes
    free: int
    progress: Progress | None

    @classmethod
    def of(cls, X: FloatArray, codes: Codes, progress: Progress | None) -> Task:
        """The task of these samples (n, n_features) and labels (n,); the most frequent class is free."""
        return cls(X, powers_of_two(X), codes, free_class(codes), progress)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.codes.max()) + 1

    @property
    def potential(self) -> int:
        """The number of layers that merge all samples once they are on the circle."""
        return int(self.potentials(np.bincount(self.codes)[None])[0])

    def potentials(self, counts: Codes) -> Codes:
        """Sum of f over the classes to be merged, shape (K,), from the numbers of points `counts` (K, C)."""
        needed: Codes = np.where(counts > 1, (counts + 1) // 2, 0)
        needed[:, self.free] = 0
        total: Codes = needed.sum(axis=1)
        return total

    def left(self, cyclic: Codes, counts: Codes) -> Codes:
        """The number of further layers that suffice, shape (K,), after K views of the points.

        `cyclic` (K, n) holds the labels in cyclic order, `counts` (K, C) the numbers of points of each class.
        """
        left = self.potentials(counts)
        runs = (cyclic != np.roll(cyclic, 1, axis=1)).sum(axis=1)
        if self.n_classes == 2:
            return np.where(runs <= 2, 0, np.where(runs <= 4, np.minimum(left, 1), left))
        for k in np.flatnonzero((runs <= 2 * self.n_classes - 2) & (left > 0)):
            if is_readable(cyclic[k]):
                left[k] = 0
        return left


def counts_after(counts: Codes, codes: Codes, pairs: Codes) -> Codes:
    """The numbers of points of each class, shape (K, C), after each of K choices of pairs is merged.

    `counts` (C,) holds the numbers before the merge. `pairs` (K, 2, 2) is -1 where there is no pair.
    """
    left = np.repeat(counts[None], len(pairs), axis=0)
    for side in (0, 1):
        rows = np.flatnonzero(pairs[:, side, 0] >= 0)
        left[rows, codes[pairs[rows, side, 0]]] -= 1
    return left
